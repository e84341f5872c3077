-- A scanner that identifies what flows speak: by our own identification, and by nDPI, in a process of its own, where that is installed.
--
--     local scanner = require("apps.wall.scanner.ndpi"):new()
--     local identified, flow = scanner:scan_packet(p, engine.now())
--     print(scanner:protocol_name(flow.protocol))
--
-- Names are those of nDPI 1.8, without "PROTOCOL_", which SnabbWall's rules have.

require("lib.lua.class")
local ffi = require("ffi")
local ctable = require("lib.ctable")
local base = require("apps.wall.scanner")
local detection = require("ndpi.detection")

local NdpiScanner = subClass(base.Scanner)
NdpiScanner._name = "SnabbWall nDPI packet Scanner"

local UNKNOWN = 0

-- Flows by key: a table for each family, from key to a number in the list of flows.
local function tables ()
   local by_type = {}
   for eth_type, family in pairs(base.families) do
      by_type[eth_type] = ctable.new({ key_type = family.key_t, value_type = ffi.typeof("uint32_t[1]"), initial_size = 1024 })
   end
   return by_type
end

-- The first argument is that of SnabbWall, and means nothing here. Options: `dpi` is "auto", "own" (without nDPI) or "ndpi" (an error without it);
-- `wait` is whether a packet waits for nDPI's answer, true by default, as it did when nDPI was called directly.
function NdpiScanner:new (_, options)
   options = options or {}
   local s = NdpiScanner:superClass().new(self)
   s._detection = detection.new(options.dpi or "auto", options.wait ~= false)
   s._by_key, s._flows = tables(), {}
   return s
end

local index = ffi.new("uint32_t[1]")

local function find (self, key)
   local entry = self._by_key[key:eth_type()]:lookup_ptr(key)
   return entry and self._flows[entry.value[0]]
end

local function add (self, key)
   local flow = { key = key, protocol = UNKNOWN, proto_master = UNKNOWN, packets = 0, last_seen = 0 }
   index[0] = #self._flows + 1
   self._flows[index[0]] = flow
   self._by_key[key:eth_type()]:add(key, index)
   return flow
end

-- The flow of a packet, if a packet of it was scanned.
function NdpiScanner:get_flow (p)
   local key = self:extract_packet_info(p)
   return key and find(self, key)
end

-- For loops over all flows, in the order in which they began.
function NdpiScanner:flows ()
   local flows, i = self._flows, 0
   return function ()
      i = i + 1
      return flows[i]
   end
end

function NdpiScanner:protocol_name (protocol)
   return detection.name(protocol)
end

-- Looks at a packet that came at `time`, in seconds. Returns whether its flow is identified, and the flow; false and nil if it belongs to none.
function NdpiScanner:scan_packet (p, time)
   local key = self:extract_packet_info(p)
   if not key then return false, nil end
   local flow = find(self, key) or add(self, key)
   flow.packets, flow.last_seen = flow.packets + 1, time
   local protocol, master = self._detection:look(p.data, p.length, false, time)
   if protocol ~= UNKNOWN then
      flow.protocol, flow.proto_master = protocol, master
   end
   return flow.protocol ~= UNKNOWN, flow
end

return NdpiScanner
