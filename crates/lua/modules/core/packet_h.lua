-- A packet: its length, then its bytes. Where it begins in its chunk says how much room is before it: `address % 512`.
require("ffi").cdef[[
enum { PACKET_PAYLOAD_SIZE = 10*1024 };
struct packet {
   uint16_t length;
   unsigned char data[PACKET_PAYLOAD_SIZE];
};
]]
return true
