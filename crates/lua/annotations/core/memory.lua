---@meta core.memory

---@class core.memory
---@field chunks table
---@field huge_page_size integer
memory = {}

---@param bytes integer
---@param align? integer
---@return ffi.cdata* pointer
---@return integer physical
---@return integer bytes
function memory.dma_alloc(bytes, align) end
---@param pointer ffi.cdata*
---@return integer
function memory.virtual_to_physical(pointer) end
---@return integer
function memory.get_huge_page_size() end
function memory.shutdown() end

return memory
