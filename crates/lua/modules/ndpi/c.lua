-- The C functions of nDPI 1.8 that programs take from ljndpi to call them by their addresses.
--
-- Results are as long as two registers: SnabbWall's wrappers, in machine code, store both of them to a value of this type.

local ffi = require("ffi")
require("ndpi.detection")

ffi.cdef([[
   typedef struct { uint16_t master_protocol, protocol; uint32_t unused[3]; } ndpi_protocol_t;
   ndpi_protocol_t ndpi_detection_process_packet (void *module, void *flow, const uint8_t *packet, uint16_t length, uint64_t tick, void *src, void *dst);
   ndpi_protocol_t ndpi_guess_undetected_protocol (void *module, uint8_t protocol, uint32_t src, uint16_t src_port, uint32_t dst, uint32_t dst_port);
]])

return {
   lib = ffi.C,
   version = setmetatable({ major = 1, minor = 8, patch = 0 }, { __tostring = function () return "1.8.0" end }),
}
