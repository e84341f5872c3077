---@meta core.counter

---@class core.counter
---@field type string
local counter = {}

---@param name string
---@param initial? integer
---@return sluss.counter
function counter.create(name, initial) end
---Shows a counter that lies in a struct to other processes.
---@param name string
---@param value sluss.counter
function counter.publish(name, value) end
---@param name string
---@return sluss.counter
function counter.open(name) end
---@param name string
function counter.delete(name) end
function counter.commit() end
---@param c sluss.counter
---@param value integer
function counter.set(c, value) end
---@param c sluss.counter
---@param value? integer
function counter.add(c, value) end
---@param c sluss.counter
---@return integer
function counter.read(c) end

return counter
