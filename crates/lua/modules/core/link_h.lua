-- A link: a ring of packets with two cursors, and its counters. One slot stays free.
require("core.packet_h")
require("core.counter_h")
require("ffi").cdef[[
enum { LINK_RING_SIZE = 1024, LINK_MAX_PACKETS = LINK_RING_SIZE - 1 };
struct link {
   struct packet *packets[LINK_RING_SIZE];
   struct {
      struct counter *dtime, *txbytes, *rxbytes, *txpackets, *rxpackets, *txdrop;
   } stats;
   int read, write;
};
]]
return true
