-- Captures read as a whole, for programs that try filters on them.

local ffi = require("ffi")
local pcap = require("lib.pcap.pcap")

local M = {}

-- A list of { packet, len }: a pointer to the bytes and their number. `memory` keeps them.
function M.load_packets (name)
   local packets = {}
   for bytes in pcap.records(name) do
      local memory = ffi.new("uint8_t[?]", math.max(#bytes, 1))
      ffi.copy(memory, bytes, #bytes)
      table.insert(packets, { packet = ffi.cast("uint8_t *", memory), len = #bytes, memory = memory })
   end
   return packets
end

return M
