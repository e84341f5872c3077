/* DynASM's encoder, as functions that Lua calls through its FFI. */
#include <stddef.h>

int (*DASM_EXTERN_FUNC)(void *context, unsigned char *address, int index, int type);
#define DASM_EXTERN(context, address, index, type) DASM_EXTERN_FUNC((void *)(context), address, index, type)
#define DASM_CHECKS

#include "dasm_proto.h"
#include "dasm_x86.h"
