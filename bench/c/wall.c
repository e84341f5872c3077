// The floor of a cached verdict: what every wall must do for a packet. Headers of Ethernet, IPv4 or IPv6, TCP or UDP are read; the flow, the same
// for both directions, is hashed under a key and found in a table, its key compared in full; its verdict is read, and its packets and bytes are
// counted. Memory is asked for a burst ahead. No tunnels, no fragments, no TCP states, no timeouts, no eviction: it is a yardstick, not a wall.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct frame {
    const uint8_t *data;
    uint32_t captured, wire;
};

struct key {
    uint64_t lower[2], higher[2], tail;
};

// One cache line of a bucket: tags, then the number of an entry for each.
struct bucket {
    uint16_t tags[8];
    uint32_t entries[8];
    uint8_t unused[16];
} __attribute__((aligned(64)));

struct entry {
    struct key key;
    uint64_t bytes;
    uint32_t packets, payload;
    uint16_t verdict;
} __attribute__((aligned(64)));

struct table {
    struct bucket *buckets;
    struct entry *entries;
    uint64_t mask, secret[4];
    uint32_t used, capacity;
};

enum { BURST = 32, AHEAD = 8 };

static void *zeros(size_t bytes) {
    size_t huge = 2 << 20, all = (bytes + 2 * huge - 1) / huge * huge;
    uint8_t *base = mmap(NULL, all + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        abort();
    base += -(uintptr_t)base & (huge - 1);
    madvise(base, all, MADV_HUGEPAGE);
    return base;
}

struct table *floor_new(uint32_t capacity) {
    struct table *table = calloc(1, sizeof *table);
    uint64_t buckets = 2;
    while (buckets * 8 < 2 * (uint64_t)capacity)
        buckets *= 2;
    table->buckets = zeros(buckets * sizeof(struct bucket));
    table->entries = zeros((size_t)capacity * sizeof(struct entry));
    table->mask = buckets - 1;
    table->capacity = capacity;
    for (int i = 0; i < 4; i++)
        table->secret[i] = 0x9e3779b97f4a7c15u * (uint64_t)(2 * i + 3) ^ (uintptr_t)table;
    return table;
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint64_t hash(const struct table *table, const struct key *key) {
    const uint64_t *secret = table->secret;
    uint64_t ends = mix(key->lower[0] ^ secret[0], key->higher[0] ^ secret[1]) + mix(key->lower[1] ^ secret[2], key->higher[1] ^ secret[3]);
    return mix(ends ^ secret[0], key->tail ^ secret[2]);
}

static inline uint16_t be16(const uint8_t *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return __builtin_bswap16(v);
}

static inline uint32_t be32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

static inline uint64_t be64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

// The key of a frame, and where its payload is; 0 if it is of no flow.
static inline int parse(const struct frame *frame, struct key *key, uint32_t payload[2]) {
    const uint8_t *p = frame->data;
    size_t n = frame->captured, ip = 14, transport, end;
    uint64_t a[2], b[2], vlans = 0;
    uint8_t protocol;
    if (n < 34)
        return 0;
    uint16_t type = be16(p + 12);
    while ((type == 0x8100 || type == 0x88a8) && ip < 22) {
        vlans = vlans << 12 | (be16(p + ip) & 0xfff);
        type = be16(p + ip + 2);
        ip += 4;
    }
    if (type == 0x0800) {
        if (n < ip + 20 || p[ip] >> 4 != 4 || be16(p + ip + 6) & 0x3fff)
            return 0;
        protocol = p[ip + 9];
        transport = ip + 4 * (size_t)(p[ip] & 15);
        end = ip + be16(p + ip + 2);
        a[0] = b[0] = 0;
        a[1] = be32(p + ip + 12), b[1] = be32(p + ip + 16);
    } else if (type == 0x86dd) {
        if (n < ip + 40)
            return 0;
        protocol = p[ip + 6];
        transport = ip + 40;
        end = transport + be16(p + ip + 4);
        a[0] = be64(p + ip + 8), a[1] = be64(p + ip + 16);
        b[0] = be64(p + ip + 24), b[1] = be64(p + ip + 32);
    } else
        return 0;
    if (end > n)
        return 0;
    size_t header = protocol == 6 ? 20 : 8;
    if ((protocol != 6 && protocol != 17) || end < transport + header)
        return 0;
    if (protocol == 6 && (header = 4 * (size_t)(p[transport + 12] >> 4)) < 20)
        return 0;
    if (transport + header > end)
        return 0;
    payload[0] = (uint32_t)(transport + header), payload[1] = (uint32_t)end;
    uint64_t sport = be16(p + transport), dport = be16(p + transport + 2);
    unsigned __int128 from = (unsigned __int128)a[0] << 64 | a[1], to = (unsigned __int128)b[0] << 64 | b[1];
    uint64_t swap = -(uint64_t)!((from < to) | ((from == to) & (sport <= dport)));
    uint64_t high = (a[0] ^ b[0]) & swap, low = (a[1] ^ b[1]) & swap, port = (sport ^ dport) & swap;
    key->lower[0] = a[0] ^ high, key->lower[1] = a[1] ^ low;
    key->higher[0] = b[0] ^ high, key->higher[1] = b[1] ^ low;
    key->tail = (sport ^ port) << 48 | (dport ^ port) << 32 | vlans << 8 | protocol;
    key->lower[0] |= (uint64_t)(type == 0x86dd) << 63;
    return 1;
}

static inline uint16_t tag_of(uint64_t hash) {
    uint16_t tag = hash >> 48;
    return tag ? tag : 1;
}

static inline int same(const struct key *a, const struct key *b) {
    return a->tail == b->tail && a->lower[1] == b->lower[1] && a->higher[1] == b->higher[1] && a->lower[0] == b->lower[0] &&
           a->higher[0] == b->higher[0];
}

static inline struct entry *find(struct table *table, const struct key *key, uint64_t hash) {
    struct bucket *bucket = &table->buckets[hash & table->mask];
    uint16_t tag = tag_of(hash);
    for (int way = 0; way < 8; way++)
        if (bucket->tags[way] == tag && same(&table->entries[bucket->entries[way]].key, key))
            return &table->entries[bucket->entries[way]];
    return NULL;
}

// Puts in the flows of frames that are not there. Those of a full bucket are left out.
void floor_fill(struct table *table, const struct frame *frames, size_t count) {
    for (size_t at = 0; at < count; at++) {
        struct key key;
        uint32_t payload[2];
        if (!parse(&frames[at], &key, payload))
            continue;
        uint64_t h = hash(table, &key);
        struct bucket *bucket = &table->buckets[h & table->mask];
        if (find(table, &key, h) || table->used == table->capacity)
            continue;
        for (int way = 0; way < 8; way++) {
            if (!bucket->tags[way]) {
                bucket->tags[way] = tag_of(h);
                bucket->entries[way] = table->used;
                table->entries[table->used] = (struct entry){.key = key, .verdict = 1};
                table->used++;
                break;
            }
        }
    }
}

// Looks up frames. Returns how many have a verdict.
uint64_t floor_look(struct table *table, const struct frame *frames, size_t count) {
    uint64_t verdicts = 0;
    for (; count; ) {
        size_t burst = count < BURST ? count : BURST;
        struct key keys[BURST];
        uint64_t hashes[BURST];
        uint8_t is_flow[BURST];
        uint32_t payloads[BURST][2];
        for (size_t i = 0; i < burst; i++) {
            is_flow[i] = (uint8_t)parse(&frames[i], &keys[i], payloads[i]);
            hashes[i] = is_flow[i] ? hash(table, &keys[i]) : 0;
            __builtin_prefetch(&table->buckets[hashes[i] & table->mask]);
        }
        for (size_t i = 0; i < burst + AHEAD; i++) {
            if (i < burst) {
                const struct bucket *bucket = &table->buckets[hashes[i] & table->mask];
                uint16_t tag = tag_of(hashes[i]);
                for (int way = 0; way < 8; way++)
                    if (bucket->tags[way] == tag) {
                        __builtin_prefetch(&table->entries[bucket->entries[way]], 1);
                        break;
                    }
            }
            if (i < AHEAD)
                continue;
            size_t at = i - AHEAD;
            struct entry *entry = is_flow[at] ? find(table, &keys[at], hashes[at]) : NULL;
            if (entry) {
                entry->packets++;
                entry->payload += payloads[at][1] - payloads[at][0];
                entry->bytes += frames[at].wire;
                verdicts += entry->verdict;
            }
        }
        frames += burst;
        count -= burst;
    }
    return verdicts;
}
