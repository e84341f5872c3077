-- Graphs over several workers. Each worker runs the same program with a state of its own, and starts those apps of a configuration that are placed
-- on it. A link to an app of another worker ends in an app that hands packets over; there, another such app brings them in.
local ffi = require("ffi")
local native = require("core.native")
local config = require("core.config")
local counter = require("core.counter")
ffi.cdef[[
void *sluss_queue_sender(struct sluss_core *, const char *link);
void *sluss_queue_receiver(struct sluss_core *, const char *link);
void sluss_queue_send(struct sluss_core *, void *endpoint, struct link *);
int sluss_queue_receive(struct sluss_core *, void *endpoint, struct link *, int max);
int sluss_queue_close(struct sluss_core *, void *endpoint);
]]
local C, core = ffi.C, native.core

local team = {}

-- The same as `engine.dropped`.
local dropped = counter.create("engine/dropped.counter")

-- Both move nothing as long as another worker, whose graph has not changed yet, has an app at the same side of the queue.
local Sender, Receiver = {}, {}
Sender.__index, Receiver.__index = Sender, Receiver
function Sender:new (spec) return setmetatable({ endpoint = C.sluss_queue_sender(core, spec) }, Sender) end
function Sender:push () C.sluss_queue_send(core, self.endpoint, self.input.input) end
-- Packets that found no room wait in the link.
Sender.tick = Sender.push
function Receiver:new (spec) return setmetatable({ endpoint = C.sluss_queue_receiver(core, spec) }, Receiver) end
function Receiver:pull () C.sluss_queue_receive(core, self.endpoint, self.output.output, 256) end

-- The last app at a queue frees the packets in it.
local function close (self)
   counter.add(dropped, C.sluss_queue_close(core, self.endpoint))
   self.endpoint = nil
end
Sender.stop, Receiver.stop = close, close

-- The order of apps along the links, the same in every worker: those that nothing leads to first, by name.
local function in_order (c)
   local names, incoming, outgoing = {}, {}, {}
   for name in pairs(c.apps) do
      names[#names + 1] = name
      incoming[name], outgoing[name] = 0, {}
   end
   table.sort(names)
   local specs = {}
   for spec in pairs(c.links) do specs[#specs + 1] = spec end
   table.sort(specs)
   for _, spec in ipairs(specs) do
      local from, _, to = config.parse_link(spec)
      if incoming[to] and outgoing[from] then
         incoming[to] = incoming[to] + 1
         table.insert(outgoing[from], to)
      end
   end
   local order, placed = {}, {}
   local function place (name)
      if placed[name] then return end
      placed[name] = true
      order[#order + 1] = name
      for _, to in ipairs(outgoing[name]) do
         incoming[to] = incoming[to] - 1
         if incoming[to] == 0 then place(to) end
      end
   end
   for _, name in ipairs(names) do if incoming[name] == 0 then place(name) end end
   for _, name in ipairs(names) do place(name) end
   return order
end

-- Which worker each app runs on: as `engine.placement` says, and the others in equal parts, along the links.
function team.placement (c, workers, wishes)
   local order, worker_of = in_order(c), {}
   for i, name in ipairs(order) do
      local wish = wishes[name]
      if wish and (wish < 1 or wish > workers) then
         error(("app '%s' is placed on worker %s of %d"):format(name, tostring(wish), workers), 0)
      end
      worker_of[name] = wish or math.floor((i - 1) * workers / #order) + 1
   end
   return worker_of
end

-- Names for the apps that links to other workers end in, by link: "a.x -> b.y" has "a_x_to_b_y". If that is the name of an app, or of another link's,
-- a number follows. The name does not depend on where apps are placed.
local function bridge_names (c)
   local specs, names, taken = {}, {}, {}
   for spec in pairs(c.links) do specs[#specs + 1] = spec end
   table.sort(specs)
   for name in pairs(c.apps) do taken[name] = true end
   for _, spec in ipairs(specs) do
      local plain = ("%s_%s_to_%s_%s"):format(config.parse_link(spec))
      local name, number = plain, 1
      while taken[name] do
         number = number + 1
         name = plain.."_"..number
      end
      names[spec], taken[name] = name, true
   end
   return names
end

-- The part of a configuration that one worker runs.
function team.part (c, worker, workers, wishes)
   local worker_of = team.placement(c, workers, wishes)
   local bridges = bridge_names(c)
   local part = config.new()
   for name, info in pairs(c.apps) do
      if worker_of[name] == worker then part.apps[name] = info end
   end
   for spec in pairs(c.links) do
      local from, from_port, to, to_port = config.parse_link(spec)
      local sends, receives = worker_of[from] == worker, worker_of[to] == worker
      local bridge = bridges[spec]
      if sends and receives then
         part.links[spec] = true
      elseif sends then
         config.app(part, bridge, Sender, spec)
         config.link(part, ("%s.%s -> %s.input"):format(from, from_port, bridge))
      elseif receives then
         config.app(part, bridge, Receiver, spec)
         config.link(part, ("%s.output -> %s.%s"):format(bridge, to, to_port))
      end
   end
   return part
end

return team
