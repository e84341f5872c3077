---@meta lib.checksum

---@class lib.checksum
local checksum = {}

---The Internet checksum of bytes, in network byte order.
---@param pointer ffi.cdata*
---@param length integer
---@param initial integer
---@return integer
function checksum.ipsum(pointer, length, initial) end
---@param data ffi.cdata*
---@param length integer
---@return boolean? is_right `nil` if it has none.
function checksum.verify_packet(data, length) end
---@param data ffi.cdata*
---@param length integer
---@return boolean
function checksum.prepare_packet4(data, length) end
---@param data ffi.cdata*
---@param length integer
---@return boolean
function checksum.prepare_packet6(data, length) end
---@param data ffi.cdata*
---@param length integer
---@param offset integer
function checksum.finish_packet(data, length, offset) end

return checksum
