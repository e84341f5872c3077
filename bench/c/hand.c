// What a good C programmer writes by hand for the same filters: the peers of the generated code.
// Meaning: pcap-filter(7) on Ethernet, a packet cut short inside a header that matters does not match.
#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t be16(const uint8_t *p) {
    uint16_t x;
    memcpy(&x, p, 2);
    return ntohs(x);
}

static inline uint32_t be32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, 4);
    return ntohl(x);
}

uint32_t hand_c_accept_all(const uint8_t *p, size_t n, uint32_t wire) {
    (void)p, (void)n, (void)wire;
    return 1;
}

uint32_t hand_c_ip(const uint8_t *p, size_t n, uint32_t wire) {
    (void)wire;
    return n >= 14 && be16(p + 12) == 0x0800;
}

uint32_t hand_c_tcp_port_80(const uint8_t *p, size_t n, uint32_t wire) {
    (void)wire;
    if (n < 24)
        return 0;
    uint16_t type = be16(p + 12);
    if (type == 0x0800) {
        if (p[23] != 6 || (be16(p + 20) & 0x1fff))
            return 0;
        size_t l4 = 14 + 4 * (size_t)(p[14] & 15);
        if (n < l4 + 4)
            return 0;
        return be16(p + l4) == 80 || be16(p + l4 + 2) == 80;
    }
    if (type == 0x86dd)
        return n >= 58 && p[20] == 6 && (be16(p + 54) == 80 || be16(p + 56) == 80);
    return 0;
}

// tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)
uint32_t hand_c_http_data(const uint8_t *p, size_t n, uint32_t wire) {
    (void)wire;
    if (n < 24 || be16(p + 12) != 0x0800 || p[23] != 6 || (be16(p + 20) & 0x1fff))
        return 0;
    size_t ihl = 4 * (size_t)(p[14] & 15);
    if (n < 14 + ihl + 13)
        return 0;
    const uint8_t *tcp = p + 14 + ihl;
    if (be16(tcp) != 80 && be16(tcp + 2) != 80)
        return 0;
    return be16(p + 16) - (uint32_t)ihl - ((tcp[12] & 0xf0u) >> 2) != 0;
}

// tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x504f5354
uint32_t hand_c_http_post(const uint8_t *p, size_t n, uint32_t wire) {
    (void)wire;
    if (n < 24 || be16(p + 12) != 0x0800 || p[23] != 6 || (be16(p + 20) & 0x1fff))
        return 0;
    size_t l4 = 14 + 4 * (size_t)(p[14] & 15);
    if (n < l4 + 13)
        return 0;
    size_t data = l4 + ((p[l4 + 12] & 0xf0u) >> 2);
    return n >= data + 4 && be32(p + data) == 0x504f5354;
}
