-- The inner loop was given up while it made functions; the outer one stops at it ever since.
local made
local function sum_to(n, makes)
   local sum = 0
   for i = 1, n do -- here
      if makes then made = function () return 1 end end
      sum = sum + i
   end
   return sum
end
for i = 1, 1e4 do sum_to(100, true) end
local sum = 0
for i = 1, 1e6 do sum = sum + sum_to(100, false) end
-- instead
local made
local function one() return 1 end
local function sum_to(n, makes)
   local sum = 0
   for i = 1, n do
      if makes then made = one end
      sum = sum + i
   end
   return sum
end
for i = 1, 1e4 do sum_to(100, true) end
local sum = 0
for i = 1, 1e6 do sum = sum + sum_to(100, false) end
