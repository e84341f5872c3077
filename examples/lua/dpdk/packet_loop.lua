-- Sends the packets of a capture by a device of DPDK, and counts those that another receives: the same one, for a ring. From snabb-libmoon-compat, written anew:
--
--     sluss run packet_loop.lua in.pcap net_ring0 net_ring0 0.5

local PcapReader = require("apps.pcap.pcap").PcapReader
local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice

-- Counts packets, and adds up their bytes.
local PacketCounter = {}
PacketCounter.__index = PacketCounter

function PacketCounter:new () return setmetatable({ packets = 0, sum = 0 }, PacketCounter) end

function PacketCounter:push ()
   local input = self.input.input
   while not link.empty(input) do
      local p = link.receive(input)
      self.packets = self.packets + 1
      for i = 0, p.length - 1 do self.sum = (self.sum + p.data[i]) % 65536 end
      packet.free(p)
   end
end

function PacketCounter:stop () print(("%d packets, sum %d"):format(self.packets, self.sum)) end

local capture, output, input, seconds = unpack(main.parameters)
if not input then
   print("usage: packet_loop.lua IN.pcap DEVICE DEVICE [SECONDS]")
   main.exit(2)
end

local c = config.new()
config.app(c, "replay", PcapReader, capture)
config.app(c, "playback", DPDKDevice, tonumber(output) or output)
config.app(c, "counter", PacketCounter)
config.link(c, "replay.output -> playback.input")
if input == output then
   config.link(c, "playback.output -> counter.input")
else
   config.app(c, "receive", DPDKDevice, tonumber(input) or input)
   config.link(c, "receive.output -> counter.input")
end
engine.configure(c)
engine.main({ duration = tonumber(seconds), no_report = true })
engine.configure(config.new())
