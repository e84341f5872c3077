-- Native apps as classes: `require("sluss.apps").tee` is what `sluss apps` calls `tee`. Its argument is the table of its options.
local native = require("core.native")

local function run (self, turn)
   local ok, why = native.app_turn(self.native, turn)
   if not ok then error(why, 0) end
end

local Instance = {}
Instance.__index = Instance

-- Told by the engine when its links have changed: starts the app, or gives it its new links. Only the turns that it wants are methods.
function Instance:relink ()
   local function ends (ports)
      local names, links = {}, {}
      for name in pairs(ports) do
         if type(name) == "string" then names[#names + 1] = name end
      end
      table.sort(names)
      for i, name in ipairs(names) do links[i] = ports[name] end
      return names, links
   end
   local inputs, input_links = ends(self.input)
   local outputs, output_links = ends(self.output)
   local pull, push, tick = native.app_link(self.native, inputs, input_links, outputs, output_links)
   if pull == nil then error("app `"..self.appname.."`: "..push, 0) end
   self.pull = pull and function (app) run(app, "pull") end or nil
   self.push = push and #input_links > 0 and function (app) run(app, "push") end or nil
   self.tick = tick and function (app) run(app, "tick") end or nil
end

function Instance:stop () native.app_stop(self.native) end

-- Its counters, by name.
function Instance:counters () return native.app_counters(self.native) end

function Instance:report ()
   local counters = self:counters()
   local names = {}
   for name, value in pairs(counters) do
      if value > 0 then names[#names + 1] = name end
   end
   table.sort(names)
   for _, name in ipairs(names) do print(("%20s %s"):format(require("core.lib").comma_value(counters[name]), name)) end
   local text = native.app_report(self.native)
   if text then print(text) end
end

local function class (name)
   local c = {}
   function c:new (options)
      local handle, why = native.app_new(name, options or {})
      if not handle then error(why, 0) end
      return setmetatable({ native = handle, zone = "sluss."..name }, Instance)
   end
   return c
end

-- The names of all.
local apps = { types = function () return native.app_types() end }

return setmetatable(apps, { __index = function (t, name)
   for _, known in ipairs(native.app_types()) do
      if known == name then
         local c = class(name)
         rawset(t, name, c)
         return c
      end
   end
   error("there is no native app `"..tostring(name).."`: `sluss apps` lists them", 2)
end })
