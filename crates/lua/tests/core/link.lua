local l = link.new("test")
assert(link.max == 1023 and link.empty(l) and not link.full(l) and link.front(l) == nil)
local function packets (n) for i = 1, n do link.transmit(l, packet.from_string(("x"):rep(i % 100))) end end
packets(1023)
assert(link.full(l) and link.nreadable(l) == 1023 and link.nwritable(l) == 0)

-- A full link drops, counts, and frees.
local frees = engine.frees.c
packets(2)
assert(link.stats(l).txdrop == 2 and engine.frees.c == frees + 2)
assert(link.front(l).length == 1)
for i = 1, 1023 do
   local p = link.receive(l)
   assert(p.length == i % 100)
   packet.free(p)
end
assert(link.empty(l) and link.nwritable(l) == 1023)
local stats = link.stats(l)
assert(stats.rxpackets == 1023 and stats.txpackets == 1023 and stats.rxbytes == stats.txbytes and stats.rxbytes > 0)

-- What was received is what was sent, less what waits; it can be set, and other processes see it.
local counter = require("core.counter")
local rx = l.stats.rxpackets
packets(10)
for _ = 1, 4 do packet.free(link.receive(l)) end
assert(counter.read(rx) == 1027 and tonumber(l.stats.rxbytes.c) == stats.rxbytes + 1 + 2 + 3 + 4)
counter.set(rx, 5)
counter.set(l.stats.rxbytes, 7)
for _ = 5, 10 do packet.free(link.receive(l)) end
assert(counter.read(rx) == 11 and l.stats.rxbytes.c == 7 + 5 + 6 + 7 + 8 + 9 + 10 and tostring(rx) == "11")
counter.commit()
local shm = require("core.shm")
assert(shm.open("links/test/rxpackets.counter", "struct counter", "readonly").c == 11)
assert(not pcall(function () return rx.d end))
-- What was received stays as it is when what was sent is set or added to, whatever waits.
packets(3)
for _ = 1, 2 do packet.free(link.receive(l)) end
local bytes = counter.read(l.stats.rxbytes)
for _, value in ipairs { 1, 0, 2^40, 7ULL } do
   counter.set(l.stats.txpackets, value)
   counter.set(l.stats.txbytes, value)
   counter.add(l.stats.txpackets)
   counter.add(l.stats.txbytes, 10)
   counter.add(l.stats.txdrop, 5)
   assert(counter.read(rx) == 13 and counter.read(l.stats.rxbytes) == bytes, value)
   assert(counter.read(l.stats.txpackets) == value + 1 and counter.read(l.stats.txbytes) == value + 10)
end
packet.free(link.receive(l))
assert(counter.read(rx) == 14 and counter.read(l.stats.rxbytes) == bytes + 3)
-- A program begins to count anew.
for _, c in ipairs { "rxpackets", "rxbytes", "txpackets", "txbytes", "txdrop" } do counter.set(l.stats[c], 0) end
packets(300)
for _ = 1, 300 do packet.free(link.receive(l)) end
local anew = link.stats(l)
assert(anew.rxpackets == 300 and anew.txpackets == 300 and anew.rxbytes == anew.txbytes and anew.txdrop == 0)
-- It is never less than nothing, even if a program writes what was sent without `counter.set`; and can be set then.
l.stats.txpackets.c = 0
assert(counter.read(rx) == 0)
counter.set(rx, 4)
assert(counter.read(rx) == 4)

-- It wraps around.
packets(700)
for _ = 1, 700 do packet.free(link.receive(l)) end
packets(700)
assert(link.nreadable(l) == 700)
frees = engine.frees.c
link.free(l, "test")
assert(engine.frees.c == frees + 700, "what a link holds is freed with it")
assert(not shm.exists("links/test"))
