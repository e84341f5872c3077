-- Token buckets: limits of rate that allow bursts.
--
--     local bucket = token_bucket.new({ rate = 1000, burst_size = 100 })  -- per second; by default the tokens of one second
--     if bucket:take() then … end
--
-- Tokens are whole. They are counted only when those at hand do not suffice.

local ffi = require("ffi")
local lib = require("core.lib")
local tsc = require("lib.tsc")

local bucket = {}
bucket.__index = bucket

local M = {}

function M.new (config)
   config = lib.parse(config, { rate = { required = true }, burst_size = {} })
   local o = setmetatable({ _clock = tsc.new() }, bucket)
   o._read = o._clock:time_fn()
   -- In an array, so that setting it makes no garbage: when the tokens at hand were counted.
   o._counted = ffi.new("uint64_t[1]")
   o:set(config.rate, config.burst_size)
   return o
end

-- Changes the rate, or keeps it if nil; and the burst, to the tokens of one second if nil. The bucket is full then.
function bucket:set (rate, burst_size)
   if rate ~= nil then
      assert(type(rate) == "number" and rate > 0, "a rate is a number above 0")
      self._rate = rate
      self._ticks_per_token = tonumber(self._clock:tps()) / rate + 0ULL
   end
   burst_size = burst_size or self._rate
   assert(type(burst_size) == "number", "a burst size is a number")
   self._burst_size = math.ceil(burst_size)
   self._tokens = self._burst_size
   self._counted[0] = self._read()
end

-- The rate and the burst size.
function bucket:get ()
   return self._rate, self._burst_size
end

-- Whether `n` tokens (1 by default) are there.
function bucket:can_take (n)
   n = n or 1
   if n <= self._tokens then return true end
   local elapsed = self._read() - self._counted[0]
   if elapsed < self._ticks_per_token then return false end
   -- Divides integers; what does not make a whole token stays for the next time.
   local fresh = elapsed / self._ticks_per_token
   self._counted[0] = self._counted[0] + fresh * self._ticks_per_token
   self._tokens = math.min(self._tokens + tonumber(fresh), self._burst_size)
   return n <= self._tokens
end

-- Takes `n` tokens (1 by default), or none and returns false.
function bucket:take (n)
   n = n or 1
   if not self:can_take(n) then return false end
   self._tokens = self._tokens - n
   return true
end

-- Takes all tokens, and returns how many.
function bucket:take_burst ()
   self:can_take(self._burst_size)
   local tokens = self._tokens
   self._tokens = 0
   return tokens
end

return M
