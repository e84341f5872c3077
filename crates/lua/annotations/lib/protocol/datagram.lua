---@meta lib.protocol.datagram

---A packet as a stack of headers and a payload.
---@class lib.protocol.datagram
local datagram = {}

---@param p? sluss.packet
---@param class? lib.protocol.header The protocol that it starts with.
---@param options? { delayed_commit?: boolean }
---@return lib.protocol.datagram
function datagram:new(p, class, options) end
---Prepends a header.
---@param header lib.protocol.header
function datagram:push(header) end
---@param data ffi.cdata*
---@param length integer
function datagram:push_raw(data, length) end
---@return lib.protocol.header?
function datagram:parse() end
---@param class? lib.protocol.header
---@param check? fun(header: lib.protocol.header): boolean
---@return lib.protocol.header?
function datagram:parse_match(class, check) end
---@param n integer
---@return lib.protocol.header?
function datagram:parse_n(n) end
---@param n integer
function datagram:unparse(n) end
---@param n integer
function datagram:pop(n) end
---@param length integer
---@param ulp? lib.protocol.header
function datagram:pop_raw(length, ulp) end
---@return lib.protocol.header[]
function datagram:stack() end
---@return sluss.packet
function datagram:packet() end
---@param mem? ffi.cdata* Bytes to append.
---@param size? integer
---@return ffi.cdata*
---@return integer
function datagram:payload(mem, size) end
---@return ffi.cdata*
---@return integer
function datagram:data() end
function datagram:commit() end

return datagram
