-- Ethernet frames of given sizes, in turn.

local ffi = require("ffi")
local engine = require("core.app")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local ethernet = require("lib.protocol.ethernet")

local u32_t = ffi.typeof("uint32_t *")
local HEADER, PAYLOAD_MAX = ethernet:sizeof(), 1536

local M = {}

local Synth = {
   config = {
      sizes = { default = { 64 } },                -- of the frames, in bytes; the type of each is the size of its payload
      src = { default = "00:00:00:00:00:00" },
      dst = { default = "00:00:00:00:00:00" },
      random_payload = { default = false },        -- instead of zeros
      packet_id = { default = false },             -- number the packets, in the four bytes behind the header
      packets = {},                                -- send these instead
   },
}
Synth.__index = Synth
M.Synth = Synth

local function make (conf, size)
   local length = size - HEADER
   assert(length >= 0 and length <= PAYLOAD_MAX, "Invalid payload size: "..length)
   local header = ethernet:new({ src = ethernet:pton(conf.src), dst = ethernet:pton(conf.dst), type = length })
   local p = packet.from_pointer(header:header_ptr(), HEADER)
   header:free()
   return packet.append(p, conf.random_payload and lib.random_bytes(length) or ffi.new("uint8_t[?]", length), length)
end

function Synth:new (conf)
   assert(#conf.sizes >= 1, "Needs at least one size.")
   local packets = conf.packets
   if not packets then
      packets = {}
      for i, size in ipairs(conf.sizes) do packets[i] = make(conf, size) end
   end
   return setmetatable({ packets = packets, cursor = 0, packet_id = conf.packet_id and 0 }, self)
end

function Synth:pull ()
   local packets, count, outputs = self.packets, #self.packets, self.output
   local burst = engine.pull_npackets
   for i = 1, #outputs do
      local o, cursor = outputs[i], self.cursor
      for _ = 1, burst do
         local p = packet.clone(packets[cursor + 1])
         if self.packet_id then
            ffi.cast(u32_t, p.data + HEADER)[0] = lib.htonl(self.packet_id)
            self.packet_id = self.packet_id + 1
         end
         link.transmit(o, p)
         cursor = (cursor + 1) % count
      end
   end
   self.cursor = (self.cursor + burst) % count
end

function Synth:stop ()
   for _, p in ipairs(self.packets) do packet.free(p) end
end

return M
