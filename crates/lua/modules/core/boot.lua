-- The first code that a state runs: how modules are found, the environment that programs expect, and how errors are told. It is given the native
-- functions and what the command line says.
local native = ...

-- LuaJIT's own limits are for small programs. With these, programs with many apps stay compiled.
require("jit.opt").start("maxtrace=10000", "maxrecord=10000", "maxirconst=10000", "maxside=1000", "maxsnap=2000", "maxmcode=8192")

-- Snabb's own virtual machine writes profiles and logs; for programs that turn these on or off, there is nothing to do.
local function nothing () end
jit.vmprofile = { start = nothing, stop = nothing, open = nothing, select = nothing }
jit.auditlog = nothing

local ffi = require("ffi")
local tree = native.tree    -- A folder with Snabb's sources, or nil.

-- Modules whose text is in the executable.
local function embedded (name)
   local text, file = native.module(name)
   if text then return assert(loadstring(text, "@"..file)) end
end

-- What is here in a way of its own stays so, whatever else there is of that name: by the first part of names.
local own_parts = { core = true, jit = true, ndpi = true }
local function own_core (name)
   if own_parts[name:match("^[^.]*")] then
      return embedded(name) or "\n\tno module '"..name.."' in the engine"
   end
end

local function own (name) return embedded(name) or "\n\tno module '"..name.."' in the executable" end

table.insert(package.loaders, 2, own_core)
table.insert(package.loaders, 3, own)
-- Snabb's own module goes before ours of the same name: its programs know it.
if tree then table.insert(package.loaders, 3, embedded("core.tree")()(native, tree)) end

package.preload["core.native"] = function ()
   return assert(embedded("core.native"))(native)
end

-- Error values that are not text are shown as text.
function assert (value, ...)
   if value then return value, ... end
   error(tostring((...) or "assertion failed!"), 2)
end

-- The folder of shared memory goes with the process.
function os.exit (status)
   if status == nil or status == true then status = 0 elseif status == false then status = 1 end
   native.exit(status)
end

-- With Snabb's tree, `syscall` declares first what others then refer to, as there.
if tree then require("syscall") end
require("core.lib_h")
require("core.clib_h")
ffi.cdef[[ extern int argc; extern char **argv; ]]
developer_debug = os.getenv("SNABB_DEBUG") ~= nil

package.path = native.path

-- Modules can be reached by their path, as those of Lua 5.1.
core = setmetatable({}, { __index = function (_, name) return package.loaded["core."..name] end })
config = require("core.config")
engine = require("core.app")
memory = require("core.memory")
link = require("core.link")
packet = require("core.packet")
timer = require("core.timer")
timeline = require("core.timeline")
main = require("core.main")
require("core.lib").randomseed(require("core.lib").getenv("SNABB_RANDOM_SEED"))

-- What Snabb's programs expect besides. With `strict`, a variable that was never set is an error.
for _, name in ipairs { "lib.lua.class", "lib.lua.strict" } do
   if require("core.lib").have_module(name) then require(name) end
end

if native.sandbox then require("core.sandbox") end
