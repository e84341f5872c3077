-- The description of a graph of apps: which apps with which arguments, and which links.
local lib = require("core.lib")

local config = { link_syntax = [[ *([%w_]+)%.([%w_]+) *-> *([%w_]+)%.([%w_]+) *]] }

function config.new () return { apps = {}, links = {} } end

-- Adds an app: `class:new(arg)` will start it. A class that has a table `config` of parameters has its argument checked against it.
function config.app (c, name, class, arg)
   assert(type(name) == "string", "name must be a string")
   assert(type(class) == "table", "class must be a table")
   if class.config then
      local ok, result = pcall(config.parse_app_arg, arg, class.config)
      if not ok then error("failed to configure '"..name.."': "..tostring(result)) end
      arg = result
   end
   c.apps[name] = { class = class, arg = arg }
end

-- Adds a link, written as "from.output -> to.input".
function config.link (c, spec) c.links[config.canonical_link(spec)] = true end

function config.parse_link (spec)
   local from_app, from_port, to_app, to_port = spec:match("^"..config.link_syntax.."$")
   if not from_app then error("link parse error: "..spec) end
   return from_app, from_port, to_app, to_port
end

function config.format_link (from_app, from_port, to_app, to_port)
   return ("%s.%s -> %s.%s"):format(from_app, from_port, to_app, to_port)
end

function config.canonical_link (spec) return config.format_link(config.parse_link(spec)) end

-- Checks an argument, which may be Lua text, against a table of parameters.
function config.parse_app_arg (arg, parameters)
   if type(arg) == "string" then arg = lib.load_string(arg) end
   return lib.parse(arg, parameters)
end

-- The graph in the language of Graphviz.
function config.graphviz (c)
   local lines = { "digraph config {" }
   for spec in pairs(c.links) do
      local from_app, from_port, to_app, to_port = config.parse_link(spec)
      lines[#lines + 1] = ('  %s -> %s [taillabel="%s" headlabel="%s"]')
         :format(from_app:sub(1, 12), to_app:sub(1, 12), from_port, to_port)
   end
   lines[#lines + 1] = "}\n"
   return table.concat(lines, "\n")
end

return config
