-- Captures as source and as sink of packets.

local engine = require("core.app")
local link = require("core.link")
local native = require("core.native")
local packet = require("core.packet")
local pcap = require("lib.pcap.pcap")

local M = {}

-- Sends the packets of a capture, of any format that lib.pcap.pcap reads, to `output`. `done` is true when all are sent.
local PcapReader = {}
-- By reader: its file, and how it is called.
local read = setmetatable({}, { __mode = "k" })
PcapReader.__index = PcapReader
M.PcapReader = PcapReader

function PcapReader:new (name)
   local o = setmetatable({ next_packet = pcap.reader(name), done = false }, self)
   read[o] = { name = name, file = native.file_id(name) }
   return o
end

function PcapReader:stop () read[self] = nil end

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
-- default; a file that is appended to keeps its header. One that a PcapReader reads is refused.
local PcapWriter = {}
PcapWriter.__index = PcapWriter
M.PcapWriter = PcapWriter

-- Opens the file, which may empty it.
local function begin (self)
   if self.file then return end
   local id = native.file_id(self.name)
   for _, reader in pairs(read) do
      if id and reader.file == id then
         error(("PcapWriter: %s is the file that a PcapReader reads, as %s: it would be lost"):format(self.name, reader.name), 0)
      end
   end
   local file = assert(io.open(self.name, self.mode))
   if file:seek("end") == 0 or self.mode:match("^w") then pcap.write_file_header(file) end
   self.file = file
end

function PcapWriter:new (arg)
   local name, mode = arg, "w"
   if type(arg) == "table" then
      name, mode = arg[1], arg[2] or mode
   end
   local o = setmetatable({ name = name, mode = mode }, self)
   -- What is there waits until all apps have been started, and with them the readers.
   if native.file_id(name) then assert(io.open(name, "a")):close() else begin(o) end
   return o
end

function PcapWriter:link () begin(self) end

function PcapWriter:push ()
   begin(self)
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
   if not self.file then pcall(begin, self) end
   if self.file then self.file:close() end
end

return M
