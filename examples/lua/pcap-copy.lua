-- Reads a capture and writes another, without apps:
--
--     sluss run pcap-copy.lua IN.pcap OUT.pcap LENGTH
--
-- Packets are cut to LENGTH bytes.

local ffi = require("ffi")
local pcap = require("lib.pcap.pcap")

local from, to, length = unpack(main.parameters)
if not length then
   print("usage: pcap-copy.lua IN.pcap OUT.pcap LENGTH")
   main.exit(2)
end
length = tonumber(length)

local out = assert(io.open(to, "wb"))
pcap.write_file_header(out)
local count, cut = 0, 0
for bytes, record in pcap.records(from) do
   count = count + 1
   if #bytes > length then cut = cut + 1 end
   pcap.write_record(out, ffi.cast("const char *", bytes), math.min(#bytes, length))
end
out:close()
print(("copied %d packets, cut %d"):format(count, cut))
