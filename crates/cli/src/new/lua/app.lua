-- MyApp: lets packets pass whose length is at least `length`, and counts the others.
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")

---@class MyApp: sluss.app
local MyApp = { config = { length = { default = 60 } } }
MyApp.__index = MyApp

function MyApp:new (conf)
   return setmetatable({ length = conf.length, shm = { short = { counter } } }, self)
end

function MyApp:push ()
   local i, o = self.input.input, self.output.output
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      if p.length >= self.length then
         link.transmit(o, p)
      else
         counter.add(self.shm.short)
         packet.free(p)
      end
   end
end

return { MyApp = MyApp }
