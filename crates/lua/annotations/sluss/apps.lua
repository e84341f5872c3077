---@meta sluss.apps

---Native apps as classes, by the name of their type: `require("sluss.apps").tee`.
---@class sluss.apps
---@field [string] sluss.class
local apps = {}

---The names of all.
---@return string[]
function apps.types() end

return apps
