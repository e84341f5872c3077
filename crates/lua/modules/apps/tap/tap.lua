-- A TAP device: what comes in at `input` is sent, what is received goes to `output`.
--
-- A device that does not exist is made, set up, and vanishes with the app. One that exists is used as it is: its MTU is then
-- compared with the configured one, unless `mtu_set` says to set it.

local ffi = require("ffi")
local bit = require("bit")
local engine = require("core.app")
local counter = require("core.counter")
local lib = require("core.lib")
local link = require("core.link")
local macaddress = require("lib.macaddress")
local packet = require("core.packet")
local posix = require("lib.posix")
local traffic = require("lib.traffic")

local M = {}

local Tap = {}
Tap.__index = Tap
M.Tap = Tap

-- The argument may be just a name, so the engine does not check it by a table called `config`.
Tap._config = {
   name = { required = true },
   mtu = { default = 1514 },                -- with the Ethernet header
   mtu_fixup = { default = true },          -- the system's MTU is without: it is lower
   mtu_offset = { default = 14 },           -- by so much
   mtu_set = {},                            -- true: set the MTU; false: compare it; by default, what fits whether the device existed
   overwrite_dst_mac = { default = false }, -- address all packets that are sent to the device itself
   forwarding = { default = false },        -- let the system forward packets of this device (IPv4)
}

local ifreq_t = ffi.typeof([[
   struct {
      char name[16];
      union {
         int16_t flags;
         int32_t value;
         struct { uint16_t family; uint8_t data[14]; } hwaddr;
         char space[24];
      };
   }
]])

local TUNSETIFF, SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCGIFMTU, SIOCSIFMTU, SIOCGIFHWADDR =
   0x400454ca, 0x8913, 0x8914, 0x8921, 0x8922, 0x8927
local IFF_UP, IFF_TAP, IFF_NO_PI, ARPHRD_ETHER = 1, 2, 0x1000, 1
local UP, DOWN = 1, 2           -- ifOperStatus of RFC 2863
local PROP_VIRTUAL = 0x1001

