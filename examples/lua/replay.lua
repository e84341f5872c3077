-- Sends the packets of a capture to a network interface, as fast as it takes them. It needs root, or CAP_NET_RAW:
--
--     sudo sluss run replay.lua IN.pcap eth0

local pcap = require("apps.pcap.pcap")
local RawSocket = require("apps.socket.raw").RawSocket
local counter = require("core.counter")
local link = require("core.link")

local from, interface = unpack(main.parameters)
if not interface then
   print("usage: replay.lua IN.pcap INTERFACE")
   main.exit(2)
end

local c = config.new()
config.app(c, "reader", pcap.PcapReader, from)
config.app(c, "interface", RawSocket, interface)
config.link(c, "reader.output -> interface.rx")
engine.configure(c)

-- All packets are read, and none waits for the interface.
local apps = engine.app_table
engine.main({ no_report = true, done = function () return apps.reader.done and link.empty(apps.interface.input.rx) end })
print(("sent %d packets, %d bytes"):format(tonumber(counter.read(apps.interface.shm.txpackets)),
   tonumber(counter.read(apps.interface.shm.txbytes))))
