-- Captures in the format of libpcap: reading records, writing them.
--
--     for packet, record in pcap.records("in.pcap") do … end      -- packet is a string; record.orig_len, record.ts_sec, …
--
-- Read is every format that the commands read: pcap of either byte order, pcapng, both also compressed by gzip or zstd. Written is pcap of this
-- machine's byte order, of Ethernet frames, with records whose time is 0.

local ffi = require("ffi")
local bit = require("bit")
local compiler = require("pf.compiler")

local file_t = ffi.typeof([[
   struct {
      uint32_t magic_number;
      uint16_t version_major, version_minor;
      int32_t  thiszone;
      uint32_t sigfigs, snaplen, network;
   }
]])
local record_t = ffi.typeof("struct { uint32_t ts_sec, ts_usec, incl_len, orig_len; }")
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

-- The header of a pcap file. The second result is whether its numbers are in the other byte order; the header's magic number then is,
-- too. `name` stands in messages.
function M.read_file_header (file, name)
   name = name or tostring(file)
   local header = M.readc(file, file_t)
   if not header then error("Not a pcap file: "..name.." is empty") end
   for _, swapped in ipairs({ false, true }) do
      local magic = swapped and bit.bswap(header.magic_number) % 2^32 or header.magic_number
      if magic == MICROSECONDS or magic == NANOSECONDS then return header, swapped end
   end
   error("Bad PCAP magic number in "..name)
end

ffi.cdef([[
   typedef struct { const uint8_t *data; uint32_t captured, wire; int64_t time_ns; } sluss_lua_capture_row;
   void *sluss_lua_capture_open (const sluss_lua_text *path, sluss_lua_compiled *why);
   int sluss_lua_capture_read (void *capture, sluss_lua_capture_row *rows, uint32_t count, sluss_lua_compiled *why);
   void sluss_lua_capture_close (void *capture);
]])

local ROWS = 128
local rows_t = ffi.typeof("sluss_lua_capture_row[?]")

-- A reader that gives a packet a call: a pointer to its bytes, valid until the next call; their number; the length on the wire; the time in
-- nanoseconds. Nil at the end. Where a capture is damaged, all packets before are delivered, and the damage is told.
function M.reader (name)
   local why = ffi.new("sluss_lua_compiled")
   local capture = ffi.C.sluss_lua_capture_open(compiler.text(name), why)
   if capture == nil then error("Unable to open file: "..compiler.taken_text(why)) end
   capture = ffi.gc(capture, ffi.C.sluss_lua_capture_close)
   local rows, at, count = rows_t(ROWS), 0, 0
   return function ()
      if at == count then
         if not capture then return nil end
         at, count = 0, ffi.C.sluss_lua_capture_read(capture, rows, ROWS, why)
         if count <= 0 then
            if count < 0 then io.stderr:write("warning: ", compiler.taken_text(why), "\n") end
            at, count, capture = 0, 0, nil
            return nil
         end
      end
      local row = rows[at]
      at = at + 1
      return row.data, row.captured, row.wire, row.time_ns
   end
end

-- For loops over the packets of a capture: each as a string, and the header that its record has in a file of microseconds.
function M.records (name)
   local next_packet = M.reader(name)
   return function ()
      local data, captured, wire, time = next_packet()
      if data then
         local seconds = time / 1000000000
         return ffi.string(data, captured), record_t(seconds, (time - seconds * 1000000000) / 1000, captured, wire)
      end
   end, true, true
end

return M
