-- Lets packets pass that have at least so many bytes, and counts the others:
--
--     sluss run at-least.lua IN.pcap OUT.pcap LENGTH

local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local pcap = require("apps.pcap.pcap")

-- Options are checked against this table: unknown ones are an error.
local AtLeast = { config = { length = { required = true } } }
AtLeast.__index = AtLeast

function AtLeast:new (conf)
   return setmetatable({ length = conf.length, shm = { short = { counter } } }, self)
end

function AtLeast:push ()
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

local from, to, length = unpack(main.parameters)
if not length then
   print("usage: at-least.lua IN.pcap OUT.pcap LENGTH")
   main.exit(2)
end

local c = config.new()
config.app(c, "reader", pcap.PcapReader, from)
config.app(c, "atleast", AtLeast, { length = tonumber(length) })
config.app(c, "writer", pcap.PcapWriter, to)
config.link(c, "reader.output -> atleast.input")
config.link(c, "atleast.output -> writer.input")
engine.configure(c)
engine.main({ no_report = true, done = function () return engine.app_table.reader.done end })
print(("%d packets were short"):format(tonumber(counter.read(engine.app_table.atleast.shm.short))))
