-- Captures as source and as sink of packets.

local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local pcap = require("lib.pcap.pcap")

local M = {}

-- Sends the packets of a capture, of any format that lib.pcap.pcap reads, to `output`. `done` is true when all are sent.
local PcapReader = {}
PcapReader.__index = PcapReader
M.PcapReader = PcapReader

function PcapReader:new (name)
   return setmetatable({ next_packet = pcap.reader(name), done = false }, self)
end

function PcapReader:pull ()
   local o = assert(self.output.output, "PcapReader: no output")
   if self.done then return end
   local next_packet = self.next_packet
   for _ = 1, engine.pull_npackets do
      local data, length = next_packet()
      if not data then
         self.done = true
         return
      end
      link.transmit(o, packet.from_pointer(data, length))
   end
end

-- Writes the packets that come in at `input` to a capture. The argument is its name, or { name, mode }, with a mode of io.open(), "w" by
-- default; a file that is appended to keeps its header.
local PcapWriter = {}
PcapWriter.__index = PcapWriter
M.PcapWriter = PcapWriter

function PcapWriter:new (arg)
   local name, mode = arg, "w"
   if type(arg) == "table" then
      name, mode = arg[1], arg[2] or mode
   end
   local file = assert(io.open(name, mode))
   if file:seek("end") == 0 or mode:match("^w") then pcap.write_file_header(file) end
   return setmetatable({ file = file }, self)
end

function PcapWriter:push ()
   local i, file = self.input.input, self.file
   local n = link.nreadable(i)
   if n == 0 then return end
   for _ = 1, n do
      local p = link.receive(i)
      pcap.put_record(file, p.data, p.length)
      packet.free(p)
   end
   file:flush()
end

function PcapWriter:stop ()
   self.file:close()
end

return M
