-- Functions that apps and programs share: arguments, text, byte order, files, time.
local ffi = require("ffi")
local bit = require("bit")
local native = require("core.native")
require("core.clib_h")
local C = ffi.C
local band, bor, bnot, lshift, rshift, bswap = bit.band, bit.bor, bit.bnot, bit.lshift, bit.rshift, bit.bswap
local cast, tonumber = ffi.cast, tonumber

local lib = {}

-- Whether two values are alike: tables by their contents, unless they have a metatable, and C data by its type and bytes.
function lib.equal (x, y)
   local kind = type(x)
   if kind ~= type(y) then return false end
   if x == y then return true end
   if kind == "table" then
      if getmetatable(x) or getmetatable(y) then return false end
      for k, v in pairs(x) do
         if not lib.equal(v, y[k]) then return false end
      end
      for k in pairs(y) do
         if x[k] == nil then return false end
      end
      return true
   elseif kind == "cdata" then
      local size = ffi.sizeof(x)
      return ffi.typeof(x) == ffi.typeof(y) and size == ffi.sizeof(y) and size ~= nil and C.memcmp(x, y, size) == 0
   end
   return false
end

-- Files and commands

function lib.can_open (name, mode)
   local file = io.open(name, mode or "r")
   if file then file:close() end
   return file ~= nil
end
function lib.can_read (name) return lib.can_open(name, "r") end
function lib.can_write (name) return lib.can_open(name, "w") end

-- Reads `what` (as `file:read` takes it) of what a shell command prints.
function lib.readcmd (command, what)
   local pipe = assert(io.popen(command))
   local value = pipe:read(what)
   pipe:close()
   return value
end

function lib.readfile (name, what)
   local file = io.open(name, "r")
   if not file then error("Unable to open file: "..name) end
   local value = file:read(what)
   file:close()
   return value
end

function lib.writefile (name, value)
   local file = io.open(name, "w")
   if not file then error("Unable to open file: "..name) end
   local written = file:write(value)
   return file:close() and written
end

function lib.firstline (name) return lib.readfile(name, "*l") end

-- The first name in a folder.
function lib.firstfile (folder)
   local names = native.readdir(folder)
   if names then
      table.sort(names)
      return names[1]
   end
end

function lib.readlink (path) return native.readlink(path) end

-- As dirname(3): "." for a name without a folder.
function lib.dirname (path)
   if not path then return nil end
   if path:match("^/+$") then return "/" end
   local folder = path:gsub("/+$", ""):match("^(.*)/[^/]*$")
   if not folder then return "." end
   folder = folder:gsub("/+$", "")
   return folder == "" and "/" or folder
end
-- As GNU's basename(3): what stands behind the last slash, also if that is nothing.
function lib.basename (path)
   if path then return path:match("[^/]*$") end
end

-- Lua values as text

function lib.load_string (text) return assert(loadstring("return "..text))() end
function lib.load_conf (name) return dofile(name) end

-- Writes a value as Lua text: arrays without keys, other tables with them.
function lib.print_object (value, stream)
   stream = stream or io.stdout
   local function write (v, indent)
      if type(v) == "table" then
         local inner = indent.."  "
         stream:write("{\n")
         if #v > 0 then
            for _, element in ipairs(v) do
               stream:write(inner)
               write(element, inner)
               stream:write(",\n")
            end
         else
            for key, element in pairs(v) do
               stream:write(inner, tostring(key), " = ")
               write(element, inner)
               stream:write(",\n")
            end
         end
         stream:write(indent, "}")
      else
         stream:write((type(v) == "string" and "%q" or "%s"):format(type(v) == "string" and v or tostring(v)))
      end
   end
   write(value, "")
   stream:write("\n")
end

function lib.store_conf (name, value)
   local stream = assert(io.open(name, "w"))
   stream:write("return ")
   lib.print_object(value, stream)
   stream:close()
end

-- Bits

-- The value whose bits are set that the values of a table number, together with `base`.
function lib.bits (numbers, base)
   local sum = base or 0
   for _, n in pairs(numbers) do sum = bor(sum, lshift(1, n)) end
   return sum
end

function lib.bitset (value, n) return band(value, lshift(1, n)) ~= 0 end

-- Text

-- Iterates over what stands between the places where a pattern matches.
function string:split (pattern)
   local position, length = 1, #self
   return function ()
      if not position then return end
      local from = position
      local first, last, capture = self:find(pattern, from)
      -- An empty match moves on by one byte.
      if first and last < first then
         if from > length then first = nil else first, last = from + 1, from end
      end
      if not first then
         position = nil
         return self:sub(from)
      end
      position = last + 1
      return self:sub(from, first - 1), capture or self:sub(first, last)
   end, self
