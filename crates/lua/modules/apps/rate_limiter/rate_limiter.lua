-- Limits a stream to a number of bytes a second, and discards what exceeds it: a token bucket.

local engine = require("core.app")
local counter = require("core.counter")
local link = require("core.link")
local packet = require("core.packet")
local posix = require("lib.posix")

local M = {}

local RateLimiter = {
   config = {
      rate = { required = true },             -- bytes a second
      bucket_capacity = { required = true },  -- bytes that may pass at once
      initial_capacity = {},                  -- of these, what is there at the start: all, by default
   },
}
RateLimiter.__index = RateLimiter
M.RateLimiter = RateLimiter

function RateLimiter:new (conf)
   local o = setmetatable({ shm = { txdrop = { counter } } }, self)
   o:reset(conf.rate, conf.bucket_capacity, conf.initial_capacity)
   return o
end

-- Begins anew with other limits.
function RateLimiter:reset (rate, bucket_capacity, initial_capacity)
   self.rate = assert(rate, "a rate is needed")
   self.bucket_capacity = assert(bucket_capacity, "a bucket capacity is needed")
   self.bucket_content = initial_capacity or bucket_capacity
end

-- Packets that have come in (rx) and gone out (tx), and the time in nanoseconds.
function RateLimiter:get_stat_snapshot ()
   return {
      rx = link.stats(self.input.input).txpackets,
      tx = link.stats(self.output.output).txpackets,
      time = tonumber(posix.monotonic_ns()),
   }
end

function RateLimiter:push ()
   local i = assert(self.input.input, "input port not found")
   local o = assert(self.output.output, "output port not found")

   local now = engine.now()
   local content = self.bucket_content + self.rate * (now - (self.last_time or now))
   content = math.min(content, self.bucket_capacity)
   self.last_time = now

   local dropped = 0
   for _ = 1, link.nreadable(i) do
      local p = link.receive(i)
      local length = p.length
      if length <= content then
         content = content - length
         link.transmit(o, p)
      else
         dropped = dropped + 1
         packet.free(p)
      end
   end
   self.bucket_content = content
   if dropped > 0 then counter.add(self.shm.txdrop, dropped) end
end

return M
