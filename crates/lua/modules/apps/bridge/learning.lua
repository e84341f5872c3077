-- A bridge that learns at which port an address is, by the source addresses of packets, and sends packets to that port only. Packets to
-- addresses that it does not know, and to multicast addresses, go to all ports that their port may send to.
--
-- Options, below `config`: `mac_table`, those of apps.bridge.mac_table.

local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local base = require("apps.bridge.base").bridge
local mac_table = require("apps.bridge.mac_table")
local receive, transmit, clone, free = link.receive, link.transmit, packet.clone, packet.free

local FLOOD, DISCARD = mac_table.FLOOD, mac_table.DISCARD
local BURST = link.max

local M = {}

local bridge = subClass(base)
bridge._name = "learning bridge"
M.bridge = bridge

function bridge:new (conf)
   local o = bridge:superClass().new(self, conf)
   o._mac_table = mac_table:new((conf.config or {}).mac_table)
   o._packets = ffi.new("struct packet *[?]", BURST)
   o._destinations = ffi.new("uint16_t[?]", BURST)
   return o
end

function bridge:stop ()
   self._mac_table:stop()
end

local function flood (ports, to, p)
   local last = #to
   for j = 1, last - 1 do
      transmit(ports[to[j]].l_out, clone(p))
   end
   if last > 0 then
      transmit(ports[to[last]].l_out, p)
   else
      free(p)
   end
end

function bridge:push ()
   local ports, packets, destinations = self._ports, self._packets, self._destinations
   for i = 1, #ports do
      local port = ports[i]
      local l = port.l_in
      local n = link.nreadable(l)
      if n > 0 then
         for k = 0, n - 1 do
            packets[k] = receive(l)
         end
         self._mac_table:burst(packets, n, i, port.group, destinations)
         local to = self._dst_ports[i]
         for k = 0, n - 1 do
            local destination = destinations[k]
            if destination == FLOOD then
               flood(ports, to, packets[k])
            elseif destination == DISCARD then
               free(packets[k])
            else
               transmit(ports[destination].l_out, packets[k])
            end
         end
      end
   end
end

return M
