---@meta core.link

---@class core.link
---@field max integer
link = {}

---@param name string
---@return sluss.link
function link.new(name) end
---@param l sluss.link
---@param name string
function link.free(l, name) end
---The next packet. The link must not be empty.
---@param l sluss.link
---@return sluss.packet
function link.receive(l) end
---The next packet, which stays in the link.
---@param l sluss.link
---@return sluss.packet?
function link.front(l) end
---Sends a packet. If the link is full, it is freed and counted as a drop.
---@param l sluss.link
---@param p sluss.packet
function link.transmit(l, p) end
---@param l sluss.link
---@return boolean
function link.empty(l) end
---@param l sluss.link
---@return boolean
function link.full(l) end
---@param l sluss.link
---@return integer
function link.nreadable(l) end
---@param l sluss.link
---@return integer
function link.nwritable(l) end
---@param l sluss.link
---@return { rxpackets: integer, rxbytes: integer, txpackets: integer, txbytes: integer, txdrop: integer, dtime: integer }
function link.stats(l) end

return link
