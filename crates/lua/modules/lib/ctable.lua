-- Hash tables whose keys and values are FFI types, stored in one piece of memory.
--
--     local ctable = require("lib.ctable")
--     local tab = ctable.new({ key_type = ffi.typeof("uint8_t[6]"), value_type = ffi.typeof("uint32_t[1]") })
--     tab:add(key, value)
--     local entry = tab:lookup_ptr(key)        -- entry.key, entry.value; valid until the table changes
--
-- Open addressing with linear probing, ordered by hash (Robin Hood hashing). The table of `size` slots is an array
-- of entries in the order of their hashes: hash h belongs at slot h * size / (2^32 - 1), and entries that do not find their slot free
-- stand behind it. An empty slot has the hash 2^32 - 1, which no key has. A search goes from the key's slot to the first
-- entry whose hash is not lower. `max_displacement` is the farthest that an entry has ever stood from its slot; the array is longer
-- than `size` by what that may become.

require("lib.lua.class")
local ffi = require("ffi")
local lib = require("core.lib")
local posix = require("lib.posix")
local siphash = require("lib.hash.siphash")
local C = ffi.C
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max

ffi.cdef([[
   int memcmp (const void *a, const void *b, size_t n);
   uint32_t sluss_lua_ctable_find (const void *entries, uint32_t entry_size, uint32_t index, uint32_t hash);
   void sluss_lua_ctable_find_many (const void *entries, uint32_t entry_size, double scale, const uint32_t *hashes, uint32_t count,
                                    uint32_t *indexes);
]])

local EMPTY = 0xffffffff

local M = {}
local CTable, LookupStreamer = {}, {}
CTable.__index, LookupStreamer.__index = CTable, LookupStreamer
M.CTable, M.LookupStreamer = CTable, LookupStreamer

-- Whether values of a type are Lua numbers or 64-bit integers rather than structs or arrays.
local function is_scalar (ctype)
   return tonumber(ffi.new(ctype)) ~= nil
end

-- One type for each pair of types, of a size that is a power of two.
local entry_types = {}
local function entry_type (key_type, value_type)
   local of_key = entry_types[tonumber(key_type)] or {}
   entry_types[tonumber(key_type)] = of_key
   local known = of_key[tonumber(value_type)]
   if not known then
      local used = 4 + ffi.sizeof(key_type) + ffi.sizeof(value_type)
      local size = 2 ^ ceil(math.log(used) / math.log(2))
      known = ffi.typeof("struct { uint32_t hash; $ key; $ value; uint8_t padding[$]; } __attribute__((packed))",
         key_type, value_type, size - used)
      of_key[tonumber(value_type)] = known
   end
   return known
end

-- How keys of a type are compared: as one integer, or as two, where that is possible.
local function equality (key_type)
   if is_scalar(key_type) then
      return function (a, b) return a == b end
   end
   local size = ffi.sizeof(key_type)
   local cast = ffi.cast
   local u16, u32, u64 = ffi.typeof("const uint16_t *"), ffi.typeof("const uint32_t *"), ffi.typeof("const uint64_t *")
   local whole = ({ [2] = u16, [4] = u32, [8] = u64 })[size]
   if whole then
      return function (a, b) return cast(whole, a)[0] == cast(whole, b)[0] end
   elseif size == 6 then
      return function (a, b)
         return cast(u32, a)[0] == cast(u32, b)[0] and cast(u16, a)[2] == cast(u16, b)[2]
      end
   end
   return function (a, b) return C.memcmp(a, b, size) == 0 end
end

local options = {
   key_type = { required = true }, value_type = { required = true },
   hash_seed = { default = false },
   initial_size = { default = 8 },
   max_occupancy_rate = { default = 0.9 }, min_occupancy_rate = { default = 0 },
   resize_callback = { default = false },
   max_displacement_limit = { default = 1 / 0 },
}

