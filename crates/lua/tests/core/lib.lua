local lib = require("core.lib")
local ffi = require("ffi")

assert(lib.equal({ 1, { a = "b" } }, { 1, { a = "b" } }) and not lib.equal({ 1 }, { 1, 2 }))
assert(not lib.equal(setmetatable({}, {}), setmetatable({}, {})) and not lib.equal(1, "1"))
assert(lib.equal(ffi.new("int[2]", 1, 2), ffi.new("int[2]", 1, 2)))
assert(not lib.equal(ffi.new("int[2]", 1, 2), ffi.new("int[2]", 1, 3)))

assert(lib.dirname("/a/b") == "/a" and lib.dirname("b") == "." and lib.dirname("/") == "/" and lib.dirname("/a/b/") == "/a")
assert(lib.dirname("") == "." and lib.dirname("//") == "/" and lib.dirname("b/") == "." and lib.dirname("/a") == "/" and lib.dirname(nil) == nil)
assert(lib.basename("/a/b") == "b" and lib.basename("b") == "b" and lib.basename("/a/b/") == "" and lib.basename("/") == "")
assert(lib.basename("") == "" and lib.basename(nil) == nil)

assert(lib.hexdump("\0\171Z") == "00 AB 5A" and lib.hexdump("") == "")
assert(lib.hexundump("00 ab5A", 3) == "\0\171Z" and not pcall(lib.hexundump, "00", 2))
assert(lib.hexundump("01", 2, false) == "\1\0")
assert(lib.comma_value(1234567) == "1,234,567" and lib.comma_value(999) == "999" and lib.comma_value(-1000) == "-1,000")
assert(lib.comma_value(1234567ULL) == "1,234,567" and lib.comma_value(0/0) == "NaN" and lib.comma_value(1234.5) == "1,234.5")
local parts = {}
for part in ("a,b,,c"):split(",") do parts[#parts + 1] = part end
assert(table.concat(parts, "|") == "a|b||c")

assert(lib.htons(0x0102) == 0x0201 and lib.htonl(0xf1020304) == 0x040302f1 and lib.ntohl(lib.htonl(0xf0d0b0f0)) == 0xf0d0b0f0)
local header = ffi.new("struct { uint16_t field; }")
lib.bitfield(16, header, "field", 4, 3, 5)
assert(lib.bitfield(16, header, "field", 4, 3) == 5 and lib.bitfield(16, header, "field", 0, 4) == 0)
assert(header.field == lib.htons(0x0a00))
assert(lib.bits({ a = 0, b = 4 }, 32) == 49 and lib.bitset(8, 3) and not lib.bitset(8, 2))
assert(lib.csum("\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xc0\xa8\x00\x01\xc0\xa8\x00\xc7", 18) == 0xb861)

local parameters = { a = { required = true }, b = { default = 2 } }
assert(lib.equal(lib.parse({ a = 1 }, parameters), { a = 1, b = 2 }))
assert(lib.equal(lib.parse({ a = false, b = 3 }, parameters), { a = false, b = 3 }))
assert(not pcall(lib.parse, nil, parameters) and not pcall(lib.parse, { a = 1, c = 1 }, parameters))
assert(lib.equal(lib.parse(nil, {}), {}))

local file = os.tmpname()
lib.store_conf(file, { name = "x", list = { 1, { deep = "y" } } })
assert(lib.equal(lib.load_conf(file), { name = "x", list = { 1, { deep = "y" } } }))
lib.writefile(file, "first\nsecond\n")
assert(lib.firstline(file) == "first" and lib.readfile(file, "*a") == "first\nsecond\n" and lib.can_read(file))
os.remove(file)
assert(not lib.can_read(file) and not pcall(lib.readfile, file, "*a"))
assert(lib.readcmd("echo out", "*l") == "out")

local original = { 1, { 2 } }
local copy = lib.deepcopy(original)
copy[2][1] = 3
assert(original[2][1] == 2 and lib.equal(lib.array_copy({ 1, 2 }), { 1, 2 }) and lib.set("a", "b").b)
assert(lib.align(5, 4) == 8 and lib.align(8, 4) == 8)
local array = lib.bounds_checked("uint8_t", ffi.new("uint8_t[4]", 1, 2, 3, 4), 1, 2)
assert(array[1] == 3 and not pcall(function () return array[2] end))

local expired = lib.timeout(0)
lib.waitfor(expired)
local throttle, times = lib.throttle(3600), 0
lib.waitfor(function ()
   if throttle() then times = times + 1 end
   return times == 1
end)
assert(not throttle())
assert(lib.have_module("core.lib") and not lib.have_module("core.nothing"))
assert(#lib.random_data(7) == 7 and #lib.random_printable_string() == 27 and lib.is_iface("lo"))
assert(lib.getenv("SLUSS_NOT_SET") == nil and lib.yesno(true) == "yes")
assert(lib.malloc("int")[0] == 0)
