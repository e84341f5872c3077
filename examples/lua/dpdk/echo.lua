-- Sends what a device of DPDK receives back, through a chain of apps. From snabb-libmoon-compat, written anew:
--
--     sluss run echo.lua net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap 3 0.5

local DPDKDevice = require("apps.dpdk_device.dpdk_device").DPDKDevice

local Fwd = {}
Fwd.__index = Fwd

function Fwd:new () return setmetatable({}, Fwd) end

function Fwd:push ()
   local input, output = self.input.input, self.output.output
   for _ = 1, link.nreadable(input) do link.transmit(output, link.receive(input)) end
end

local device, length, seconds = unpack(main.parameters)
length = tonumber(length) or 1
if not device or length < 1 then
   print("usage: echo.lua DEVICE [LENGTH] [SECONDS]")
   main.exit(2)
end

local c = config.new()
config.app(c, "dpdk", DPDKDevice, tonumber(device) or device)
local last = "dpdk"
for i = 1, length do
   config.app(c, "fwd"..i, Fwd)
   config.link(c, ("%s.output -> fwd%d.input"):format(last, i))
   last = "fwd"..i
end
config.link(c, last..".output -> dpdk.input")
engine.configure(c)
engine.main({ duration = tonumber(seconds), no_report = true })
