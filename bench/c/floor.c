// The floor of `sluss filter 'tcp port 80' IN -o OUT`: the least C that does the work for a native-order pcap.
// No error handling worth the name: it is a yardstick, not a tool.
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024 };
static uint8_t in[2 * BLOCK], out[BLOCK];
static size_t filled;

static void put(int fd, const uint8_t *p, size_t n) {
    if (filled + n > BLOCK) {
        if (write(fd, out, filled) != (ssize_t)filled)
            exit(3);
        filled = 0;
    }
    memcpy(out + filled, p, n);
    filled += n;
}

static int matches(const uint8_t *p, size_t n) {
    if (n < 24)
        return 0;
    uint16_t type, port = htons(80);
    memcpy(&type, p + 12, 2);
    size_t l4;
    if (type == htons(0x0800)) {
        if (p[23] != 6 || (((p[20] << 8) | p[21]) & 0x1fff))
            return 0;
        l4 = 14 + 4 * (size_t)(p[14] & 15);
    } else if (type == htons(0x86dd)) {
        if (p[20] != 6)
            return 0;
        l4 = 54;
    } else
        return 0;
    return n >= l4 + 4 && (!memcmp(p + l4, &port, 2) || !memcmp(p + l4 + 2, &port, 2));
}

int main(int argc, char **argv) {
    int from = argc > 1 ? open(argv[1], O_RDONLY) : 0;
    int to = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644) : 1;
    size_t have = 0, at = 24;
    int header = 1;
    for (;;) {
        ssize_t got = read(from, in + have, BLOCK);
        if (got <= 0)
            break;
        have += (size_t)got;
        if (header && have >= 24)
            put(to, in, 24), header = 0;
        while (at + 16 <= have) {
            uint32_t captured;
            memcpy(&captured, in + at + 8, 4);
            if (at + 16 + captured > have)
                break;
            if (matches(in + at + 16, captured))
                put(to, in + at, 16 + captured);
            at += 16 + captured;
        }
        memmove(in, in + at, have - at);
        have -= at, at = 0;
    }
    return write(to, out, filled) == (ssize_t)filled ? 0 : 3;
}
