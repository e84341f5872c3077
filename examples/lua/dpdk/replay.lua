-- Sends the packets of a capture by a device of DPDK. From snabb-libmoon-compat (example_replay), written anew:
--
--     sluss run replay.lua in.pcap net_pcap0,tx_pcap=out.pcap 0.5

local PcapReader = require("apps.pcap.pcap").PcapReader
local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice

local capture, device, seconds = unpack(main.parameters)
if not device then
   print("usage: replay.lua IN.pcap DEVICE [SECONDS]")
   main.exit(2)
end

local c = config.new()
config.app(c, "replay", PcapReader, capture)
config.app(c, "dpdk", DPDKDevice, tonumber(device) or device)
config.link(c, "replay.output -> dpdk.input")
engine.configure(c)
engine.main({ duration = tonumber(seconds), no_report = true })
