-- A link: a ring of packets with two cursors, and its counters. One slot stays free.
-- Cursors, counters of links, and other counters are numbers of different types, which LuaJIT takes for numbers in different places. In a loop that
-- receives from one link and sends to another, cursors and counters stay in registers, and are only written to memory.
-- The cursors lie two cache lines apart: each end of a link writes one for each packet, and reads the other.
-- What was received is not counted packet by packet: it is what was sent, less what waits. `core.counter` computes it when it is read. `less` is a
-- number to subtract, for a counter that was set; it lies 16 bytes before the counter of what was sent, for packets and for bytes.
require("core.packet_h")
require("core.counter_h")
require("ffi").cdef[[
enum { LINK_RING_SIZE = 1024, LINK_MAX_PACKETS = LINK_RING_SIZE - 1 };
struct sent_counter { double c; };
struct dropped_counter { double c; };
struct received_packets { uint64_t less; };
struct received_bytes { uint64_t less; };
struct link {
   struct packet *packets[LINK_RING_SIZE];
   struct {
      struct counter dtime;
      struct received_packets rxpackets;
      struct received_bytes rxbytes;
      struct sent_counter txpackets, txbytes;
      struct dropped_counter txdrop;
   } stats;
   int32_t read;
   int32_t unused[31];
   int16_t write;
};
]]
return true
