-- lib.pcap and apps.pcap: what is written is read, in both byte orders; damaged files; filters and samples.
local ffi = require("ffi")
local pcap = require("lib.pcap.pcap")
local apps = require("apps.pcap.pcap")
local tap = require("apps.pcap.tap")
local basic = require("apps.basic.basic_apps")
local own = pcall(require, "lib.posix")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end
local function bytes (name)
   local f = io.open(name, "rb")
   local text = f:read("*a")
   f:close()
   return text
end
local function count (name)
   local n = 0
   for _ in pcap.records(name) do n = n + 1 end
   return n
end
local function run (c, done)
   engine.configure(config.new())
   engine.configure(c)
   local left = 2
   engine.main({ no_report = true, done = function ()
      if engine.app_table.source.done then left = left - 1 end
      return left == 0
   end })
end

-- A file by hand.
local name, copy = os.tmpname(), os.tmpname()
local file = io.open(name, "w")
pcap.write_file_header(file)
local payload = ffi.new("uint8_t[2000]", 0xab)
for i = 1, 250 do pcap.write_record(file, payload, i * 7) end
pcap.write_record_header(file, 3)
file:write("xyz")
file:close()
local text = bytes(name)
eq(text:sub(1, 4), "\212\195\178\161"); eq(text:sub(21, 24), "\1\0\0\0"); eq(#text, 24 + 251 * 16 + 7 * 250 * 251 / 2 + 3)
local n = 0
for packet, record in pcap.records(name) do
   n = n + 1
   local expected = n == 251 and 3 or 7 * n
   eq(#packet, expected); eq(record.orig_len, expected); eq(record.incl_len, expected)
end
eq(n, 251)
file = io.open(name, "rb")
local header = pcap.read_file_header(file)
eq(header.magic_number, 0xa1b2c3d4); eq(header.version_minor, 4); eq(header.network, 1)
eq(pcap.readc(file, ffi.typeof("uint32_t[4]"))[2], 7)
file:close()

-- Through the apps.
local c = config.new()
config.app(c, "source", apps.PcapReader, name)
config.app(c, "writer", apps.PcapWriter, copy)
config.link(c, "source.output -> writer.input")
run(c)
engine.configure(config.new())
eq(bytes(copy), text)

-- Filters, samples, appending.
local function tapped (conf)
   c = config.new()
   config.app(c, "source", apps.PcapReader, name)
   config.app(c, "tap", tap.Tap, conf)
   config.app(c, "sink", basic.Sink)
   config.link(c, "source.output -> tap.input")
   config.link(c, "tap.output -> sink.input")
   run(c)
   eq(link.stats(engine.app_table.sink.input.input).rxpackets, 251)
   engine.configure(config.new())
   return count(copy)
end
eq(tapped({ filename = copy }), 251)
eq(tapped({ filename = copy, sample = 2 }), 126)
eq(tapped({ filename = copy, filter = "greater 1400" }), 51)
eq(tapped({ filename = copy, filter = "greater 1400", sample = 10 }), 6)
if own then eq(tapped({ filename = copy, mode = "append" }), 257) end
assert(fails(tap.Tap.new, tap.Tap, {}) and fails(tap.Tap.new, tap.Tap, { filename = copy, mode = "twice" }))

-- Files that are not captures, and that end early.
assert(fails(pcap.records, "/nonexistent/file"))
file = io.open(copy, "w"); file:write(("x"):rep(100)); file:close()
assert(fails(pcap.records, copy))
if own then
   file = io.open(copy, "wb"); file:write(text:sub(1, -2)); file:close()
   eq(count(copy), 250)
   file = io.open(copy, "wb"); file:write(text:sub(1, -9)); file:close()
   eq(count(copy), 250)
   -- The other byte order, nanoseconds.
   file = io.open(copy, "wb")
   file:write("\161\178\60\77\0\2\0\4\0\0\0\0\0\0\0\0\0\0\255\255\0\0\0\1", "\0\0\0\5\0\0\0\6\0\0\0\3\0\0\0\9abc")
   file:close()
   for packet, record in pcap.records(copy) do
      eq(packet, "abc"); eq(record.ts_sec, 5); eq(record.ts_usec, 0); eq(record.orig_len, 9)
   end
   eq(count(copy), 1)
end
os.remove(name); os.remove(copy)
print("pcap ok")
