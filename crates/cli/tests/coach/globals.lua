local sum = 0
for i = 1, 2e8 do
   sum = sum + bit.band(i, 255) + bit.rshift(i, 3) -- here
end
-- instead
local band, rshift = bit.band, bit.rshift
local sum = 0
for i = 1, 2e8 do
   sum = sum + band(i, 255) + rshift(i, 3)
end
