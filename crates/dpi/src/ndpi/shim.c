/* nDPI behind a small stable interface.
 *
 * nDPI's structs and prototypes change between releases: a protocol is returned in one register, in two, or in memory, and a prototype of
 * another release corrupts memory. This file is therefore compiled against the installed headers, and nothing else of sluss sees these.
 * It is not linked with the library: sluss_ndpi_open() loads it at run time. Releases 4.2 to 5.x are known. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <ndpi_main.h>

#define RELEASE (NDPI_MAJOR * 100 + NDPI_MINOR)
#if RELEASE < 402 || RELEASE >= 600
#error "nDPI 4.2 to 5.x is known"
#endif

#if RELEASE >= 500
#define COUNT_PROTOCOLS ndpi_get_num_protocols
#define ONLY_BEFORE_5(F)
#else
#define COUNT_PROTOCOLS ndpi_get_num_supported_protocols
#define ONLY_BEFORE_5(F) F(ndpi_set_protocol_detection_bitmask2) F(ndpi_extra_dissection_possible) F(ndpi_get_proto_defaults)
#endif

/* The functions that are called. */
#define FUNCTIONS(F) \
  F(ndpi_revision) F(ndpi_detection_get_sizeof_ndpi_flow_struct) F(ndpi_init_detection_module) F(ndpi_finalize_initialization) \
  F(ndpi_detection_process_packet) F(ndpi_detection_giveup) F(ndpi_free_flow_data) F(ndpi_get_proto_name) F(ndpi_category_get_name) \
  F(COUNT_PROTOCOLS) ONLY_BEFORE_5(F)
