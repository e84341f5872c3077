---@meta core.packet

---@class core.packet
---@field max_payload integer
---@field minimum_alignment integer
---@field packet_alignment integer
---@field default_headroom integer
packet = {}

---An empty packet.
---@return sluss.packet
function packet.allocate() end
---@return sluss.packet
function packet.new_packet() end
---@param p sluss.packet
function packet.free(p) end
---@param p sluss.packet
function packet.account_free(p) end
---@param p sluss.packet
function packet.free_internal(p) end
---@param p sluss.packet
---@return sluss.packet
function packet.clone(p) end
---@param p sluss.packet
---@param bytes ffi.cdata*|string
---@param length integer
---@return sluss.packet
function packet.append(p, bytes, length) end
---@param p sluss.packet
---@param bytes ffi.cdata*|string
---@param length integer
---@return sluss.packet p At its new place.
function packet.prepend(p, bytes, length) end
---Drops bytes at the front.
---@param p sluss.packet
---@param count integer
---@return sluss.packet p At its new place.
function packet.shiftleft(p, count) end
---Opens bytes at the front.
---@param p sluss.packet
---@param count integer
---@return sluss.packet p At its new place.
function packet.shiftright(p, count) end
---@param p sluss.packet
---@param length integer
---@return sluss.packet
function packet.resize(p, length) end
---@param pointer ffi.cdata*
---@param length integer
---@return sluss.packet
function packet.from_pointer(pointer, length) end
---@param s string
---@return sluss.packet
function packet.from_string(s) end
---@return integer
function packet.nfree() end
function packet.initialize() end
function packet.preallocate_step() end
function packet.enable_group_freelist() end
function packet.shutdown() end

return packet
