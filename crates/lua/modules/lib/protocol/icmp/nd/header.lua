-- What the messages of IPv6 neighbour discovery share (RFC 4861): options behind the message.

local header = require("lib.protocol.header")
local tlv = require("lib.protocol.icmp.nd.options.tlv")

local nd = subClass(header)
nd._name = "neighbor discovery"

-- The options in `size` bytes at `mem`, in order. Bytes that are not options, as the length of each must add up, are an error.
function nd:options (mem, size)
   local options = {}
   while size > 0 do
      local option = tlv:new_from_mem(mem, size)
      local length = option:length() * 8
      assert(length > 0 and length <= size, "corrupt ND options")
      table.insert(options, option)
      mem, size = mem + length, size - length
   end
   return options
end

return nd
