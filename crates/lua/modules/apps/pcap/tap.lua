-- Writes packets that pass by to a capture: those that a filter matches, and of these every n-th.

local lib = require("core.lib")
local link = require("core.link")
local pcap = require("lib.pcap.pcap")
local pf = require("pf")

local M = {}

local Tap = {}
Tap.__index = Tap
M.Tap = Tap

local options = {
   filename = { required = true },
   mode = { default = "truncate" },  -- or "append"
   filter = {},                      -- in tcpdump's language; all packets without
   sample = { default = 1 },         -- write every n-th of them
}

function Tap:new (conf)
   local o = lib.parse(conf, options)
   local mode = assert(({ truncate = "w+b", append = "a+b" })[o.mode], "Tap: the mode is \"truncate\" or \"append\"")
   o.file = assert(io.open(o.filename, mode))
   if o.file:seek("end") == 0 then pcap.write_file_header(o.file) end
   o.filter = o.filter and pf.compile_filter(o.filter)
   o.n = o.sample - 1 -- matches since the last that was written: the first is
   return setmetatable(o, self)
end

function Tap:push ()
   local i, o, filter = self.input.input, self.output.output, self.filter
   local n, sample, wrote = self.n, self.sample, false
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      if not filter or filter(p.data, p.length) then
         n = n + 1
         if n == sample then
            n, wrote = 0, true
            pcap.put_record(self.file, p.data, p.length)
         end
      end
      link.transmit(o, p)
   end
   if wrote then self.file:flush() end
   self.n = n
end

function Tap:stop ()
   self.file:close()
end

return M