-- What a table is made with:
--   key_type, value_type       ctypes
--   hash_seed                  16 bytes, random by default; each resize takes another
--   initial_size               slots (8)
--   max_occupancy_rate         the table doubles beyond this share of used slots (0.9)
--   min_occupancy_rate         and halves below this one (0)
--   resize_callback            called with the table and its size before, after each resize
--   max_displacement_limit     how far from its slot an entry may get: less memory is taken then
function M.new (params)
   local ok, config = pcall(lib.parse, params, options)
   if not ok then error(config, 2) end
   local tab = setmetatable({
      key_type = config.key_type,
      entry_type = entry_type(config.key_type, config.value_type),
      equal_fn = equality(config.key_type),
      scalar_keys = is_scalar(config.key_type),
      size = 0, occupancy = 0, max_displacement = 0,
      max_occupancy_rate = config.max_occupancy_rate,
      min_occupancy_rate = config.min_occupancy_rate,
      resize_callback = config.resize_callback,
      max_displacement_limit = config.max_displacement_limit,
   }, CTable)
   tab.entry_size = ffi.sizeof(tab.entry_type)
   tab.type = ffi.typeof("$[?]", tab.entry_type)
   tab:reseed_hash_function(config.hash_seed)
   tab:resize(config.initial_size)
   return tab
end

local ROUNDS = { c = 1, d = 2 }

-- Takes `seed`, or a random one. With SNABB_RANDOM_SEED in the environment, one that is the same in every run, so that the
-- order of entries is.
function CTable:reseed_hash_function (seed)
   local fixed = lib.getenv("SNABB_RANDOM_SEED")
   seed = seed or fixed and siphash.sip_hash_key_from_seed(fixed) or siphash.random_sip_hash_key()
   self.hash_seed = seed
   local opts = { c = ROUNDS.c, d = ROUNDS.d, key = seed }
   if self.scalar_keys then
      self.hash_fn = siphash.make_u64_hash(opts)
   else
      opts.size = ffi.sizeof(self.key_type)
      self.hash_fn = siphash.make_hash(opts)
   end
end

-- Changes the number of slots. All entries stay, at other places.
function CTable:resize (size)
   assert(size >= self.occupancy / self.max_occupancy_rate and size == floor(size),
      "a size is a whole number, large enough for the entries that are there")
   local old_entries, old_size = self.entries, self.size
   local old_slots = old_size + self.max_displacement

   -- All entries could hash to the last slot. Twice the limit, since an insertion moves entries before it looks.
   local slots = min(size * 2, size + 2 * self.max_displacement_limit)
   self.byte_size = slots * self.entry_size
   self.memory = slots > 0 and posix.zeroed_memory(self.byte_size) or nil
   self.entries = ffi.cast(ffi.typeof("$ *", self.entry_type), self.memory)
   self.size, self.scale = size, size / EMPTY
   self.occupancy, self.max_displacement = 0, 0
   self.occupancy_hi = ceil(size * self.max_occupancy_rate)
   self.occupancy_lo = floor(size * self.min_occupancy_rate)
   for i = 0, slots - 1 do
      self.entries[i].hash = EMPTY
   end

   if old_size > 0 then self:reseed_hash_function() end
   for i = 0, old_slots - 1 do
      local entry = old_entries[i]
      if entry.hash ~= EMPTY then self:add(entry.key, entry.value) end
   end
   if self.resize_callback then self.resize_callback(self, old_size) end
end

-- In bytes.
function CTable:get_backing_size ()
   return self.byte_size
end

local function note_displacement (self, displacement)
   if displacement > self.max_displacement then
      assert(displacement <= self.max_displacement_limit, "an entry is too far from its slot")
      self.max_displacement = displacement
   end
end

local function store (entry, hash, key, value)
   entry.hash, entry.key, entry.value = hash, key, value
   return entry
end

-- The index of the first entry from the slot of `hash` on whose hash is not lower.
local function find (self, hash)
   return C.sluss_lua_ctable_find(self.entries, self.entry_size, floor(hash * self.scale), hash)
end

