local kept = {}
for i = 1, 2e7 do
   kept[i % 100 + 1] = { i, i + 1 } -- here
end
-- instead
local pair, sum = { 0, 0 }, 0
for i = 1, 2e8 do
   pair[1], pair[2] = i, i + 1
   sum = sum + pair[2]
end
