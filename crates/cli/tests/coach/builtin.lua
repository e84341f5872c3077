local t, sum = {}, 0
for i = 1, 8e6 do
   t[i % 10 + 1] = i
   sum = sum + table.maxn(t) -- here
end
-- instead
local t, most, sum = {}, 0, 0
local max = math.max
for i = 1, 1e8 do
   t[i % 10 + 1] = i
   most = max(most, i % 10 + 1)
   sum = sum + most
end
