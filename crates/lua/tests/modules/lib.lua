-- Small modules of lib: clocks, token buckets, logger, MAC addresses, gauges, index sets, options, classes, strictness.
require("lib.lua.class")
local ffi = require("ffi")
local tsc = require("lib.tsc")
local token_bucket = require("lib.token_bucket")
local logger = require("lib.logger")
local mac = require("lib.macaddress")
local gauge = require("lib.gauge")
local index_set = require("lib.index_set")
local getopt = require("lib.lua.alt_getopt")
local shm = require("core.shm")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end

-- Clocks agree, as far as a busy machine allows.
local system, ticks = tsc.new({ source = "system" }), tsc.new()
eq(system:source(), "system"); eq(system:tps(), 1000000000ULL); eq(system:to_ns(5ULL), 5ULL)
local s0, t0 = system:stamp(), ticks:time_fn()()
repeat until system:stamp() - s0 > 50000000ULL
local s, t = system:stamp() - s0, ticks:to_ns(ticks:stamp() - t0)
assert(math.abs(tonumber(s) - tonumber(t)) < 0.2 * tonumber(s))
assert(tsc.rdtsc() < tsc.rdtsc())
assert(fails(tsc.new, { source = "sundial" }))

-- Token buckets
local bucket = token_bucket.new({ rate = 100, burst_size = 50 })
local rate, burst = bucket:get()
assert(rate == 100 and burst == 50)
assert(bucket:can_take(50) and not bucket:can_take(51) and bucket:take(48) and bucket:take() and bucket:take(1))
assert(not bucket:take() or not bucket:take())
bucket:set(0.1)
rate, burst = bucket:get()
assert(rate == 0.1 and burst == 1)
assert(bucket:take() and not bucket:take())
bucket:set(nil, 7)
eq(bucket:take_burst(), 7); eq(bucket:take_burst(), 0)
bucket:set(1e6, 10); bucket:take_burst()
s0 = system:stamp()
local taken = 0
repeat if bucket:take() then taken = taken + 1 end until system:stamp() - s0 > 100000000ULL
assert(taken > 0 and taken < 1e6)
-- By a clock of ours: 250 ms make two tokens at 10 a second, and what is left over counts with what comes.
local now, new = 0ULL, tsc.new
tsc.new = function ()
   return { time_fn = function () return function () return now end end, tps = function () return 1000000000ULL end }
end
local set_clock = token_bucket.new({ rate = 10, burst_size = 3 })
tsc.new = new
assert(set_clock:take(3) and not set_clock:take())
now = 250000000ULL
assert(set_clock:take(2) and not set_clock:take())
now = 300000000ULL
assert(set_clock:take() and not set_clock:take())
now = 9000000000ULL
eq(set_clock:take_burst(), 3); eq(set_clock:take_burst(), 0)
assert(fails(token_bucket.new, {}) and fails(token_bucket.new, { rate = 0 }))

-- Logger
local name = os.tmpname()
local file = io.open(name, "w")
local log = logger.new({ rate = 2, module = "test", date = false, fh = file })
for i = 1, 5 do log:log("message "..i) end
assert(not log:can_log())
file:close()
local text = {}
for line in io.lines(name) do table.insert(text, line) end
os.remove(name)
eq(table.concat(text, "|"), "test: message 1|test: message 2")
assert(fails(logger.new, { colour = "red" }))

-- MAC addresses
local a = mac:new("52:54:00:aB:00:01")
eq(tostring(a), "52:54:00:AB:00:01"); eq(a.bits, 0x0100AB005452LL); eq(a.bytes[1], 0x54)
assert(a == mac:new("525400ab0001") and a == mac:new(a) and a == mac:new(0x0100AB005452LL) and a == mac:from_bytes(a.bytes))
assert(not (a == mac:new("52:54:00:ab:00:02")))
eq(a:subbits(8, 16), 0x54)
eq(mac:new("52:54:00:ab:00"), nil); eq(select(2, mac:new("52:54:00:ab:00:01:02")), "malformed MAC address: 52:54:00:ab:00:01:02")

-- Gauges
local g = gauge.create("test/load.gauge", 1.5)
eq(gauge.read(gauge.open("test/load.gauge")), 1.5)
gauge.set(g, -2); eq(tostring(g), "-2.000000"); eq(gauge.read(gauge.create("test/none.gauge")), 0)
shm.unlink("test")

-- Index sets
local set = index_set:new(3, "ports")
eq(set:add("a"), 0); eq(set:add("b"), 1); eq(select(2, set:add("b")), false); eq(set:add("c"), 2)
assert(fails(set.add, set, "d")); eq(set:search(1), "b"); eq(set:pop("b"), 1); eq(set:pop("b"), nil)
eq(set:search(1), nil); eq(set:add("d"), 1); eq(set:add("a"), 0)

-- Options
local long = { help = "h", output = "o", verbose = "v", level = 1, quiet = 0 }
local found, first, values = getopt.get_ordered_opts(
   { "-vofile", "--output=x=y", "--level", "3", "-o", "z", "--quiet", "-hv", "--", "-v", "rest" }, "hvo:", long)
eq(table.concat(found, ","), "v,o,o,level,o,quiet,h,v"); eq(first, 10)
eq(values[2], "file"); eq(values[3], "x=y"); eq(values[4], "3"); eq(values[5], "z"); eq(values[1], nil)
local opts, index = getopt.get_opts({ "-v", "-o", "a", "-", "b" }, "hvo:", long)
eq(opts.v, 1); eq(opts.o, "a"); eq(index, 4); eq(opts.h, nil)

-- Classes
local base = subClass(nil); base._name = "base"
function base:new (x) local o = base:superClass().new(self); o.x = x; return o end
local derived = subClass(base)
local d = derived:new(5)
eq(d.x, 5); eq(d:name(), "base"); eq(d:class(), derived); eq(derived:superClass(), base); eq(d._recycled, false)
d:free()
assert(base:new(1) ~= d) -- each class has its own freed instances
local again = derived:new(6)
assert(rawequal(again, d) and again.x == 6 and again._recycled)
assert(rawequal(again:new(7), again) and again.x == 7)

-- Strictness
assert(fails(function () return undeclared_variable end))
assert(fails(function () undeclared_variable = 1 end))
declared_by_test = nil
assert(declared_by_test == nil)
local function assign () declared_by_test = 3 end
assign()
eq(declared_by_test, 3)
print("lib ok")
