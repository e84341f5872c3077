-- An app with counters that other programs see while it runs (`sluss top`), and that it reads itself at the end:
--
--     sluss run counters.lua PACKETS

local basic = require("apps.basic.basic_apps")
local Npackets = require("apps.test.npackets").Npackets
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")

-- Counts packets by their length. The engine makes the counters of the table `shm`, as files of the app's folder in shared memory.
local Sizes = { config = { limit = { default = 100 } } }
Sizes.__index = Sizes

function Sizes:new (conf)
   return setmetatable({ limit = conf.limit, shm = { short = { counter }, long = { counter, 0 } } }, self)
end

function Sizes:push ()
   local i = self.input.input
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      counter.add(p.length < self.limit and self.shm.short or self.shm.long)
      packet.free(p)
   end
end

local wanted = tonumber(main.parameters[1] or 1000)
local c = config.new()
config.app(c, "short", basic.Source, 60)
config.app(c, "long", basic.Source, 1500)
config.app(c, "join", basic.Join)
config.app(c, "first", Npackets, { npackets = wanted })
config.app(c, "sizes", Sizes, { limit = 500 })
config.link(c, "short.output -> join.short")
config.link(c, "long.output -> join.long")
config.link(c, "join.output -> first.input")
config.link(c, "first.output -> sizes.input")
engine.configure(c)

local shm = engine.app_table.sizes.shm
local function seen () return tonumber(counter.read(shm.short) + counter.read(shm.long)) end
engine.main({ no_report = true, done = function () return seen() >= wanted end })
print(("%d packets, of both sizes: %s"):format(seen(), tostring(counter.read(shm.short) > 0 and counter.read(shm.long) > 0)))
