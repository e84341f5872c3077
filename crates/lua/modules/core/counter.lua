-- Counters, 64 bits each. Apps change a copy in the process's own memory; `commit` writes it to a file under the folder of shared memory, which
-- other processes read. (The file of each counter is a page of its own; counting in there would use one cache set for all counters.)
local ffi = require("ffi")
local native = require("core.native")
local shm = require("core.shm")
local C, core = ffi.C, native.core

local counter = {}
local counter_t = ffi.typeof("struct counter")
local sent_t = ffi.typeof("struct sent_counter")
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

local less_t, difference_t = ffi.typeof("uint64_t *"), ffi.typeof("int64_t")
-- Sets a counter of what a link was sent. What was received is computed from it, and stays what it is: see `core.link_h`.
local function set_sent (c, value)
   local before = c.c
   c.c = value
   local less = ffi.cast(less_t, c) - 2
   less[0] = less[0] + ffi.cast(difference_t, c.c - before)
end

function counter.set (c, value)
   if ffi.istype(sent_t, c) then set_sent(c, value) else c.c = value end
end
function counter.add (c, value)
   local sum = c.c + (value or 1)
   if ffi.istype(sent_t, c) then set_sent(c, sum) else c.c = sum end
end
function counter.read (c) return c.c + 0ULL end

local function shown (c) return require("core.lib").comma_value(counter.read(c)) end
ffi.metatype(counter_t, { __tostring = shown })
ffi.metatype(sent_t, { __tostring = shown })
ffi.metatype("struct dropped_counter", { __tostring = shown })

-- Makes a field `c` of counters whose value the function `read` computes, and `set` changes.
local function computed (type, read, set)
   local function index (c, key)
      if key ~= "c" then error("a counter has no field "..tostring(key), 2) end
      return read(c)
   end
   local function newindex (c, key, value)
      if key ~= "c" then error("a counter has no field "..tostring(key), 2) end
      set(c, value)
   end
   ffi.metatype(type, { __tostring = shown, __index = index, __newindex = newindex })
end
computed(received_packets_t, C.sluss_received_packets, C.sluss_received_packets_set)
computed(received_bytes_t, C.sluss_received_bytes, C.sluss_received_bytes_set)
shm.register("counter", counter)
return counter
