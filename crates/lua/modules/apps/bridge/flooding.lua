-- A bridge that sends each packet to all ports that its port may send to.

local link = require("core.link")
local packet = require("core.packet")
local base = require("apps.bridge.base").bridge
local receive, transmit, clone = link.receive, link.transmit, packet.clone

local M = {}

local bridge = subClass(base)
bridge._name = "flooding bridge"
M.bridge = bridge

function bridge:push ()
   local ports, destinations = self._ports, self._dst_ports
   for i = 1, #ports do
      local l, to = ports[i].l_in, destinations[i]
      for _ = 1, link.nreadable(l) do
         local p = receive(l)
         local last = #to
         for j = 1, last - 1 do
            transmit(ports[to[j]].l_out, clone(p))
         end
         if last > 0 then
            transmit(ports[to[last]].l_out, p)
         else
            packet.free(p)
         end
      end
   end
end

return M
