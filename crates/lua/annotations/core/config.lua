---@meta core.config

---@class core.config
---@field link_syntax string
config = {}

---@return sluss.config
function config.new() end
---@param c sluss.config
---@param name string
---@param class sluss.class
---@param arg? any
function config.app(c, name, class, arg) end
---Adds a link.
---@param c sluss.config
---@param spec string "from.output -> to.input"
function config.link(c, spec) end
---@param spec string
---@return string from_app
---@return string from_port
---@return string to_app
---@return string to_port
function config.parse_link(spec) end
---@param from_app string
---@param from_port string
---@param to_app string
---@param to_port string
---@return string spec
function config.format_link(from_app, from_port, to_app, to_port) end
---@param spec string
---@return string spec
function config.canonical_link(spec) end
---@param arg any
---@param parameters table
---@return table
function config.parse_app_arg(arg, parameters) end
---@param c sluss.config
---@return string
function config.graphviz(c) end

return config
