-- Apps of apps.basic, test, rate_limiter, vlan and bridge, run by the engine.
require("lib.lua.class")
local ffi = require("ffi")
local lib = require("core.lib")
local basic = require("apps.basic.basic_apps")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end
-- What Snabb's documentation says, and Snabb does otherwise, is tested of ours only.
local own = pcall(require, "lib.posix")

-- Sends a list of strings as packets to `output`, once, and stands for any source.
local Give = {}
Give.__index = Give
function Give:new (list) return setmetatable({ list = list, at = 1 }, Give) end
function Give:pull ()
   for _, o in ipairs(self.output) do
      local i = self.at
      while self.list[i] and i < self.at + engine.pull_npackets do
         link.transmit(o, packet.from_string(self.list[i]))
         i = i + 1
      end
   end
   self.at = math.min(self.at + engine.pull_npackets, #self.list + 1)
end

-- Keeps what comes in, as strings, for each input.
local Take = {}
Take.__index = Take
function Take:new () return setmetatable({ got = {} }, Take) end
function Take:push ()
   for name, l in pairs(self.input) do
      if type(name) == "string" then
         self.got[name] = self.got[name] or {}
         while not link.empty(l) do
            local p = link.receive(l)
            table.insert(self.got[name], ffi.string(p.data, p.length))
            packet.free(p)
         end
      end
   end
end

-- Runs a network for a number of breaths.
local function run (apps, links, breaths)
   local c = config.new()
   for name, app in pairs(apps) do config.app(c, name, app[1], app[2]) end
   for _, l in ipairs(links) do config.link(c, l) end
   engine.configure(config.new())
   engine.configure(c)
   local left = breaths or 3
   engine.main({ no_report = true, done = function () left = left - 1; return left == 0 end })
   return engine.app_table
end
local function taken (name)
   return table.concat((engine.app_table.take or {}).got[name or "input"] or {}, "|")
end
local function letters (n)
   local list = {}
   for i = 1, n do list[i] = ("p%03d"):format(i) end
   return list
end

-- Source, Sink, Tee
local t = run({ source = { basic.Source, 120 }, tee = { basic.Tee }, a = { basic.Sink }, take = { Take } },
   { "source.out -> tee.in", "tee.x -> a.in", "tee.y -> take.input" }, 2)
eq(#t.take.got.input, 2 * engine.pull_npackets)
eq(t.take.got.input[1], ("\0"):rep(120))
eq(link.stats(t.a.input["in"]).rxpackets, 2 * engine.pull_npackets)
run({ source = { basic.Source }, take = { Take } }, { "source.a -> take.input" }, 1)
eq(#engine.app_table.take.got.input[1], 60)
-- What has no room in a link is dropped there, and freed. A sink frees what comes in. All of that is counted.
local Stuck = {}
Stuck.__index = Stuck
function Stuck:new () return setmetatable({}, Stuck) end
local counter = require("core.counter")
local function freed (apps, link_spec, breaths)
   run({}, {}, 1)
   local before = {}
   for _, name in ipairs({ "frees", "freebytes", "freebits" }) do before[name] = tonumber(counter.read(engine[name])) end
   run(apps, { link_spec }, breaths)
   local stats = link.stats(engine.link_table[link_spec])
   for name, count in pairs(before) do before[name] = tonumber(counter.read(engine[name])) - count end
   return before, stats
end
local burst = engine.pull_npackets
local counts, stats = freed({ source = { basic.Source, 100 }, stuck = { Stuck } }, "source.a -> stuck.input", 12)
eq(stats.txpackets, 1023)
eq(stats.txbytes, 102300)
eq(stats.txdrop, 12 * burst - 1023)
eq(counts.frees, stats.txdrop)
eq(counts.freebytes, stats.txdrop * 100)
eq(counts.freebits, stats.txdrop * 124 * 8)
counts, stats = freed({ source = { basic.Source, 10 }, sink = { basic.Sink } }, "source.a -> sink.input", 12)
eq(stats.rxpackets, 12 * burst)
eq(stats.rxbytes, 120 * burst)
eq(counts.frees, 12 * burst)
eq(counts.freebytes, 120 * burst)
eq(counts.freebits, 12 * burst * 84 * 8)
-- A Tee without outputs leaves packets where they are.
t = run({ give = { Give, letters(5) }, tee = { basic.Tee } }, { "give.out -> tee.in" })
eq(link.nreadable(t.tee.input["in"]), 5)

-- Join, Split
t = run({ a = { Give, letters(3) }, b = { Give, { "x", "y" } }, join = { basic.Join }, take = { Take } },
   { "a.out -> join.a", "b.out -> join.b", "join.output -> take.input" })
eq(#t.take.got.input, 5)
t = run({ a = { Give, letters(300) }, split = { basic.Split }, take = { Take } },
   { "a.out -> split.a", "split.x -> take.x", "split.y -> take.y" }, 5)
eq(#(t.take.got.x or {}) + #(t.take.got.y or {}), 300)

-- Repeater, Truncate, Sample
run({ a = { Give, { "1", "2", "3" } }, repeater = { basic.Repeater }, take = { Take } },
   { "a.out -> repeater.input", "repeater.output -> take.input" }, 2)
eq(taken():sub(1, 15), "1|2|3|1|2|3|1|2")
eq(#engine.app_table.take.got.input, 2 * engine.pull_npackets)
run({ a = { Give, { "abcdef", "ghijklm" } }, truncate = { basic.Truncate, 3 }, take = { Take } },
   { "a.out -> truncate.input", "truncate.output -> take.input" })
eq(taken(), "abc|ghi")
if own then
   run({ a = { Give, { "abc" } }, truncate = { basic.Truncate, 5 }, take = { Take } }, { "a.out -> truncate.input", "truncate.output -> take.input" })
   eq(taken(), "abc\0\0")
end
run({ a = { Give, letters(7) }, sample = { basic.Sample, 3 }, take = { Take } }, { "a.out -> sample.input", "sample.output -> take.input" })
eq(taken(), "p003|p006")

-- Synth, Match, Npackets, delayed start
local synth, Match = require("apps.test.synth").Synth, require("apps.test.match").Match
t = run({ synth = { synth, { sizes = { 20, 34 }, src = "02:00:00:00:00:01", dst = "02:00:00:00:00:02", packet_id = true } }, take = { Take } },
   { "synth.out -> take.input" }, 1)
eq(lib.hexdump(t.take.got.input[1]), "02 00 00 00 00 02 02 00 00 00 00 01 00 06 00 00 00 00 00 00")
eq(lib.hexdump(t.take.got.input[2]):sub(1, 53), "02 00 00 00 00 02 02 00 00 00 00 01 00 14 00 00 00 "..(own and "01" or "00"))
eq(#t.take.got.input[2], 34); eq(#t.take.got.input, engine.pull_npackets)
assert(fails(synth.new, synth, { sizes = {} }) and fails(synth.new, synth, { sizes = { 13 }, src = "02:00:00:00:00:01", dst = "02:00:00:00:00:01" }))
local function match (conf, rx, comparator)
   local app = run({ a = { Give, rx }, b = { Give, comparator }, match = { Match, conf } }, { "a.out -> match.rx", "b.out -> match.comparator" })
   return app.match:errors()
end
eq(#match({}, { "a", "b" }, { "a", "b" }), 0)
eq(match({}, { "a", "x" }, { "a", "b" })[1], "Mismatch:\n62\n78")
eq(match({}, { "a" }, { "a", "b" })[1], "Not matched:\n62")
eq(#match({ fuzzy = true }, { "x", "a", "y", "b" }, { "a", "b" }), 0)
eq(#match({ modest = true }, { "a" }, { "a", "b" }), 0)
eq(#match({ modest = true }, {}, { "a", "b" }), 2)
t = run({ a = { Give, letters(10) }, n = { require("apps.test.npackets").Npackets, { npackets = 4 } }, take = { Take } },
   { "a.out -> n.input", "n.output -> take.input" })
eq(taken(), "p001|p002|p003|p004"); eq(t.n.n, 0); eq(link.nreadable(t.n.input.input), 6)
t = run({ a = { Give, letters(2) }, d = { require("apps.test.delayed_start").Delayed_start, 3600 }, take = { Take } },
   { "a.out -> d.input", "d.output -> take.input" })
eq(taken(), "")

-- RateLimiter
local RateLimiter = require("apps.rate_limiter.rate_limiter").RateLimiter
t = run({ a = { Give, letters(100) }, limit = { RateLimiter, { rate = 1, bucket_capacity = 40 } }, take = { Take } },
   { "a.out -> limit.input", "limit.output -> take.input" })
eq(#t.take.got.input, 10)
eq(tonumber(require("core.counter").read(t.limit.shm.txdrop)), 90)
local snapshot = t.limit:get_stat_snapshot()
eq(snapshot.rx, 100); eq(snapshot.tx, 10); assert(snapshot.time > 0)
t.limit:reset(5, 10, 3); eq(t.limit.bucket_content, 3)

-- VLAN
local vlan = require("apps.vlan.vlan")
local frame = "DDDDDDSSSSSS\8\0payload"
local tagged = "DDDDDDSSSSSS\129\0\0\5\8\0payload"
run({ a = { Give, { frame } }, tag = { vlan.Tagger, { tag = 5 } }, take = { Take } }, { "a.out -> tag.input", "tag.output -> take.input" })
eq(taken(), tagged)
run({ a = { Give, { tagged, frame } }, tag = { vlan.Untagger, { tag = 5 } }, take = { Take } }, { "a.out -> tag.input", "tag.output -> take.input" })
eq(taken(), frame)
run({ a = { Give, { frame } }, tag = { vlan.Tagger, { tag = 5, encapsulation = "dot1ad" } }, take = { Take } },
   { "a.out -> tag.input", "tag.output -> take.input" })
eq(taken(), "DDDDDDSSSSSS\136\168\0\5\8\0payload")
assert(fails(vlan.Tagger.new, vlan.Tagger, { tag = 4095, encapsulation = "dot1q" }))
assert(fails(vlan.Tagger.new, vlan.Tagger, { tag = 1, encapsulation = "token ring" }))
local seven = tagged:gsub("\5", "\7")
t = run({ a = { Give, { frame } }, b = { Give, { frame } }, c = { Give, { tagged, frame, seven } }, mux = { vlan.VlanMux }, take = { Take } },
   { "a.out -> mux.vlan5", "b.out -> mux.native", "c.out -> mux.trunk", "mux.trunk -> take.trunk", "mux.vlan5 -> take.five", "mux.native -> take.native" })
local trunk = t.take.got.trunk
table.sort(trunk)
eq(table.concat(trunk, "|"), frame.."|"..tagged); eq(taken("five"), frame); eq(taken("native"), frame)
local p = vlan.push_tag(packet.from_string(frame), lib.htonl(0x81006064))
eq(vlan.extract_tci(p), 0x6064); eq(vlan.tci_to_vid(0x6064), 0x64)
p = vlan.pop_tag(p); eq(ffi.string(p.data, p.length), frame); packet.free(p)

-- Bridges: ports a, b free, c and d in one group.
local function bridge (class, packets, breaths)
   local conf = { ports = { "a", "b" }, split_horizon_groups = { g = { "c", "d" } } }
   local apps, links = { bridge = { class, conf }, take = { Take } }, {}
   for _, port in ipairs({ "a", "b", "c", "d" }) do
      apps["give"..port] = { Give, packets[port] or {} }
      table.insert(links, ("give%s.out -> bridge.%s"):format(port, port))
      table.insert(links, ("bridge.%s -> take.%s"):format(port, port))
   end
   run(apps, links, breaths)
   local got = {}
   for _, port in ipairs({ "a", "b", "c", "d" }) do
      local list = engine.app_table.take.got[port] or {}
      for i, text in ipairs(list) do list[i] = text:sub(15) end
      table.sort(list)
      got[#got + 1] = table.concat(list, "")
   end
   return table.concat(got, " ")
end
local function eth (dst, src, text) return "\2\0\0\0\0"..dst.."\2\0\0\0\0"..src.."\8\0"..text end
local flooding, learning = require("apps.bridge.flooding").bridge, require("apps.bridge.learning").bridge
eq(bridge(flooding, { a = { eth("X", "A", "1") }, c = { eth("X", "C", "2") } }), "2 12 1 1")
-- In the first breath a and c are learnt; the packets to them in the same breath may be sent before.
local first = {}
for i = 1, engine.pull_npackets do first[i] = eth("X", "A", "") end
table.insert(first, eth("C", "A", "3"))      -- c is known by now
table.insert(first, eth("A", "A", "4"))      -- where it came from
table.insert(first, "\255\255\255\255\255\255\2\0\0\0\0A\8\0005")
local c = {}
for i = 1, engine.pull_npackets do c[i] = eth("X", "C", "") end
table.insert(c, eth("D", "C", "6"))          -- d is known, in the same group
table.insert(c, eth("A", "C", "7"))
local d = { eth("X", "D", "") }
eq(bridge(learning, { a = first, c = c, d = d }, 4), "7 5 35 5")
assert(fails(learning.new, learning, { ports = { "a", "a" } }))
assert(fails(require("apps.bridge.base").bridge.new, require("apps.bridge.base").bridge, { ports = {} }))

-- The table of addresses
local mac_table = require("apps.bridge.mac_table")
local macs = mac_table:new({ size = 16 })
local box, memory = ffi.new("uint8_t *[1]"), ffi.new("uint8_t[8]", 2)
box[0] = memory
local function mac (i) memory[4], memory[5] = math.floor(i / 256), i % 256; return box end
macs:insert(mac(1), 3, 9)
local port, group = macs:lookup(mac(1))
assert(port == 3 and group == 9)
eq(macs:lookup(mac(2)), nil)
macs:insert(mac(1), 4, 0); eq(macs:lookup(mac(1)), 4)
for i = 1, 20 do macs:insert(mac(i), i, 0) end
local info = macs:info()
assert(info.size == 16 and info.entries >= 16 and info.mask == 31)
eq(macs:maybe_resize(), true); eq(macs:maybe_resize(), false)
info = macs:info()
assert(info.size == 32 and info.mask == 63)
for i = 1, 20 do eq(macs:lookup(mac(i)), i) end
local n = 0
for address, at in macs:iterator() do n = n + 1; eq(address[5], at) end
eq(n, 20)
engine.configure(config.new())
print("apps ok")
