-- Captures in the format of libpcap: reading records, writing them.
--
--     for packet, record in pcap.records("in.pcap") do … end      -- packet is a string; record.orig_len, record.ts_sec, …
--
-- Files of either byte order are read, with times in microseconds or nanoseconds. Written are files of this machine's byte order
-- and of Ethernet frames, and records whose time is 0.

local ffi = require("ffi")
local bit = require("bit")

local file_t = ffi.typeof([[
   struct {
      uint32_t magic_number;
      uint16_t version_major, version_minor;
      int32_t  thiszone;
      uint32_t sigfigs, snaplen, network;
   }
]])
local record_t = ffi.typeof("struct { uint32_t ts_sec, ts_usec, incl_len, orig_len; }")
local record_ptr_t = ffi.typeof("$ *", record_t)
local RECORD = ffi.sizeof(record_t)

local MICROSECONDS, NANOSECONDS = 0xa1b2c3d4, 0xa1b23c4d
local ETHERNET = 1

ffi.cdef("size_t sluss_lua_fwrite (const void *from, size_t size, size_t count, void *file) __asm__(\"fwrite\");")

local M = {}

-- Writes bytes at a pointer, without making a Lua string of them.
local function write (file, pointer, length)
   if length > 0 and ffi.C.sluss_lua_fwrite(pointer, length, 1, file) ~= 1 then
      error("cannot write to the capture")
   end
end

function M.write_file_header (file)
   local header = file_t({ magic_number = MICROSECONDS, version_major = 2, version_minor = 4, snaplen = 65535, network = ETHERNET })
   write(file, header, ffi.sizeof(header))
   file:flush()
end

local record_to_write = record_t()

-- The header of a record of `length` bytes, which the caller writes behind it.
function M.write_record_header (file, length)
   record_to_write.incl_len, record_to_write.orig_len = length, length
   write(file, record_to_write, RECORD)
end

-- A record without flushing the file.
function M.put_record (file, pointer, length)
   M.write_record_header(file, length)
   write(file, pointer, length)
end

function M.write_record (file, pointer, length)
   M.put_record(file, pointer, length)
   file:flush()
end

-- One value of a ctype from a file, or nil at its end.
function M.readc (file, ctype)
   local size = ffi.sizeof(ctype)
   local text = file:read(size)
   if not text then return nil end
   if #text < size then error(("short read of %s from %s"):format(tostring(ctype), tostring(file))) end
   local value = ffi.new(ctype)
   ffi.copy(value, text, size)
   return value
end

local function is_magic (n)
   return n == MICROSECONDS or n == NANOSECONDS
end

-- The header of the file. The second result is whether its numbers are in the other byte order; the header's magic number then is,
-- too. `name` stands in messages.
function M.read_file_header (file, name)
   name = name or tostring(file)
   local header = M.readc(file, file_t)
   if not header then error("Not a pcap file: "..name.." is empty") end
   if is_magic(header.magic_number) then return header, false end
   local swapped = bit.bswap(header.magic_number) % 2^32
   if is_magic(swapped) then return header, true end
   error("Bad PCAP magic number in "..name)
end

local function swap_record (record)
   for _, field in ipairs({ "ts_sec", "ts_usec", "incl_len", "orig_len" }) do
      record[field] = bit.bswap(record[field])
   end
end

-- A reader that gives a record a call: a pointer to its bytes, valid until the next call; their number; the record's header. Nil at the end.
-- A record that the file ends in the middle of is delivered as far as it goes.
local BLOCK = 256 * 1024

function M.reader (name)
   local file = io.open(name, "rb")
   if not file then error("Unable to open file: "..name) end
   local _, swapped = M.read_file_header(file, name)
   local record = record_t()
   local block, start, at, size = "", nil, 0, 0

   -- Makes `wanted` bytes available from `at` on, if the file has them.
   local function fill (wanted)
      if size - at >= wanted or not file then return end
      local more = file:read(math.max(BLOCK, wanted))
      if not more then
         file:close()
         file = nil
      else
         block = block:sub(at + 1)..more
         start, at, size = ffi.cast("const uint8_t *", block), 0, #block
      end
   end

   local function next_record ()
      fill(RECORD)
      if size - at < RECORD then return nil end
      ffi.copy(record, start + at, RECORD)
      if swapped then swap_record(record) end
      at = at + RECORD
      local length = math.min(record.incl_len, record.orig_len)
      fill(record.incl_len)
      length = math.min(length, size - at)
      local data = start + at
      at = math.min(at + record.incl_len, size)
      return data, length, record
   end
   return next_record
end

-- For loops over the records of a file: each as a string, and its header.
function M.records (name)
   local next_record = M.reader(name)
   return function ()
      local data, length, record = next_record()
      if data then
         return ffi.string(data, length), record_t(record)
      end
   end, true, true
end

return M
