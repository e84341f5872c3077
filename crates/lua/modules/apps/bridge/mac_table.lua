-- The table of a learning bridge: at which port a MAC address was last seen.
--
-- An address is forgotten between one and two `timeout`s after it was last seen. A table that gets crowded is replaced by one of twice the
-- size. Where an address is looked up or inserted by a pointer to a pointer (`uint8_t *[1]`), the latter points to its six bytes.

require("lib.lua.class")
local ffi = require("ffi")
local bit = require("bit")
local lib = require("core.lib")
local timer = require("core.timer")
local logger = require("lib.logger")
local C = ffi.C

ffi.cdef([[
   typedef struct {
      uint32_t mask, period, overflows, taken;
      uint64_t key;
      struct { uint64_t address; uint16_t port, group; uint32_t period; } slots[?];
   } sluss_lua_mac_table;
   void sluss_lua_mac_table_insert (void *table, const uint8_t *mac, uint16_t port, uint16_t group);
   uint32_t sluss_lua_mac_table_lookup (void *table, const uint8_t *mac);
   void sluss_lua_mac_table_burst (void *table, void *packets, uint32_t count, uint16_t port, uint16_t group, uint16_t *destinations);
]])

local table_t = ffi.typeof("sluss_lua_mac_table")

local mac_table = subClass(nil)
mac_table._name = "mac table"
mac_table.FLOOD, mac_table.DISCARD = 0, 0xffff

local options = {
   size = { default = 256 },             -- addresses
   timeout = { default = 60 },           -- seconds
   verbose = { default = false },        -- log how full the table is, each timeout
   copy_on_resize = { default = true },  -- a larger table begins with the addresses of the one before
   resize_max = { default = 65536 },     -- the largest size
}

-- The power of two of at least twice the size.
local function buckets_for (size)
   return 2 ^ math.ceil(math.log(size * 2) / math.log(2))
end

local SLOTS_PER_BUCKET = 2 -- at most a quarter of the slots is used at the size that was asked for

local function allocate (self)
   local slots = buckets_for(self._size) * SLOTS_PER_BUCKET
   local t = table_t(slots)
   t.mask, t.period = slots - 1, 1
   ffi.copy(ffi.cast("uint8_t *", t) + ffi.offsetof(table_t, "key"), lib.random_bytes(8), 8)
   self._table = t
end

function mac_table:new (config)
   local o = mac_table:superClass().new(self)
   o._config = lib.parse(config, options)
   local size = o._config.size
   assert(type(size) == "number" and size > 0, "the size of a MAC table is a number above 0")
   o._size = math.min(size, o._config.resize_max)
   o._logger = logger.new({ module = "mac_table" })
   allocate(o)
   o._timer = timer.new("mac_table_timeout", function () o:timeout() end, o._config.timeout * 1e9, "repeating")
   timer.activate(o._timer)
   return o
end

-- Ends the ageing.
function mac_table:stop ()
   timer.cancel(self._timer)
end

-- Begins another period: addresses that were not seen in the one that ends, nor in it, are forgotten.
function mac_table:timeout ()
   if self._config.verbose then
      local info = self:info()
      self._logger:log(("%d MAC entries in %d buckets, target size %d, overflow: %s"):format(info.entries, info.buckets, info.size,
         tostring(self:overflow_p())))
   end
   self:maybe_resize()
   self._table.period = self._table.period + 1
end

-- Notes that the address at mem[0] is at a port; its group is 0 if it is in none.
function mac_table:insert (mem, port, group)
   C.sluss_lua_mac_table_insert(self._table, mem[0], port, group)
end

-- The port of the address at mem[0], and its group; or nil, nil.
function mac_table:lookup (mem)
   local found = C.sluss_lua_mac_table_lookup(self._table, mem[0])
   if found == 0 then return nil, nil end
   return bit.band(found, 0xffff), bit.rshift(found, 16)
end

-- For each of `count` packets (an array of pointers) that came in at a port: writes the port that it goes to, FLOOD or DISCARD to the array
-- `destinations`; and learns its source address.
function mac_table:burst (packets, count, port, group, destinations)
   C.sluss_lua_mac_table_burst(self._table, packets, count, port, group, destinations)
   -- Between the timeouts too: a table that is nearly full would flood what it knows no more.
   if self._table.taken * 4 > self._table.mask * 3 and self._size < self._config.resize_max then
      self:maybe_resize()
   end
end

-- Whether an address has not found a slot since the table was made.
function mac_table:overflow_p ()
   return self._table.overflows > 0
end

-- Takes a larger table if there are more addresses than its size, or one has not found a slot. Returns whether it has.
function mac_table:maybe_resize ()
   local info, max = self:info(), self._config.resize_max
   if info.entries <= self._size and not self:overflow_p() then
      return false
   end
   if self._size >= max then
      if self._logger:can_log() then
         self._logger:log(("can't grow table beyond resize limit %d"):format(max))
      end
      self._table.overflows = 0
      return false
   end
   local old = self._table
   repeat
      self._size = math.min(self._size * 2, max)
   until self._size >= math.min(info.entries, max)
   self._logger:log(("resizing from %d to %d hash buckets, new target size %d (%d MAC entries)"):format(info.buckets,
      buckets_for(self._size), self._size, info.entries))
   allocate(self)
   if self._config.copy_on_resize then
      local box = ffi.new("const uint8_t *[1]")
      for mac, port, group in self:iterator(old) do
         box[0] = mac
         self:insert(box, port, group)
      end
   end
   return true
end

local function is_current (t, slot)
   return slot.address ~= 0 and t.period - slot.period <= 1
end

-- `size`: for how many addresses; `buckets`: twice that or more; `mask`: one less; `entries`: addresses that are known; `load`: these for
-- each bucket.
function mac_table:info (t)
   t = t or self._table
   local entries = 0
   for i = 0, t.mask do
      if is_current(t, t.slots[i]) then entries = entries + 1 end
   end
   local buckets = (t.mask + 1) / SLOTS_PER_BUCKET
   return { size = self._size, buckets = buckets, mask = buckets - 1, ubuckets = entries, entries = entries, load = entries / buckets }
end

-- For loops over addresses: a pointer to six bytes, the port, the group.
function mac_table:iterator (t)
   t = t or self._table
   local i = -1
   return function ()
      while i < t.mask do
         i = i + 1
         local slot = t.slots[i]
         if is_current(t, slot) then
            return ffi.cast("const uint8_t *", slot), slot.port, slot.group
         end
      end
   end
end

return mac_table
