-- The counters of apps that move packets between the network and the engine: bytes and packets, and of these multicast and
-- broadcast ones, received (rx) and sent (tx).

local counter = require("core.counter")
local ethernet = require("lib.protocol.ethernet")
local add = counter.add

local M = {}

-- For `self.shm` of an app.
function M.counters ()
   local shm = {}
   for _, direction in ipairs({ "rx", "tx" }) do
      for _, what in ipairs({ "bytes", "packets", "mcast", "bcast" }) do
         shm[direction..what] = { counter }
      end
   end
   return shm
end

function M.received (shm, p)
   add(shm.rxbytes, p.length)
   add(shm.rxpackets)
   if ethernet:is_mcast(p.data) then
      add(shm.rxmcast)
      if ethernet:is_bcast(p.data) then add(shm.rxbcast) end
   end
end

function M.sent (shm, p)
   add(shm.txbytes, p.length)
   add(shm.txpackets)
   if ethernet:is_mcast(p.data) then
      add(shm.txmcast)
      if ethernet:is_bcast(p.data) then add(shm.txbcast) end
   end
end

return M
