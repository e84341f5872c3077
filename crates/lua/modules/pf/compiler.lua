-- What `pf` and `pf.match` share: calls of the compiler, and texts that go to Rust and come from there.

local ffi = require("ffi")
local C = ffi.C

ffi.cdef([[
   typedef struct { const char *start; size_t length; } sluss_lua_text;
   typedef struct { void *owner; const void *code; char *text; size_t text_length; uint32_t nodes, tests; } sluss_lua_compiled;
   bool sluss_lua_compile (const sluss_lua_text *text, const sluss_lua_text *link, uint32_t wanted, const sluss_lua_text *names,
                           const sluss_lua_text *values, uint32_t substitutions, uint32_t inputs, sluss_lua_compiled *to);
   void sluss_lua_compiled_free (void *owner, char *text, size_t length);
]])

local text_t = ffi.typeof("sluss_lua_text")
local texts_t = ffi.typeof("sluss_lua_text[?]")
-- PERF: numbers become arguments with a sign by one instruction, and one without is compared as a double. Both lengths and the number of a leaf are less
-- than 2^31.
local code_t = ffi.typeof("int32_t (*) (const uint8_t *packet, int64_t captured, int32_t wire_length)")
local owner_t = ffi.typeof("void *")
-- What owns the machine code of a function. PERF: an address that has a finalizer itself is no constant in a trace.
local owners = setmetatable({}, { __mode = "k" })

local M = {}

-- In the order of their numbers, from 0.
local wanted_number = {}
for i, name in ipairs({ "code", "lua", "assembly", "bytecode", "bytecode_lua", "listing", "match" }) do
   wanted_number[name] = i - 1
end

-- `opts` with the values of `defaults` where it has none. One that `defaults` does not know is an error.
function M.options (opts, defaults)
   local result = {}
   for name, value in pairs(defaults) do result[name] = value end
   for name, value in pairs(opts or {}) do
      if defaults[name] == nil then error("unrecognized option "..tostring(name), 3) end
      result[name] = value
   end
   return result
end

-- A string as Rust takes it. The string must be kept as long as that.
function M.text (s)
   return text_t(s, #s)
end
local text_of = M.text

-- The string of a text that Rust has written, which is given back.
function M.taken_text (from)
   local s = ffi.string(from.text, from.text_length)
   C.sluss_lua_compiled_free(nil, from.text, from.text_length)
   return s
end

-- Compiles `text` for packets of a link type. `substitutions` is a table from name to text, `inputs` a list of names. Returns a table with
-- `code`, the address of machine code, and `owner`, which is to be kept as long; or else with `text`; and with
-- `nodes`, the size of its graph, and `tests`, the most that one packet passes.
function M.compile (text, link, wanted, substitutions, inputs)
   assert(type(text) == "string", "a filter is a string")
   -- Strings are kept in tables while C has pointers to them.
   local names, values = {}, {}
   for name, value in pairs(substitutions or {}) do
      table.insert(names, name)
      table.insert(values, tostring(value))
   end
   local count = #names
   for _, name in ipairs(inputs or {}) do table.insert(names, name) end
   local name_texts, value_texts = texts_t(#names + 1), texts_t(count + 1)
   for i, name in ipairs(names) do name_texts[i - 1] = text_of(name) end
   for i, value in ipairs(values) do value_texts[i - 1] = text_of(value) end

   local to = ffi.new("sluss_lua_compiled")
   local ok = C.sluss_lua_compile(text_of(text), text_of(link), wanted_number[wanted], name_texts, value_texts, count, #names - count, to)
   local result = { nodes = to.nodes, tests = to.tests }
   if to.text ~= nil then
      result.text = M.taken_text(to)
   end
   if not ok then error("\n"..result.text, 0) end
   if to.code ~= nil then
      result.code = ffi.cast(code_t, to.code)
      result.owner = ffi.gc(ffi.cast(owner_t, to.owner), function (owner) C.sluss_lua_compiled_free(owner, nil, 0) end)
   end
   return result
end

-- A function of the chunk of Lua that was compiled.
function M.load (compiled, name)
   return assert(loadstring(compiled.text, "=filter: "..name:sub(1, 40)))()
end

-- A function (packet, length) of what was compiled of a filter.
function M.predicate (compiled, name)
   local code = compiled.code
   if not code then return M.load(compiled, name) end
   local function predicate (packet, length)
      return code(packet, length, length) ~= 0
   end
   owners[predicate] = compiled.owner
   return predicate
end

return M
