---@meta pf

---@class pf
local pf = {}

---Compiles a filter.
---@param text string
---@param opts? { native?: boolean, bpf?: boolean, libpcap?: boolean, source?: boolean, dlt?: string }
---@return fun(data: ffi.cdata*, length: integer): boolean
function pf.compile_filter(text, opts) end

return pf
