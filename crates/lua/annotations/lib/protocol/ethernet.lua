---@meta lib.protocol.ethernet

---@class lib.protocol.ethernet: lib.protocol.header
local ethernet = {}

---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ethernet:src(value) end
---@param value? ffi.cdata* Writes it.
---@return ffi.cdata*
function ethernet:dst(value) end
---@param value? integer Writes it.
---@return integer
function ethernet:type(value) end
---@param config table
---@return lib.protocol.ethernet
function ethernet:new(config) end
---An address as text to its bytes.
---@param text string
---@return ffi.cdata*
function ethernet:pton(text) end
---@param bytes ffi.cdata*
---@return string
function ethernet:ntop(bytes) end
---@param address ffi.cdata*
---@return boolean
function ethernet:src_eq(address) end
---@param address ffi.cdata*
---@return boolean
function ethernet:dst_eq(address) end
function ethernet:swap() end
---@param address ffi.cdata*
---@return boolean
function ethernet:is_mcast(address) end
---@param address ffi.cdata*
---@return boolean
function ethernet:is_bcast(address) end
---@param ip ffi.cdata*
---@return ffi.cdata*
function ethernet:ipv6_mcast(ip) end

return ethernet
