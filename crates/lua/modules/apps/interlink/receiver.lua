-- Sends to `output` what the transmitter of the same name in another process was given.
--
-- Options: `queue`, a name to meet under, by default the app's; `size`, how many packets may be under way.

local engine = require("core.app")
local link = require("core.link")
local shm = require("core.shm")
local interlink = require("lib.interlink")

local Receiver = {
   name = "apps.interlink.Receiver",
   config = { queue = {}, size = { default = 1024 } },
}
Receiver.__index = Receiver

function Receiver:new (conf)
   return setmetatable({ queue = conf.queue, size = conf.size, attached = false }, self)
end

-- Attached with the first link, when the app knows its name. Waits while another process is the receiver.
function Receiver:link ()
   if self.attached then return end
   local file = (self.queue or self.appname)..".interlink"
   self.shm_name, self.backlink = "group/interlink/"..file, "interlink/receiver/"..file
   self.interlink = interlink.attach_receiver(self.shm_name, self.size)
   shm.alias(self.backlink, self.shm_name)
   self.attached = true
end

function Receiver:pull ()
   local o, r = self.output.output, self.interlink
   if not o then return end
   local n = 0
   while n < engine.pull_npackets and not interlink.empty(r) do
      link.transmit(o, interlink.extract(r))
      n = n + 1
   end
   interlink.pull(r)
end

function Receiver:stop ()
   if not self.attached then return end
   interlink.detach_receiver(self.interlink, self.shm_name)
   shm.unlink(self.backlink)
   self.attached = false
end

return Receiver
