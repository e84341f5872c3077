-- Numbers in shared memory that go up and down, as `core.counter` has numbers that go up. Files end in `.gauge`.

local ffi = require("ffi")
local shm = require("core.shm")

local gauge_t = ffi.typeof("struct { double g; }")

local M = {}

function M.create (name, value)
   local gauge = shm.create(name, gauge_t)
   gauge.g = value or 0
   return gauge
end

function M.open (name)
   return shm.open(name, gauge_t, "readonly")
end

function M.set (gauge, value) gauge.g = value end
function M.read (gauge) return gauge.g end

M.type = shm.register("gauge", M)

ffi.metatype(gauge_t, { __tostring = function (gauge) return ("%f"):format(gauge.g) end })

return M
