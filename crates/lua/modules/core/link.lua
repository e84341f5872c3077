-- Links between apps: rings of 1023 packets. A packet that is sent over a full link is dropped, and counted.
local ffi = require("ffi")
local bit = require("bit")
local native = require("core.native")
local packet = require("core.packet")
local counter = require("core.counter")
local shm = require("core.shm")
local C, core, band = ffi.C, native.core, bit.band
-- What is dropped or left was checked before.
local function free (p)
   packet.account_free(p)
   packet.free_internal(p)
end

local size = C.LINK_RING_SIZE
local mask = size - 1
local link = { max = C.LINK_MAX_PACKETS }

local counters = { "dtime", "rxpackets", "rxbytes", "txpackets", "txbytes", "txdrop" }

function link.new (name)
   local l = C.sluss_link_new(core)[0]
   for _, c in ipairs(counters) do
      counter.publish("links/"..name.."/"..c..".counter", l.stats[c])
   end
   l.stats.dtime.c = C.get_unix_time()
   return l
end

-- Frees the packets that are left in it.
function link.free (l, name)
   while not link.empty(l) do free(link.receive(l)) end
   for _, c in ipairs(counters) do counter.delete("links/"..name.."/"..c..".counter") end
   shm.unlink("links/"..name)
   C.sluss_link_free(core, l)
end

-- The next packet. The link must not be empty. What is received is not counted here: see `core.link_h`.
function link.receive (l)
   local p = l.packets[l.read]
   l.read = band(l.read + 1, mask)
   return p
end

-- The next packet, which stays in the link; nil if there is none.
function link.front (l)
   if l.read ~= l.write then return l.packets[l.read] end
end

function link.transmit (l, p)
   local write = l.write
   local following = band(write + 1, mask)
   local stats = l.stats
   if following == l.read then
      stats.txdrop.c = stats.txdrop.c + 1
      free(p)
   else
      l.packets[write] = p
      stats.txpackets.c = stats.txpackets.c + 1
      stats.txbytes.c = stats.txbytes.c + p.length
      l.write = following
   end
end

function link.empty (l) return l.read == l.write end
function link.full (l) return band(l.write + 1, mask) == l.read end
function link.nreadable (l) return band(l.write - l.read, mask) end
function link.nwritable (l) return mask - band(l.write - l.read, mask) end

-- Its counters, as a table of numbers.
function link.stats (l)
   local stats = {}
   for _, c in ipairs(counters) do stats[c] = tonumber(counter.read(l.stats[c])) end
   return stats
end

if os.getenv("SNABB_DEBUG") then require("core.checked").link(link, packet) end
return link
