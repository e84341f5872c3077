-- C functions that apps and modules expect in `ffi.C`: the part of libc that Snabb declares, and functions of its engine, which ours answers.
require("ffi").cdef[[
unsigned int sleep(unsigned int seconds);
int usleep(unsigned long usec);
unsigned alarm(unsigned seconds);
unsigned long ualarm(unsigned long usecs, unsigned long interval);
void memcpy(void *dest, const void *src, size_t n);
void *memset(void *s, int c, size_t n);
int memcmp(const void *s1, const void *s2, int n);
// Without its result: to box that takes memory, which may be refused, after the bytes have moved.
void memmove(void *dest, const void *src, int n);
char *strncpy(char *dest, const char *src, size_t n);
int strncasecmp(const char *s1, const char *s2, size_t n);
int read(int fd, void *buf, size_t count);
int write(int fd, void *buf, size_t count);
int fork();
int close(int fd);
size_t pread(int fd, void *buf, int count, int offset);
size_t pwrite(int fd, const void *buf, int count, int offset);
void *malloc(int size);
int64_t readlink(const char *path, char *buf, size_t bufsiz);
char *dirname(char *path);
char *basename(char *path);
int inet_pton(int af, const char *src, void *dst);
const char *inet_ntop(int af, const void *src, char *dst, size_t size);
uint16_t htons(uint16_t);
uint16_t ntohs(uint16_t);
uint32_t htonl(uint32_t);
uint32_t ntohl(uint32_t);
void nop();
]]
return true
