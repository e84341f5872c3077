-- lib.ctable and lib.cltable: against a Lua table, through growth, shrinking, removal, streams of lookups, saving.
local ffi = require("ffi")
local bit = require("bit")
local ctable = require("lib.ctable")
local cltable = require("lib.cltable")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end

local key_t, value_t = ffi.typeof("uint32_t[1]"), ffi.typeof("int32_t[6]")
local k, v = key_t(), value_t()
local function pair (i)
   k[0] = i
   for j = 0, 5 do v[j] = bit.bnot(i) end
   return k, v
end

-- 20,000 entries that grow from 8 slots.
local resizes = 0
local tab = ctable.new({ key_type = key_t, value_type = value_t, max_occupancy_rate = 0.4,
                         resize_callback = function (t, old) resizes = resizes + 1; assert(t.size ~= old) end })
for i = 1, 20000 do tab:add(pair(i)) end
tab:selfcheck()
eq(tab.occupancy, 20000)
assert(tab.size == 65536 and resizes == 14 and tab.max_displacement < 40)
for i = 1, 20000 do eq(tab:lookup_ptr((pair(i))).value[3], bit.bnot(i)) end
for i = 20001, 20500 do eq(tab:lookup_ptr((pair(i))), nil) end
eq(tab:get_backing_size() >= 65536 * 32, true)
eq(ffi.sizeof(tab.entry_type), 32)

-- Updates, removals
assert(fails(tab.add, tab, pair(1)))
v[0] = 77
tab:add(k, v, true); eq(tab:lookup_ptr(k).value[0], 77); eq(tab.occupancy, 20000)
tab:update(k, v)
assert(fails(tab.update, tab, pair(99999)))
local entry = tab.entry_type()
for i = 1, 20000, 7 do
   assert(tab:lookup_and_copy((pair(i)), entry) and entry.key[0] == i)
   assert(tab:remove(entry.key))
   eq(tab:lookup_ptr(entry.key), nil)
end
tab:selfcheck()
assert(fails(tab.remove, tab, (pair(1))) and tab:remove((pair(1)), true) == false and not tab:lookup_and_copy(k, entry))
local seen, sum = 0, 0
for e in tab:iterate() do seen = seen + 1; sum = sum + e.key[0] end
eq(seen, tab.occupancy); eq(seen, 20000 - 2858)
local at, found, again = 0, nil, 0
repeat
   at, found = tab:next_entry(at, at + 1000)
   if found then again = again + found.key[0]; at = at + 1 end
until at == 0 and not found
eq(again, sum)

-- Streams of lookups
for _, width in ipairs({ 1, 2, 5, 32, 256 }) do
   local streamer = tab:make_lookup_streamer(width)
   for base = 1, 600, width do
      for i = 0, width - 1 do streamer.entries[i].key[0] = base + i end
      streamer:stream()
      for i = 0, width - 1 do
         local there = (base + i - 1) % 7 ~= 0
         eq(streamer:is_found(i), there); eq(streamer:is_empty(i), not there)
         if there then eq(streamer.entries[i].value[5], bit.bnot(base + i)) end
      end
   end
end
assert(fails(tab.make_lookup_streamer, tab, 0))

-- Saved and loaded
local stream = { parts = {}, at = 0 }
function stream:write_struct (t, value) self:write_array(t, ffi.cast(ffi.typeof("$ *", t), value), 1) end
function stream:write_array (t, pointer, count) table.insert(self.parts, ffi.string(pointer, ffi.sizeof(t) * count)) end
function stream:read_struct (_, t) local x = t(); self:read_array(x, t, 1); return x end
function stream:read_array (to, t, count)
   local text = table.remove(self.parts, 1)
   eq(#text, ffi.sizeof(t) * count)
   ffi.copy(to, text, #text)
end
tab:save(stream)
local loaded = ctable.load(stream, { key_type = key_t, value_type = value_t })
loaded:selfcheck()
eq(loaded.occupancy, tab.occupancy); eq(loaded:lookup_ptr((pair(3))).value[0], bit.bnot(3)); eq(loaded.max_occupancy_rate, 0.4)

-- Shrinking
local small = ctable.new({ key_type = key_t, value_type = value_t, initial_size = 64, min_occupancy_rate = 0.25 })
for i = 1, 40 do small:add(pair(i)) end
for i = 1, 30 do small:remove((pair(i))) end
small:selfcheck()
assert(small.size == 32 and small.occupancy == 10 and small:lookup_ptr((pair(35))))

-- Keys of other sizes, and numbers
for _, of in ipairs({ "uint16_t[1]", "uint8_t[3]", "uint16_t[3]", "uint32_t[2]", "uint32_t[3]", "uint8_t[16]" }) do
   local t = ffi.typeof(of)
   local table_of = ctable.new({ key_type = t, value_type = ffi.typeof("uint32_t") })
   local key = t()
   for i = 0, 99 do ffi.cast("uint8_t *", key)[0] = i; table_of:add(key, i) end
   for i = 0, 99 do ffi.cast("uint8_t *", key)[0] = i; eq(table_of:lookup_ptr(key).value, i) end
   table_of:selfcheck()
end
local numbers = ctable.new({ key_type = ffi.typeof("uint32_t"), value_type = ffi.typeof("double") })
for i = 0, 99 do numbers:add(i, i / 2) end
eq(numbers:lookup_ptr(7).value, 3.5); eq(numbers:lookup_ptr(100), nil)
assert(fails(numbers.make_lookup_streamer, numbers, 4))
local longs = ctable.new({ key_type = ffi.typeof("uint64_t"), value_type = ffi.typeof("uint8_t") })
longs:add(0x123456789abcULL, 9); eq(longs:lookup_ptr(0x123456789abcULL).value, 9)

-- One seed, one order
local function order (seed)
   local t = ctable.new({ key_type = key_t, value_type = value_t, hash_seed = seed, initial_size = 64 })
   for i = 1, 20 do t:add(pair(i)) end
   local list = {}
   for e in t:iterate() do table.insert(list, e.key[0]) end
   return table.concat(list, ",")
end
local seed = ffi.new("uint8_t[16]", 3)
eq(order(seed), order(seed))
eq(order(seed), "19,16,2,18,15,13,20,17,1,6,3,5,7,14,8,9,11,4,10,12")

assert(fails(ctable.new, { key_type = key_t }))
assert(fails(ctable.new, { key_type = key_t, value_type = value_t, colour = 1 }))

-- cltable
local names = cltable.new({ key_type = ffi.typeof("uint8_t[4]") })
local address = ffi.new("uint8_t[4]")
local function at_address (i) address[3] = i; return address end
for i = 0, 99 do names[at_address(i)] = "n"..i end
for i = 0, 99 do eq(names[at_address(i)], "n"..i) end
names[at_address(5)] = "five"; names[at_address(6)] = nil; names[at_address(200)] = nil
eq(names[at_address(5)], "five"); eq(names[at_address(6)], nil)
names[at_address(201)] = false; eq(names[at_address(201)], false)
local n = 0
for key, value in cltable.pairs(names) do n = n + 1; if key[3] == 5 then eq(value, "five") end end
eq(n, 100)
assert(fails(cltable.new, { key_type = key_t, value_type = key_t }))
print("ctable ok")