end

function lib.hexdump (s)
   return (s:gsub(".", function (c) return ("%02X "):format(c:byte()) end):sub(1, -2))
end

-- The first `n` bytes that hexadecimal text stands for. With fewer it is an error, unless `complaint` is false.
function lib.hexundump (text, n, complaint)
   local buffer, count = ffi.new("uint8_t[?]", n), 0
   for digits in text:gmatch("%s*(%x%x)") do
      if count == n then break end
      buffer[count] = tonumber(digits, 16)
      count = count + 1
   end
   if complaint ~= false and count < n then
      error(complaint or ("Wanted "..n.." bytes, but only got "..count))
   end
   return ffi.string(buffer, n)
end

-- A number with commas between thousands.
function lib.comma_value (n)
   if type(n) == "cdata" then n = tostring(n):match("^(-?%d+)U?LL$") or tonumber(n) end
   if n ~= n then return "NaN" end
   local head, digits, tail = tostring(n):match("^([^%d]*)(%d+)(.*)$")
   if not digits then return tostring(n) end
   return head..digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")..tail
end

function lib.yesno (flag) return flag and "yes" or "no" end

-- Memory

-- An array of C values at an offset of a pointer that checks its index.
function lib.bounds_checked (kind, base, offset, size)
   kind = ffi.typeof(kind)
   local pointer_t = ffi.typeof("$ *", kind)
   local checked = ffi.metatype(ffi.typeof("struct { $ pointer; }", pointer_t), {
      __index = function (array, i)
         assert(i < size)
         return array.pointer[i]
      end,
      __newindex = function (array, i, value)
         assert(i < size)
         array.pointer[i] = value
      end,
   })
   return checked(cast(pointer_t, cast("uint8_t *", base) + offset))
end

-- Memory for a C type that is never freed.
function lib.malloc (kind)
   kind = ffi.typeof(kind)
   return cast(ffi.typeof("$ *", kind), (require("core.memory").dma_alloc(ffi.sizeof(kind))))
end

-- The least multiple of `size` that is not less than `value`.
function lib.align (value, size) return value + (size - value % size) % size end

function lib.deepcopy (value)
   if type(value) ~= "table" then return value end
   local copy = {}
   for k, v in next, value do copy[lib.deepcopy(k)] = lib.deepcopy(v) end
   return setmetatable(copy, lib.deepcopy(getmetatable(value)))
end

function lib.array_copy (array)
   local copy = {}
   for i = 1, #array do copy[i] = array[i] end
   return copy
end

-- A table in which each argument is a key.
function lib.set (...)
   local set = {}
   for _, value in pairs({ ... }) do set[value] = true end
   return set
end

-- Keeps LuaJIT from moving loads and stores across this call.
function lib.compiler_barrier () C.nop() end

-- Byte order. The parentheses keep these from being tail calls, of which LuaJIT compiles only so many in a row.

if ffi.abi("be") then
   function lib.htonl (n) return n end
   function lib.htons (n) return n end
else
   function lib.htonl (n) return (tonumber(cast("uint32_t", bswap(n)))) end
   function lib.htons (n) return (rshift(bswap(n), 16)) end
end
lib.ntohl, lib.ntohs = lib.htonl, lib.htons

local to_host = { [16] = lib.ntohs, [32] = lib.ntohl }
-- Reads or, with a value, writes `count` bits at an offset, from the left, of a member that has `size` bits in network byte order.
function lib.bitfield (size, struct, member, offset, count, value)
   local convert = to_host[size]
   local field = struct[member]
   if convert then field = convert(field) end
   local shift = size - (count + offset)
   local mask = lshift(2^count - 1, shift)
   if not value then return rshift(band(field, mask), shift) end
   field = bor(band(field, bnot(mask)), band(lshift(value, shift), mask))
   if convert then field = convert(field) end
   struct[member] = field
end

-- Checksums: slow; `lib.checksum` is fast.

function lib.update_csum (pointer, length, sum)
   local bytes = cast("const uint8_t *", pointer)
   sum = sum or 0LL
   for i = 0, length - 2, 2 do sum = sum + lshift(bytes[i], 8) + bytes[i + 1] end
   if length % 2 == 1 then sum = sum + lshift(bytes[length - 1], 8) end
   return sum
end
function lib.finish_csum (sum)
   while sum > 0xffff do sum = band(sum, 0xffff) + rshift(sum, 16) end
   return tonumber(band(bnot(sum), 0xffff))
