-- Sends UDP packets by a device of DPDK, as many as it takes. From snabb-libmoon-compat, written anew:
--
--     sluss run pktgen.lua net_null0 1

local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local ipv4 = require("lib.protocol.ipv4")
local udp = require("lib.protocol.udp")

local Pktgen = {}
Pktgen.__index = Pktgen

function Pktgen:new ()
   local dgram = datagram:new(packet.from_string("\0\1\2\3\4\5\6\7\8\9\10\11\12\13\14\15\16\17"))
   local datagram_header = udp:new({ src_port = 2000, dst_port = 3000 })
   datagram_header:length(8 + 18)
   local packet_header = ipv4:new({ ttl = 255, protocol = 17, src = ipv4:pton("192.168.0.1"), dst = ipv4:pton("10.0.0.1") })
   packet_header:total_length(20 + 8 + 18)
   packet_header:checksum()
   dgram:push(datagram_header)
   dgram:push(packet_header)
   dgram:push(ethernet:new({ dst = ethernet:pton("01:02:03:04:05:06"), src = ethernet:pton("00:1b:21:bc:40:0e"), type = 0x0800 }))
   return setmetatable({ packet = dgram:packet() }, Pktgen)
end

function Pktgen:pull ()
   local output = self.output.output
   for _ = 1, math.min(engine.pull_npackets, link.nwritable(output)) do link.transmit(output, packet.clone(self.packet)) end
end

function Pktgen:stop () packet.free(self.packet) end

local device, seconds = unpack(main.parameters)
if not device then
   print("usage: pktgen.lua DEVICE [SECONDS]")
   main.exit(2)
end

local c = config.new()
config.app(c, "pktgen", Pktgen)
config.app(c, "dpdk", DPDKDevice, tonumber(device) or device)
config.link(c, "pktgen.output -> dpdk.input")
engine.configure(c)
engine.main({ duration = tonumber(seconds), report = { showapps = true } })
engine.configure(config.new())
