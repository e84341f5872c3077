-- Links between processes: rings in shared memory, with one sender and one receiver each.
--
--     receiver                     sender
--     attach_receiver(name)        attach_transmitter(name)
--     empty(r), extract(r)         full(r), insert(r, p)
--     pull(r)                      push(r)
--     detach_receiver(r, name)     detach_transmitter(r, name)
--
-- What is inserted is seen by the other side after push(), and what is extracted makes room after pull(). A ring holds copies: insert()
-- frees the packet, and extract() allocates one. Either side may attach first, detach, and attach again; the last one to detach
-- removes the ring.

local ffi = require("ffi")
local shm = require("core.shm")
local lib = require("core.lib")
local packet = require("core.packet")
local C = ffi.C

ffi.cdef([[
   bool sluss_lua_cas (const int32_t *cell, int32_t old, int32_t new_);
   bool sluss_lua_interlink_full (void *ring);
   void sluss_lua_interlink_insert (void *ring, const void *packet);
   void sluss_lua_interlink_push (void *ring);
   bool sluss_lua_interlink_empty (void *ring);
   void sluss_lua_interlink_extract (void *ring, void *packet);
   void sluss_lua_interlink_pull (void *ring);
]])

local M = {}

-- The life of a ring. The sides take and leave it by exchanging one state for another.
local NEW, BEING_MADE, FREE, RECEIVER, SENDER, BOTH, GONE = 0, 1, 2, 3, 4, 5, 6

-- In bytes: that many packets of 500 bytes, at least six of the largest.
local function capacity (size)
   return math.max(size * 512, 65536)
end

-- The type of rings of a size, with the layout that the engine knows.
local ring_t = setmetatable({}, { __index = function (known, size)
   known[size] = ffi.typeof([[
      struct {
         int32_t state[1];
         uint32_t size;
         uint64_t capacity;
         uint8_t unused[48];
         struct { uint64_t published, private; uint8_t unused[48]; } receiver, sender;
         uint8_t memory[$];
      }
   ]], capacity(size))
   return known[size]
end })

local function move (r, from, to)
   return C.sluss_lua_cas(r.state, from, to)
end

-- Tries to attach by one of two changes of state until one is possible.
local function attach (name, size, alone, second)
   size = size or 1024
   assert(size > 0 and bit.band(size, size - 1) == 0, "size is not a power of two")
   local r
   local told = false
   lib.waitfor(function ()
      r = shm.create(name, ring_t[size])
      if move(r, NEW, BEING_MADE) then
         r.size, r.capacity = size, capacity(size)
         assert(move(r, BEING_MADE, FREE))
      end
      if move(r, FREE, alone) or move(r, second, BOTH) then return true end
      shm.unmap(r)
      if not told then
         print("interlink: waiting for "..name.." to become available...")
         told = true
      end
      return false
   end)
   assert(r.size == size, "interlink: queue size mismatch on: "..name)
   return r
end

function M.attach_receiver (name, size) return attach(name, size, RECEIVER, SENDER) end
function M.attach_transmitter (name, size) return attach(name, size, SENDER, RECEIVER) end

-- Leaves the ring to the other side, or removes it if that has left.
local function detach (r, name, alone, other)
   lib.waitfor(function ()
      if move(r, BOTH, other) then return true end
      if not move(r, alone, GONE) then return false end
      shm.unlink(name)
      return true
   end)
   shm.unmap(r)
end

function M.detach_receiver (r, name) detach(r, name, RECEIVER, SENDER) end
function M.detach_transmitter (r, name) detach(r, name, SENDER, RECEIVER) end

function M.full (r) return C.sluss_lua_interlink_full(r) end
function M.push (r) C.sluss_lua_interlink_push(r) end
function M.empty (r) return C.sluss_lua_interlink_empty(r) end
function M.pull (r) C.sluss_lua_interlink_pull(r) end

function M.insert (r, p)
   C.sluss_lua_interlink_insert(r, p)
   packet.free(p)
end

function M.extract (r)
   local p = packet.allocate()
   C.sluss_lua_interlink_extract(r, p)
   return p
end

return M
