-- Accessors of header fields, made from a table that says where each field is.
--
--     fields.define(udp, [[
--        src_port   u16   src_port  returns
--        version    bits  first_word:16 0 4
--     ]])
--
-- defines udp:src_port([value]) and so on. A line is: method, kind, member of the struct; kinds:
--
--     u8 u16 u32      a number, in network byte order in memory and in the host's in Lua
--     bits            `member:size offset count`: count bits at the offset from the most significant bit of a 16- or 32-bit member
--     flag            as bits, one bit that also takes true and false
--     bytes           `member count`: an array; the value may be an array or a string; also defines method_eq(bytes)
--
-- Without a value an accessor returns the field; with one it sets the field and returns nothing, or, with `returns` at
-- the end of the line, the field. Each accessor is source text of its own, so that LuaJIT sees constant names and masks.

local ffi = require("ffi")
local bit = require("bit")
local lib = require("core.lib")

ffi.cdef("int memcmp (const void *a, const void *b, size_t n);")

local convert = {
   u8  = { get = "%s",        set = "%s" },
   u16 = { get = "ntohs(%s)", set = "htons(%s)" },
   u32 = { get = "ntohl(%s)", set = "htonl(%s)" },
}

local prelude = [[
local ffi, C, ntohs, ntohl, band, bor, lshift, rshift = ...
local copy, htons, htonl = ffi.copy, ntohs, ntohl
return function (class)
]]

-- The source of one accessor: what it does to set the field, the field as a value, and whether `value` asks to set it.
local function accessor (method, set, get, test, returns)
   return ([[
function class:%s (value)
   local h = self._header.box[0]
   if %s then
      %s
      %s
   end
   return %s
end
]]):format(method, test, set, returns and "" or "do return end", get)
end

-- `member` behind dots works too: `h.protocol`.
local function numeric (kind, member)
   local field = "h."..member
   return field.." = "..convert[kind].set:format("value"), convert[kind].get:format(field), "value ~= nil"
end

local function bits (member, offset, count, value)
   local name, size = member:match("^([%w_.]+):(%d+)$")
   local kind = "u"..size
   local shift = size - offset - count
   local mask = 2^count - 1
   local field = "h."..name
   local old = convert[kind].get:format(field)
   local keep = bit.bnot(bit.lshift(mask, shift))
   local set = ("band(%s, %d), lshift(band(%s, %d), %d)"):format(old, keep, value, mask, shift)
   return field.." = "..convert[kind].set:format("bor("..set..")"),
      ("rshift(band(%s, %d), %d)"):format(old, bit.lshift(mask, shift), shift)
end

local kinds = {
   u8    = function (m) return numeric("u8", m) end,
   u16   = function (m) return numeric("u16", m) end,
   u32   = function (m) return numeric("u32", m) end,
   bits  = function (m, offset, count)
      local set, get = bits(m, offset, count, "value")
      return set, get, "value"
   end,
   flag  = function (m, offset)
      local set, get = bits(m, offset, 1, "(value == true and 1 or value or 0)")
      return set, get, "value ~= nil"
   end,
   bytes = function (m, count)
      return ("copy(h.%s, value, %d)"):format(m, count), "h."..m, "value ~= nil"
   end,
}

local M = {}

-- Defines the accessors that `description` lists as methods of `class`.
function M.define (class, description)
   local source = { prelude }
   for line in description:gmatch("[^\n]+") do
      local words = {}
      for word in line:gmatch("%S+") do table.insert(words, word) end
      if #words > 0 then
         local returns = words[#words] == "returns"
         local method, kind, member = words[1], words[2], words[3]
         local set, get, test = kinds[kind](member, tonumber(words[4]), tonumber(words[5]))
         table.insert(source, accessor(method, set, get, test, returns))
         if kind == "bytes" then
            table.insert(source, ("function class:%s_eq (value) return C.memcmp(value, self._header.box[0].%s, %s) == 0 end\n")
               :format(method, member, words[4]))
         end
      end
   end
   table.insert(source, "end")
   local chunk = assert(loadstring(table.concat(source), "=fields of "..class._name))
   chunk(ffi, ffi.C, lib.ntohs, lib.ntohl, bit.band, bit.bor, bit.lshift, bit.rshift)(class)
end

return M
