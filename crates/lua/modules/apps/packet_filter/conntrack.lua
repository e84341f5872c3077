-- Tables of connections that have been let through, for filters that let the packets of such connections pass.
--
--     conntrack.define("web")
--     local spec = conntrack.spec(p.data, p.length)     -- nil if the packet is neither IPv4 nor IPv6
--     spec:track("web")                                 -- its connection is known from now on, in both directions
--     if spec:check("web") then … end
--
-- The value of spec() is used again by the next call. A table forgets connections after two to four hours, or when very many have come since:
-- it is two tables, of which the older is discarded and the newer becomes the older.

local ffi = require("ffi")
local bit = require("bit")
local engine = require("core.app")
local ctable = require("lib.ctable")

local MAX_AGE_S, MAX_CONNECTIONS = 7200, 100000

local ETHERNET, IPV4_MIN, IPV6_HEADER = 14, 20, 40
local IPV4, IPV6 = 0x0008, 0xdd86           -- in network byte order
local TCP, UDP = 6, 17

-- One key for both directions: the end with the lower address and port is the first.
local end_t = ffi.typeof("struct { uint64_t high, low; uint16_t port; } __attribute__((packed))")
local key_t = ffi.typeof("struct { $ first, second; uint8_t protocol, version; } __attribute__((packed))", end_t)
local u16_t, u32_t, u64_t = ffi.typeof("const uint16_t *"), ffi.typeof("const uint32_t *"), ffi.typeof("const uint64_t *")
local value_t = ffi.typeof("uint8_t[1]")
local present = value_t()

local M = {}

local tables = {}

local function empty_set ()
   return ctable.new({ key_type = key_t, value_type = value_t, initial_size = 1024 })
end

local function begin (t)
   t.older, t.newer, t.since = t.newer or empty_set(), empty_set(), engine.now()
end

-- Makes a table of a name, unless there is one.
function M.define (name)
   if name and not tables[name] then
      tables[name] = {}
      begin(tables[name])
   end
end

-- Forgets all tables and their connections.
function M.clear ()
   tables = {}
end

local function known (name)
   return tables[name] or error("conntrack: no table is called "..tostring(name))
end

local spec = { key = key_t() }
spec.__index = spec

function spec:check (name)
   local t = known(name)
   return (t.newer:lookup_ptr(self.key) or t.older:lookup_ptr(self.key)) ~= nil
end

function spec:track (name)
   local t = known(name)
   if engine.now() > t.since + MAX_AGE_S or t.newer.occupancy >= MAX_CONNECTIONS then begin(t) end
   t.newer:add(self.key, present, true)
end

local function is_lower (a, b)
   if a.high ~= b.high then return a.high < b.high end
   if a.low ~= b.low then return a.low < b.low end
   return a.port <= b.port
end

local ends = { end_t(), end_t() }

-- The connection of an Ethernet frame; `length` may be nil if the frame is known to have its headers.
function M.spec (data, length)
   if data == nil then return nil end
   length = length or 65535
   if length < ETHERNET + IPV4_MIN then return nil end
   local ethertype = ffi.cast(u16_t, data + 12)[0]
   local ip = data + ETHERNET
   local from, to, key = ends[1], ends[2], spec.key
   local protocol, header, has_ports
   if ethertype == IPV4 then
      from.high, to.high = 0, 0
      from.low, to.low = ffi.cast(u32_t, ip + 12)[0], ffi.cast(u32_t, ip + 16)[0]
      protocol, header = ip[9], bit.band(ip[0], 15) * 4
      -- Only the first fragment has ports.
      has_ports = bit.band(ip[6], 0x1f) == 0 and ip[7] == 0
   elseif ethertype == IPV6 and length >= ETHERNET + IPV6_HEADER then
      from.high, from.low = ffi.cast(u64_t, ip + 8)[0], ffi.cast(u64_t, ip + 16)[0]
      to.high, to.low = ffi.cast(u64_t, ip + 24)[0], ffi.cast(u64_t, ip + 32)[0]
      protocol, header, has_ports = ip[6], IPV6_HEADER, true
   else
      return nil
   end
   from.port, to.port = 0, 0
   if has_ports and (protocol == TCP or protocol == UDP) and length >= ETHERNET + header + 4 then
      local ports = ffi.cast(u16_t, ip + header)
      from.port, to.port = ports[0], ports[1]
   end
   if not is_lower(from, to) then from, to = to, from end
   key.first, key.second = from, to
   key.protocol, key.version = protocol, ethertype == IPV4 and 4 or 6
   return spec
end

return M
