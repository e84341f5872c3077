/* What is inline in DPDK's headers, and the few steps to a port, as functions that are called for whole bursts.
 *
 * Built as a shared object of its own, which is opened only where the libraries are there: they need each other's data and thread-local
 * symbols, so it is opened with RTLD_NOW | RTLD_GLOBAL. */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_config.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_version.h>

#define BURST_MAX 64
#define DESCRIPTORS 1024
/* Where frames are not copied: of the drivers that have this number of buffers on hand, `net_tap` never uses more than one. */
#define OWN_DESCRIPTORS 64
#define POOL_CACHE 256

/* How a port is to be set up. */
struct settings {
  uint16_t queues;
  /* 0: as it is. */
  uint16_t mtu;
  uint8_t promiscuous;
  uint32_t buffers;
};

/* A port that was set up. */
struct port {
  /* DPDK's own buffers; none where packets are not copied. */
  struct rte_mempool *pool;
  uint16_t number;
  uint16_t queues;
  uint32_t frame_max;
  /* What it is to the kernel; 0 for nothing. */
  uint32_t interface;
  /* Whether packets are not copied, and, if so, whether it receives into packets that it is given. */
  uint8_t is_own;
  uint8_t takes_packets;
  char driver[32];
  /* What DPDK calls it: another device may get its number when it is removed. */
  char name[RTE_ETH_NAME_MAX_LEN];
};

_Static_assert(RTE_ETH_NAME_MAX_LEN == 64, "`RawPort` has a name of 64 bytes");

struct counts {
  uint64_t missed;
  uint64_t no_buffer;
  uint64_t errors;
};

#include "packets.h"

static const char *version(void) { return rte_version(); }

static const char *error_text(int error) { return rte_strerror(error < 0 ? -error : error); }

static int init(int argc, char **argv, void (*packet_comes_back)(struct packet *)) {
  int done = rte_eal_init(argc, argv);
  come_back = packet_comes_back;
  return done < 0 ? -(rte_errno ? rte_errno : EINVAL) : 0;
}

/* Threads without a number have no cache of buffers. */
static int register_thread(void) {
  if (rte_lcore_id() != LCORE_ID_ANY) return 0;
  return rte_thread_register() < 0 ? -rte_errno : 0;
}

static void unregister_thread(void) {
  flush_own();
  rte_thread_unregister();
}

