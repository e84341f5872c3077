---@meta lib.protocol.udp

---@class lib.protocol.udp: lib.protocol.header
local udp = {}

---@param value? integer Writes it.
---@return integer
function udp:src_port(value) end
---@param value? integer Writes it.
---@return integer
function udp:dst_port(value) end
---@param value? integer Writes it.
---@return integer
function udp:length(value) end
---@param config table
---@return lib.protocol.udp
function udp:new(config) end
---@param payload ffi.cdata*
---@param length integer
---@param ip lib.protocol.ipv4|lib.protocol.ipv6
function udp:checksum(payload, length, ip) end

return udp
