---@meta sluss.ffi

---@class sluss.ffi
local M = {}

---Wraps a C function that returns a struct by value: its wrapper takes a pointer to the result as the last argument, and is compiled.
---@param f ffi.cdata*
---@return ffi.cdata*
function M.byref(f) end

return M
