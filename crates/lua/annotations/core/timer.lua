---@meta core.timer

---@class core.timer
---@field ticks integer|false
---@field ns_per_tick number
---@field timers table
---@field running integer|false
timer = {}

---@param name string
---@param fn fun(t: sluss.timer)
---@param nanoseconds number
---@param mode? "repeating"
---@return sluss.timer
function timer.new(name, fn, nanoseconds, mode) end
---@param t sluss.timer
function timer.activate(t) end
---@param t sluss.timer
---@return true? was_active
function timer.cancel(t) end
function timer.run() end
---@param ns number
function timer.run_to_time(ns) end
function timer.init() end

return timer
