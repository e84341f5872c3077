/* librte_acl of DPDK, as a peer for first-match rule lists over IPv4 5-tuples: one category, priorities in the order of the list. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_acl.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <rte_vect.h>

/* A rule, and a header in host order: as bench/src/acl.rs has them. */
struct peer_rule {
	uint32_t src, dst;
	uint8_t src_len, dst_len, proto, proto_mask;
	uint16_t sport_low, sport_high, dport_low, dport_high;
};
struct peer_header {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto, pad[3];
};

/* A header as librte_acl reads it: the first field is a byte, the others are groups of four bytes in network order. */
struct wire_header {
	uint8_t proto, pad[3];
	uint32_t src, dst;
	uint16_t sport, dport;
};

enum { PROTO, SRC, DST, SPORT, DPORT, FIELDS };

static const struct rte_acl_field_def fields[FIELDS] = {
	{ RTE_ACL_FIELD_TYPE_BITMASK, 1, PROTO, 0, offsetof(struct wire_header, proto) },
	{ RTE_ACL_FIELD_TYPE_MASK, 4, SRC, 1, offsetof(struct wire_header, src) },
	{ RTE_ACL_FIELD_TYPE_MASK, 4, DST, 2, offsetof(struct wire_header, dst) },
	{ RTE_ACL_FIELD_TYPE_RANGE, 2, SPORT, 3, offsetof(struct wire_header, sport) },
	{ RTE_ACL_FIELD_TYPE_RANGE, 2, DPORT, 3, offsetof(struct wire_header, dport) },
};

RTE_ACL_RULE_DEF(tuple_rule, FIELDS);

struct peer {
	struct rte_acl_ctx *context;
	double build_seconds;
	uint64_t bytes;
	struct wire_header *headers;
	const uint8_t **at;
};

static uint64_t allocated(void)
{
	struct rte_malloc_socket_stats stats;
	return rte_malloc_get_socket_stats(0, &stats) == 0 ? stats.heap_allocsz_bytes : 0;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Once in a process; 0, or less than 0 where DPDK does not start. */
int acl_begin(void)
{
	char *arguments[] = { "acl", "--no-huge", "--no-pci", "-m", "2048", "--no-telemetry", "--no-shconf", "--log-level=1", NULL };
	/* DPDK pins the thread that starts it, and with it all that this thread starts later. */
	cpu_set_t cores;
	int known = sched_getaffinity(0, sizeof cores, &cores) == 0;
	int begun = rte_eal_init(8, arguments);
	if (known)
		sched_setaffinity(0, sizeof cores, &cores);
	rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
	return begun < 0 ? begun : 0;
}

void acl_free(struct peer *peer)
{
	if (!peer)
		return;
	rte_acl_free(peer->context);
	free(peer->headers);
	free(peer->at);
	free(peer);
}

/* NULL where the list cannot be built. */
struct peer *acl_build(const struct peer_rule *rules, uint32_t count)
{
	static int number;
	char name[32];
	snprintf(name, sizeof name, "peer%d", number++);
	struct rte_acl_param parameters = { name, SOCKET_ID_ANY, RTE_ACL_RULE_SZ(FIELDS), count };
	struct peer *peer = calloc(1, sizeof *peer);
	uint64_t before = allocated();
	double begin = now();
	peer->context = rte_acl_create(&parameters);
	for (uint32_t i = 0; peer->context && i < count; i++) {
		const struct peer_rule *from = &rules[i];
		struct tuple_rule rule;
		memset(&rule, 0, sizeof rule);
		rule.data.category_mask = 1;
		rule.data.priority = RTE_ACL_MAX_PRIORITY - i;
		rule.data.userdata = i + 1;
		rule.field[PROTO].value.u8 = from->proto;
		rule.field[PROTO].mask_range.u8 = from->proto_mask;
		rule.field[SRC].value.u32 = from->src;
		rule.field[SRC].mask_range.u32 = from->src_len;
		rule.field[DST].value.u32 = from->dst;
		rule.field[DST].mask_range.u32 = from->dst_len;
		rule.field[SPORT].value.u16 = from->sport_low;
		rule.field[SPORT].mask_range.u16 = from->sport_high;
		rule.field[DPORT].value.u16 = from->dport_low;
		rule.field[DPORT].mask_range.u16 = from->dport_high;
		if (rte_acl_add_rules(peer->context, (struct rte_acl_rule *)&rule, 1) != 0) {
			acl_free(peer);
			return NULL;
		}
	}
	struct rte_acl_config config;
	memset(&config, 0, sizeof config);
	config.num_categories = 1;
	config.num_fields = FIELDS;
	memcpy(config.defs, fields, sizeof fields);
	if (!peer->context || rte_acl_build(peer->context, &config) != 0) {
		acl_free(peer);
		return NULL;
	}
	peer->build_seconds = now() - begin;
	peer->bytes = allocated() - before - (uint64_t)count * RTE_ACL_RULE_SZ(FIELDS);
	return peer;
}

double acl_build_seconds(const struct peer *peer) { return peer->build_seconds; }
uint64_t acl_bytes(const struct peer *peer) { return peer->bytes; }

/* 0 where this processor has what the algorithm needs. */
int acl_choose(struct peer *peer, int algorithm)
{
	static const enum rte_acl_classify_alg algorithms[] = {
		RTE_ACL_CLASSIFY_SCALAR, RTE_ACL_CLASSIFY_SSE, RTE_ACL_CLASSIFY_AVX2, RTE_ACL_CLASSIFY_AVX512X16, RTE_ACL_CLASSIFY_AVX512X32,
		RTE_ACL_CLASSIFY_NEON,
	};
	return rte_acl_set_ctx_classify(peer->context, algorithms[algorithm]);
}

/* Takes the headers that are looked up. */
void acl_load(struct peer *peer, const struct peer_header *headers, uint32_t count)
{
	free(peer->headers);
	free(peer->at);
	peer->headers = calloc(count, sizeof *peer->headers);
	peer->at = calloc(count, sizeof *peer->at);
	for (uint32_t i = 0; i < count; i++) {
		struct wire_header *to = &peer->headers[i];
		to->proto = headers[i].proto;
		to->src = htonl(headers[i].src);
		to->dst = htonl(headers[i].dst);
		to->sport = htons(headers[i].sport);
		to->dport = htons(headers[i].dport);
		peer->at[i] = (const uint8_t *)to;
	}
}

/* Looks up headers from `first` on, `burst` in a call; an answer is the number of the rule and one, 0 where none matches. */
void acl_find(struct peer *peer, uint32_t first, uint32_t count, uint32_t burst, uint32_t *answers)
{
	for (uint32_t i = 0; i < count; i += burst) {
		uint32_t some = count - i < burst ? count - i : burst;
		rte_acl_classify(peer->context, peer->at + first + i, answers + i, some, 1);
	}
}
