-- Counts what two devices of DPDK receive. From snabb-libmoon-compat, written anew:
--
--     sluss run packet_count.lua net_pcap0,rx_pcap=a.pcap net_pcap1,rx_pcap=b.pcap 0.5

local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice

local PacketCounter = {}
PacketCounter.__index = PacketCounter

function PacketCounter:new () return setmetatable({ packets = 0, bytes = 0 }, PacketCounter) end

function PacketCounter:push ()
   local input = self.input.input
   while not link.empty(input) do
      local p = link.receive(input)
      self.packets, self.bytes = self.packets + 1, self.bytes + p.length
      packet.free(p)
   end
end

function PacketCounter:stop ()
   print(("%s: %d packets, %d bytes"):format(self.appname, self.packets, self.bytes))
end

local first, second, seconds = unpack(main.parameters)
if not second then
   print("usage: packet_count.lua DEVICE DEVICE [SECONDS]")
   main.exit(2)
end

local c = config.new()
for number, device in ipairs({ first, second }) do
   config.app(c, "dpdk"..number, DPDKDevice, tonumber(device) or device)
   config.app(c, "counter"..number, PacketCounter)
   config.link(c, ("dpdk%d.output -> counter%d.input"):format(number, number))
end
engine.configure(c)
engine.main({ duration = tonumber(seconds), no_report = true })
engine.configure(config.new())
