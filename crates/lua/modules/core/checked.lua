-- Checks of who has a packet, for programs that run with SNABB_DEBUG set. Each packet belongs to an app, to a link, or to nobody; using one that
-- is not the app's own is an error that says who had it last, and where.
local ffi = require("ffi")
local native = require("core.native")

local checked = {}
-- By chunk of memory: what became of the packet, the app, and the line.
local packets = {}
-- Packets that were transmitted, whose bytes must not change any more. Each was replaced by a copy.
local quarantine, oldest, newest = {}, 1, 0
local QUARANTINED, POISON = 256, 0xdd

local function key (p) return math.floor(tonumber(ffi.cast("uint64_t", p)) / 512) end

-- The line of the program that is outside of the engine.
local function place ()
   for level = 3, 20 do
      local info = debug.getinfo(level, "Sl")
      if not info then break end
      if info.currentline > 0 and not info.source:match("^@sluss/core/") then
         return info.short_src..":"..info.currentline
      end
   end
   return "an unknown line"
end

local function who () return "app `"..(native.current() or "-").."` in "..place() end

local function note (p, what) packets[key(p)] = { what = what, who = who(), app = native.current() } end

local function must_have (p, verb)
   local known = packets[key(p)]
   if known and known.what ~= "taken" then
      error(("a packet is %s by %s; it was %s by %s"):format(verb, who(), known.what, known.who), 3)
   end
end

-- Puts a transmitted packet aside, filled with a mark. Returns the copy that takes its place.
local function replace (packet, raw, p)
   local copy = raw.clone(p)
   ffi.fill(p.data, p.length, POISON)
   newest = newest + 1
   quarantine[newest] = { p = p, length = p.length, who = packets[key(p)].who }
   if newest - oldest >= QUARANTINED then
      local old = quarantine[oldest]
      quarantine[oldest] = nil
      oldest = oldest + 1
      for i = 0, old.length - 1 do
         if old.p.data[i] ~= POISON then
            error("a packet was written after it was transmitted by "..old.who, 0)
         end
      end
      packets[key(old.p)] = { what = "transmitted", who = old.who }
      raw.free_internal(old.p)
   end
   return copy
end

-- Makes the functions of `core.packet` check.
function checked.packet (packet)
   local raw = {}
   for name, f in pairs(packet) do raw[name] = f end
   checked.raw = raw
   function packet.allocate ()
      local p = raw.allocate()
      note(p, "taken")
      return p
   end
   function packet.from_pointer (pointer, length)
      local p = raw.append(raw.allocate(), ffi.cast("const uint8_t *", pointer), length)
      note(p, "taken")
      return p
   end
   function packet.from_string (s)
      local p = raw.append(raw.allocate(), s, #s)
      note(p, "taken")
      return p
   end
   packet.new_packet = packet.allocate
   function packet.clone (p)
      must_have(p, "copied")
      local q = raw.clone(p)
      note(q, "taken")
      return q
   end
   for _, name in ipairs { "append", "prepend", "shiftleft", "shiftright", "resize" } do
      packet[name] = function (p, ...)
         must_have(p, "changed")
         return raw[name](p, ...)
      end
   end
   function packet.free (p)
      must_have(p, "freed")
      note(p, "freed")
      raw.free(p)
   end
end

-- Makes the functions of `core.link` check.
function checked.link (link, packet)
   local raw = {}
   for name, f in pairs(link) do raw[name] = f end
   function link.transmit (l, p)
      must_have(p, "transmitted")
      note(p, "transmitted")
      local copy = replace(packet, checked.raw, p)
      packets[key(copy)] = { what = "in a link", who = packets[key(p)].who }
      raw.transmit(l, copy)
   end
   function link.receive (l)
      if raw.empty(l) then error("a packet is received from an empty link by "..who(), 2) end
      local p = raw.receive(l)
      note(p, "taken")
      return p
   end
end

-- The packets that apps have: how many, by app and the line where they were taken, as lines of text.
function checked.held ()
   local counts, lines = {}, {}
   for _, known in pairs(packets) do
      if known.what == "taken" then counts[known.who] = (counts[known.who] or 0) + 1 end
   end
   for taker, count in pairs(counts) do lines[#lines + 1] = ("%d packets taken by %s"):format(count, taker) end
   table.sort(lines)
   return lines
end

return checked
