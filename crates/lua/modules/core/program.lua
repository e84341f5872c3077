-- Running programs: files whose statements are the program, and modules with a function `run` that takes the arguments.
local native = require("core.native")
local program = {}

-- Whether the text of a file calls `module`, as modules of Lua 5.1 do at their beginning.
local function is_module (text) return text:match("^module%s*%(") or text:match("\n%s*module%s*%(") end

-- Lets modules beside a file be found.
local function look_beside (file)
   local folder = file:match("^(.*)/[^/]*$")
   if folder and folder ~= "." then package.path = folder.."/?.lua;"..folder.."/?/init.lua;"..package.path end
end

-- Runs a program's text; `name` is what messages call it.
function program.run (text, name, ...)
   local args = { ... }
   local file = name:sub(2)
   local chunk, why = loadstring(text:gsub("^#[^\n]*", ""), name)
   if not chunk then
      native.not_lua()
      error(why, 0)
   end
   if name:sub(1, 1) == "@" then look_beside(file) end
   main.parameters = args
   rawset(_G, "arg", { [0] = file, unpack(args) })
   local module
   if is_module(text) then
      local module_name = file:match("([^/]+)%.lua$") or file
      module = chunk(module_name) or package.loaded[module_name]
   else
      module = chunk(...)
   end
   if type(module) == "table" and type(module.run) == "function" then module.run(args) end
end

return program
