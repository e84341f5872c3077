-- Counters, 64 bits each. Apps change a copy in the process's own memory; `commit` writes it to a file under the folder of shared memory, which
-- other processes read. (The file of each counter is a page of its own; counting in there would use one cache set for all counters.)
local ffi = require("ffi")
local native = require("core.native")
local shm = require("core.shm")
local C, core = ffi.C, native.core

local counter = {}
local counter_t = ffi.typeof("struct counter")
-- Counters of a link that are computed when they are read.
local received_packets_t = ffi.typeof("struct received_packets")
local received_bytes_t = ffi.typeof("struct received_bytes")
-- By name: what `create` and `open` have returned, the mapped memory, and, where it is ours, what is copied there.
local known = {}

counter.type = "counter"

function counter.create (name, initial)
   local entry = known[name]
   if not entry then
      local public = shm.create(name, counter_t)
      local own = C.sluss_counter_new(core)
      C.sluss_counter_publish(core, own, public)
      entry = { value = own[0], public = public, own = own }
      known[name] = entry
      if initial then entry.value.c = initial end
   end
   return entry.value
end

-- Shows a counter that lies in a struct to other processes.
function counter.publish (name, value)
   local public = shm.create(name, counter_t)
   if ffi.istype(received_packets_t, value) then
      C.sluss_received_packets_publish(core, value, public)
   elseif ffi.istype(received_bytes_t, value) then
      C.sluss_received_bytes_publish(core, value, public)
   elseif ffi.istype(counter_t, value) then
      C.sluss_counter_publish(core, value, public)
   else
      C.sluss_sent_publish(core, value, public)
   end
   known[name] = { value = value, public = public, part = value }
end

function counter.open (name)
   local entry = known[name]
   if not entry then
      local public = shm.open(name, counter_t, "readonly")
      entry = { value = public, public = public }
      known[name] = entry
   end
   return entry.value
end

function counter.delete (name)
   local entry = known[name]
   if not entry then error("counter not found for deletion: "..name) end
   known[name] = nil
   if entry.own then C.sluss_counter_delete(core, entry.own) end
   if entry.part then C.sluss_counter_unpublish(core, entry.part) end
   shm.unmap(entry.public)
   if entry.own or entry.part then shm.unlink(name) end
end

-- Writes what was counted to where other processes read it.
function counter.commit () C.sluss_counter_commit(core) end

function counter.set (c, value) c.c = value end
function counter.add (c, value) c.c = c.c + (value or 1) end
function counter.read (c) return c.c + 0ULL end

local function shown (c) return require("core.lib").comma_value(counter.read(c)) end
ffi.metatype(counter_t, { __tostring = shown })
ffi.metatype("struct sent_counter", { __tostring = shown })

-- Makes a field `c` of counters whose value the function `read` computes.
local function computed (type, read)
   local function index (c, key)
      if key ~= "c" then error("a counter has no field "..tostring(key), 2) end
      return read(c)
   end
   local function newindex (c, key, value)
      if key ~= "c" then error("a counter has no field "..tostring(key), 2) end
      c.less = c.less + read(c) - value
   end
   ffi.metatype(type, { __tostring = shown, __index = index, __newindex = newindex })
end
computed(received_packets_t, C.sluss_received_packets)
computed(received_bytes_t, C.sluss_received_bytes)
shm.register("counter", counter)
return counter
