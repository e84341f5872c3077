/* Buffers of DPDK (mbufs) in the chunks of our own packets, so that what a device receives becomes a packet, and a packet what it sends, without a copy.
 *
 *   chunk - 512                            chunk
 *   ├ … ┼ metadata ┼ struct rte_mbuf ┼ … ──┼── headroom ──┬ length ┬ data …
 *                                                         packet
 *
 * A buffer is the two lines of a chunk that `Packet::device_lines` names; where those are, and where a packet is at home, is written here again, and
 * compared when the shim is opened (`places`).
 *
 * The pool that drivers know (`own`) has no buffers. Drivers take from the cache of that pool which each thread has, and free into it, without a call. Before
 * a thread receives, it fills that cache from the packets of the app; after each call it takes out what is too much. What stays there counts as with a device
 * until the app that used it ends: what one device has just freed, another receives into, while its lines are near. What is freed elsewhere, when a device is
 * closed or by a thread that DPDK does not know, comes back by `come_back`. What is asked for when a queue is set up, where no packets are at hand, or on a
 * thread without a cache, is of a small pool of DPDK's own (`spare`): a frame in such a buffer is copied when it arrives. */

#include <stdbool.h>

#define CHUNK 512
/* Bytes of data that a usual packet has room for. */
#define ROOM 10240
/* Bytes of a buffer to receive into. */
#define USUAL_ROOM (RTE_PKTMBUF_HEADROOM + ROOM)
/* The bit of an address that tells a packet in a large chunk. */
#define LARGE ((uintptr_t)1 << 30)
#define CACHE 256
#define SPARE_BUFFERS 2047
#define SPARE_ROOM (9200 + 22 + RTE_PKTMBUF_HEADROOM)
/* The most buffers that the cache of a thread can hold. */
#define BACK_MAX (2 * RTE_MEMPOOL_CACHE_MAX_SIZE)
/* The most buffers that stay in the cache of a thread between calls: what drivers may ask for at once. */
#define KEPT BURST_MAX

struct packet {
  uint16_t length;
  uint8_t data[];
};

static struct rte_mempool *own, *spare;
static void (*come_back)(struct packet *);
/* This thread sets up queues. */
static __thread bool sets_up;

_Static_assert(offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, data_off) + 6 &&
                   offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4,
               "`full` writes these fields together");

static inline uintptr_t chunk_of(const void *address) { return (uintptr_t)address & ~(uintptr_t)(CHUNK - 1); }

/* Where a packet is when it is new. */
static inline struct packet *home(uintptr_t chunk) { return (struct packet *)(chunk + 128 + 64 * (chunk >> 13 & 3)); }

/* The eight lines before a chunk are four pairs; that of its metadata is in another. */
static inline struct rte_mbuf *mbuf_of(uintptr_t chunk) { return (struct rte_mbuf *)(chunk - CHUNK + 128 * ((chunk >> 14 & 3) ^ 1)); }

static inline uintptr_t chunk_of_mbuf(const struct rte_mbuf *m) { return chunk_of(m) + CHUNK; }

/* Where the packet whose memory a buffer is was when it was new. Its length is whatever was there. */
static inline struct packet *home_of(const struct rte_mbuf *m) { return home(chunk_of_mbuf(m)); }

static inline bool is_large(uintptr_t chunk) { return chunk & LARGE; }

/* For a packet: its two places, as they are here, and whether its chunk is large. */
static int places(const struct packet *packet, const void **mbuf, const void **at_home) {
  *mbuf = mbuf_of(chunk_of(packet));
  *at_home = home(chunk_of(packet));
  return is_large(chunk_of(packet));
}

/* The memory of a buffer to receive into: where drivers write, a packet is at home. */
static inline uintptr_t usual_buffer(uintptr_t chunk) { return (uintptr_t)home(chunk)->data - RTE_PKTMBUF_HEADROOM; }

/* What a driver finds in each buffer, and leaves as it is. */
static inline void describe(struct rte_mbuf *m, uintptr_t buffer, uint16_t room) {
  m->buf_addr = (void *)buffer;
  /* No driver of these reaches memory by itself, so whatever is here is never used. */
  m->buf_iova = buffer;
  m->buf_len = room;
  m->pool = own;
}

/* As above, for a buffer to receive into. So it stays: no driver changes that, and nothing but devices uses these lines.
 *
 * PERF: most buffers are described so already; to look costs less than to write. */
static inline void describe_usual(struct rte_mbuf *m, uintptr_t buffer) {
  if (unlikely(m->pool != own || m->buf_addr != (void *)buffer)) describe(m, buffer, USUAL_ROOM);
}

/* A buffer to receive into, as free ones are. The rest is written by drivers when they take it. */
static inline struct rte_mbuf *empty(const struct packet *packet) {
  uintptr_t chunk = chunk_of(packet);
  struct rte_mbuf *m = mbuf_of(chunk);
  describe_usual(m, usual_buffer(chunk));
  m->refcnt = 1;
  m->nb_segs = 1;
  return m;
}

