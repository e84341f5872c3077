-- Clocks that are cheap to read, for measuring intervals.
--
--     local clock = tsc.new()                       -- or tsc.new({ source = "system" })
--     local start = clock:stamp()
--     local elapsed_ns = clock:to_ns(clock:stamp() - start)
--
-- Sources: "rdtsc", the processor's time stamp counter, if it runs at a constant rate; "system", the monotonic clock in
-- nanoseconds. `default_source` is the one that new() takes unless told otherwise.

local ffi = require("ffi")
local lib = require("core.lib")
local posix = require("lib.posix")
local C = ffi.C

ffi.cdef("uint64_t sluss_lua_tsc (void);")

local M = { default_source = "rdtsc" }

-- The value of the time stamp counter.
function M.rdtsc ()
   return C.sluss_lua_tsc()
end

local CALIBRATION_NS = 20000000ULL

local function has_constant_tsc ()
   local file = io.open("/proc/cpuinfo")
   if not file then return false end
   local text = file:read("*a")
   file:close()
   return text:match("constant_tsc") and text:match("nonstop_tsc") and true or false
end

-- Ticks of the time stamp counter in a second, measured once, over 20 ms.
local measured
local function rdtsc_rate ()
   if not measured then
      local start_ns, start = posix.monotonic_ns(), C.sluss_lua_tsc()
      local ns
      repeat ns = posix.monotonic_ns() - start_ns until ns >= CALIBRATION_NS
      measured = tonumber(C.sluss_lua_tsc() - start) / tonumber(ns) * 1e9 + 0ULL
   end
   return measured
end

local sources = {
   rdtsc = { read = M.rdtsc, rate = rdtsc_rate },
   system = { read = posix.monotonic_ns, rate = function () return 1000000000ULL end },
}

local tsc = {}
tsc.__index = tsc

function M.new (config)
   local name = lib.parse(config, { source = { default = M.default_source } }).source
   if name == "rdtsc" and not has_constant_tsc() then
      print("tsc: rdtsc is unusable on this system, falling back to system time source")
      name = "system"
   end
   local source = assert(sources[name], "tsc: unknown time source '"..tostring(name).."'")
   local rate = source.rate()
   return setmetatable({ _source = name, _read = source.read, _rate = rate, _ns_per_tick = 1e9 / tonumber(rate) }, tsc)
end

function tsc:source ()
   return self._source
end

-- The function that reads the clock.
function tsc:time_fn ()
   return self._read
end

function tsc:stamp ()
   return self._read()
end

-- Ticks per second, as uint64_t.
function tsc:tps ()
   return self._rate
end

function tsc:to_ns (ticks)
   if self._source == "system" then return ticks end
   return tonumber(ticks) * self._ns_per_tick + 0ULL
end

return M
