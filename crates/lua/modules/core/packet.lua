-- Packets. An app that has a packet owns it, until it transmits or frees it. Where a packet begins in its chunk of memory says how much room is
-- before it, so that headers come and go without moving bytes; functions that do so return the packet's new place.
local ffi = require("ffi")
local bit = require("bit")
local native = require("core.native")
require("core.clib_h")
local C, core, band, lshift = ffi.C, native.core, bit.band, bit.lshift
local copy, fill, cast = ffi.copy, ffi.fill, ffi.cast

local pointer_t = ffi.typeof("struct packet *")
local bytes_t = ffi.typeof("char *")
local address_t = ffi.typeof("uint64_t")
local low_t = ffi.typeof("int32_t")
local freelist = core.free
local max_payload = tonumber(C.PACKET_PAYLOAD_SIZE)
local max, min = math.max, math.min

local packet = {
   max_payload = max_payload,
   packet_alignment = 512,
   -- Where a packet begins in its chunk is a multiple of it.
   minimum_alignment = 2,
   -- Where `shiftleft` and `shiftright` put a packet that had to be moved. New packets have 192 to 384 bytes before them: the memory of
   -- packets would else share few sets of the cache.
   default_headroom = 256,
}
local headrooms, default_headroom = packet.packet_alignment, packet.default_headroom

-- PERF: as a whole number of 32 bits, which LuaJIT has instructions for.
local function headroom (pointer) return band(tonumber(cast(low_t, cast(address_t, pointer))), headrooms - 1) end
-- Even numbers below 512 have no other bits.
local function is_headroom (n) return n >= 0 and band(n, 1 - headrooms) == 0 end

local function exhausted ()
   local lost = tonumber(require("core.app").lost.c)
   error("packet: no memory for more packets"..(lost > 0 and ("; apps that failed have lost %d"):format(lost) or ""), 3)
end

-- An empty packet.
function packet.allocate ()
   if freelist.nfree == 0 and C.sluss_packets_more(core) == 0 then exhausted() end
   local n = freelist.nfree - 1
   freelist.nfree = n
   local p = freelist.list[n]
   if core.stamps ~= 0 then C.sluss_metadata_clear(p) end
   return p
end
local allocate = packet.allocate

-- Counts a packet as freed, as the engine does not sleep while packets are.
local frees, freebytes, freebits = core.frees, core.freebytes, core.freebits
function packet.account_free (p)
   local length = p.length
   frees.c = frees.c + 1
   freebytes.c = freebytes.c + length
   -- What it takes of an Ethernet line, with preamble, checksum and gap, in bits.
   freebits.c = freebits.c + lshift(max(length, 60) + 24, 3)
end
local account_free = packet.account_free

-- Puts a packet back among the free ones, uncounted.
function packet.free_internal (p)
   local chunk = band(cast(address_t, p), -512LL)
   local home = cast(pointer_t, chunk + 192 + band(bit.rshift(chunk, 7), 192ULL))
   home.length = 0
   local n = freelist.nfree
   freelist.list[n] = home
   freelist.nfree = n + 1
end
local free_internal = packet.free_internal

function packet.free (p)
   account_free(p)
   free_internal(p)
end

-- Puts bytes at the end.
function packet.append (p, bytes, length)
   local old = p.length
   if old + length > max_payload then error("packet payload overflow") end
   copy(p.data + old, bytes, length)
   p.length = old + length
   return p
end

-- Puts bytes at the front. Returns the packet's new place.
function packet.prepend (p, bytes, length)
   p = packet.shiftright(p, length)
   copy(p.data, bytes, length)
   return p
end

-- Drops bytes at the front. Returns the packet's new place.
function packet.shiftleft (p, count)
   local length = p.length
   if count < 0 or count > length then error("packet: cannot drop "..count.." of "..length.." bytes") end
   local room = headroom(p)
   local moved
   if is_headroom(room + count) then
      moved = cast(pointer_t, cast(bytes_t, p) + count)
   else
      moved = cast(pointer_t, cast(bytes_t, p) - room + default_headroom)
      C.memmove(moved.data, p.data + count, length - count)
   end
   moved.length = length - count
   return moved
end

-- Opens bytes at the front, which hold anything. Returns the packet's new place.
function packet.shiftright (p, count)
   local length = p.length
   local room = headroom(p)
   local moved
   if is_headroom(room - count) then
      -- It may become longer than `max_payload`: what comes in front of it does not move its end.
      moved = cast(pointer_t, cast(bytes_t, p) - count)
   else
      if length + count > max_payload then error("packet payload overflow") end
      moved = cast(pointer_t, cast(bytes_t, p) - room + default_headroom)
      C.memmove(moved.data + count, p.data, length)
   end
   moved.length = length + count
   return moved
end

-- Makes it `length` bytes long; what is new is zero.
function packet.resize (p, length)
   if length > max_payload then error("packet payload overflow") end
   local old = p.length
   if length > old then fill(p.data + old, length - old) end
   p.length = length
   return p
end

-- A copy: the bytes and their number, and for native apps the time and the link type.
function packet.clone (p)
   local length = p.length
   local q = allocate()
   -- Length and bytes together. PERF: a first part of 64 bytes, which LuaJIT makes moves of, was 1 to 5 % slower than the call for all.
   copy(q, p, length + 2)
   if core.stamps ~= 0 then C.sluss_metadata_copy(q, p) end
   return q
end

function packet.from_pointer (pointer, length) return packet.append(allocate(), cast("const uint8_t *", pointer), length) end
function packet.from_string (s) return packet.from_pointer(s, #s) end

-- How many packets are free. Memory for more is there on demand; so nothing needs to be prepared.
function packet.initialize () end
function packet.preallocate_step () C.sluss_packets_more(core) end
function packet.nfree () return freelist.nfree end
-- A packet that is on no list of free ones.
packet.new_packet = packet.allocate

-- Packets do not leave this process, so there is no list of free ones that processes share.
function packet.enable_group_freelist () end
function packet.shutdown () end

ffi.metatype("struct freelist", { __tostring = function (l) return ("%d/%d"):format(l.nfree, l.max) end })

if os.getenv("SNABB_DEBUG") then require("core.checked").packet(packet) end
return packet
