-- A link: a ring of packets with two cursors, and its counters. One slot stays free.
-- The two ends of a link use numbers of different types. To LuaJIT these are in different places: in a loop that receives from one link and sends
-- to another, cursors and counters stay in registers, and are only written to memory.
require("core.packet_h")
require("core.counter_h")
require("ffi").cdef[[
enum { LINK_RING_SIZE = 1024, LINK_MAX_PACKETS = LINK_RING_SIZE - 1 };
struct sent_counter { double c; };
struct link {
   struct packet *packets[LINK_RING_SIZE];
   struct {
      struct counter dtime, rxpackets, rxbytes;
      struct sent_counter txpackets, txbytes, txdrop;
   } stats;
   int32_t read;
   int16_t write;
};
]]
return true
