local sum = 0
for i = 1, 8e6 do
   local f = function () return i end -- here
   sum = sum + f()
end
-- instead
local sum = 0
local function f(i) return i end
for i = 1, 3e8 do
   sum = sum + f(i)
end
