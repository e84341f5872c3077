-- MurmurHash3 (Austin Appleby, public domain): the 32-bit variant and the 128-bit one for 64-bit machines.
--
--     local murmur = require("lib.hash.murmur")
--     local hash = murmur.MurmurHash3_x86_32:new()
--     local value = hash:hash(data, length, seed).u32[0]
--
-- Not for keys that an attacker chooses: use lib.hash.siphash for those.

local ffi = require("ffi")
local bit = require("bit")
local base = require("lib.hash.base")
local band, bxor, bor, rol, rshift, lshift, tobit = bit.band, bit.bxor, bit.bor, bit.rol, bit.rshift, bit.lshift, bit.tobit

local bytes_t = ffi.typeof("const uint8_t *")
local words_t = ffi.typeof("const uint32_t *")
local longs_t = ffi.typeof("const uint64_t *")

local murmur = {}

-- 32 bits. Products are taken modulo 2^32, which 64-bit integers do exactly.
local x86_32 = subClass(base)
x86_32._name, x86_32._size = "MurmurHash3_x86_32", 32
murmur.MurmurHash3_x86_32 = x86_32

local LOW = 0xffffffffULL

local function mul32 (a, b)
   return band(a * b, LOW)
end

local function rol32 (a, n)
   return band(bor(lshift(a, n), rshift(a, 32 - n)), LOW)
end

local function scramble32 (k)
   return mul32(rol32(mul32(k, 0xcc9e2d51ULL), 15), 0x1b873593ULL)
end

function x86_32:hash (data, length, seed)
   local words = ffi.cast(words_t, data)
   local blocks = rshift(length, 2)
   local h = band((seed or 0) + 0ULL, LOW)
   for i = 0, blocks - 1 do
      h = rol32(bxor(h, scramble32(words[i] + 0ULL)), 13)
      h = band(h * 5 + 0xe6546b64ULL, LOW)
   end

   local tail, rest = ffi.cast(bytes_t, data) + 4 * blocks, band(length, 3)
   if rest > 0 then
      local k = tail[0] + 0ULL
      if rest > 1 then k = bor(k, lshift(tail[1] + 0ULL, 8)) end
      if rest > 2 then k = bor(k, lshift(tail[2] + 0ULL, 16)) end
      h = bxor(h, scramble32(k))
   end

   h = bxor(h, length + 0ULL)
   h = mul32(bxor(h, rshift(h, 16)), 0x85ebca6bULL)
   h = mul32(bxor(h, rshift(h, 13)), 0xc2b2ae35ULL)
   self.h.u32[0] = bxor(h, rshift(h, 16))
   return self.h
end

-- 128 bits.
local x64_128 = subClass(base)
x64_128._name, x64_128._size = "MurmurHash3_x64_128", 128
murmur.MurmurHash3_x64_128 = x64_128

local C1, C2 = 0x87c37b91114253d5ULL, 0x4cf5ad432745937fULL

local function scramble_low (k) return rol(k * C1, 31) * C2 end
local function scramble_high (k) return rol(k * C2, 33) * C1 end

local function finish64 (h)
   h = bxor(h, rshift(h, 33)) * 0xff51afd7ed558ccdULL
   h = bxor(h, rshift(h, 33)) * 0xc4ceb9fe1a85ec53ULL
   return bxor(h, rshift(h, 33))
end

-- The `n` (1 to 8) bytes at `p`, little end first.
local function load_tail (p, n)
   local k = 0ULL
   for i = n - 1, 0, -1 do
      k = bor(lshift(k, 8), p[i])
   end
   return k
end

function x64_128:hash (data, length, seed)
   local longs = ffi.cast(longs_t, data)
   local blocks = rshift(length, 4)
   local h1 = (seed or 0) + 0ULL
   local h2 = h1
   for i = 0, blocks - 1 do
      h1 = rol(bxor(h1, scramble_low(longs[2 * i])), 27) + h2
      h1 = h1 * 5 + 0x52dce729ULL
      h2 = rol(bxor(h2, scramble_high(longs[2 * i + 1])), 31) + h1
      h2 = h2 * 5 + 0x38495ab5ULL
   end

   local tail, rest = ffi.cast(bytes_t, data) + 16 * blocks, band(length, 15)
   if rest > 8 then
      h2 = bxor(h2, scramble_high(load_tail(tail + 8, rest - 8)))
      rest = 8
   end
   if rest > 0 then
      h1 = bxor(h1, scramble_low(load_tail(tail, rest)))
   end

   h1, h2 = bxor(h1, length + 0ULL), bxor(h2, length + 0ULL)
   h1 = h1 + h2
   h2 = h2 + h1
   h1, h2 = finish64(h1), finish64(h2)
   h1 = h1 + h2
   local h = self.h
   h.u64[0], h.u64[1] = h1, h2 + h1
   return h
end

return murmur