-- Adds an entry, or replaces the one of an equal key if `updates_allowed`; "required" demands that there is one. Returns
-- a pointer to the entry.
function CTable:add (key, value, updates_allowed)
   if self.occupancy + 1 > self.occupancy_hi then
      self:resize(max(self.size * 2, 1))
   end
   local hash = self.hash_fn(key)
   local entries = self.entries
   local index = find(self, hash)
   while entries[index].hash == hash do
      if self.equal_fn(key, entries[index].key) then
         assert(updates_allowed, "key is already present in ctable")
         return store(entries + index, hash, key, value)
      end
      index = index + 1
   end
   assert(updates_allowed ~= "required", "key not found in ctable")

   note_displacement(self, index - floor(hash * self.scale))
   -- Entries from here up to the next empty slot move by one: each has a hash not lower than this.
   local empty = index
   while entries[empty].hash ~= EMPTY do
      empty = empty + 1
   end
   for i = empty, index + 1, -1 do
      entries[i] = entries[i - 1]
      note_displacement(self, i - floor(entries[i].hash * self.scale))
   end
   self.occupancy = self.occupancy + 1
   return store(entries + index, hash, key, value)
end

-- Replaces the value of a key that is there.
function CTable:update (key, value)
   return self:add(key, value, "required")
end

-- A pointer to the entry of a key, with the fields `key` and `value`; or nil.
function CTable:lookup_ptr (key)
   if self.size == 0 then return nil end
   local hash = self.hash_fn(key)
   local entries = self.entries
   local index = find(self, hash)
   while entries[index].hash == hash do
      if self.equal_fn(key, entries[index].key) then return entries + index end
      index = index + 1
   end
   return nil
end

-- Copies the entry of a key to `entry`, of type `entry_type`. False if there is none.
function CTable:lookup_and_copy (key, entry)
   local found = self:lookup_ptr(key)
   if not found then return false end
   ffi.copy(entry, found, ffi.sizeof(entry))
   return true
end

-- Removes the entry at a pointer. Those behind it move up as far as their slots allow.
function CTable:remove_ptr (entry)
   local index = entry - self.entries
   assert(index >= 0 and index < self.size + self.max_displacement and entry.hash ~= EMPTY, "not an entry of this table")
   local entries, scale = self.entries, self.scale
   self.occupancy = self.occupancy - 1
   while entries[index + 1].hash ~= EMPTY and floor(entries[index + 1].hash * scale) <= index do
      entries[index] = entries[index + 1]
      index = index + 1
   end
   entries[index].hash = EMPTY
   if self.occupancy < self.occupancy_lo then
      self:resize(max(ceil(self.size / 2), 1))
   end
end

-- Removes the entry of a key, and returns true; or returns false if there is none and `missing_allowed`.
function CTable:remove (key, missing_allowed)
   local entry = self:lookup_ptr(key)
   if not entry then
      assert(missing_allowed, "key not found in ctable")
      return false
   end
   self:remove_ptr(entry)
   return true
end

-- For loops: `for entry in tab:iterate() do … end`, in the order of hashes.
function CTable:iterate ()
   local entries, slots = self.entries, self.size + self.max_displacement
   local function next_entry (_, entry)
      for i = entry - entries + 1, slots - 1 do
         if entries[i].hash ~= EMPTY then return entries + i end
      end
   end
   return next_entry, entries + slots, entries - 1
end

-- For walking over a table in steps: the first entry at an index from `offset` on and below `limit`. Returns its index and the
-- entry; the limit and nil if there is none; 0 and nil behind the end.
function CTable:next_entry (offset, limit)
   local slots = self.size + self.max_displacement
   if offset >= slots then return 0, nil end
   limit = min(limit or slots, slots)
   for i = offset, limit - 1 do
      if self.entries[i].hash ~= EMPTY then return i, self.entries + i end
   end
   return limit, nil
end

local header_t = ffi.typeof([[
   struct {
      uint32_t size, occupancy, max_displacement;
      uint8_t hash_seed[16];
      double max_occupancy_rate, min_occupancy_rate;
   }
]])

-- Writes the table to a stream, by its write_struct(ctype, value) and write_array(ctype, pointer, count).
function CTable:save (stream)
   stream:write_struct(header_t, header_t(self.size, self.occupancy, self.max_displacement, self.hash_seed,
      self.max_occupancy_rate, self.min_occupancy_rate))
   stream:write_array(self.entry_type, self.entries, self.size + self.max_displacement)
