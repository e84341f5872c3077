-- lib.numa and lib.cpuset.
local numa = require("lib.numa")
local cpuset = require("lib.cpuset")

local function eq (got, expected)
   if got ~= expected then error(("expected %s, got %s"):format(tostring(expected), tostring(got)), 2) end
end
local function fails (...) return not pcall(...) end
local function listed (set)
   local list = {}
   for n in pairs(set) do table.insert(list, n) end
   table.sort(list)
   return table.concat(list, ",")
end

eq(listed(numa.parse_cpuset("1-3,5")), "1,2,3,5")
eq(listed(numa.parse_cpuset(" 7 \n")), "7")
eq(listed(numa.parse_cpuset("")), "")
for _, bad in ipairs({ "a", "3-1", "1.5", "1-x", "2-2" }) do assert(fails(numa.parse_cpuset, bad), bad) end
eq(numa.cpu_get_numa_node(0), 0)
eq(type(numa.has_numa()), "boolean")
eq(type(numa.isolated_cpus()), "table")

numa.bind_to_cpu(0, "skip-perf-checks")
assert(fails(numa.bind_to_cpu, 1, true), "bound already")
numa.bind_to_cpu(nil)
numa.bind_to_numa_node(nil)

local set = cpuset.new()
set:add_from_string("0-1")
assert(set:contains(0) and not set:contains(5) and fails(set.add, set, 0))
local one, two = set:acquire(nil, "a"), set:acquire(0, "b")
eq(one + two, 1)
eq(set:acquire(nil, "c"), nil)
set:release(one)
eq(set:acquire(nil, "c"), one)
assert(fails(set.release, set, 9))
set:release(two)
set:remove(two)
eq(#set:list(), 1); eq(set:list()[1], one)
assert(fails(set.remove, set, two))
eq(cpuset.global_cpuset(), cpuset.global_cpuset())
eq(cpuset.new():acquire(nil, "none"), nil)
print("numa ok")
