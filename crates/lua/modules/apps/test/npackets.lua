-- Lets the first packets through, and then no more: later ones stay in the link.

local link = require("core.link")

local M = {}

local Npackets = { config = { npackets = { default = 1000000 } } }
Npackets.__index = Npackets
M.Npackets = Npackets

function Npackets:new (conf)
   return setmetatable({ n = conf.npackets }, self)
end

function Npackets:push ()
   local i, o = self.input.input, self.output.output
   local count = math.min(self.n, link.nreadable(i))
   for _ = 1, count do
      link.transmit(o, link.receive(i))
   end
   self.n = self.n - count
end

return M