/* Where the frames of a port are: in packets, or in buffers of its own. */
static int make_pool(struct port *port, const struct settings *settings) {
  char name[RTE_MEMPOOL_NAMESIZE];
  if (port->is_own) return make_own();
  snprintf(name, sizeof name, "sluss_%u", port->number);
  port->pool = rte_pktmbuf_pool_create(name, settings->buffers, POOL_CACHE, 0, (uint16_t)(port->frame_max + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
  return port->pool ? 0 : -rte_errno;
}

static int set_up(struct port *port, const char *device, const struct settings *settings, bool may_be_own) {
  struct rte_eth_dev_info info;
  struct rte_eth_conf conf;
  uint16_t rx, tx, mtu, queue, number = port->number;
  bool has_limit;
  int failed = rte_eth_dev_info_get(number, &info);
  if (failed) return failed;
  snprintf(port->driver, sizeof port->driver, "%s", info.driver_name ? info.driver_name : "");
  port->is_own = may_be_own && may_have_packets(port->driver, device);
  port->takes_packets = port->is_own && strcmp(port->driver, "net_ring");
  port->interface = info.if_index;
  port->queues = settings->queues;
  rx = tx = port->is_own ? OWN_DESCRIPTORS : DESCRIPTORS;
  if (settings->queues > RTE_MIN(info.max_rx_queues, info.max_tx_queues)) return -ERANGE;
  memset(&conf, 0, sizeof conf);
  if (settings->queues > 1) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
  }
  if (settings->mtu) conf.rxmode.mtu = settings->mtu;
  failed = rte_eth_dev_configure(number, settings->queues, settings->queues, &conf);
  if (failed) return failed;
  if (settings->mtu) {
    /* Virtual devices know none, and take any. */
    failed = rte_eth_dev_set_mtu(number, settings->mtu);
    if (failed && failed != -ENOTSUP) return failed;
  }
  mtu = settings->mtu;
  if (!mtu && rte_eth_dev_get_mtu(number, &mtu)) mtu = RTE_ETHER_MTU;
  failed = rte_eth_dev_adjust_nb_rx_tx_desc(number, &rx, &tx);
  if (failed) return failed;
  /* An Ethernet header and two tags. A longer frame would stay at the head of the queue of `net_tap`, which does not take it; those that lead to no
   * wire take any. */
  has_limit = !port->is_own || !strcmp(port->driver, "net_tap") || !strcmp(port->driver, "net_vhost") ||
              (!strcmp(port->driver, "net_pcap") && strstr(device, "iface="));
  port->frame_max = has_limit ? (uint32_t)mtu + 22 : UINT16_MAX;
  if (!port->is_own && strcmp(port->driver, "net_tap")) port->frame_max = RTE_MAX(port->frame_max, (uint32_t)RTE_MBUF_DEFAULT_DATAROOM);
  failed = make_pool(port, settings);
  for (queue = 0; !failed && queue < settings->queues; queue++) {
    failed = rte_eth_rx_queue_setup(number, queue, rx, SOCKET_ID_ANY, NULL, port->is_own ? own : port->pool);
    if (!failed) failed = rte_eth_tx_queue_setup(number, queue, tx, SOCKET_ID_ANY, NULL);
  }
  if (!failed) failed = rte_eth_dev_start(number);
  if (failed) return failed;
  if (settings->promiscuous) {
    failed = rte_eth_promiscuous_enable(number);
    if (failed && failed != -ENOTSUP) return failed;
  }
  return 0;
}

/* Whether the device has not been removed. */
static int is_known(const struct port *port) {
  char name[RTE_ETH_NAME_MAX_LEN];
  return !rte_eth_dev_get_name_by_port(port->number, name) && !strcmp(name, port->name);
}

static void close_port(struct port *port) {
  if (is_known(port)) {
    struct rte_eth_dev_info info;
    struct rte_device *device = rte_eth_dev_info_get(port->number, &info) ? NULL : info.device;
    if (port->is_own && !strcmp(port->driver, "net_ring")) empty_ring(port);
    rte_eth_dev_stop(port->number);
    rte_eth_dev_close(port->number);
    if (device) rte_dev_remove(device);
  }
  flush_own();
  rte_mempool_free(port->pool);
  port->pool = NULL;
}

/* Probes a device, `name,arguments`, and sets up its port. Where DPDK has too few buffers to set up queues for frames in packets, or the
 * driver says that it has (`net_pcap` with `infinite_rx`: -EINVAL), frames are copied. */
static int open_port(const char *device, const char *name, const struct settings *settings, struct port *port) {
  int failed = -ENOMEM, attempt;
  uint16_t other;
  /* To probe the name of a virtual device that is there would take that one away. One of PCI is there since EAL was started. */
  if (!strchr(name, ':') && !rte_eth_dev_get_port_by_name(name, &other)) return -EEXIST;
  for (attempt = 0; (failed == -ENOMEM || failed == -EINVAL) && attempt < 2; attempt++) {
    memset(port, 0, sizeof *port);
    failed = rte_dev_probe(device);
    if (failed) return failed;
    failed = rte_eth_dev_get_port_by_name(name, &port->number);
    if (!failed) failed = rte_eth_dev_get_name_by_port(port->number, port->name);
    if (failed) return failed;
    /* What set-up asks for comes from elsewhere, and the two are not to mix in the cache of this thread. */
    flush_own();
    sets_up = true;
    failed = set_up(port, device, settings, attempt == 0);
    sets_up = false;
    if (port->is_own && own) flush_own();
    if (failed) close_port(port);
    if (!port->is_own) break;
  }
  return failed;
}

/* Receives frames: into `data`, each of which has room for `len` bytes. Sets `len` to what each has; one that has no room is not copied. */
static uint16_t receive_copies(const struct port *port, uint16_t queue, uint8_t *const *data, uint32_t *len, uint16_t count) {
  struct rte_mbuf *buffers[BURST_MAX];
  uint16_t got = rte_eth_rx_burst(port->number, queue, buffers, RTE_MIN(count, BURST_MAX)), i;
  for (i = 0; i < got; i++) {
    uint32_t all = buffers[i]->pkt_len;
    if (all <= len[i]) {
      const void *bytes = rte_pktmbuf_read(buffers[i], 0, all, data[i]);
      if (bytes && bytes != data[i]) memcpy(data[i], bytes, all);
    }
    len[i] = all;
  }
  if (got) rte_pktmbuf_free_bulk(buffers, got);
  return got;
}

/* Sends frames, none longer than `frame_max`; returns how many the device has taken. */
static uint16_t send_copies(const struct port *port, uint16_t queue, const uint8_t *const *data, const uint32_t *len, uint16_t count) {
  struct rte_mbuf *buffers[BURST_MAX];
  uint16_t sent, i;
  count = RTE_MIN(count, BURST_MAX);
  if (rte_pktmbuf_alloc_bulk(port->pool, buffers, count)) return 0;
  for (i = 0; i < count; i++) {
    memcpy(rte_pktmbuf_mtod(buffers[i], void *), data[i], len[i]);
    buffers[i]->data_len = (uint16_t)len[i];
    buffers[i]->pkt_len = len[i];
  }
  sent = rte_eth_tx_burst(port->number, queue, buffers, count);
  if (sent < count) rte_pktmbuf_free_bulk(buffers + sent, count - sent);
  return sent;
}

static int is_up(const struct port *port) {
  struct rte_eth_link link;
  if (rte_eth_link_get_nowait(port->number, &link)) return -1;
  return link.link_status == RTE_ETH_LINK_UP;
}

static int count(const struct port *port, struct counts *counts) {
  struct rte_eth_stats stats;
  int failed = rte_eth_stats_get(port->number, &stats);
  if (failed) return failed;
  counts->missed = stats.imissed;
  counts->no_buffer = stats.rx_nombuf;
  counts->errors = stats.ierrors + stats.oerrors;
  return 0;
}

struct functions {
  uint32_t size;
  uint32_t year_month;
  const char *(*version)(void);
  const char *(*error_text)(int);
  int (*init)(int, char **, void (*)(struct packet *));
  int (*register_thread)(void);
  void (*unregister_thread)(void);
  int (*open_port)(const char *, const char *, const struct settings *, struct port *);
  void (*close_port)(struct port *);
  int (*places)(const struct packet *, const void **, const void **);
  uint16_t (*receive_own)(const struct port *, uint16_t, uint16_t, struct packet **, uint16_t, struct packet **, struct received *);
  uint16_t (*send_own)(const struct port *, uint16_t, struct packet *const *, uint16_t, struct packet **, uint16_t *);
  uint16_t (*take_all_back)(struct packet **);
  uint16_t (*receive_copies)(const struct port *, uint16_t, uint8_t *const *, uint32_t *, uint16_t);
  uint16_t (*send_copies)(const struct port *, uint16_t, const uint8_t *const *, const uint32_t *, uint16_t);
  int (*is_known)(const struct port *);
  int (*is_up)(const struct port *);
  int (*count)(const struct port *, struct counts *);
};

const struct functions sluss_dpdk = {
    sizeof(struct functions),
    RTE_VER_YEAR * 100 + RTE_VER_MONTH,
    version,
    error_text,
    init,
    register_thread,
    unregister_thread,
    open_port,
    close_port,
    places,
    receive_own,
    send_own,
    take_all_back,
    receive_copies,
    send_copies,
    is_known,
    is_up,
    count,
};
