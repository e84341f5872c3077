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
-- What was received is never less than nothing, whatever a program says was sent.
counter.set(rx, 0)
counter.set(l.stats.txpackets, 0)
assert(counter.read(rx) == 0)

-- It wraps around.
packets(700)
for _ = 1, 700 do packet.free(link.receive(l)) end
packets(700)
assert(link.nreadable(l) == 700)
frees = engine.frees.c
link.free(l, "test")
assert(engine.frees.c == frees + 700, "what a link holds is freed with it")
assert(not shm.exists("links/test"))
