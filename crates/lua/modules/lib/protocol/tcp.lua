-- TCP headers without options.

local ffi = require("ffi")
local header = require("lib.protocol.header")
local fields = require("lib.protocol.fields")
local transport = require("lib.protocol.transport")

local tcp = subClass(header)
tcp._name = "tcp"
tcp._ulp = { method = nil }
tcp:init({ ffi.typeof([[
   struct {
      uint16_t src_port;
      uint16_t dst_port;
      uint32_t seq;
      uint32_t ack;
      uint16_t off_flags;
      uint16_t window_size;
      uint16_t checksum;
      uint16_t pad;
   } __attribute__((packed))
]]) })

-- `flags` is the nine flags together, those below each alone.
fields.define(tcp, [[
   src_port     u16   src_port     returns
   dst_port     u16   dst_port     returns
   seq_num      u32   seq          returns
   ack_num      u32   ack          returns
   _offset      bits  off_flags:16 0 4
   _reserved    bits  off_flags:16 4 3
   flags        bits  off_flags:16 7 9
   ns           bits  off_flags:16 7 1
   cwr          bits  off_flags:16 8 1
   ece          bits  off_flags:16 9 1
   urg          bits  off_flags:16 10 1
   ack          bits  off_flags:16 11 1
   psh          bits  off_flags:16 12 1
   rst          bits  off_flags:16 13 1
   syn          bits  off_flags:16 14 1
   fin          bits  off_flags:16 15 1
   window_size  u16   window_size  returns
]])

-- Sets the length of the header in 32-bit words, and clears the reserved bits beside it; or returns the length.
function tcp:offset (words)
   if words then self:_reserved(0) end
   return self:_offset(words)
end

transport.define_checksum(tcp, 6)

local numbers = { "src_port", "dst_port", "seq_num", "ack_num", "window_size" }
local words = { "offset", "ns", "cwr", "ece", "urg", "ack", "psh", "rst", "syn", "fin" }

-- A header with the fields that the table gives, 0 by default.
function tcp:new (config)
   local o = tcp:superClass().new(self)
   for _, field in ipairs(numbers) do
      o[field](o, config[field])
   end
   for _, field in ipairs(words) do
      o[field](o, config[field] or 0)
   end
   return o
end

-- Whether ports, sequence and acknowledgement numbers are the same.
function tcp:eq (other)
   return self:src_port() == other:src_port() and self:dst_port() == other:dst_port()
      and self:seq_num() == other:seq_num() and self:ack_num() == other:ack_num()
end

return tcp
