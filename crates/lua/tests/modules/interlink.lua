-- lib.interlink and its apps, both ends in one process.
local ffi = require("ffi")
local interlink = require("lib.interlink")
local shm = require("core.shm")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end

-- By hand: nothing is seen before push, no room comes before pull.
packet.enable_group_freelist()
local r = interlink.attach_receiver("group/interlink/test.interlink", 1024)
local t = interlink.attach_transmitter("group/interlink/test.interlink", 1024)
assert(interlink.empty(r) and not interlink.full(t))
interlink.insert(t, packet.from_string("hello"))
assert(interlink.empty(r))
interlink.push(t)
assert(not interlink.empty(r))
local p = interlink.extract(r)
eq(ffi.string(p.data, p.length), "hello")
packet.free(p)
assert(interlink.empty(r))
interlink.pull(r)

-- Round and round, all sizes; until full.
local sent, received = 0, 0
for round = 1, 300 do
   for _ = 1, 10 do
      if not interlink.full(t) then
         local q = packet.allocate()
         q.length = (sent * 37) % 9000
         for i = 0, q.length - 1, 97 do q.data[i] = (sent + i) % 256 end
         if q.length > 0 then q.data[q.length - 1] = sent % 256 end
         interlink.insert(t, q)
         sent = sent + 1
      end
   end
   interlink.push(t)
   for _ = 1, round % 5 == 0 and 2000 or 3 do
      if interlink.empty(r) then break end
      local q = interlink.extract(r)
      eq(q.length, (received * 37) % 9000)
      for i = 0, q.length - 2, 97 do eq(q.data[i], (received + i) % 256) end
      if q.length > 0 then eq(q.data[q.length - 1], received % 256) end
      packet.free(q)
      received = received + 1
   end
   interlink.pull(r)
end
assert(sent > 2000 and received <= sent)
interlink.detach_receiver(r, "group/interlink/test.interlink")
assert(shm.exists("group/interlink/test.interlink"))
r = interlink.attach_receiver("group/interlink/test.interlink", 1024)
interlink.detach_receiver(r, "group/interlink/test.interlink")
interlink.detach_transmitter(t, "group/interlink/test.interlink")
assert(not shm.exists("group/interlink/test.interlink"))

-- As apps.
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source, 100)
config.app(c, "out", require("apps.interlink.transmitter"), { queue = "q" })
config.app(c, "q", require("apps.interlink.receiver"))
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> out.input")
config.link(c, "q.output -> sink.input")
engine.configure(c)
engine.main({ duration = 0.05, no_report = true })
local stats = link.stats(engine.app_table.sink.input.input)
assert(stats.rxpackets > 100)
eq(stats.rxbytes, stats.rxpackets * 100)
engine.configure(config.new())
assert(not shm.exists("group/interlink/q.interlink"))
print("interlink ok")
