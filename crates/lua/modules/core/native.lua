-- The native part of the engine: one struct that Rust and Lua share, and functions that take it. `boot` puts its address here.
local ffi = require("ffi")
require("core.link_h")
require("core.lib_h")

ffi.cdef[[
struct freelist {
   int nfree, max;
   struct packet *list[?];
};
struct sluss_core {
   struct freelist *free;
   struct counter *breaths, *frees, *freebytes, *freebits;
   double now;
   double sleep_us;
   void *latency;
   int running, timers, stamps;
};
int sluss_packets_more(struct sluss_core *);
void sluss_metadata_clear(struct packet *);
void sluss_metadata_copy(struct packet *, const struct packet *);
struct counter *sluss_counter_new(struct sluss_core *);
void sluss_counter_publish(struct sluss_core *, struct counter *, struct counter *);
void sluss_sent_publish(struct sluss_core *, void *, struct counter *);
void sluss_received_packets_publish(struct sluss_core *, struct received_packets *, struct counter *);
void sluss_received_bytes_publish(struct sluss_core *, struct received_bytes *, struct counter *);
uint64_t sluss_received_packets(const struct received_packets *);
uint64_t sluss_received_bytes(const struct received_bytes *);
void sluss_received_packets_set(struct received_packets *, uint64_t value);
void sluss_received_bytes_set(struct received_bytes *, uint64_t value);
void sluss_counter_unpublish(struct sluss_core *, void *);
void sluss_counter_delete(struct sluss_core *, struct counter *);
void sluss_counter_commit(struct sluss_core *);
struct link *sluss_link_new(struct sluss_core *);
void sluss_link_free(struct sluss_core *, struct link *);
void *sluss_memory(struct sluss_core *, size_t bytes, size_t align);
void *sluss_map(const char *path, size_t bytes, int mode);
int sluss_unmap(void *, size_t bytes);
]]

local native = ...
native.core = ffi.cast("struct sluss_core *", native.address)
return native
