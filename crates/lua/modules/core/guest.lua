-- One Lua app in a graph that is not Lua's: the engine outside moves packets between its own links and those of the app here.
local native = require("core.native")
local link = require("core.link")

local guest = {}
local class, instance

-- The class that a file returns, or that is its module's or its global variable of that name. Without a name, the file returns the class.
function guest.load (text, file, name, beside)
   if native.sandbox then
      class = require("core.sandbox").class(text, file, name)
      if not class then error(file.." has no class"..(name ~= "" and " `"..name.."`" or ": it returns none"), 0) end
      native.guest_roles(class.pull ~= nil, class.push ~= nil, class.tick ~= nil)
      return
   end
   package.path = beside..package.path
   local chunk, why = loadstring(text, "@"..file)
   if not chunk then error(why, 0) end
   local stem = file:match("([^/]+)%.lua$") or file
   local module = chunk(stem)
   if type(module) ~= "table" then module = package.loaded[stem] end
   if name ~= "" then
      class = type(module) == "table" and module[name] or rawget(_G, name)
      if type(class) ~= "table" then error(file.." has no class `"..name.."`", 0) end
   else
      class = module
      if type(class) ~= "table" then error(file.." returns no class: name one with `class`", 0) end
   end
   if type(class.new) ~= "function" then error(file..": the class has no function `new`", 0) end
   native.guest_roles(class.pull ~= nil, class.push ~= nil or class.push_link ~= nil, class.tick ~= nil)
end

-- An error says what is wrong with the options that the app is to be given.
function guest.check (args)
   local check = native.sandbox and class.check or class.config and function () require("core.config").parse_app_arg(args, class.config) end
   if not check then return end
   local ok, why = pcall(check, args)
   if not ok then error(why, 0) end
end

-- Starts the app, unless it runs, and gives it links for these ports.
function guest.link (name, args, inputs, outputs)
   local is_new = instance == nil
   if is_new then
      if class.config then args = require("core.config").parse_app_arg(args, class.config) end
      instance = class:new(args)
      assert(type(instance) == "table", "`new` returns no table")
      instance.appname, instance.input, instance.output = name, {}, {}
      engine.app_table[name] = instance
      if class.push_link then
         instance.push_link = {}
         for port, method in pairs(class.push_link) do instance.push_link[port] = method end
      end
      if instance.shm then instance.shm = require("core.shm").create_frame("apps/"..name, instance.shm) end
   end
   local ends = { input = {}, output = {} }
   for direction, ports in pairs { input = inputs, output = outputs } do
      for i, port in ipairs(ports) do
         local l = instance[direction][port]
         if not l then
            l = link.new(direction.."/"..port)
            instance[direction][port] = l
            table.insert(instance[direction], l)
            if instance.link then instance:link(direction, port) end
         end
         ends[direction][i] = l
      end
   end
   local pulls, pushes, ticks = {}, {}, {}
   if instance.pull then pulls[1] = { instance.pull, instance, false, name } end
   if instance.tick then ticks[1] = { instance.tick, instance, false, name } end
   for i, port in ipairs(inputs) do
      local own = instance.push_link and instance.push_link[port]
      local push = own or instance.push
      local is_repeated = not own and pushes[1] and pushes[#pushes][1] == push
      if push and not is_repeated then pushes[#pushes + 1] = { push, instance, ends.input[i], name } end
   end
   native.plan(pulls, pushes, ticks)
   native.guest_links(inputs, ends.input, outputs, ends.output)
end

function guest.stop ()
   if instance and instance.stop then instance:stop() end
end

return guest
