---@meta apps.pcap.pcap

---@class apps.pcap.pcap
---@field PcapReader sluss.class Its argument is the name of a file.
---@field PcapWriter sluss.class Its argument is the name of a file.
local pcap = {}

return pcap
