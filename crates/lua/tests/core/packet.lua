local ffi = require("ffi")
local function text (p) return ffi.string(p.data, p.length) end
local function headroom (p) return tonumber(ffi.cast("uint64_t", p) % 512) end

local p = packet.from_string("hello")
assert(p.length == 5 and text(p) == "hello" and headroom(p) % 2 == 0)
packet.append(p, " world", 6)
assert(text(p) == "hello world" and text(packet.clone(p)) == "hello world" and packet.clone(p) ~= p)

-- Bytes come and go at the front without moving, while there is room.
local q = packet.shiftleft(p, 6)
assert(text(q) == "world" and headroom(q) == headroom(p) + 6)
q = packet.prepend(q, "whole ", 6)
assert(text(q) == "whole world" and q == p)
for i = 1, 100 do q = packet.prepend(q, "0123456789", 10) end
assert(q.length == 1011 and text(q):sub(1, 10) == "0123456789" and text(q):sub(-11) == "whole world")
q = packet.shiftleft(q, 1000)
assert(text(q) == "whole world" and not pcall(packet.shiftleft, q, 12) and not pcall(packet.shiftleft, q, -1))
q = packet.shiftleft(q, 1)
assert(text(q) == "hole world" and headroom(q) % 2 == 0)
q = packet.shiftright(q, 3)
assert(q.length == 13 and text(q):sub(4) == "hole world")

packet.resize(q, 20)
assert(text(q):sub(14) == ("\0"):rep(7) and not pcall(packet.resize, q, packet.max_payload + 1))
assert(not pcall(packet.append, q, ("x"):rep(packet.max_payload), packet.max_payload))

-- Freeing is counted; the packet is the next to be allocated.
local frees, bytes, bits = engine.frees.c, engine.freebytes.c, engine.freebits.c
packet.free(q)
assert(engine.frees.c == frees + 1 and engine.freebytes.c == bytes + 20 and engine.freebits.c == bits + (60 + 24) * 8)
local again = packet.allocate()
assert(again.length == 0 and ffi.cast("uint64_t", again) / 512 == ffi.cast("uint64_t", q) / 512)

-- As many as are asked for, all apart.
local many, seen = {}, {}
for i = 1, 5000 do
   many[i] = packet.from_string(("%08d"):format(i))
   local address = tostring(ffi.cast("uint64_t", many[i]))
   assert(not seen[address])
   seen[address] = true
end
for i = 1, 5000 do assert(text(many[i]) == ("%08d"):format(i)) end
for i = 1, 5000 do packet.free(many[i]) end
