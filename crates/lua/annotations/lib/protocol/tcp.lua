---@meta lib.protocol.tcp

---@class lib.protocol.tcp: lib.protocol.header
local tcp = {}

---@param value? integer Writes it.
---@return integer
function tcp:src_port(value) end
---@param value? integer Writes it.
---@return integer
function tcp:dst_port(value) end
---@param value? integer Writes it.
---@return integer
function tcp:seq_num(value) end
---@param value? integer Writes it.
---@return integer
function tcp:ack_num(value) end
---@param value? integer Writes it.
---@return integer
function tcp:offset(value) end
---@param value? integer Writes it.
---@return integer
function tcp:flags(value) end
---@param value? integer Writes it.
---@return integer
function tcp:window_size(value) end
---@param value? integer Writes it.
---@return integer
function tcp:ns(value) end
---@param value? integer Writes it.
---@return integer
function tcp:cwr(value) end
---@param value? integer Writes it.
---@return integer
function tcp:ece(value) end
---@param value? integer Writes it.
---@return integer
function tcp:urg(value) end
---@param value? integer Writes it.
---@return integer
function tcp:ack(value) end
---@param value? integer Writes it.
---@return integer
function tcp:psh(value) end
---@param value? integer Writes it.
---@return integer
function tcp:rst(value) end
---@param value? integer Writes it.
---@return integer
function tcp:syn(value) end
---@param value? integer Writes it.
---@return integer
function tcp:fin(value) end
---@param config table
---@return lib.protocol.tcp
function tcp:new(config) end
---@param payload ffi.cdata*
---@param length integer
---@param ip lib.protocol.ipv4|lib.protocol.ipv6
function tcp:checksum(payload, length, ip) end

return tcp
