-- What each kind of finding is, and what to write instead. The book has a section for each: explanation/coach.md.
local M = {}

-- By kind: what it is in a line, and what to do, in lines. Of some, `is_part`, the time cannot be told from that of the code around them.
M.kinds = {
   struct_by_value = {
      what = "a C function that takes or returns a struct by value is not compiled",
      instead = {
         "make a wrapper once, outside the loop, which writes the struct through a pointer:",
         "    local f = require(\"sluss.ffi\").byref(ffi.C.f)",
         "    f(…, result)",
      },
   },
   initializer = {
      what = "an allocation with a table of initial values is not compiled",
      instead = {
         "allocate without the table, and set the fields one by one;",
         "or give the values one by one: ffi.new(ct, 1, 2)",
      },
   },
   variable_length = {
      what = "an allocation of variable length is not compiled",
      instead = {
         "allocate one that is long enough, once, outside the loop, and use it again",
      },
   },
   escape = {
      what = "a struct that is allocated in each round escapes, so the allocation stays",
      instead = {
         "allocate one outside the loop and set its fields; or keep it local:",
         "what is stored in no table, up-value or global is not allocated at all",
      },
   },
   cast = {
      what = "the result of ffi.cast escapes, so each round allocates a pointer",
      instead = {
         "keep it in a local and use it there; what is to live longer, keep in a struct's field",
      },
   },
   table = {
      what = "each round allocates a table",
      instead = {
         "make it once, outside the loop, and use it again; or keep its values in locals",
      },
   },
   closure = {
      what = "a function is made in each round, which is not compiled",
      instead = {
         "define it outside the loop, and give it as arguments what it needs",
      },
   },
   builtin = {
      what = "a built-in function that is not compiled",
      instead = {
         "call it outside the loop, or less often; see which are compiled: wiki.luajit.org/NYI",
      },
   },
   arguments = {
      what = "a built-in function is called with arguments for which it is not compiled",
      instead = {
         "call it with other types: a number where it gets a string, a type made by ffi.typeof once",
      },
   },
   loop = {
      what = "a loop within the loop is not compiled, so the outer one is not either",
      instead = {
         "mend the inner loop first: another finding says what stops it;",
         "where that cannot be, split the work: the outer loop's own part in a loop of its own",
      },
   },
   unroll = {
      what = "a short inner loop or a recursion is unrolled until there is no room",
      instead = {
         "make the inner loop longer or write it out; turn recursion, and tail calls in a ring, into a loop",
      },
   },
   conversion = {
      is_part = true,
      what = "numbers go to and fro between integers and doubles",
      instead = {
         "keep counters and offsets in integer range; use bit operations for unsigned ones;",
         "avoid / where bit.rshift does",
      },
   },
   restarts = {
      is_part = true,
      what = "many ways out of the loop begin it anew, each with all checks before it",
      instead = {
         "fewer branches in the loop: compute with tables or bit operations, or split the work",
         "into several loops, each over packets of one kind",
      },
   },
   live = {
      is_part = true,
      what = "many values are alive where the loop may be left",
      instead = {
         "fewer locals in the loop: let what is needed once be an expression, and put parts in functions",
      },
   },
   globals = {
      is_part = true,
      what = "globals are looked up in each round",
      instead = {
         "name them in locals outside the loop: local band, cast = bit.band, ffi.cast",
      },
   },
   vararg = {
      what = "a function of any number of arguments is not compiled here",
      instead = {
         "give it fixed arguments; select(\"#\", …) and select(n, …) with a constant are compiled",
      },
   },
   too_long = {
      what = "the path through the loop is too long for one trace",
      instead = {
         "split the work into several loops, or into functions that are compiled by themselves",
      },
   },
   other = {
      what = "LuaJIT cannot compile this",
      instead = { "see the reason: the book has what is known of it" },
   },
}

-- Kinds by LuaJIT's words, the first that suits. A `warm_up` needs nothing: another try succeeds.
local REASONS = {
   { "unsupported C function type", "struct_by_value" },
   { "bytecode FNEW", "closure" },
   { "bytecode UCLO", "closure" },
   { "bytecode VARG", "vararg" },
   { "bytecode ISNEXT", "loop" },
   { "bytecode ITERN", "loop" },
   { "unsupported variant of FastFunc", "arguments" },
   { "NYI: FastFunc", "builtin" },
   { "NYI: C function", "builtin" },
   { "unsupported C type conversion", "initializer" },
   { "inner loop in root trace", "loop" },
   { "leaving loop in root trace", "loop" },
   { "loop unroll limit reached", "unroll" },
   { "call unroll limit reached", "unroll" },
   { "down%-recursion", "unroll" },
   { "retry recording", "warm_up" },
   -- By a sample of the coach's own.
   { "error thrown or hook called", "warm_up" },
   { "blacklisted", "loop" },
   { "trace too long", "too_long" },
   { "too many snapshots", "too_long" },
   { "too many IR instructions", "too_long" },
   { "register coalescing too complex", "too_long" },
   { "too many spill slots", "live" },
}

--- The kind of an abort, by its reason and the line where it was.
function M.of_reason(reason, line)
   line = line or ""
   if reason:find("bad argument type") then
      -- Which argument, LuaJIT does not say; the line mostly does.
      if line:find("%[%?%]") then return "variable_length" end
      if line:find("{") then return "initializer" end
      return line:find("ffi%.new") and "variable_length" or "arguments"
   end
   for _, row in ipairs(REASONS) do
      if reason:find(row[1]) then return row[2] end
   end
   return "other"
end

return M
