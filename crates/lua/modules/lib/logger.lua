-- Messages at a limited rate, which gets lower while very many are discarded.
--
--     local log = logger.new({ rate = 10, module = "bridge" })
--     if log:can_log() then log:log("table of "..n.." entries is full") end

local lib = require("core.lib")
local token_bucket = require("lib.token_bucket")
local tsc = require("lib.tsc")

local options = {
   rate = { default = 10 },                -- messages a second, and in a burst
   discard_report_rate = { default = 0.2 },-- reports of discarded messages a second
   fh = { default = io.stdout },           -- where to
   flush = { default = true },             -- after each message
   module = {},                            -- stands in front of each message
   date = { default = true },              -- so does the date
   date_fmt = { default = "%b %d %Y %H:%M:%S " },
   throttle = { default = true },          -- whether the rate gets lower
   throttle_config = { default = {} },
}

local throttle_options = {
   excess = { default = 5 },      -- the rate is halved if more than this many times `rate` is discarded
   increment = { default = 4 },   -- and otherwise raised by this part of `rate`
   min_rate = { default = 0.1 },
}

local logger = {}
logger.__index = logger

local M = {}

function M.new (config)
   local o = setmetatable(lib.parse(config, options), logger)
   o._tokens = token_bucket.new({ rate = o.rate })
   o._reports = token_bucket.new({ rate = o.discard_report_rate })
   o._clock = tsc.new()
   o._reported_at = o._clock:stamp()
   o._discarded = 0
   o._prefix = o.module and o.module..": " or ""
   o._throttle = o.throttle and lib.parse(o.throttle_config, throttle_options)
   return o
end

local function write (self, date, message)
   self.fh:write(date, self._prefix, message, "\n")
end

-- Halves the rate, or raises it, by the rate at which messages were discarded since the last report.
local function adapt (self, date)
   local limits = self._throttle
   local seconds = tonumber(self._clock:stamp() - self._reported_at) / tonumber(self._clock:tps())
   local discard_rate, threshold = self._discarded / seconds, self.rate * limits.excess
   local current = self._tokens:get()
   if discard_rate > threshold then
      local lower = math.max(limits.min_rate, current / 2)
      if lower < current then
         write(self, date, ("Message discard rate %.2f Hz exceeds threshold (%.2f Hz), throttling logging rate to %.2f Hz%s")
            :format(discard_rate, threshold, lower, lower == limits.min_rate and " (minimum)" or ""))
         self._tokens:set(lower)
      end
   elseif current < self.rate then
      local higher = math.min(self.rate, current + self.rate / limits.increment)
      write(self, date, ("Unthrottling logging rate to %.2f Hz%s"):format(higher, higher == self.rate and " (maximum)" or ""))
      self._tokens:set(higher)
   end
end

-- Writes a line, or counts it as discarded.
function logger:log (message)
   if not self._tokens:take() then
      self._discarded = self._discarded + 1
      return
   end
   local date = self.date and os.date(self.date_fmt) or ""
   write(self, date, message)
   if self._discarded > 0 and self._reports:take() then
      write(self, date, self._discarded.." messages discarded")
      if self._throttle then adapt(self, date) end
      self._discarded = 0
      self._reported_at = self._clock:stamp()
   end
   if self.flush then self.fh:flush() end
end

-- Whether log() would write; if not, the message counts as discarded. For messages that are costly to make.
function logger:can_log ()
   if self._tokens:can_take() then return true end
   self._discarded = self._discarded + 1
   return false
end

return M
