local ffi = require("ffi")
local pointer, physical, size = memory.dma_alloc(1000, 512)
assert(size == 1000 and ffi.cast("uint64_t", pointer) % 512 == 0 and physical == memory.virtual_to_physical(pointer))
for i = 0, 999 do assert(pointer[i] == 0) end
local other = memory.dma_alloc(1000)
assert(other - pointer >= 1000 or pointer - other >= 1000)
for _ = 1, 10 do assert(memory.dma_alloc(1024 * 1024) ~= nil) end
assert(not pcall(memory.dma_alloc, 3 * 1024 * 1024))
