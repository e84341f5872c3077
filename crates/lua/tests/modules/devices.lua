-- apps.socket.raw on the loopback interface, apps.tap.tap, apps.socket.unix. The first two need root (or CAP_NET_RAW, CAP_NET_ADMIN).
require("lib.lua.class")
local ffi = require("ffi")
local ethernet = require("lib.protocol.ethernet")
local Match = require("apps.test.match").Match
local basic = require("apps.basic.basic_apps")
local counter = require("core.counter")
local own = pcall(require, "lib.posix")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end

-- Sends some strings as packets, once.
local Give = {}
Give.__index = Give
function Give:new (list) return setmetatable({ list = list }, Give) end
function Give:pull ()
   for _, text in ipairs(self.list) do
      for _, o in ipairs(self.output) do link.transmit(o, packet.from_string(text)) end
   end
   self.list = {}
end
local Take = {}
Take.__index = Take
function Take:new () return setmetatable({ got = {} }, Take) end
function Take:push ()
   for _, l in ipairs(self.input) do
      while not link.empty(l) do
         local p = link.receive(l)
         table.insert(self.got, ffi.string(p.data, p.length))
         packet.free(p)
      end
   end
end
local function wait (seconds, condition)
   local start = os.time()
   engine.main({ no_report = true, done = function () return condition() or os.time() > start + seconds end })
   assert(condition(), "nothing came")
end

-- Unix sockets, both modes.
for _, mode in ipairs({ "stream", "packet" }) do
   local UnixSocket = require("apps.socket.unix").UnixSocket
   local name = os.tmpname()
   local c = config.new()
   config.app(c, "server", UnixSocket, { filename = name, listen = true, mode = mode })
   config.app(c, "client", UnixSocket, { filename = name, mode = mode })
   config.app(c, "give", Give, {})
   config.app(c, "take", Take)
   config.link(c, "give.output -> client.rx")
   config.link(c, "server.tx -> take.input")
   engine.configure(c)
   engine.main({ no_report = true, duration = 0.05 })
   engine.app_table.give.list = { "one", "three" }
   local take = engine.app_table.take
   wait(5, function () return #table.concat(take.got) >= 8 end)
   eq(table.concat(take.got, mode == "packet" and "|" or ""), mode == "packet" and "one|three" or "onethree")
   engine.configure(config.new())
   os.remove(name)
end

local probe = io.popen("id -u")
local root = probe:read("*l") == "0"
probe:close()
if not root then
   print("devices skipped: raw and tap need root")
   return
end

local frame = ethernet:new({ src = ethernet:pton("02:00:00:00:00:01"), dst = ethernet:pton("ff:ff:ff:ff:ff:ff"), type = 0x88b5 })
local text = ffi.string(frame:header_ptr(), 14)..("x"):rep(50)

-- What is sent to lo comes back.
local c = config.new()
config.app(c, "lo", require("apps.socket.raw").RawSocket, "lo")
config.app(c, "give", Give, { text, text })
config.app(c, "take", Take)
config.link(c, "give.output -> lo.rx")
config.link(c, "lo.tx -> take.input")
engine.configure(c)
local take = engine.app_table.take
local function seen ()
   local n = 0
   for _, got in ipairs(take.got) do if got == text then n = n + 1 end end
   return n
end
wait(5, function () return seen() >= 2 end)
local shm = engine.app_table.lo.shm
eq(tonumber(counter.read(shm.txpackets)), 2); eq(tonumber(counter.read(shm.txbcast)), 2); eq(tonumber(counter.read(shm.txbytes)), 128)
assert(counter.read(shm.rxpackets) >= 2)
engine.configure(config.new())
assert(not pcall(require("apps.socket.raw").RawSocket.new, require("apps.socket.raw").RawSocket, "no-such-interface"))

-- A TAP device that does not exist before, and not after. What is sent to it is seen by a packet socket.
local tap = require("apps.tap.tap").Tap
if io.open("/dev/net/tun") then
   c = config.new()
   config.app(c, "tap", tap, { name = "slutest0", mtu = 1400 })
   config.app(c, "give", Give, {})
   config.app(c, "take", Take)
   config.app(c, "sink", basic.Sink)
   config.link(c, "give.output -> tap.input")
   config.link(c, "tap.output -> sink.input")
   engine.configure(c)
   config.app(c, "raw", require("apps.socket.raw").RawSocket, "slutest0")
   config.link(c, "raw.tx -> take.input")
   engine.configure(c)
   local app = engine.app_table.tap
   eq(tonumber(counter.read(app.shm.mtu)), 1400); eq(tonumber(counter.read(app.shm.type)), 0x1001); eq(tonumber(counter.read(app.shm.status)), 1)
   eq(#tostring(app.mac), 17)
   local file = io.open("/sys/class/net/slutest0/mtu")
   eq(file:read("*n"), 1386)
   file:close()
   engine.app_table.give.list = { text }
   take = engine.app_table.take
   wait(5, function () return seen() >= 1 end)
   eq(tonumber(counter.read(app.shm.txpackets)), 1); eq(tonumber(counter.read(app.shm.txmcast)), 1)
   engine.configure(config.new())
   if own then eq(io.open("/sys/class/net/slutest0/mtu"), nil) end
else
   print("tap skipped: there is no /dev/net/tun")
end
print("devices ok")
