-- What Ethernet bridges share: ports, and which may send to which.
--
-- A port is an input and an output link of the same name. Packets go from a port to all other ports, except that ports of
-- one split-horizon group do not send to each other; a port that is in no group is called free. A subclass forwards:
--
--     _ports       list of { name, group, handle, l_in, l_out }: the group's number, 0 if free; the port's own number; its links
--     _groups      list of { name, handle, ports }: numbers of ports
--     _dst_ports   for each port's number, the list of numbers of ports that it sends to

require("lib.lua.class")

local M = {}

local bridge = subClass(nil)
bridge._name = "base bridge"
bridge.config = {
   ports = { required = true },        -- names of free ports
   split_horizon_groups = {},          -- names of groups, and the names of ports of each
   config = { default = {} },          -- for the subclass
}
M.bridge = bridge

function bridge:new (conf)
   assert(self ~= bridge, "Can't instantiate abstract class "..self:name())
   local o = bridge:superClass().new(self)
   o._conf = conf
   local ports, groups = {}, {}

   local function add_port (name, group)
      assert(not ports[name], self:name()..": duplicate definition of port "..tostring(name))
      local port = { name = name, group = group and group.handle or 0, handle = #ports + 1 }
      ports[port.handle], ports[name] = port, port
      if group then table.insert(group.ports, port.handle) end
   end

   for _, name in ipairs(conf.ports) do
      add_port(name)
   end
   for name, members in pairs(conf.split_horizon_groups or {}) do
      local group = { name = name, handle = #groups + 1, ports = {} }
      groups[group.handle], groups[name] = group, group
      for _, port in ipairs(members) do
         add_port(port, group)
      end
   end

   local destinations = {}
   for i, from in ipairs(ports) do
      destinations[i] = {}
      for j, to in ipairs(ports) do
         if i ~= j and (from.group == 0 or from.group ~= to.group) then
            table.insert(destinations[i], j)
         end
      end
   end
   o._ports, o._groups, o._dst_ports = ports, groups, destinations
   return o
end

-- The engine calls this for each link that comes: ports then know theirs.
function bridge:link ()
   for _, port in ipairs(self._ports) do
      port.l_in, port.l_out = self.input[port.name], self.output[port.name]
   end
end

-- Prints ports, groups and who sends to whom.
function bridge:info ()
   local ports = self._ports
   local function shown (entry) return ("%s(%d)"):format(entry.name, entry.handle) end
   print("Free ports:")
   for _, port in ipairs(ports) do
      if port.group == 0 then print("\t"..shown(port)) end
   end
   print("Split-horizon groups:")
   for _, group in ipairs(self._groups) do
      print("\t"..shown(group)..", members:")
      for _, handle in ipairs(group.ports) do print("\t\t"..shown(ports[handle])) end
   end
   print("Forwarding tables:")
   for i, destinations in ipairs(self._dst_ports) do
      print("\t"..shown(ports[i]))
      for _, handle in ipairs(destinations) do print("\t\t"..shown(ports[handle])) end
   end
end

return M
