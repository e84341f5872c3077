-- Holds packets back for a number of seconds, for devices that need time until they can send.

local engine = require("core.app")
local link = require("core.link")

local M = {}

local Delayed_start = {}
Delayed_start.__index = Delayed_start
M.Delayed_start = Delayed_start

function Delayed_start:new (seconds)
   return setmetatable({ start = engine.now() + seconds }, self)
end

function Delayed_start:push ()
   if engine.now() < self.start then return end
   local i, o = self.input.input, self.output.output
   for _ = 1, link.nreadable(i) do
      link.transmit(o, link.receive(i))
   end
end

return M
