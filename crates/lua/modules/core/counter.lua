-- Counters, 64 bits each. Apps change a copy in the process's own memory; `commit` writes it to a file under the folder of shared memory, which
-- other processes read. (The file of each counter is a page of its own; counting in there would use one cache set for all counters.)
local ffi = require("ffi")
local native = require("core.native")
local shm = require("core.shm")
local C, core = ffi.C, native.core

local counter = {}
local counter_t = ffi.typeof("struct counter")
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
   local publish = ffi.istype(counter_t, value) and C.sluss_counter_publish or C.sluss_sent_publish
   publish(core, value, public)
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

local shown = { __tostring = function (c) return require("core.lib").comma_value(counter.read(c)) end }
ffi.metatype(counter_t, shown)
ffi.metatype("struct sent_counter", shown)
shm.register("counter", counter)
return counter
