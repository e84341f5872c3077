-- Memory for devices and long-lived C values: it stays where it is, and is never freed. No device of this engine is given its address, so the
-- physical address is the virtual one.
local ffi = require("ffi")
local native = require("core.native")
require("core.memory_h")
local C, core = ffi.C, native.core

local memory = { chunks = {} }
local largest = 2 * 1024 * 1024

-- The unit in which the memory of this process is mapped: it has none of the system's reserved huge pages. COMPAT: Snabb's `lib.ctable` rounds the
-- size of a table up to this when it unmaps it, but not when it maps it; with the size of a huge page, it would unmap what lies behind.
memory.huge_page_size = 4096

-- So many zero bytes at a multiple of `align`, 128 unless given. Returns the pointer, the physical address, and the size.
function memory.dma_alloc (bytes, align)
   assert(bytes <= largest, "memory: more than a huge page")
   local pointer = C.sluss_memory(core, bytes, align or 128)
   assert(pointer ~= nil, "memory: the system gives none")
   return ffi.cast("char *", pointer), memory.virtual_to_physical(pointer), bytes
end

function memory.virtual_to_physical (pointer) return ffi.cast("uint64_t", ffi.cast("void *", pointer)) end
function memory.get_huge_page_size () return memory.huge_page_size end
function memory.shutdown () end

return memory