/* A packet to send, wherever in its headroom it begins. Tells if something cannot be received into the buffer as it is. */
static inline struct rte_mbuf *full(const struct packet *packet, bool *is_other) {
  uintptr_t chunk = chunk_of(packet), buffer = usual_buffer(chunk), data = (uintptr_t)packet->data;
  struct rte_mbuf *m = mbuf_of(chunk);
  uint32_t len = packet->length;
  uint64_t fields;
  if (likely(data >= buffer && data + len <= buffer + USUAL_ROOM && !is_large(chunk))) {
    describe_usual(m, buffer);
  } else {
    uint32_t end = (uint32_t)(data - chunk) + len;
    buffer = chunk + offsetof(struct packet, data);
    describe(m, buffer, (uint16_t)RTE_MIN(RTE_MAX(end, (uint32_t)(CHUNK + ROOM)), (uint32_t)UINT16_MAX));
    *is_other = true;
  }
  /* `data_off`, `refcnt`, `nb_segs` and `port`, then `packet_type` and `pkt_len`. Of the second line, drivers leave what counts, `next`, as it was: zero. */
  fields = (uint64_t)(data - buffer) | (uint64_t)1 << 16 | (uint64_t)1 << 32 | (uint64_t)RTE_MBUF_PORT_INVALID << 48;
  memcpy((uint8_t *)m + offsetof(struct rte_mbuf, data_off), &fields, sizeof fields);
  m->ol_flags = 0;
  fields = (uint64_t)len << 32;
  memcpy((uint8_t *)m + offsetof(struct rte_mbuf, packet_type), &fields, sizeof fields);
  m->data_len = (uint16_t)len;
  return m;
}

/* The packet that a buffer has become. */
static inline struct packet *packet_of(struct rte_mbuf *m) {
  uintptr_t chunk = chunk_of_mbuf(m);
  uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
  struct packet *packet = (struct packet *)(data - offsetof(struct packet, data));
  if (unlikely((uintptr_t)packet - chunk >= CHUNK || (uintptr_t)packet & 1)) {
    /* A driver has put the frame elsewhere. */
    packet = home(chunk);
    memmove(packet->data, data, m->data_len);
  }
  packet->length = m->data_len;
  return packet;
}

static inline bool is_own(const struct rte_mbuf *m) { return m->pool == own; }

/* Whether a buffer that has been received can become the packet whose memory it is. A driver that fills it says a length that it may have from elsewhere, as
 * from a guest, and may have put other memory in its place; what comes out of a ring is as `full` has made it. */
static inline bool is_packet(const struct port *port, const struct rte_mbuf *m) {
  return is_own(m) && m->nb_segs == 1 && (!port->takes_packets || (m->data_len <= ROOM && !RTE_MBUF_HAS_EXTBUF(m)));
}

static struct rte_mempool_cache *cache(void) { return rte_mempool_default_cache(own, rte_lcore_id()); }

/* Takes out what drivers have left in the cache of this thread, but for the first `kept`; returns how many. */
static uint16_t take_back(struct packet **back, uint32_t kept) {
  struct rte_mempool_cache *from = cache();
  uint32_t i, count = 0;
  if (!from || from->len <= kept) return 0;
  for (i = kept; i < from->len; i++) {
    struct rte_mbuf *m = from->objs[i];
    if (likely(is_own(m))) back[count++] = home_of(m);
    else rte_mempool_put(m->pool, m);
  }
  from->len = kept;
  return (uint16_t)count;
}

/* As above, all of it. */
static uint16_t take_all_back(struct packet **back) { return own ? take_back(back, 0) : 0; }

/* What `receive_own` has done, beside what it returns. */
struct received {
  /* Packets that are left of those to receive into. */
  uint16_t back;
  /* Frames that were copied. */
  uint16_t copied;
  /* Frames that were lost, as no packet was left to copy them to. */
  uint16_t lost;
  /* Frames that were lost, as they are too long for a packet. */
  uint16_t too_long;
};

/* Receives frames, `asked` at most; returns how many are in `packets`. The last of `into` are given to the driver, as far as the cache of the thread has too
 * few; `into` has room for BACK_MAX, and holds what is left of them afterwards. */
static uint16_t receive_own(const struct port *port, uint16_t queue, uint16_t asked, struct packet **into, uint16_t into_count, struct packet **packets,
                            struct received *received) {
  struct rte_mbuf *buffers[BURST_MAX];
  struct rte_mempool_cache *to = port->takes_packets ? cache() : NULL;
  uint16_t left_count = into_count, got, count = 0, i;
  memset(received, 0, sizeof *received);
  while (to && to->len < KEPT && left_count) to->objs[to->len++] = empty(into[--left_count]);
  /* Drivers take a buffer for each frame that they are asked for, or none at all. */
  asked = RTE_MIN(asked, to ? RTE_MIN(to->len, (uint32_t)BURST_MAX) : (uint32_t)BURST_MAX);
  got = asked ? rte_eth_rx_burst(port->number, queue, buffers, asked) : 0;
  for (i = 0; i < got; i++) {
    struct rte_mbuf *m = buffers[i];
    if (likely(is_packet(port, m))) {
      packets[count++] = packet_of(m);
    } else if (m->pkt_len <= ROOM && left_count) {
      struct packet *packet = home(chunk_of(into[--left_count]));
      const void *bytes = rte_pktmbuf_read(m, 0, m->pkt_len, packet->data);
      if (bytes != packet->data) memcpy(packet->data, bytes, m->pkt_len);
      packet->length = (uint16_t)m->pkt_len;
      packets[count++] = packet;
      received->copied++;
      rte_pktmbuf_free(m);
    } else {
      if (m->pkt_len > ROOM) received->too_long++;
      else received->lost++;
      rte_pktmbuf_free(m);
    }
  }
  received->back = left_count + take_back(into + left_count, KEPT);
  return count;
}

