-- What `sluss snsh` does for each of its options, and its prompt.
local native = require("core.native")
local shell = {}

-- Runs Lua text.
function shell.eval (text)
   local chunk, why = loadstring(text, "=(command line)")
   if not chunk then
      native.not_lua()
      error(why, 0)
   end
   chunk()
end

function shell.load (name) require(name) end

-- Runs the self-test of a module.
function shell.test (name)
   local module = require(name)
   local selftest = type(module) == "table" and rawget(module, "selftest")
   if not selftest then error("module `"..name.."` has no self-test", 0) end
   selftest()
end

function shell.path (path) package.path = path end

-- Runs `program.NAME.NAME` with arguments.
function shell.program (name, ...)
   name = require("core.main").modulename(name)
   main.parameters = { ... }
   require(name).run({ ... })
end

-- A flag of LuaJIT: `off`, `on`, `flush`, or a module, such as `v`, `dump` or `p`, with its arguments after `=`.
function shell.jit (flag)
   local name, args = flag:match("^([^=]*)=?(.*)$")
   if name == "on" or name == "off" or name == "flush" then
      jit[name]()
      return
   end
   local found, module = pcall(require, "jit."..name)
   if not found then error("LuaJIT has no module `jit."..name.."`", 0) end
   local given = {}
   for part in args:gmatch("[^,]+") do given[#given + 1] = part end
   module.start(unpack(given))
end

-- Reads lines and runs them until the input ends. A line may be a statement or an expression, whose values are printed.
function shell.repl ()
   while true do
      io.stdout:write("sluss> ")
      io.stdout:flush()
      local line = io.stdin:read("*l")
      if not line then
         io.stdout:write("\n")
         return
      end
      local chunk, why = loadstring("return "..line:gsub("^=", ""), "=stdin")
      if not chunk then chunk, why = loadstring(line, "=stdin") end
      if chunk then
         local results = { n = 0 }
         local function keep (ok, ...) results = { ok = ok, n = select("#", ...), ... } end
         keep(xpcall(chunk, function (e) return debug.traceback(tostring(e), 2) end))
         if results.ok then
            if results.n > 0 then print(unpack(results, 1, results.n)) end
         else
            io.stdout:write(tostring(results[1]), "\n")
         end
      else
         io.stdout:write(tostring(why), "\n")
      end
   end
end

return shell
