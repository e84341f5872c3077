---@meta apps.packet_filter.pcap_filter

---@class apps.packet_filter.pcap_filter
---@field PcapFilter sluss.class Its argument: `{ filter = "tcp", state_table = "name" }`.
local pcap_filter = {}

return pcap_filter
