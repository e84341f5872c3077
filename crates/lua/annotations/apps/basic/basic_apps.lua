---@meta apps.basic.basic_apps

---@class apps.basic.basic_apps
---@field Source sluss.class Sends packets on all outputs.
---@field Sink sluss.class Frees what comes.
---@field Tee sluss.class Copies to all outputs.
---@field Join sluss.class Many inputs to one output.
---@field Split sluss.class Spreads over outputs.
---@field Repeater sluss.class Sends again and again what it was given.
---@field Truncate sluss.class
---@field Sample sluss.class
local basic_apps = {}

return basic_apps