local function request (name)
   local ifr = ifreq_t()
   assert(#name < 16, "Tap: the name of a device has at most 15 characters: "..name)
   ffi.copy(ifr.name, name)
   return ifr
end

-- An ioctl of the device, or an error that names it.
local function control (self, op, code, ifr)
   local ok, err = posix.ioctl(self.sock, code, ifr)
   if not ok then error(("%s failed for tap device %s: %s"):format(op, self.name, tostring(err))) end
   return ifr
end

local function operational_status (self)
   local flags = control(self, "SIOCGIFFLAGS", SIOCGIFFLAGS, request(self.name)).flags
   return bit.band(flags, IFF_UP) ~= 0 and UP or DOWN
end

local function set_up (self)
   local ifr = control(self, "SIOCGIFFLAGS", SIOCGIFFLAGS, request(self.name))
   ifr.flags = bit.bor(ifr.flags, IFF_UP)
   control(self, "SIOCSIFFLAGS", SIOCSIFFLAGS, ifr)
end

local function settle_mtu (self, conf, existed)
   local wanted = conf.mtu - (conf.mtu_fixup and conf.mtu_offset or 0)
   local set = conf.mtu_set
   if set == nil then set = not existed end
   local ifr = request(self.name)
   if set then
      ifr.value = wanted
      control(self, "SIOCSIFMTU", SIOCSIFMTU, ifr)
   else
      local mtu = control(self, "SIOCGIFMTU", SIOCGIFMTU, ifr).value
      assert(mtu == wanted, ("Mismatch of IP MTU on tap device %s: expected %d, configured %d"):format(self.name, wanted, mtu))
   end
end

local function mac_address (self)
   local hwaddr = control(self, "SIOCGIFHWADDR", SIOCGIFHWADDR, request(self.name)).hwaddr
   assert(hwaddr.family == ARPHRD_ETHER, "Tap interface "..self.name.." is not of type ethernet: "..hwaddr.family)
   return macaddress:from_bytes(hwaddr.data)
end

local function allow_forwarding (name)
   for setting, value in pairs({ rp_filter = "0", accept_local = "1", forwarding = "1" }) do
      lib.writefile(("/proc/sys/net/ipv4/conf/%s/%s"):format(name, setting), value)
   end
end

function Tap:new (conf)
   if type(conf) == "string" then conf = { name = conf } end
   conf = lib.parse(conf, self._config)
   local existed = posix.exists("/sys/class/net/"..conf.name)
   local fd, err = posix.open("/dev/net/tun", bit.bor(posix.O_RDWR, posix.O_NONBLOCK, posix.O_CLOEXEC))
   if not fd then error("Error opening /dev/net/tun: "..tostring(err)) end
   local ifr = request(conf.name)
   ifr.flags = IFF_TAP + IFF_NO_PI
   local ok
   ok, err = posix.ioctl(fd, TUNSETIFF, ifr)
   if not ok then
      posix.close(fd)
      error(("ioctl(TUNSETIFF) failed on /dev/net/tun for %s: %s"):format(conf.name, tostring(err)))
   end
   -- Any socket serves to control a device.
   local sock
   sock, err = posix.socket(posix.AF_INET, bit.bor(posix.SOCK_DGRAM, posix.SOCK_CLOEXEC), 0)
   if not sock then
      posix.close(fd)
      error("Error creating ioctl socket for tap device: "..tostring(err))
   end

   local o = setmetatable({ fd = fd, sock = sock, name = conf.name, overwrite_dst_mac = conf.overwrite_dst_mac }, self)
   local done, message = pcall(function ()
      if not existed then set_up(o) end
      settle_mtu(o, conf, existed)
      if conf.forwarding then allow_forwarding(conf.name) end
      o.mac = mac_address(o)
      o.shm = traffic.counters()
      o.shm.type = { counter, PROP_VIRTUAL }
      o.shm.status = { counter, operational_status(o) }
      o.shm.mtu = { counter, conf.mtu }
      o.shm.speed = { counter, 0 }
      o.shm.macaddr = { counter, o.mac.bits }
   end)
   if not done then
      posix.close(fd)
      posix.close(sock)
      error(message, 0)
   end
   o.status_timer = lib.throttle(0.1)
   o.pkt = packet.allocate()
   return o
end

-- Brings the counters of the device's state up to date.
function Tap:status ()
   self.mac = mac_address(self)
   counter.set(self.shm.status, operational_status(self))
   counter.set(self.shm.macaddr, self.mac.bits)
end

function Tap:tick ()
   if self.status_timer() then self:status() end
end

function Tap:pull ()
   local l = self.output.output
   if not l then return end
   for _ = 1, engine.pull_npackets do
      local p = self.pkt
      local length, err = posix.read(self.fd, p.data, packet.max_payload)
      if not length then
         if err.again then return end
         error(("Failed read on %s: %s"):format(self.name, tostring(err)))
      end
      p.length = length
      traffic.received(self.shm, p)
      link.transmit(l, p)
      self.pkt = packet.allocate()
   end
end

function Tap:push ()
   local l = self.input.input
   while not link.empty(l) do
      -- It stays in the link until it is written: a device whose queue is full takes it later.
      local p = link.front(l)
      if self.overwrite_dst_mac then ffi.copy(p.data, self.mac.bytes, 6) end
      local length, err = posix.write(self.fd, p.data, p.length)
      if not length then
         if err.again then return end
         error(("Failed write on %s: %s"):format(self.name, tostring(err)))
      end
      link.receive(l)
      traffic.sent(self.shm, p)
      packet.free(p)
   end
end

function Tap:stop ()
   posix.close(self.fd)
   posix.close(self.sock)
   packet.free(self.pkt)
end

return M
