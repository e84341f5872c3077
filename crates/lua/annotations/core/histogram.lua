---@meta core.histogram

---@class core.histogram
---@field type string
local histogram = {}

---@param minimum number
---@param maximum number
---@return sluss.histogram
function histogram.new(minimum, maximum) end
---@param name string
---@param minimum number
---@param maximum number
---@return sluss.histogram
function histogram.create(name, minimum, maximum) end
---@param name string
---@return sluss.histogram
function histogram.open(name) end
---@param h sluss.histogram
---@param measurement number
function histogram.add(h, measurement) end
---@param h sluss.histogram
---@param before? sluss.histogram
---@return fun(): integer?, number?, number?
function histogram.iterate(h, before) end
---@param h sluss.histogram
---@param into? sluss.histogram
---@return sluss.histogram
function histogram.snapshot(h, into) end
---@param h sluss.histogram
function histogram.clear(h) end
---@param h sluss.histogram
---@param thunk fun()
---@param now fun(): number
---@return fun()
function histogram.wrap_thunk(h, thunk, now) end
---@param h sluss.histogram
---@param before? sluss.histogram
---@return number minimum
---@return number average
---@return number maximum
function histogram.summarize(h, before) end

return histogram
