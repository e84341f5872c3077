-- Histograms with buckets of equal ratio: 509 in a page of memory, the first and the last for what is outside the range.
local ffi = require("ffi")
local shm = require("core.shm")
local log, exp, floor, max, min = math.log, math.exp, math.floor, math.max, math.min

local histogram = { type = "histogram" }
local buckets = 509
local histogram_t = ffi.typeof([[ struct {
   double minimum;
   double growth_factor_log;
   uint64_t total;
   uint64_t buckets[509];
} ]])

local function growth (minimum, maximum)
   assert(minimum > 0 and maximum > minimum, "histogram: the range must be positive")
   return log(maximum / minimum) / (buckets - 2)
end

function histogram.new (minimum, maximum) return histogram_t(minimum, growth(minimum, maximum)) end

function histogram.create (name, minimum, maximum)
   local h = shm.create(name, histogram_t)
   h.minimum, h.growth_factor_log = minimum, growth(minimum, maximum)
   histogram.clear(h)
   return h
end

function histogram.open (name) return shm.open(name, histogram_t) end

function histogram.add (h, measurement)
   local bucket = 0
   if measurement > 0 then
      bucket = floor(log(measurement / h.minimum) / h.growth_factor_log) + 1
      bucket = min(max(bucket, 0), buckets - 1)
   end
   h.total = h.total + 1
   h.buckets[bucket] = h.buckets[bucket] + 1
end

-- Iterates over the buckets: their counts, less those of an earlier snapshot, and their bounds.
function histogram.iterate (h, before)
   local bucket = -1
   local function bound (i) return h.minimum * exp(h.growth_factor_log * i) end
   return function ()
      bucket = bucket + 1
      if bucket >= buckets then return end
      local count = h.buckets[bucket]
      if before then count = count - before.buckets[bucket] end
      local low = bucket == 0 and 0 or bound(bucket - 1)
      local high = bucket == buckets - 1 and 1/0 or bound(bucket)
      return count, low, high
   end
end

function histogram.snapshot (h, into)
   into = into or histogram_t()
   ffi.copy(into, h, ffi.sizeof(histogram_t))
   return into
end

function histogram.clear (h)
   h.total = 0
   ffi.fill(h.buckets, ffi.sizeof(h.buckets))
end

-- A function that calls another and adds the time that this takes.
function histogram.wrap_thunk (h, thunk, now)
   return function ()
      local start = now()
      thunk()
      histogram.add(h, now() - start)
   end
end

-- The minimum, the average and the maximum.
function histogram.summarize (h, before)
   local total = h.total
   if before then total = total - before.total end
   if total == 0 then return 0, 0, 0 end
   local lowest, highest, sum = nil, 0, 0
   for count, low, high in histogram.iterate(h, before) do
      if count ~= 0 then
         lowest = lowest or low
         highest = high
         sum = sum + (low + high) / 2 * tonumber(count)
      end
   end
   return lowest, sum / tonumber(total), highest
end

ffi.metatype(histogram_t, {
   __index = {
      add = histogram.add, iterate = histogram.iterate, snapshot = histogram.snapshot,
      wrap_thunk = histogram.wrap_thunk, clear = histogram.clear, summarize = histogram.summarize,
   },
   __tostring = function (h) return ("min: %f / avg: %f / max: %f"):format(histogram.summarize(h)) end,
})
shm.register("histogram", histogram)
return histogram
