-- Calls of C functions that return structs by value, made so that LuaJIT compiles them.
--
-- LuaJIT interprets a call that passes or returns an aggregate by value (LuaJIT's manual, "FFI Semantics", C functions), and a trace ends
-- there. A wrapper that writes the struct through a pointer has no such call. It is machine code, written when it is asked for:
--
--     local process = byref(ffi.C.process)      -- result_t process(handle *, int)
--     local result = ffi.new("result_t")        -- once, outside the loop
--     process(handle, 7, result)                -- compiled
--
-- Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2 "Function Calling Sequence".
local ffi = require("ffi")
local bit = require("bit")
local C = ffi.C
local band, bor, rshift = bit.band, bit.bor, bit.rshift

local M = {}

-- What ffi.typeinfo tells of a type: the kind in the upper four bits, flags, and the number of another type in the lower sixteen.
local NUMBER, STRUCT, POINTER, ARRAY, VOID, ENUM, FUNCTION, TYPEDEF, ATTRIBUTE, FIELD, BITFIELD =
   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local IS_FLOAT, IS_BOOL, IS_UNSIGNED = 0x04000000, 0x08000000, 0x00800000
local IS_COMPLEX, IS_VARIADIC = 0x04000000, 0x00800000

-- A type behind its names and qualifiers: what is known of it, its kind and its number.
local function resolved(id)
   local info = ffi.typeinfo(id)
   local kind = rshift(info.info, 28)
   if kind == TYPEDEF or kind == ATTRIBUTE then
      return resolved(band(info.info, 0xffff))
   end
   return info, kind, id
end

local function child(info)
   return band(info.info, 0xffff)
end

-- Notes the class of each eightbyte of a value that begins at `offset`. Returns false where it must go through memory.
local function classify(id, offset, classes)
   local info, kind = resolved(id)
   if kind == STRUCT then
      local member = info.sib
      while member do
         local field = ffi.typeinfo(member)
         local field_kind = rshift(field.info, 28)
         if field_kind == FIELD and not classify(child(field), offset + field.size, classes) then
            return false
         elseif field_kind == BITFIELD then
            -- Bits lie in a unit of their type; wherever that is, they are of class INTEGER.
            classes[rshift(offset + field.size, 3)] = "integer"
         elseif field_kind == ATTRIBUTE and not classify(child(field), offset + (field.size or 0), classes) then
            return false
         end
         member = field.sib
      end
      return true
   elseif kind == ARRAY then
      local element, element_kind, element_id = resolved(child(info))
      if band(info.info, IS_COMPLEX) ~= 0 then
         error("a complex number is returned, which no wrapper is made for", 0)
      end
      for at = 0, info.size - 1, element.size do
         if not classify(element_id, offset + at, classes) then return false end
      end
      return element_kind ~= VOID
   end
   local size = info.size
   if size > 8 then
      error("a number of " .. size .. " bytes is returned, which no wrapper is made for", 0)
   end
   -- Fields that are not aligned go through memory (3.2.3, "classification").
   if offset % size ~= 0 then return false end
   local is_float = kind == NUMBER and band(info.info, IS_FLOAT) ~= 0
   local at = rshift(offset, 3)
   classes[at] = (is_float and classes[at] ~= "integer") and "sse" or "integer"
   return true
end

-- A type that takes the same values in the same place. LuaJIT has no way from a type's number to the type.
local function name_of(info, kind, is_float)
   if is_float then return info.size == 4 and "float" or "double" end
   if kind == POINTER then return "const void *" end
   if kind == NUMBER and band(info.info, IS_BOOL) ~= 0 then return "bool" end
   local is_unsigned = kind == NUMBER and band(info.info, IS_UNSIGNED) ~= 0
   return (is_unsigned and "u" or "") .. "int" .. 8 * info.size .. "_t"
end

-- The types of the arguments of a function, and whether each goes in a general register or a vector register.
local function arguments(info)
   local list = {}
   local at = info.sib
   while at do
      local field = ffi.typeinfo(at)
      local argument, kind = resolved(child(field))
      if kind == STRUCT or (kind == ARRAY and band(argument.info, IS_COMPLEX) ~= 0) then
         error("argument " .. #list + 1 .. " is passed by value, which no wrapper is made for: pass a pointer", 0)
      end
      local is_float = kind == NUMBER and band(argument.info, IS_FLOAT) ~= 0
      if is_float and argument.size > 8 then
         error("argument " .. #list + 1 .. " is a long double, which no wrapper is made for", 0)
      end
      list[#list + 1] = { type = name_of(argument, kind, is_float), class = is_float and "sse" or "integer" }
      at = field.sib
   end
   return list
end

-- Bytes of machine code, appended by number.
local function emit(code, ...)
   for _, byte in ipairs { ... } do code[#code + 1] = byte end
end

local function emit_number(code, number, bytes)
   for at = 0, bytes - 1 do
      code[#code + 1] = tonumber(band(rshift(number, 8 * at), 0xff))
   end
end

-- The number of a register in an instruction.
local RAX, RCX, RDX, RBX, RSP, RSI, RDI, R8, R9 = 0, 1, 2, 3, 4, 6, 7, 8, 9
local INTEGER_REGISTERS = { RDI, RSI, RDX, RCX, R8, R9 }
local VECTOR_REGISTERS = 8

-- mov to, from
local function move(code, to, from)
   emit(code, 0x48 + rshift(from, 3) * 4 + rshift(to, 3), 0x89, 0xc0 + band(from, 7) * 8 + band(to, 7))
end

-- mov to, [rsp + offset]
local function load_from_stack(code, to, offset)
   emit(code, 0x48 + rshift(to, 3) * 4, 0x8b, 0x84 + band(to, 7) * 8, 0x24)
   emit_number(code, offset, 4)
end

-- push qword [rsp + offset]
local function push_from_stack(code, offset)
   emit(code, 0xff, 0xb4, 0x24)
   emit_number(code, offset, 4)
end

-- Stores the lower bytes of a register at [rbx + offset]; what is stored piece by piece is shifted away.
local function store_integer(code, register, offset, bytes)
   while bytes > 0 do
      local size = bytes >= 8 and 8 or bytes >= 4 and 4 or bytes >= 2 and 2 or 1
      if size == 2 then emit(code, 0x66) end
      if size == 8 then emit(code, 0x48) end
      emit(code, size == 1 and 0x88 or 0x89, 0x43 + register * 8, offset)
      bytes, offset = bytes - size, offset + size
      if bytes > 0 then emit(code, 0x48, 0xc1, 0xe8 + register, size * 8) end
   end
end

-- movsd or movss [rbx + offset], xmm
local function store_vector(code, register, offset, bytes)
   emit(code, bytes == 4 and 0xf3 or 0xf2, 0x0f, 0x11, 0x43 + register * 8, offset)
end

-- The code of a wrapper for the function at `target`: it takes one argument more, the place of the result.
local function assemble(target, list, classes, size)
   local code = {}
   local integers, vectors, stacked = 0, 0, {}
   local in_memory = classes == nil
   -- What the wrapper is called with: registers first, then the stack, the place of the result last.
   local incoming = {}
   local taken = { integer = 0, sse = 0, stack = 0 }
   local limits = { integer = #INTEGER_REGISTERS, sse = VECTOR_REGISTERS }
   local function place(class)
      if taken[class] < limits[class] then
         taken[class] = taken[class] + 1
         return { class = class, number = taken[class] }
      end
      taken.stack = taken.stack + 1
      return { class = "stack", number = taken.stack }
   end
   for at, argument in ipairs(list) do incoming[at] = place(argument.class) end
   local result = place("integer")
   -- What the function is called with: the place of a result in memory comes first.
   taken = { integer = in_memory and 1 or 0, sse = 0, stack = 0 }
   local outgoing = {}
   for at, argument in ipairs(list) do outgoing[at] = place(argument.class) end
   local pushes = taken.stack

   -- rbx keeps the place of the result; with it and the address to return to, the stack is aligned.
   emit(code, 0x53)
   local pushed = 2
   if result.class == "integer" then
      move(code, RBX, INTEGER_REGISTERS[result.number])
   else
      load_from_stack(code, RBX, 8 * (pushed + result.number - 1))
   end
   if pushes % 2 == 1 then
      emit(code, 0x48, 0x83, 0xec, 8)
      pushed = pushed + 1
   end
   -- The last one first. One that came in a register leaves its place to others.
   for at = #list, 1, -1 do
      if outgoing[at].class == "stack" then
         if incoming[at].class == "stack" then
            push_from_stack(code, 8 * (pushed + incoming[at].number - 1))
         else
            local register = INTEGER_REGISTERS[incoming[at].number]
            if register >= 8 then emit(code, 0x41) end
            emit(code, 0x50 + band(register, 7))
         end
         pushed = pushed + 1
      end
   end
   if in_memory then
      for at = #list, 1, -1 do
         if outgoing[at].class == "integer" then
            move(code, INTEGER_REGISTERS[outgoing[at].number], INTEGER_REGISTERS[incoming[at].number])
         end
      end
      move(code, RDI, RBX)
   end
   -- mov rax, target; call rax
   emit(code, 0x48, 0xb8)
   local address = ffi.new("uint64_t[1]", ffi.cast("uint64_t", ffi.cast("uintptr_t", target)))
   for at = 0, 7 do emit(code, ffi.cast("uint8_t *", address)[at]) end
   emit(code, 0xff, 0xd0)
   if pushed > 2 then
      emit(code, 0x48, 0x81, 0xc4)
      emit_number(code, 8 * (pushed - 2), 4)
   end
   if not in_memory then
      local integer, vector = { RAX, RDX }, { 0, 1 }
      for at = 0, rshift(size - 1, 3) do
         local bytes = math.min(8, size - 8 * at)
         if classes[at] == "sse" then
            store_vector(code, table.remove(vector, 1), 8 * at, bytes)
         else
            store_integer(code, table.remove(integer, 1), 8 * at, bytes)
         end
      end
   end
   emit(code, 0x5b, 0xc3)
   return code
end

ffi.cdef [[
void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset);
int mprotect(void *address, size_t length, int protection);
]]
local PAGE = 4096
local READ, WRITE, EXECUTE, PRIVATE, ANONYMOUS = 1, 2, 4, 2, 0x20

-- Code in memory of its own, which is never writable and executable at once, and stays until the process ends.
local function install(code)
   local memory = C.mmap(nil, PAGE, READ + WRITE, PRIVATE + ANONYMOUS, -1, 0)
   if ffi.cast("intptr_t", memory) == -1 then
      error("the system gives no memory for a wrapper: errno " .. ffi.errno(), 0)
   end
   local bytes = ffi.cast("uint8_t *", memory)
   for at, byte in ipairs(code) do bytes[at - 1] = byte end
   if C.mprotect(memory, PAGE, READ + EXECUTE) ~= 0 then
      error("the system does not let a wrapper be executed: errno " .. ffi.errno(), 0)
   end
   return memory
end

--- A function that calls `f`, a C function that returns a struct, with its arguments and one more: a pointer to such a struct, where the
--- result is written. Make it once, outside of loops.
---@param f ffi.cdata* a C function, or a pointer to one
---@return ffi.cdata* wrapper
function M.byref(f)
   if ffi.arch ~= "x64" or ffi.os == "Windows" then
      error("byref: wrappers are made for x86-64 and the System V calling convention", 2)
   end
   if type(f) ~= "cdata" then
      error("byref: expected a C function, not a " .. type(f), 2)
   end
   local info, kind, id = resolved(tonumber(ffi.typeof(f)))
   if kind == POINTER then info, kind, id = resolved(child(info)) end
   if kind ~= FUNCTION then
      error("byref: expected a C function, not " .. tostring(ffi.typeof(f)), 2)
   end
   if band(info.info, IS_VARIADIC) ~= 0 then
      error("byref: a function of any number of arguments has no wrapper", 2)
   end
   local returned, returned_kind, returned_id = resolved(child(info))
   if returned_kind ~= STRUCT then
      error("byref: the function returns no struct, so LuaJIT compiles it as it is", 2)
   end
   local ok, code = pcall(function ()
      local list, classes = arguments(info), {}
      local by_register = returned.size <= 16 and classify(returned_id, 0, classes)
      local types = {}
      for at, argument in ipairs(list) do types[at] = argument.type end
      types[#types + 1] = "void *"
      local wrapper = "void (*)(" .. table.concat(types, ", ") .. ")"
      local target = ffi.cast("void *", f)
      return ffi.cast(wrapper, install(assemble(target, list, by_register and classes or nil, returned.size)))
   end)
   if not ok then error("byref: " .. tostring(code), 2) end
   return code
end

return M
