-- What `ndpi` and the scanner share: calls of our identification.

local ffi = require("ffi")
local C = ffi.C

ffi.cdef([[
   typedef struct sluss_lua_scanner sluss_lua_scanner;
   typedef struct { const char *start; size_t length; } sluss_lua_name;
   sluss_lua_scanner *sluss_lua_scanner_new (uint32_t who, bool waits, sluss_lua_name *why);
   void sluss_lua_scanner_free (sluss_lua_scanner *scanner);
   uint32_t sluss_lua_scanner_look (sluss_lua_scanner *scanner, const uint8_t *data, uint32_t length, bool ip, uint64_t time_ns);
   void sluss_lua_protocol_name (uint32_t number, sluss_lua_name *to);
]])

local M = {}

local who_number = { own = 0, auto = 1, ndpi = 2 }

local methods = {}

-- What a packet's flow speaks, and what carries that, as numbers; 0 for what is not known. `ip` is whether the packet begins with its IP header
-- rather than Ethernet's. `time` is in seconds.
function methods:look (data, length, ip, time)
   local found = C.sluss_lua_scanner_look(self, data, length, ip, time * 1e9)
   return found % 65536, math.floor(found / 65536)
end

M.scanner_t = ffi.typeof("sluss_lua_scanner")
-- Set by `ndpi`, which adds methods of its own.
M.methods = methods
ffi.metatype(M.scanner_t, { __index = methods })

function M.new (who, waits)
   local why = ffi.new("sluss_lua_name")
   local scanner = C.sluss_lua_scanner_new(assert(who_number[who], "dpi is \"auto\", \"own\" or \"ndpi\""), waits, why)
   if scanner == nil then
      error("nDPI cannot be used: "..ffi.string(why.start, why.length))
   end
   return ffi.gc(scanner, C.sluss_lua_scanner_free)
end

local names = {}

-- The name of a protocol's number, without "PROTOCOL_"; nil if there is none.
function M.name (number)
   if names[number] == nil then
      local to = ffi.new("sluss_lua_name")
      C.sluss_lua_protocol_name(number, to)
      names[number] = to.length > 0 and ffi.string(to.start, to.length):upper() or false
   end
   return names[number] or nil
end

return M