/* Sends packets; returns how many the driver has taken, with their memory. `back`, with room for BACK_MAX, gets the memory that it does not need any more. */
static uint16_t send_own(const struct port *port, uint16_t queue, struct packet *const *packets, uint16_t count, struct packet **back, uint16_t *back_count) {
  struct rte_mbuf *buffers[BURST_MAX];
  bool has_others = false;
  uint16_t i, sent;
  count = RTE_MIN(count, BURST_MAX);
  for (i = 0; i < count; i++) buffers[i] = full(packets[i], &has_others);
  sent = rte_eth_tx_burst(port->number, queue, buffers, count);
  *back_count = take_back(back, likely(!has_others) ? KEPT : 0);
  return sent;
}

/* Frees what has waited in a ring that goes away: `rte_ring_free` would not. */
static void empty_ring(const struct port *port) {
  struct rte_mbuf *buffers[BURST_MAX];
  uint16_t queue, got;
  for (queue = 0; queue < port->queues; queue++)
    while ((got = rte_eth_rx_burst(port->number, queue, buffers, BURST_MAX))) rte_pktmbuf_free_bulk(buffers, got);
}

/* Sends what drivers have left in the cache of this thread to where it belongs. */
static void flush_own(void) {
  struct packet *back[BACK_MAX];
  uint16_t count = take_all_back(back), i;
  for (i = 0; i < count; i++) come_back(back[i]);
}

static int own_alloc(struct rte_mempool *pool) {
  pool->pool_data = pool;
  return 0;
}

static void own_free(struct rte_mempool *pool) { (void)pool; }

static int own_enqueue(struct rte_mempool *pool, void *const *objects, unsigned count) {
  unsigned i;
  (void)pool;
  for (i = 0; i < count; i++) {
    struct rte_mbuf *m = objects[i];
    if (is_own(m)) come_back(home_of(m));
    else rte_mempool_put(m->pool, m);
  }
  return 0;
}

static int own_dequeue(struct rte_mempool *pool, void **objects, unsigned count) {
  (void)pool;
  bool may_copy = sets_up || rte_lcore_id() == LCORE_ID_ANY;
  return may_copy && spare ? rte_mempool_get_bulk(spare, objects, count) : -ENOBUFS;
}

static unsigned own_count(const struct rte_mempool *pool) {
  (void)pool;
  return spare ? rte_mempool_avail_count(spare) : 0;
}

static const struct rte_mempool_ops own_ops = {
    .name = "sluss",
    .alloc = own_alloc,
    .free = own_free,
    .enqueue = own_enqueue,
    .dequeue = own_dequeue,
    .get_count = own_count,
};

/* The pool that drivers know, made once. */
static int make_own(void) {
  struct rte_pktmbuf_pool_private rooms = {.mbuf_data_room_size = USUAL_ROOM};
  struct rte_mempool *pool;
  if (own) return 0;
  if (!spare) spare = rte_pktmbuf_pool_create("sluss_spare", SPARE_BUFFERS, 0, 0, SPARE_ROOM, SOCKET_ID_ANY);
  if (!spare) return -rte_errno;
  pool = rte_mempool_create_empty("sluss_own", SPARE_BUFFERS, sizeof(struct rte_mbuf), CACHE, sizeof rooms, SOCKET_ID_ANY, 0);
  if (!pool) return -rte_errno;
  if (rte_mempool_register_ops(&own_ops) < 0 || rte_mempool_set_ops_byname(pool, "sluss", NULL)) {
    rte_mempool_free(pool);
    return -ENOTSUP;
  }
  rte_pktmbuf_pool_init(pool, &rooms);
  own = pool;
  return 0;
}

/* Whether a driver leaves the memory of frames alone but to copy it, and gives it back within its calls, or keeps it in a ring of this process. */
static bool may_have_packets(const char *driver, const char *arguments) {
  static const char *const drivers[] = {"net_null", "net_ring", "net_pcap", "net_tap", "net_vhost"};
  size_t i;
  /* Ends of a ring that several ports share; memory that a driver puts in the place of ours. */
  if (strstr(arguments, "nodeaction") || strstr(arguments, "ext-buffer")) return false;
  for (i = 0; i < RTE_DIM(drivers); i++)
    if (!strcmp(driver, drivers[i])) return true;
  return false;
}
