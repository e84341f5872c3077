-- Keyed IPv6 tunnels (RFC 8159): L2TPv3 over IPv6 without an L2 sublayer, with a 64-bit cookie. IP protocol 115 is taken to be
-- this, since nothing in an L2TPv3 header says which variant it is.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")

local cookie_t = ffi.metatype(ffi.typeof("union { uint8_t cookie[8]; uint64_t cookie_64bit; }"), {
   __tostring = function (c)
      local hex = { "0x" }
      for i = 0, 7 do
         table.insert(hex, ("%02x"):format(c.cookie[i]))
      end
      return table.concat(hex)
   end,
   __eq = function (a, b)
      return b ~= nil and a.cookie_64bit == b.cookie_64bit
   end,
})

local tunnel = subClass(header)
tunnel._name = "keyed ipv6 tunnel"
tunnel._ulp = {}
tunnel:init({ ffi.typeof("struct { uint32_t session_id; $ cookie; } __attribute__((packed))", cookie_t) })

fields.define(tunnel, [[
   _session  u32  session_id
]])

-- A cookie of the eight bytes of a string.
function tunnel:new_cookie (bytes)
   assert(type(bytes) == "string" and #bytes == 8, "invalid cookie")
   local c = cookie_t()
   ffi.copy(c.cookie, bytes, 8)
   return c
end

-- Recommended where the tunnel's ends are configured one to one.
local DEFAULT_SESSION = 0xffffffff
local no_cookie = tunnel:new_cookie(("\0"):rep(8))

function tunnel:new (config)
   config = config or {}
   local o = tunnel:superClass().new(self)
   o:session_id(config.session_id or DEFAULT_SESSION)
   o:cookie(config.cookie or no_cookie)
   return o
end

-- Nil also for session 0, which is that of L2TPv3 control messages.
function tunnel:new_from_mem (mem, size)
   local o = tunnel:superClass().new_from_mem(self, mem, size)
   if o and o:session_id() == 0 then
      o:free()
      return nil
   end
   return o
end

function tunnel:session_id (id)
   assert(id ~= 0, "invalid session id 0")
   return self:_session(id)
end

-- Sets the cookie, a value of new_cookie(), or returns it.
function tunnel:cookie (c)
   local h = self:header()
   if c == nil then return h.cookie end
   h.cookie.cookie_64bit = c.cookie_64bit
end

return tunnel
