---@meta lib.protocol.ipv6

---@class lib.protocol.ipv6: lib.protocol.header
local ipv6 = {}

---@param value? integer Writes it.
---@return integer
function ipv6:version(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:traffic_class(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:dscp(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:ecn(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:flow_label(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:payload_length(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:next_header(value) end
---@param value? integer Writes it.
---@return integer
function ipv6:hop_limit(value) end
---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ipv6:src(value) end
---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ipv6:dst(value) end
---@param config table
---@return lib.protocol.ipv6
function ipv6:new(config) end
---An address as text to its bytes.
---@param text string
---@return ffi.cdata*
function ipv6:pton(text) end
---@param bytes ffi.cdata*
---@return string
function ipv6:ntop(bytes) end
---@param address ffi.cdata*
---@return boolean
function ipv6:src_eq(address) end
---@param address ffi.cdata*
---@return boolean
function ipv6:dst_eq(address) end
---@param ulplen integer
---@param next_header integer
---@return ffi.cdata*
function ipv6:pseudo_header(ulplen, next_header) end
---@param text string
---@return ffi.cdata*
---@return integer
function ipv6:pton_cidr(text) end
---@param ip ffi.cdata*
---@return ffi.cdata*
function ipv6:solicited_node_mcast(ip) end

return ipv6
