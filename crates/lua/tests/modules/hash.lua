-- lib.hash.*: published and pinned values, every size of input.
local ffi = require("ffi")
local bit = require("bit")
local murmur = require("lib.hash.murmur")
local siphash = require("lib.hash.siphash")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end

-- MurmurHash3: the verification value that its author publishes is the hash of the hashes of keys of all lengths.
for name, expected in pairs({ MurmurHash3_x86_32 = 0xB0F57EE3, MurmurHash3_x64_128 = 0x6384BA69 }) do
   local hash = murmur[name]:new()
   local size = hash:size() / 8
   local key, hashes = ffi.new("uint8_t[256]"), ffi.new("uint8_t[?]", 256 * size)
   for i = 0, 255 do
      key[i] = i
      ffi.copy(hashes + i * size, hash:hash(key, i, 256 - i), size)
   end
   eq(hash:hash(hashes, 256 * size).u32[0], expected)
   eq(hash:name(), name)
   eq(hash:hash(key, 5, 7ULL).u8[0], bit.band(hash:hash(key, 5, 7).u32[0], 255))
end
assert(not pcall(function () return require("lib.hash.base"):new() end))

-- SipHash-2-4 of the paper, appendix A: key 00..0f, input 00..0e, a129ca6149be45e5. `standard` gives the low half.
local key = ffi.new("uint8_t[16]")
for i = 0, 15 do key[i] = i end
local input = ffi.new("uint8_t[64]")
for i = 0, 63 do input[i] = i end
eq(siphash.make_hash({ size = 15, key = key, standard = true })(input), 0x49be45e5)
eq(siphash.make_hash({ size = 15, key = key, as_specified = true })(input), bit.band(0xa129ca61, 0x7fffffff) * 2)

-- All sizes, with what was seen once.
local sum = 0
for size = 1, 40 do
   for _, rounds in ipairs({ { 1, 2 }, { 2, 4 } }) do
      for _, as_specified in ipairs({ true, false }) do
         local hash = siphash.make_hash({ size = size, key = key, c = rounds[1], d = rounds[2], as_specified = as_specified })
         local value = hash(input)
         assert(value >= 0 and value < 0xffffffff and value % 2 == 0)
         sum = (sum * 31 + value) % 2^40
      end
   end
end
eq(sum, 673918418390)

-- Integers, many at once, and the stride.
local number = ffi.new("uint64_t[1]", 0x123456789abcdef0ULL)
local opts = { c = 1, d = 2, key = key }
eq(siphash.make_u64_hash(opts)(number[0]), siphash.make_hash({ size = 8, c = 1, d = 2, key = key })(number))
eq(siphash.make_u64_hash(opts)(42), siphash.make_hash({ size = 8, c = 1, d = 2, key = key })(ffi.new("uint64_t[1]", 42)))
for _, width in ipairs({ 1, 2, 3, 4, 7, 8, 16 }) do
   local one = siphash.make_hash({ size = 3, key = key })
   local many = siphash.make_multi_hash({ size = 3, key = key, width = width, stride = 4 })
   local out = ffi.new("uint32_t[?]", width)
   many(input, out)
   for i = 0, width - 1 do eq(out[i], one(input + 4 * i)) end
end
eq(ffi.sizeof(siphash.random_sip_hash_key()), 16)
eq(siphash.sip_hash_key_from_seed("258")[1], 1)
-- Another key, another hash.
local random = siphash.random_sip_hash_key
assert(siphash.make_hash({ size = 8, key = random() })(input) ~= siphash.make_hash({ size = 8, key = random() })(input))
assert(siphash.make_hash({ size = 8 })(input) < 0xffffffff)
print("hash ok")
