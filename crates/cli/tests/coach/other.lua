-- Keys that are no index of an array, in a table that has an array as well.
local hosts, sum = { 'first', 'second' }, 0
for i = 0, 7 do hosts[0xc0a80000 + i] = i end
for i = 1, 2e7 do
   sum = sum + hosts[0xc0a80000 + i % 8] -- here
end
-- instead
local names, hosts, sum = { 'first', 'second' }, {}, 0
for i = 0, 7 do hosts[0xc0a80000 + i] = i end
for i = 1, 1e8 do
   sum = sum + hosts[0xc0a80000 + i % 8]
end
