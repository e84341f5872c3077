-- A network interface, by a packet socket: what comes in at `rx` is sent, what is received goes to `tx`.

local ffi = require("ffi")
local bit = require("bit")
local engine = require("core.app")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local posix = require("lib.posix")
local traffic = require("lib.traffic")

local ETH_P_ALL = 3
local address_t = ffi.typeof("struct { uint16_t family, protocol; int32_t ifindex; uint16_t hatype; uint8_t pkttype, halen, addr[8]; }")

local M = {}

local RawSocket = {}
RawSocket.__index = RawSocket
M.RawSocket = RawSocket

function RawSocket:new (interface)
   assert(interface, "RawSocket: the name of an interface is needed")
   local index, err = posix.interface_index(interface)
   if not index then error(("RawSocket: %s: %s"):format(interface, tostring(err))) end
   local fd
   fd, err = posix.socket(posix.AF_PACKET, bit.bor(posix.SOCK_RAW, posix.SOCK_NONBLOCK, posix.SOCK_CLOEXEC), lib.htons(ETH_P_ALL))
   if not fd then error("RawSocket: cannot open a packet socket: "..tostring(err)) end
   local ok
   ok, err = posix.bind(fd, address_t({ family = posix.AF_PACKET, protocol = lib.htons(ETH_P_ALL), ifindex = index }))
   if not ok then
      posix.close(fd)
      error(("RawSocket: cannot bind to %s: %s"):format(interface, tostring(err)))
   end
   return setmetatable({ fd = fd, name = interface, rx_p = packet.allocate(), shm = traffic.counters() }, self)
end

function RawSocket:pull ()
   local l = self.output.tx
   if not l then return end
   for _ = 1, math.min(engine.pull_npackets, link.nwritable(l)) do
      local p = self.rx_p
      local length, err = posix.read(self.fd, p.data, packet.max_payload)
      if not length then
         if err.again then return end
         error(("RawSocket: cannot read from %s: %s"):format(self.name, tostring(err)))
      end
      p.length = length
      traffic.received(self.shm, p)
      link.transmit(l, p)
      self.rx_p = packet.allocate()
   end
end

function RawSocket:push ()
   local l = self.input.rx
   if not l then return end
   while not link.empty(l) do
      -- It stays in the link until it is written: a socket whose buffer is full takes it later.
      local p = link.front(l)
      local length, err = posix.write(self.fd, p.data, p.length)
      if not length then
         if err.again then return end
         error(("RawSocket: cannot write to %s: %s"):format(self.name, tostring(err)))
      end
      link.receive(l)
      traffic.sent(self.shm, p)
      packet.free(p)
   end
end

function RawSocket:stop ()
   posix.close(self.fd)
   packet.free(self.rx_p)
end

return M
