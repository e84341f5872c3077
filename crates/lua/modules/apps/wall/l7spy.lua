-- Looks at the packets that pass between `south` and `north`, with a scanner that other apps share: see apps.wall.l7fw.

local engine = require("core.app")
local util = require("apps.wall.util")

local M = {}

local L7Spy = setmetatable({}, util.SouthAndNorth)
L7Spy.__index = L7Spy
M.L7Spy = L7Spy

-- Option: `scanner`, one that was made, or the name of a module below apps.wall.scanner; "ndpi" by default.
function L7Spy:new (conf)
   local scanner = conf and conf.scanner or "ndpi"
   if type(scanner) == "string" then
      scanner = require("apps.wall.scanner."..scanner):new()
   end
   return setmetatable({ scanner = scanner }, self)
end

function L7Spy:push ()
   self.time = engine.now()
   self:push_northbound()
   self:push_southbound()
end

function L7Spy:on_northbound_packet (p)
   self.scanner:scan_packet(p, self.time)
   return p
end

L7Spy.on_southbound_packet = L7Spy.on_northbound_packet

return M
