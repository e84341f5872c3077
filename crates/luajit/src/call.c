/* Rust keeps Lua values as the 64 bits that they are, and calls a function with them: one call in place of a `lua_rawgeti` for each value and a `lua_pcall`. */
#include "lj_obj.h"
#include "lj_state.h"
#include "lj_vm.h"

/* The value on top of the stack. Its bits do not keep it alive: something that Lua knows of must refer to it for as long as they are used. */
uint64_t sluss_luajit_value(lua_State *state)
{
  return (state->top - 1)->u64;
}

/* Pushes a value. The stack has a free slot. */
void sluss_luajit_push(lua_State *state, uint64_t value)
{
  (state->top++)->u64 = value;
}

/* Calls the first value with the others, as `lua_pcall` without results; the handler of errors is at an index of the stack, which has a free slot for
** each value, and one more. */
int sluss_luajit_call(lua_State *state, const uint64_t *values, int count, int handler)
{
  global_State *g = G(state);
  uint8_t hooks = hook_save(g);
  TValue *at = state->top;
  TValue *arguments;
  int index, status;
  (at++)->u64 = values[0];
  if (LJ_FR2) setnilV(at++);
  arguments = at;
  for (index = 1; index < count; index++) (at++)->u64 = values[index];
  state->top = at;
  status = lj_vm_pcall(state, arguments, 0 + 1, savestack(state, state->base + handler - 1));
  if (status) hook_restore(g, hooks);
  return status;
}