#define NAME_OF(name) #name
#define DECLARE(name) DECLARE_EXPANDED(name)
#define DECLARE_EXPANDED(name) static __typeof__(&name) call_##name;
#define LOAD(name) LOAD_EXPANDED(name)
#define LOAD_EXPANDED(name) \
  if(!(call_##name = (__typeof__(&name))dlsym(library, NAME_OF(name)))) return "the library lacks " NAME_OF(name);
#define CALL(name) CALL_EXPANDED(name)
#define CALL_EXPANDED(name) call_##name
FUNCTIONS(DECLARE)

/* What is known of a flow. The same struct is in library.rs. */
struct sluss_ndpi_finding { uint16_t app, master, category; uint8_t confidence, more; uint64_t risks; };
struct sluss_ndpi_details { const char *host, *alpn, *ja4, *ja3; };

/* Loads the library, for good. NULL, or why it cannot be used. */
const char *sluss_ndpi_open(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if(!library) return dlerror();
  FUNCTIONS(LOAD)
  return NULL;
}

const char *sluss_ndpi_revision(void) { return call_ndpi_revision(); }

/* Bytes of a flow's state, by the headers and by the library. */
size_t sluss_ndpi_flow_bytes(size_t *of_library) {
  *of_library = call_ndpi_detection_get_sizeof_ndpi_flow_struct();
  return sizeof(struct ndpi_flow_struct);
}

/* A module with all protocols, or NULL. */
void *sluss_ndpi_module(void) {
#if RELEASE >= 410
  struct ndpi_detection_module_struct *module = call_ndpi_init_detection_module(NULL);
#else
  struct ndpi_detection_module_struct *module = call_ndpi_init_detection_module(ndpi_no_prefs);
#endif
  if(!module) return NULL;
#if RELEASE < 500
  NDPI_PROTOCOL_BITMASK all;
  NDPI_BITMASK_SET_ALL(all);
  call_ndpi_set_protocol_detection_bitmask2(module, &all);
#endif
  call_ndpi_finalize_initialization(module);
  return module;
}

uint32_t sluss_ndpi_protocols(void *module) { return CALL(COUNT_PROTOCOLS)(module); }
const char *sluss_ndpi_name(void *module, uint16_t id) { return call_ndpi_get_proto_name(module, id); }
const char *sluss_ndpi_category_name(void *module, uint16_t category) {
  return call_ndpi_category_get_name(module, (ndpi_protocol_category_t)category);
}

/* Category of a protocol, or 0: in 5.x the table of protocols is private. */
uint16_t sluss_ndpi_category(void *module, uint16_t id) {
#if RELEASE < 500
  return (uint16_t)call_ndpi_get_proto_defaults(module)[id].protoCategory;
#else
  (void)module; (void)id;
  return 0;
#endif
}

/* How many categories there are. */
uint16_t sluss_ndpi_categories(void) { return NDPI_PROTOCOL_NUM_CATEGORIES; }

/* As `Confidence` is in Rust: 0 unknown, 1 ports, 2 addresses, 3 other flows, 4 a part, 5 payload. */
static uint8_t confidence(const struct ndpi_flow_struct *flow) {
  switch((int)flow->confidence) {
  case NDPI_CONFIDENCE_UNKNOWN: return 0;
  case NDPI_CONFIDENCE_MATCH_BY_PORT: return 1;
  case NDPI_CONFIDENCE_DPI: return 5;
  case NDPI_CONFIDENCE_DPI_CACHE: return 3;
#if RELEASE >= 404
  case NDPI_CONFIDENCE_DPI_PARTIAL: case NDPI_CONFIDENCE_DPI_PARTIAL_CACHE: return 4;
#endif
#if RELEASE < 404 || RELEASE >= 408
  case NDPI_CONFIDENCE_MATCH_BY_IP: return 2;
#endif
  default: return 4;
  }
}

static void find(struct sluss_ndpi_finding *finding, const struct ndpi_flow_struct *flow, ndpi_protocol found) {
#if RELEASE >= 411
  finding->app = found.proto.app_protocol, finding->master = found.proto.master_protocol;
#else
  finding->app = found.app_protocol, finding->master = found.master_protocol;
#endif
  finding->category = (uint16_t)found.category, finding->confidence = confidence(flow), finding->more = 0;
  finding->risks = flow->risk;
}

/* One packet of a flow, from its IP header on. */
void sluss_ndpi_packet(void *module, void *flow, const uint8_t *packet, uint16_t bytes, uint64_t ms, struct sluss_ndpi_finding *finding) {
#if RELEASE >= 406
  find(finding, flow, call_ndpi_detection_process_packet(module, flow, packet, bytes, ms, NULL));
#else
  find(finding, flow, call_ndpi_detection_process_packet(module, flow, packet, bytes, ms));
#endif
  if(finding->app != NDPI_PROTOCOL_UNKNOWN)
#if RELEASE >= 500
    finding->more = ((struct ndpi_flow_struct *)flow)->extra_packets_func != NULL;
#else
    finding->more = call_ndpi_extra_dissection_possible(module, flow) != 0;
#endif
}

/* Whatever a flow is by what was seen of it, guessed from ports and addresses where nothing else tells. */
void sluss_ndpi_give_up(void *module, void *flow, int guess, struct sluss_ndpi_finding *finding) {
#if RELEASE >= 500
  find(finding, flow, call_ndpi_detection_giveup(module, flow));
#elif RELEASE >= 410
  uint8_t guessed;
  find(finding, flow, call_ndpi_detection_giveup(module, flow, &guessed));
#else
  uint8_t guessed;
  find(finding, flow, call_ndpi_detection_giveup(module, flow, guess != 0, &guessed));
#endif
  (void)guess;
}

/* Strings of a flow, which live as long as its state; NULL where there are none. Fields of TLS share their memory with those of other
 * protocols, and are read only of a flow that was found to be TLS by its payload, or by the cache of certificates, which TLS alone asks. */
void sluss_ndpi_details(const struct ndpi_flow_struct *flow, struct sluss_ndpi_details *details) {
  memset(details, 0, sizeof *details);
  details->host = (const char *)flow->host_server_name;
  int tls = 0;
  for(int i = 0; i < 2; i++)
    switch(flow->detected_protocol_stack[i]) {
    case NDPI_PROTOCOL_TLS: case NDPI_PROTOCOL_QUIC: case NDPI_PROTOCOL_DTLS: tls = 1;
    }
  if(!tls || (flow->confidence != NDPI_CONFIDENCE_DPI && flow->confidence != NDPI_CONFIDENCE_DPI_CACHE)) return;
#if RELEASE >= 410
  details->ja4 = flow->protos.tls_quic.ja4_client;
#endif
#if RELEASE >= 406
  details->alpn = flow->protos.tls_quic.advertised_alpns;
#else
  details->alpn = flow->protos.tls_quic.alpn;
#endif
#if RELEASE < 500
  details->ja3 = flow->protos.tls_quic.ja3_client;
#endif
}

void sluss_ndpi_free(void *flow) { call_ndpi_free_flow_data(flow); }
