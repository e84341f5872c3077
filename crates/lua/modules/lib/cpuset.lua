-- Sets of CPUs that are handed out to workers, one each.
--
--     local cpus = require("lib.cpuset").new()
--     cpus:add_from_string("2-5")
--     local cpu = cpus:acquire(node, "worker 1")
--     cpus:release(cpu)
--
-- `by_node` has for each NUMA node a table from CPU to whether it is free.

local numa = require("lib.numa")

local M = {}

local CPUSet = {}
CPUSet.__index = CPUSet

function M.new ()
   return setmetatable({ by_node = {} }, CPUSet)
end

local global

-- The one that a program's main process uses.
function M.global_cpuset ()
   global = global or M.new()
   return global
end

local function cpus_of (self, cpu)
   local node = numa.cpu_get_numa_node(cpu)
   assert(node, "Failed to get NUMA node for CPU: "..cpu)
   self.by_node[node] = self.by_node[node] or {}
   return self.by_node[node], node
end

function CPUSet:add (cpu)
   local cpus = cpus_of(self, cpu)
   assert(cpus[cpu] == nil, "CPU already in set: "..cpu)
   cpus[cpu] = true
end

-- Adds "1-3,5".
function CPUSet:add_from_string (text)
   for cpu in pairs(numa.parse_cpuset(text)) do self:add(cpu) end
end

function CPUSet:contains (cpu)
   return cpus_of(self, cpu)[cpu] ~= nil
end

function CPUSet:remove (cpu)
   assert(self:contains(cpu), "CPU not in set: "..cpu)
   local cpus = cpus_of(self, cpu)
   if cpus[cpu] == false then print("Warning: removing bound CPU from set: "..cpu) end
   cpus[cpu] = nil
end

-- All CPUs, in order.
function CPUSet:list ()
   local list = {}
   for _, cpus in pairs(self.by_node) do
      for cpu in pairs(cpus) do table.insert(list, cpu) end
   end
   table.sort(list)
   return list
end

-- The lowest CPU of a table that is free, taken.
local function take (cpus)
   local lowest
   for cpu, free in pairs(cpus) do
      if free and (not lowest or cpu < lowest) then lowest = cpu end
   end
   if lowest then cpus[lowest] = false end
   return lowest
end

-- A free CPU, of a node if one is given and has one, else of another. Nil, and a message for the worker's name, if there is none.
function CPUSet:acquire (on_node, worker)
   local nodes = {}
   for node in pairs(self.by_node) do table.insert(nodes, node) end
   table.sort(nodes)
   for _, node in ipairs(nodes) do
      local cpu = (on_node == nil or on_node == node) and take(self.by_node[node])
      if cpu then return cpu end
   end
   if on_node ~= nil then
      for _, node in ipairs(nodes) do
         local cpu = take(self.by_node[node])
         if cpu then
            print("Warning: No CPU available on local NUMA node "..on_node)
            print("Warning: Assigning CPU "..cpu.." from remote node "..node)
            return cpu
         end
      end
   end
   print(("Warning: %s; leaving data-plane worker '%s' without assigned CPU."):format(
      #nodes > 0 and "All assignable CPUs in use" or "No assignable CPUs declared", tostring(worker)))
end

-- As acquire(), of the node of these devices.
function CPUSet:acquire_for_pci_addresses (addresses, worker)
   return self:acquire(numa.choose_numa_node_for_pci_addresses(addresses), worker)
end

-- Gives a CPU back.
function CPUSet:release (cpu)
   local cpus, node = cpus_of(self, cpu)
   if cpus[cpu] == nil then error("CPU not found on NUMA node: "..cpu..", "..node) end
   assert(cpus[cpu] == false, "CPU was not acquired: "..cpu)
   cpus[cpu] = true
end

-- Runs this process, which is not on the data plane, on the CPUs that are left of the set's node.
function CPUSet:bind_to_numa_node ()
   local nodes = {}
   for node in pairs(self.by_node) do table.insert(nodes, node) end
   if #nodes == 0 then
      print("No CPUs available; not binding to any NUMA node.")
   elseif #nodes > 1 then
      print("CPUs available from multiple NUMA nodes: "..table.concat(nodes, ","))
      print("Not binding to any NUMA node.")
   else
      numa.bind_to_numa_node(nodes[1])
      local isolated, others = numa.isolated_cpus(), {}
      for cpu in pairs(numa.node_cpus(nodes[1])) do
         if not isolated[cpu] then table.insert(others, cpu) end
      end
      table.sort(others)
      assert(#others > 0, "Not available CPUs")
      numa.bind_to_cpu(others, "skip-perf-checks")
      print(("Bound main process to NUMA node: %s (CPU %s)"):format(nodes[1], others[1]))
   end
end

return M
