-- A socket of the file system: what comes in at `rx` is sent, what is received goes to `tx`.
--
-- A listening app takes one connection after the other. A connecting one tries until there is someone, and again when the other side has
-- gone: at most once in RETRY seconds.

local ffi = require("ffi")
local bit = require("bit")
local engine = require("core.app")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local posix = require("lib.posix")

local address_t = ffi.typeof("struct { uint16_t family; char path[108]; }")
local RETRY = 0.01

local M = {}

local UnixSocket = {}
UnixSocket.__index = UnixSocket
M.UnixSocket = UnixSocket

local options = {
   filename = { required = true },
   listen = { default = false },      -- wait for a connection rather than connect
   mode = { default = "stream" },     -- or "packet": datagrams, so that each packet stays whole
}
local kinds = { stream = posix.SOCK_STREAM, packet = posix.SOCK_DGRAM }

local function open_socket (self)
   local fd, err = posix.socket(posix.AF_UNIX, self.kind)
   if not fd then error("UnixSocket: "..tostring(err)) end
   return fd
end

local function address (name)
   local a = address_t({ family = posix.AF_UNIX })
   ffi.copy(a.path, name)
   return a
end

-- The argument is a table of options, or just the name.
function UnixSocket:new (conf)
   if type(conf) == "string" then conf = { filename = conf } end
   local o = setmetatable(lib.parse(conf, options), self)
   o.kind = bit.bor(assert(kinds[o.mode], "UnixSocket: the mode is \"stream\" or \"packet\""), posix.SOCK_NONBLOCK, posix.SOCK_CLOEXEC)
   assert(#o.filename < 108, "UnixSocket: the name of a socket has at most 107 bytes")
   if o.listen then
      local fd = open_socket(o)
      posix.unlink(o.filename)
      local ok, err = posix.bind(fd, address(o.filename))
      if ok and o.mode == "stream" then ok, err = posix.listen(fd) end
      if not ok then
         posix.close(fd)
         error(("UnixSocket: cannot listen at %s: %s"):format(o.filename, tostring(err)))
      end
      o.listener = fd
   end
   o.rx_p = packet.allocate()
   return o
end

-- Forgets a connection that has ended.
local function disconnect (self)
   if self.fd and self.fd ~= self.listener then posix.close(self.fd) end
   self.fd = nil
end

-- The socket to read from and write to, or nil if nobody is there yet.
local function connection (self)
   if self.fd then return self.fd end
   if self.listener then
      -- Datagrams need no connection.
      self.fd = self.mode == "packet" and self.listener
         or posix.accept(self.listener, bit.bor(posix.SOCK_NONBLOCK, posix.SOCK_CLOEXEC))
      return self.fd
   end
   local now = engine.now()
   if self.tried and now < self.tried + RETRY then return nil end
   self.tried = now
   local fd = open_socket(self)
   if posix.connect(fd, address(self.filename)) then
      self.fd = fd
   else
      posix.close(fd)
   end
   return self.fd
end

function UnixSocket:pull ()
   local l = self.output.tx
   if not l or not connection(self) then return end
   for _ = 1, math.min(engine.pull_npackets, link.nwritable(l)) do
      local p = self.rx_p
      local length, err = posix.read(self.fd, p.data, packet.max_payload)
      if not length or length == 0 then
         if not (err and err.again) then disconnect(self) end
         return
      end
      p.length = length
      link.transmit(l, p)
      self.rx_p = packet.allocate()
   end
end

function UnixSocket:push ()
   local l = self.input.rx
   if not l or not connection(self) then return end
   while not link.empty(l) do
      local p = link.front(l)
      local length, err = posix.send(self.fd, p.data, p.length)
      if not length then
         if not err.again then disconnect(self) end
         return
      end
      if length < p.length then
         -- A stream took a part: the rest is next.
         ffi.C.memmove(p.data, p.data + length, p.length - length)
         p.length = p.length - length
         return
      end
      packet.free(link.receive(l))
   end
end

function UnixSocket:stop ()
   disconnect(self)
   if self.listener then
      posix.close(self.listener)
      posix.unlink(self.filename)
   end
   packet.free(self.rx_p)
end

return M