end
function lib.csum (pointer, length) return lib.finish_csum(lib.update_csum(pointer, length)) end

-- Time

-- A function that returns true at most once in so many seconds.
function lib.throttle (seconds)
   local now = require("core.app").now
   local due = now()
   return function ()
      local time = now()
      if time <= due then return false end
      due = time + seconds
      return true
   end
end

-- A function that returns true once so many seconds have passed.
function lib.timeout (seconds)
   local now = require("core.app").now
   local due = now() + seconds
   return function () return now() > due end
end

function lib.waitfor (condition)
   while not condition() do C.usleep(100) end
end

-- Waits for a test to succeed, asked every `interval` microseconds, and says so on standard output.
function lib.waitfor2 (name, test, attempts, interval)
   io.write("Waiting for "..name..".")
   for _ = 1, attempts do
      if test() then
         print(" ok")
         return
      end
      C.usleep(interval)
      io.write(".")
      io.flush()
   end
   print()
   error("timeout waiting for "..name)
end

-- Arguments

-- Reads options of a command: calls `actions[letter](argument)` for each. Returns the other arguments.
function lib.dogetopt (args, actions, short, long)
   local letters, first, arguments = require("lib.lua.alt_getopt").get_ordered_opts(args, short, long)
   for i, letter in ipairs(letters) do
      if not actions[letter] then error("unimplemented option: "..letter) end
      actions[letter](arguments[i])
   end
   local rest = {}
   for i = first, #args do rest[#rest + 1] = args[i] end
   return rest
end

-- Checks a table of parameters: `config` has for each its `required` or its `default`. Returns the table with the defaults filled in.
function lib.parse (arg, config)
   arg = arg or {}
   local result = {}
   for name, parameter in pairs(config) do
      if parameter.required and arg[name] == nil then error("missing required parameter '"..name.."'", 2) end
   end
   for name, value in pairs(arg) do
      if not config[name] then error("unrecognized parameter '"..tostring(name).."'", 2) end
      result[name] = value
   end
   for name, parameter in pairs(config) do
      if result[name] == nil then result[name] = parameter.default end
   end
   return result
end

-- Process and system

-- Whether a module can be required. It is not run.
function lib.have_module (name)
   if package.loaded[name] then return true end
   for _, search in ipairs(package.loaders) do
      local loader = search(name)
      if type(loader) == "function" then
         package.preload[name] = loader
         return true
      end
   end
   return false
end

-- The variable's value, unless it is empty.
function lib.getenv (name)
   local value = os.getenv(name)
   return value ~= "" and value or nil
end

function lib.root_check (message)
   if native.geteuid() ~= 0 then
      print(message or "error: must run as root")
      require("core.main").exit(1)
   end
end

-- Replaces this process by another program, with this environment.
function lib.execv (path, argv) return native.execv(path, argv or {}) end

-- Whether the kernel has a network interface of that name.
function lib.is_iface (name)
   for line in io.lines("/proc/net/dev") do
      if line:match("^%s*([^:%s]+):") == name then return true end
   end
   return false
end

-- Random numbers: from the kernel, or, once `randomseed` was given a seed, the same in each run.

function lib.random_bytes_from_dev_urandom (count)
   local bytes = ffi.new(ffi.typeof("uint8_t[$]", count))
   local file = assert(io.open("/dev/urandom", "rb"))
   ffi.copy(bytes, assert(file:read(count)), count)
   file:close()
   return bytes
end

function lib.random_bytes_from_math_random (count)
   local bytes = ffi.new(ffi.typeof("uint8_t[$]", count))
   for i = 0, count - 1 do bytes[i] = math.random(0, 255) end
   return bytes
end

lib.random_bytes = lib.random_bytes_from_dev_urandom

function lib.randomseed (seed)
   seed = tonumber(seed)
   if seed then
      io.stderr:write(("Using deterministic random numbers, SNABB_RANDOM_SEED=%d.\n"):format(seed))
      lib.random_bytes = lib.random_bytes_from_math_random
   else
      seed = cast("uint32_t *", lib.random_bytes_from_dev_urandom(4))[0]
      lib.random_bytes = lib.random_bytes_from_dev_urandom
   end
   math.randomseed(seed)
   return seed
end

function lib.random_data (length) return ffi.string(lib.random_bytes(length), length) end

local alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
-- Text with so many bits of randomness, 160 unless given.
function lib.random_printable_string (entropy)
   local bytes = lib.random_data(math.ceil((entropy or 160) / 6))
   return (bytes:gsub(".", function (c)
      local i = c:byte() % 64 + 1
      return alphabet:sub(i, i)
   end))
end

return lib
