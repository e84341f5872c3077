---@meta pf.match

---@class pf.match
local match = {}

---Compiles a program of pfmatch, whose handlers are methods of what it is called with.
---@param text string
---@param opts? { subst?: table<string, any>, extra_args?: string[], source?: boolean, dlt?: string }
---@return fun(self: table, data: ffi.cdata*, length: integer, ...): any
function match.compile(text, opts) end

return match
