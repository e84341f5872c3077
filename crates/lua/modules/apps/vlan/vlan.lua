-- VLAN tags (IEEE 802.1Q, 802.1ad): adding one, removing one, and a trunk of many VLANs.

local ffi = require("ffi")
local bit = require("bit")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local C = ffi.C
local cast = ffi.cast
local receive, transmit, nreadable = link.receive, link.transmit, link.nreadable

ffi.cdef("void *memmove (void *to, const void *from, size_t n);")

local u16_t, u32_t = ffi.typeof("uint16_t *"), ffi.typeof("uint32_t *")

-- Both MAC addresses stand in front of the type, or of the tag.
local ADDRESSES, TAG = 12, 4

local M = {}

-- Type and tag, four bytes, in network byte order.
local function tag_word (vid, tpid)
   return lib.htonl(bit.bor(bit.lshift(tpid, 16), vid))
end

-- Removes a tag. Returns the packet, which is at another address.
function M.pop_tag (p)
   C.memmove(p.data + TAG, p.data, ADDRESSES)
   return packet.shiftleft(p, TAG)
end

-- Inserts a tag, four bytes in network byte order. Returns the packet, which is at another address.
function M.push_tag (p, tag)
   p = packet.shiftright(p, TAG)
   C.memmove(p.data, p.data + TAG, ADDRESSES)
   cast(u32_t, p.data + ADDRESSES)[0] = tag
   return p
end

-- The 16 bits of priority, drop eligibility and VLAN of a packet that has a tag.
function M.extract_tci (p)
   return lib.ntohs(cast(u16_t, p.data + ADDRESSES + 2)[0])
end

function M.tci_to_vid (tci)
   return bit.band(tci, 0xfff)
end

-- The number of a VLAN, if it is one.
function M.check_tag (tag)
   assert(tag >= 0 and tag < 4095, "VLAN tag "..tag.." out of range")
   return tag
end

local types = { dot1q = 0x8100, dot1ad = 0x88a8 }

-- Sets `tpid` by the option `encapsulation`: a name, or the type as a number.
function M.new_aux (self, conf)
   local encapsulation = conf.encapsulation
   if type(encapsulation) == "string" then
      self.tpid = assert(types[encapsulation], "Unsupported encapsulation type "..encapsulation)
   else
      assert(type(encapsulation) == "number", "an encapsulation is a name or a number")
      self.tpid = bit.band(encapsulation, 0xffff)
   end
   return self
end

local push_tag, pop_tag = M.push_tag, M.pop_tag

-- An app between `input` and `output` with one tag.
local function tagging_app ()
   local class = {
      config = { encapsulation = { default = "dot1q" }, tag = { required = true } },
   }
   class.__index = class
   function class:new (conf)
      local o = M.new_aux(setmetatable({}, self), conf)
      o.tag = tag_word(M.check_tag(conf.tag), o.tpid)
      return o
   end
   return class
end

-- Adds the tag to all packets.
local Tagger = tagging_app()
M.Tagger = Tagger

function Tagger:push ()
   local i, o, tag = self.input.input, self.output.output, self.tag
   for _ = 1, nreadable(i) do
      transmit(o, push_tag(receive(i), tag))
   end
end

-- Removes the tag, and discards packets that do not have just this one.
local Untagger = tagging_app()
M.Untagger = Untagger

function Untagger:push ()
   local i, o, tag = self.input.input, self.output.output, self.tag
   for _ = 1, nreadable(i) do
      local p = receive(i)
      if cast(u32_t, p.data + ADDRESSES)[0] == tag then
         transmit(o, pop_tag(p))
      else
         packet.free(p)
      end
   end
end

-- Links `vlanN` and `native` on one side, `trunk` on the other: a packet that comes in at vlanN leaves at the trunk with the tag N, and
-- the other way round; one without a tag goes between native and trunk as it is. What has no such link to go to is discarded.
local VlanMux = {
   config = { encapsulation = { default = "dot1q" } },
}
VlanMux.__index = VlanMux
M.VlanMux = VlanMux

function VlanMux:new (conf)
   -- Outputs by the number of the VLAN; that of the native one is 0.
   return M.new_aux(setmetatable({ vlan_links = {} }, self), conf)
end

-- The number of the VLAN that a link is for; nil for the trunk, and for native as an input, whose packets get no tag.
function VlanMux:link_vid (dir, name)
   local vid = name:match("^vlan(%d+)$")
   if vid then return M.check_tag(tonumber(vid)) end
   if name == "native" then return dir == "output" and 0 or nil end
   if name ~= "trunk" then error("invalid link name "..name) end
end

function VlanMux:link (dir, name)
   local vid = self:link_vid(dir, name)
   if not vid then return end
   if dir == "output" then
      self.vlan_links[vid] = self.output[name]
   else
      local tag = tag_word(vid, self.tpid)
      self.push_link[name] = function (self, l) self:push_from_vlan(l, tag) end
   end
end

function VlanMux:unlink (dir, name)
   local vid = self:link_vid(dir, name)
   if vid and dir == "output" then
      self.vlan_links[vid] = nil
   end
end

function VlanMux:push_from_vlan (l, tag)
   local trunk = assert(self.output.trunk, "VlanMux: no trunk")
   for _ = 1, nreadable(l) do
      transmit(trunk, push_tag(receive(l), tag))
   end
end

function VlanMux:push_native (l)
   local trunk = assert(self.output.trunk, "VlanMux: no trunk")
   for _ = 1, nreadable(l) do
      transmit(trunk, receive(l))
   end
end

function VlanMux:push_trunk (l)
   local links, tpid = self.vlan_links, lib.htons(self.tpid)
   for _ = 1, nreadable(l) do
      local p = receive(l)
      if cast(u16_t, p.data + ADDRESSES)[0] == tpid then
         local vid = M.tci_to_vid(M.extract_tci(p))
         self:transmit(links[vid], pop_tag(p))
      else
         self:transmit(links[0], p)
      end
   end
end

-- The engine gives each instance its own copy, to which link() adds the VLANs.
VlanMux.push_link = { native = VlanMux.push_native, trunk = VlanMux.push_trunk }

-- Sends a packet, or discards it if there is no link.
function VlanMux:transmit (o, p)
   if o then
      transmit(o, p)
   else
      packet.free(p)
   end
end

return M
