---@meta core.worker

---@class core.worker
local worker = {}

---@param name string
---@param code string
---@return integer pid
function worker.start(name, code) end
---@param name string
function worker.stop(name) end
---@return table<string, { pid: integer, alive: boolean, status: integer? }>
function worker.status() end

return worker
