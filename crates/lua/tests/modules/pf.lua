-- pf and pf.match: every form of a filter gives the same answers, options, sources, programs.
local ffi = require("ffi")
local lib = require("core.lib")
local pf = require("pf")
local match = require("pf.match")
local own = pcall(require, "lib.posix")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end
local function bytes (hex)
   hex = hex:gsub("%s", "")
   local s = hex:gsub("%x%x", function (h) return string.char(tonumber(h, 16)) end)
   local b = ffi.new("uint8_t[?]", #s)
   ffi.copy(b, s, #s)
   return b, #s
end
local head = "020000000001 020000000002 "
local packets = {
   { bytes(head.."0800 4500 0028 0001 0000 4006 0000 0a000001 0a000002 1234 0050 00000000 00000000 5002 0000 0000 0000") },
   { bytes(head.."0800 4500 001c 0001 0000 4011 0000 0a000002 0a000001 0035 1234 0008 0000") },
   { bytes(head.."86dd 6000 0000 0014 0640 20010db8000000000000000000000001 20010db8000000000000000000000002 0050 1234 0000000000000000 5012 0000 0000 0000") },
   { bytes(head.."0806 0001 0800 0604 0001 020000000002 0a000001 000000000000 0a000002") },
   { bytes(head.."0800 4500 001c 0001 0000 4001 0000 0a000002 0a000001 0800 0000 0000 0000") },
   { bytes(head.."0800 4500") },
   { bytes("00") },
}
-- Which of these match, as digits.
local function answers (f)
   local digits = {}
   for i, p in ipairs(packets) do
      if f(p[1], p[2]) then table.insert(digits, i) end
   end
   return table.concat(digits)
end

local filters = {
   [""] = "1234567", ["ip"] = "1256", ["ip6"] = "3", ["arp"] = "4", ["tcp"] = "13", ["udp"] = "2", ["icmp"] = "5",
   ["tcp port 80"] = "13", ["tcp dst port 80"] = "1", ["port 53"] = "2", ["host 10.0.0.1"] = "1245", ["src host 10.0.0.1"] = "14",
   ["net 10.0.0.0/24 and not arp"] = "125", ["tcp[13] & 2 != 0"] = "1", ["len > 60"] = "3", ["less 20"] = "67", ["ip[8] = 64"] = "125",
   ["ether src 02:00:00:00:00:02"] = "123456", ["icmp[icmptype] = icmp-echo"] = "5", ["portrange 50-60 or arp"] = "24",
   ["not ip"] = "34", ["ether[12:2] = 0x806"] = "4",
}
for text, expected in pairs(filters) do
   for _, opts in ipairs({ {}, { native = true }, { bpf = true }, { libpcap = true }, { optimize = false } }) do
      local ok, f = pcall(pf.compile_filter, text, opts)
      if not ok and (opts.bpf or opts.libpcap) and tostring(f):match("libpcap") then
         print("skipped: there is no libpcap")
      else
         assert(ok, f)
         local got = answers(f)
         if got ~= expected then
            local shown = {}
            for name in pairs(opts) do table.insert(shown, name) end
            error(("%q %s: expected %s, got %s"):format(text, table.concat(shown), expected, got))
         end
      end
   end
end
-- Thousands of calls, so that they are compiled, and collections of what is not needed.
local f = pf.compile_filter("tcp dst port 80", { native = true })
local n = 0
for i = 1, 20000 do
   local p = packets[i % 7 + 1]
   if f(p[1], p[2]) then n = n + 1 end
   if i % 5000 == 0 then collectgarbage() end
end
eq(n, math.floor(20000 / 7))
for i = 1, 50 do pf.compile_filter("tcp port "..i, { native = true }) end
collectgarbage()
eq(f(packets[1][1], 0), false)

-- Options and sources
assert(fails(pf.compile_filter, "ip", { colour = true }))
assert(fails(pf.compile_filter, "tcp prot 80"))
assert(fails(pf.compile_filter, "ip", { dlt = "TOKEN BUCKET" }))
if own then
   local raw = pf.compile_filter("src host 10.0.0.1", { dlt = "RAW" })
   eq(raw(packets[1][1] + 14, packets[1][2] - 14), true)
end
assert(pf.compile_filter("ip", { source = true }):match("return function"))
assert(loadstring(pf.compile_filter("ip", { source = true }))()(packets[1][1], packets[1][2]))
if own then
   assert(pf.compile_filter("ip", { source = true, native = true }):match("cmp"))
   local ok, listing = pcall(pf.compile_filter, "ip", { source = true, libpcap = true })
   assert(not ok or listing:match("ldh +%[12%]"))
   local message = select(2, pcall(pf.compile_filter, "tcp prot 80"))
   assert(message:match("%^") and message:match("port"), message)
end

-- A set that is a table in machine code would be far too long as Lua.
if own then
   local name = os.tmpname()
   local file = assert(io.open(name, "w"))
   for i = 0, 2^18 do
      local address = 2 * i + 1
      file:write(("10.%d.%d.%d\n"):format(address / 2^16, address / 2^8 % 2^8, address % 2^8))
   end
   file:close()
   local ok, f = pcall(pf.compile_filter, "src host in {@"..name.."}")
   os.remove(name)
   assert(ok, f)
   eq(answers(f), "14")
end

-- Programs
local app = {}
for _, name in ipairs({ "web", "dns", "other", "forward" }) do
   app[name] = function (self, packet, length, ...)
      assert(self == app and packet ~= nil and length > 0)
      return name..table.concat({ ... }, ",")
   end
end
local function dispatch (program, opts, ...)
   local m = match.compile(program, opts)
   local list = {}
   for _, p in ipairs(packets) do table.insert(list, m(app, p[1], p[2], ...) or "-") end
   return table.concat(list, " ")
end
eq(dispatch("match { tcp dst port 80 => web(&tcp[0], ip[8]) udp port 53 => dns(udp[0:2]) otherwise => other }"),
   "web34,64 dns53 other other other other other")
eq(dispatch("match { tcp port 80 => web, -- a comment\n arp => { not ip => forward } }"), "web - web forward - - -")
eq(dispatch("match { ip => web(ip[100]); ip6 => dns(1 + 2 * 3) }"), "- - dns7 - - - -")
eq(dispatch("match { $what port $port => web }", { subst = { what = "tcp dst", port = 80 } }), "web - - - - - -")
eq(dispatch("match { flow_count >= 69 => web(flow_count); otherwise => other }", { extra_args = { "flow_count" } }, 70),
   "web70 web70 web70 web70 web70 web70 web70")
eq(dispatch("match { flow_count >= 69 => web; otherwise => other }", { extra_args = { "flow_count" } }, 68),
   "other other other other other other other")
assert(match.compile("match { ip => web }", { source = true }):match("self"))
for _, bad in ipairs({ "match", "match { ip => }", "match { prot => x }", "match { $x => y }", "match { ip => a } b" }) do
   assert(fails(match.compile, bad), bad)
end
assert(fails(match.compile, "match { ip => a }", { colour = 1 }))

-- An object, and captures as a list
local filter = require("lib.pcap.filter"):new("arp")
eq(filter:match(packets[4][1], packets[4][2]), true); eq(filter:match(packets[1][1], packets[1][2]), false)
local pcap = require("lib.pcap.pcap")
local name = os.tmpname()
local file = io.open(name, "w")
pcap.write_file_header(file)
for _, p in ipairs(packets) do pcap.write_record(file, p[1], p[2]) end
file:close()
local loaded = require("pf.savefile").load_packets(name)
eq(#loaded, 7); eq(loaded[4].len, packets[4][2]); eq(loaded[4].packet[13], 6)
os.remove(name)
print("pf ok")