end

-- A table from a stream that save() has written, by its read_struct(nil, ctype) and read_array(pointer, ctype, count). `params` is as
-- for new(): what was saved replaces size, seed and rates.
function M.load (stream, params)
   local saved = stream:read_struct(nil, header_t)
   local copy = {}
   for name, value in pairs(params) do copy[name] = value end
   copy.hash_seed = ffi.new("uint8_t[16]")
   ffi.copy(copy.hash_seed, saved.hash_seed, 16)
   copy.initial_size = saved.size
   copy.max_occupancy_rate, copy.min_occupancy_rate = saved.max_occupancy_rate, saved.min_occupancy_rate
   local tab = M.new(copy)
   tab.occupancy = saved.occupancy
   note_displacement(tab, saved.max_displacement)
   stream:read_array(tab.entries, tab.entry_type, tab.size + tab.max_displacement)
   return tab
end

-- Checks that all entries stand where they must; an error says which does not. For tests.
function CTable:selfcheck ()
   local function check (condition, index, what)
      if not condition then error(("entry %s: %s"):format(tostring(index), what)) end
   end
   local count, before = 0, EMPTY
   for i = 0, self.size + self.max_displacement - 1 do
      local entry = self.entries[i]
      if entry.hash ~= EMPTY then
         local slot = floor(entry.hash * self.scale)
         check(self.hash_fn(entry.key) == entry.hash, i, "the hash is not that of the key")
         check(slot <= i and i - slot <= self.max_displacement, i, "too far from its slot")
         check(slot == i or before ~= EMPTY and before <= entry.hash, i, "not in the order of hashes")
         count = count + 1
      end
      before = entry.hash
   end
   check(count == self.occupancy, "count", "the table has "..count..", and not "..self.occupancy)
end

-- Prints all slots.
function CTable:dump ()
   for i = 0, self.size + self.max_displacement - 1 do
      local entry = self.entries[i]
      if entry.hash == EMPTY then
         io.write(i, ":\n")
      else
         io.write(("%d: hash: %d (distance: %d)\n    key: %s\n  value: %s\n"):format(i, entry.hash,
            i - floor(entry.hash * self.scale), tostring(entry.key), tostring(entry.value)))
      end
   end
end

-- An object that looks up `width` keys at once: set `entries[i].key`, call stream(), and ask is_found(i); `entries[i].value` is then the
-- value. It is valid until the table is resized. Keys must be structs or arrays.
function CTable:make_lookup_streamer (width)
   assert(width > 0 and width <= 262144, "Width value out of range: "..width)
   assert(not self.scalar_keys, "streaming lookup not available for scalar keys")
   local entries = self.type(width)
   return setmetatable({
      width = width, entries = entries, table = self,
      keys = ffi.cast("uint8_t *", entries) + ffi.offsetof(self.entry_type, "key"),
      hashes = ffi.new("uint32_t[?]", width), indexes = ffi.new("uint32_t[?]", width),
      multi_hash = siphash.make_multi_hash({ c = ROUNDS.c, d = ROUNDS.d, key = self.hash_seed, width = width,
         size = ffi.sizeof(self.key_type), stride = self.entry_size }),
   }, LookupStreamer)
end

function LookupStreamer:stream ()
   local entries, hashes, indexes, tab = self.entries, self.hashes, self.indexes, self.table
   local stored, equal = tab.entries, tab.equal_fn
   self.multi_hash(self.keys, hashes)
   C.sluss_lua_ctable_find_many(stored, tab.entry_size, tab.scale, hashes, self.width, indexes)
   for i = 0, self.width - 1 do
      local hash, index = hashes[i], indexes[i]
      local entry = entries[i]
      entry.hash = EMPTY
      while stored[index].hash == hash do
         if equal(stored[index].key, entry.key) then
            entry.hash, entry.value = hash, stored[index].value
            break
         end
         index = index + 1
      end
   end
end

function LookupStreamer:is_found (i)
   assert(i >= 0 and i < self.width)
   return self.entries[i].hash ~= EMPTY
end

function LookupStreamer:is_empty (i)
   return not self:is_found(i)
end

return M
