-- A filter in tcpdump's language, as an object.
--
--     local filter = require("lib.pcap.filter"):new("tcp port 80")
--     if filter:match(p.data, p.length) then … end

require("lib.lua.class")
local pf = require("pf")

local filter = subClass(nil)
filter._name = "pcap packet filter"

function filter:new (program)
   local o = filter:superClass().new(self)
   o._filter = pf.compile_filter(program)
   return o
end

function filter:match (data, length)
   return self._filter(data, length)
end

return filter
