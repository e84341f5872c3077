-- SipHash (Aumasson and Bernstein, 2012): keyed, hence safe where an attacker chooses what is hashed. Functions are made
-- for one size of input each.
--
--     local hash = siphash.make_hash({ size = 16, key = siphash.random_sip_hash_key() })
--     local value = hash(pointer)             -- of the 16 bytes there, an even number below 2^32 - 1
--
-- Options: `size` in bytes; `key`, 16 bytes, random by default; `c` and `d`, rounds for each 8 bytes and at the end (2 and 4);
-- `as_specified`: append the length, as the paper does, which inputs of one size do not need; `standard`: as_specified,
-- and the result is the low 32 bits of the paper's hash rather than bits 32 to 62; for make_multi_hash also `width`, the number of inputs,
-- and `stride`, the distance between them in bytes (the size by default).

local ffi = require("ffi")
local bit = require("bit")
local lib = require("core.lib")

local M = {}

local keys_t = ffi.typeof("const uint64_t *")
local bytes_t = ffi.typeof("const uint8_t *")

function M.random_sip_hash_key ()
   return lib.random_bytes(16)
end

-- A key that is made from a number, for tests that must be repeatable.
function M.sip_hash_key_from_seed (seed)
   local key = ffi.new("uint8_t[16]")
   ffi.cast("uint32_t *", key)[0] = assert(tonumber(seed))
   return key
end

local options = {
   size = { required = true }, key = { default = false },
   c = { default = 2 }, d = { default = 4 },
   as_specified = { default = false }, standard = { default = false },
   width = { default = 1 }, stride = {},
}

local round = [[
   v0 = v0 + v1; v1 = bxor(rol(v1, 13), v0); v0 = rol(v0, 32)
   v2 = v2 + v3; v3 = bxor(rol(v3, 16), v2)
   v0 = v0 + v3; v3 = bxor(rol(v3, 21), v0)
   v2 = v2 + v1; v1 = bxor(rol(v1, 17), v2); v2 = rol(v2, 32)
]]

-- Lua expressions for the last, incomplete block of `size` bytes at `p`; nil if there is none.
local function last_block (size, as_specified)
   local whole, rest = size - size % 8, size % 8
   local terms = {}
   if as_specified then
      for i = 0, rest - 1 do
         table.insert(terms, ("lshift(p[%d] + 0ULL, %d)"):format(whole + i, 8 * i))
      end
      table.insert(terms, ("0x%x00000000000000ULL"):format(size % 256))
   elseif rest == 0 then
      return nil
   else
      -- The widest loads that fit, each shifted in behind the ones before.
      local at, shift = whole, 8 * rest
      for _, load in ipairs({ { 4, "u32" }, { 2, "u16" }, { 1, "u8" } }) do
         local width, name = load[1], load[2]
         if bit.band(rest, width) ~= 0 then
            shift = shift - 8 * width
            table.insert(terms, ("lshift(ffi.cast(%s, p + %d)[0] + 0ULL, %d)"):format(name, at, shift))
            at = at + width
         end
      end
   end
   return #terms == 1 and terms[1] or "bor("..table.concat(terms, ", ")..")"
end

-- The source of the hash of the blocks that `blocks` gives as Lua expressions.
local function body (blocks, opts)
   local lines = { "local v0, v1, v2, v3 = V0, V1, V2, V3\nlocal m\n" }
   for _, block in ipairs(blocks) do
      table.insert(lines, ("m = %s\nv3 = bxor(v3, m)\n%sv0 = bxor(v0, m)\n"):format(block, round:rep(opts.c)))
   end
   table.insert(lines, "v2 = bxor(v2, 0xff)\n"..round:rep(opts.d).."v0 = bxor(v0, v1, v2, v3)\n")
   -- The table of lib.ctable marks empty entries with 2^32 - 1: the lowest bit is always 0.
   table.insert(lines, opts.standard and "return tonumber(band(v0, 0xffffffffULL))\n" or "return tonumber(band(rshift(v0, 31), 0xfffffffeULL))\n")
   return table.concat(lines)
end

local template = [[
local ffi, bit, V0, V1, V2, V3 = ...
local band, bor, bxor, rol, lshift, rshift, tonumber = bit.band, bit.bor, bit.bxor, bit.rol, bit.lshift, bit.rshift, tonumber
local bytes, u64 = ffi.typeof("const uint8_t *"), ffi.typeof("const uint64_t *")
local u32, u16, u8 = ffi.typeof("const uint32_t *"), ffi.typeof("const uint16_t *"), bytes
local uint64 = ffi.typeof("uint64_t")
return function (p)
PROLOGUE
BODY
end
]]

local function compile (prologue, blocks, opts)
   local key = ffi.cast(keys_t, opts.key)
   local source = template:gsub("PROLOGUE", prologue):gsub("BODY", function () return body(blocks, opts) end)
   return assert(loadstring(source, ("=siphash of %d bytes"):format(opts.size)))(ffi, bit,
      bit.bxor(0x736f6d6570736575ULL, key[0]), bit.bxor(0x646f72616e646f6dULL, key[1]),
      bit.bxor(0x6c7967656e657261ULL, key[0]), bit.bxor(0x7465646279746573ULL, key[1]))
end

local function parse (opts)
   opts = lib.parse(opts, options)
   if opts.standard then opts.as_specified = true end
   opts.key = opts.key or M.random_sip_hash_key()
   return opts
end

-- A function from a pointer to `size` bytes to their hash.
function M.make_hash (opts)
   opts = parse(opts)
   local blocks = {}
   for i = 0, math.floor(opts.size / 8) - 1 do
      table.insert(blocks, ("ffi.cast(u64, p)[%d]"):format(i))
   end
   table.insert(blocks, last_block(opts.size, opts.as_specified))
   return compile("p = ffi.cast(bytes, p)", blocks, opts)
end

-- A function from a 64-bit integer to its hash, the same as that of a pointer to it.
function M.make_u64_hash (opts)
   local copy = {}
   for name, value in pairs(opts) do copy[name] = value end
   copy.size = 8
   copy = parse(copy)
   assert(not copy.as_specified, "a hash of integers does not append the length")
   return compile("p = ffi.cast(uint64, p)", { "p" }, copy)
end

-- A function (input, output) that hashes `width` inputs, `stride` bytes apart, into an array of uint32_t.
function M.make_multi_hash (opts)
   opts = parse(opts)
   assert(not opts.standard, "a hash of many inputs has no standard form")
   local width, stride = opts.width, opts.stride or opts.size
   opts.width, opts.stride = nil, nil
   local hash = M.make_hash(opts)
   return function (input, output)
      local p = ffi.cast(bytes_t, input)
      for i = 0, width - 1 do
         output[i] = hash(p + i * stride)
      end
   end
end

return M
