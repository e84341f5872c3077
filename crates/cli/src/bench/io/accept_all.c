/* The least that accepts all packets of a queue of the kernel (linux/netfilter/nfnetlink_queue.h): `accept_all QUEUE`. It prints a line when it has the
 * queue. One verdict answers all packets that have come together, 64 at most. */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TOGETHER_MAX 64

struct message {
  struct nlmsghdr head;
  struct nfgenmsg queue;
  unsigned char attributes[128];
};

static int fd;
static uint16_t queue;
static char buffer[70 << 10] __attribute__((aligned(8)));

static void begin(struct message *message, uint16_t kind, uint16_t flags) {
  memset(message, 0, sizeof *message);
  message->head.nlmsg_len = NLMSG_LENGTH(sizeof(struct nfgenmsg));
  message->head.nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | kind;
  message->head.nlmsg_flags = NLM_F_REQUEST | flags;
  message->queue.res_id = htons(queue);
}

static void put(struct message *message, uint16_t kind, const void *value, uint16_t len) {
  struct nlattr *attribute = (void *)((char *)message + NLMSG_ALIGN(message->head.nlmsg_len));
  attribute->nla_type = kind;
  attribute->nla_len = NLA_HDRLEN + len;
  memcpy((char *)attribute + NLA_HDRLEN, value, len);
  message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + NLA_ALIGN(attribute->nla_len);
}

static int send_message(struct message *message) { return send(fd, message, message->head.nlmsg_len, 0) < 0 ? -1 : 0; }

/* Sends a message, and waits for the answer. Packets may come before it; those are answered with the first that come later. */
static int ask(struct message *message) {
  if (send_message(message)) return -1;
  for (;;) {
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    struct nlmsghdr *head = (struct nlmsghdr *)buffer;
    if (got < 0) return -1;
    for (int len = (int)got; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len))
      if (head->nlmsg_type == NLMSG_ERROR) {
        errno = -((struct nlmsgerr *)NLMSG_DATA(head))->error;
        return errno ? -1 : 0;
      }
  }
}

static int take_queue(void) {
  struct message message;
  struct nfqnl_msg_config_cmd bind = {.command = NFQNL_CFG_CMD_BIND};
  struct nfqnl_msg_config_params params = {.copy_range = htonl(0xffff), .copy_mode = NFQNL_COPY_PACKET};
  uint32_t len = htonl(4096), gso = htonl(NFQA_CFG_F_GSO);
  int size = 8 << 20;
  fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
  begin(&message, NFQNL_MSG_CONFIG, NLM_F_ACK);
  put(&message, NFQA_CFG_CMD, &bind, sizeof bind);
  if (ask(&message)) return -1;
  begin(&message, NFQNL_MSG_CONFIG, NLM_F_ACK);
  put(&message, NFQA_CFG_PARAMS, &params, sizeof params);
  put(&message, NFQA_CFG_QUEUE_MAXLEN, &len, sizeof len);
  put(&message, NFQA_CFG_FLAGS, &gso, sizeof gso);
  put(&message, NFQA_CFG_MASK, &gso, sizeof gso);
  return ask(&message);
}

/* The number of the last packet among these messages, in the network's order; 0 if there is none. */
static uint32_t last_of(ssize_t got) {
  struct nlmsghdr *head = (struct nlmsghdr *)buffer;
  uint32_t last = 0;
  for (int len = (int)got; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
    char *at = (char *)NLMSG_DATA(head) + NLMSG_ALIGN(sizeof(struct nfgenmsg)), *end = (char *)head + head->nlmsg_len;
    if (head->nlmsg_type != (NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET)) continue;
    while (at + NLA_HDRLEN <= end) {
      struct nlattr *attribute = (struct nlattr *)at;
      if (attribute->nla_len < NLA_HDRLEN) break;
      if ((attribute->nla_type & NLA_TYPE_MASK) == NFQA_PACKET_HDR) {
        last = ((struct nfqnl_msg_packet_hdr *)(at + NLA_HDRLEN))->packet_id;
        break;
      }
      at += NLA_ALIGN(attribute->nla_len);
    }
  }
  return last;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  queue = (uint16_t)atoi(argv[1]);
  if (take_queue()) {
    perror("accept_all");
    return 1;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct nfqnl_msg_verdict_hdr verdict = {.verdict = htonl(NF_ACCEPT)};
    struct message message;
    for (int i = 0; i < TOGETHER_MAX; i++) {
      ssize_t got = recv(fd, buffer, sizeof buffer, i ? MSG_DONTWAIT : 0);
      uint32_t last = got < 0 ? 0 : last_of(got);
      if (got < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS) return 1;
      if (got < 0) break;
      if (last) verdict.id = last;
    }
    if (!verdict.id) continue;
    begin(&message, NFQNL_MSG_VERDICT_BATCH, 0);
    put(&message, NFQA_VERDICT_HDR, &verdict, sizeof verdict);
    send_message(&message);
  }
}
