---@meta apps.rate_limiter.rate_limiter

---@class apps.rate_limiter.rate_limiter
---@field RateLimiter sluss.class Its argument: `{ rate = …, bucket_capacity = … }`, in bytes.
local rate_limiter = {}

return rate_limiter
