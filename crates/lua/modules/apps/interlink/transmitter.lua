-- Sends what comes in at `input` to the receiver of the same name in another process.
--
-- Options: `queue`, a name to meet under, by default the app's; `size`, how many packets may be under way.

local link = require("core.link")
local shm = require("core.shm")
local interlink = require("lib.interlink")

local Transmitter = {
   name = "apps.interlink.Transmitter",
   config = { queue = {}, size = { default = 1024 } },
}
Transmitter.__index = Transmitter

function Transmitter:new (conf)
   return setmetatable({ queue = conf.queue, size = conf.size, attached = false }, self)
end

-- Attached with the first link, when the app knows its name. Waits while another process is the sender.
function Transmitter:link ()
   if self.attached then return end
   local file = (self.queue or self.appname)..".interlink"
   self.shm_name, self.backlink = "group/interlink/"..file, "interlink/transmitter/"..file
   self.interlink = interlink.attach_transmitter(self.shm_name, self.size)
   shm.alias(self.backlink, self.shm_name)
   self.attached = true
end

function Transmitter:push ()
   local i, r = self.input.input, self.interlink
   while not link.empty(i) and not interlink.full(r) do
      interlink.insert(r, link.receive(i))
   end
   interlink.push(r)
end

function Transmitter:stop ()
   if not self.attached then return end
   interlink.detach_transmitter(self.interlink, self.shm_name)
   shm.unlink(self.backlink)
   self.attached = false
end

return Transmitter
