-- Workers: processes of their own that run Lua code with an engine of their own. They end when this process ends.
local native = require("core.native")
local shm = require("core.shm")

local worker = {}
local children = {}

local function child (name) return children[name] or error("no such child: "..tostring(name)) end

-- Starts a process that runs Lua code. Returns its process id.
function worker.start (name, code)
   shm.mkdir(shm.resolve("group"))
   local pid, why = native.spawn(tostring(name), code)
   if not pid then error("worker: "..tostring(name)..": "..why) end
   children[name] = { pid = pid }
   return pid
end

function worker.stop (name) native.kill(child(name).pid) end

-- For each worker its `pid`, whether it is `alive`, and the `status` that it ended with.
function worker.status ()
   local status = {}
   for name, info in pairs(children) do
      local ended, code = native.wait(info.pid)
      if ended then info.code = code end
      status[name] = { pid = info.pid, alive = info.code == nil, status = info.code }
   end
   return status
end

return worker
