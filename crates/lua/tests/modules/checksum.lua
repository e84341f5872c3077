-- lib.checksum: known packets, odd lengths, chained sums, preparation for hardware.
local ffi = require("ffi")
local lib = require("core.lib")
local checksum = require("lib.checksum")
local ipsum = checksum.ipsum

local function bytes (hex)
   local s = hex:gsub("%s", ""):gsub("%x%x", function (h) return string.char(tonumber(h, 16)) end)
   local b = ffi.new("uint8_t[?]", #s)
   ffi.copy(b, s, #s)
   return b, #s
end

-- RFC 1071, section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2.
local b, n = bytes("0001 f203 f4f5 f6f7")
assert(ipsum(b, n, 0) == bit.band(bit.bnot(0xddf2), 0xffff))
assert(ipsum(b, n, 0x220d) == 0)
assert(ipsum(b, 0, 0) == 0xffff)
assert(ipsum(b, 3, 0) == bit.band(bit.bnot(0x0001 + 0xf200), 0xffff))
assert(ipsum(b, 1, 0) == 0xffff)

-- A slow reference, at all lengths and alignments.
local data = ffi.new("uint8_t[2048]")
for i = 0, 2047 do data[i] = (i * 167 + 13) % 251 end
local function reference (p, length, initial)
   local sum = initial
   for i = 0, length - 1 do sum = sum + (i % 2 == 0 and 256 or 1) * p[i] end
   while sum > 0xffff do sum = sum % 65536 + math.floor(sum / 65536) end
   return bit.band(bit.bnot(sum), 0xffff)
end
for length = 0, 1600, 7 do
   for _, at in ipairs({ 0, 1, 2, 5 }) do
      for _, initial in ipairs({ 0, 1, 0xabcd, 0xffff }) do
         assert(ipsum(data + at, length, initial) == reference(data + at, length, initial))
      end
   end
end
-- Chained: the complement of one sum begins the next. bit.bnot() gives negative numbers.
assert(ipsum(data + 600, 400, bit.bnot(ipsum(data, 600, 0))) == ipsum(data, 1000, 0))

-- An IPv4 packet with TCP.
local p, length = bytes([[
   4500 0034 591a 4000 4006 b08e c0a8 14a9 6b15 f0b4
   de0b 01bb e7db 57bc 91cd 1832 8010 059f 382a 0000 0101 080a 060c 5cbd fa4a e165 ]])
assert(checksum.verify_packet(p, length) == true)
p[30] = p[30] + 1
assert(checksum.verify_packet(p, length) == false)
p[30] = p[30] - 1
p[8] = 63 -- the header's own checksum
assert(checksum.verify_packet(p, length) == false)
local start, offset = checksum.prepare_packet4(p, length)
assert(start == 20 and offset == 16)
p[8] = 64
start, offset = checksum.prepare_packet4(p, length)
-- Hardware sums from start to the end, and stores it at start + offset.
checksum.finish_packet(p + start, length - start, offset)
assert(checksum.verify_packet(p, length) == true)
p[9] = 47
assert(select("#", checksum.prepare_packet4(p, length)) == 2 and checksum.prepare_packet4(p, length) == nil)
assert(checksum.verify_packet(p, length) == nil)

-- IPv6 with UDP.
local six, n6 = bytes([[
   6000 0000 000c 1140 2001 0db8 0000 0000 0000 0000 0000 0001 2001 0db8 0000 0000 0000 0000 0000 0002
   0035 1234 000c 0000 dead beef ]])
start, offset = checksum.prepare_packet6(six, n6)
assert(start == 40 and offset == 6)
checksum.finish_packet(six + 40, n6 - 40, 6)
assert(checksum.verify_packet(six, n6) == true)
six[47] = six[47] + 1
assert(checksum.verify_packet(six, n6) == false)
print("checksum ok")
