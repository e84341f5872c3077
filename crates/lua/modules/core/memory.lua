-- Memory for devices and long-lived C values: it stays where it is, and is never freed. No device of this engine is given its address, so the
-- physical address is the virtual one.
local ffi = require("ffi")
local native = require("core.native")
require("core.memory_h")
local C, core = ffi.C, native.core

local memory = { huge_page_size = 2 * 1024 * 1024, chunks = {} }

-- So many zero bytes at a multiple of `align`, 128 unless given. Returns the pointer, the physical address, and the size.
function memory.dma_alloc (bytes, align)
   assert(bytes <= memory.huge_page_size, "memory: more than a huge page")
   local pointer = C.sluss_memory(core, bytes, align or 128)
   assert(pointer ~= nil, "memory: the system gives none")
   return ffi.cast("char *", pointer), memory.virtual_to_physical(pointer), bytes
end

function memory.virtual_to_physical (pointer) return ffi.cast("uint64_t", ffi.cast("void *", pointer)) end
function memory.get_huge_page_size () return memory.huge_page_size end
function memory.shutdown () end

return memory
