local function add(a, b, c) return (a or 0) + (b or 0) + (c or 0) end
local function many(...)
   local sum = 0
   for i = 1, 3e7 do
      sum = sum + add(...) -- here
   end
   return sum
end
many(1, 2, 3)
-- instead
local function add(a, b, c) return (a or 0) + (b or 0) + (c or 0) end
local function many(a, b, c)
   local sum = 0
   for i = 1, 2e8 do
      sum = sum + add(a, b, c)
   end
   return sum
end
many(1, 2, 3)
