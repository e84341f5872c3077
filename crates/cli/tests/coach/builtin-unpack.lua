local n = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
local function first(a) return a end
local sum = 0
for i = 1, 1e7 do
   sum = sum + first(unpack(n, 1, i % 10 + 1)) -- here
end
-- instead
local n = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
local sum = 0
for i = 1, 1e8 do
   sum = sum + n[1]
end
