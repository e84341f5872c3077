---@meta lib.token_bucket

---@class lib.token_bucket
local token_bucket = {}

---@class lib.token_bucket.bucket
---@field set fun(self: lib.token_bucket.bucket, rate?: number, burst_size?: number)
---@field get fun(self: lib.token_bucket.bucket): number, number
---@field can_take fun(self: lib.token_bucket.bucket, n?: integer): boolean
---@field take fun(self: lib.token_bucket.bucket, n?: integer): boolean
---@field take_burst fun(self: lib.token_bucket.bucket): integer

---@param config { rate: number, burst_size?: number } Tokens a second, and how many there are at most.
---@return lib.token_bucket.bucket
function token_bucket.new(config) end

return token_bucket
