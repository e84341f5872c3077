local histogram = require("core.histogram")
local ffi = require("ffi")
local h = histogram.new(1e-6, 1)
assert(ffi.sizeof(h) == 4096)
h:add(0)
h:add(1.5e-6)
h:add(2)
assert(h.total == 3 and h.buckets[0] == 1 and h.buckets[508] == 1)
local total, bounds = 0, 0
for count, low, high in h:iterate() do
   total = total + tonumber(count)
   if count == 1 and low > 0 and high < 2 then
      assert(low <= 1.5e-6 and 1.5e-6 <= high)
      bounds = bounds + 1
   end
end
assert(total == 3 and bounds == 1)
local before = h:snapshot()
h:add(1e-3)
local low, average, high = h:summarize(before)
assert(low <= 1e-3 and 1e-3 <= high and low <= average and average <= high)
h:clear()
assert(h.total == 0 and select(2, h:summarize()) == 0)
local timed = h:wrap_thunk(function () end, engine.now)
timed()
assert(h.total == 1)
local created = histogram.create("test/h.histogram", 1, 10)
created:add(5)
assert(histogram.open("test/h.histogram").total == 1)
assert(not pcall(histogram.new, 0, 1) and not pcall(histogram.new, 2, 1))
