---@meta lib.protocol.ipv4

---@class lib.protocol.ipv4: lib.protocol.header
local ipv4 = {}

---@param value? integer Writes it.
---@return integer
function ipv4:version(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:ihl(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:dscp(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:ecn(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:total_length(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:id(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:flags(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:frag_off(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:ttl(value) end
---@param value? integer Writes it.
---@return integer
function ipv4:protocol(value) end
---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ipv4:src(value) end
---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ipv4:dst(value) end
---@param config table
---@return lib.protocol.ipv4
function ipv4:new(config) end
---An address as text to its bytes.
---@param text string
---@return ffi.cdata*
function ipv4:pton(text) end
---@param bytes ffi.cdata*
---@return string
function ipv4:ntop(bytes) end
---@param address ffi.cdata*
---@return boolean
function ipv4:src_eq(address) end
---@param address ffi.cdata*
---@return boolean
function ipv4:dst_eq(address) end
---Computes it again.
function ipv4:checksum() end
---@param ulplen integer
---@param proto integer
---@return ffi.cdata*
function ipv4:pseudo_header(ulplen, proto) end
---@param text string
---@return ffi.cdata*
---@return integer
function ipv4:pton_cidr(text) end

return ipv4
