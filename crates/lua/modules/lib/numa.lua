-- Which CPU runs this process, and which NUMA node its memory comes from.

local posix = require("lib.posix")

local NODES, CPUS_MAX = "/sys/devices/system/node/node", 1023

local M = {}

-- What bind_to_cpu() and bind_to_numa_node() have set.
local bound_cpu, bound_node

local function warn (fmt, ...)
   io.stderr:write("Warning: ", fmt:format(...), "\n")
end

local function die (fmt, ...)
   error(fmt:format(...))
end

-- The text of a file, or nil.
local function contents (path)
   local file = io.open(path)
   if not file then return nil end
   local text = file:read("*a")
   file:close()
   return text
end

local function whole_number (text, what, range)
   local n = tonumber(text)
   assert(n and n % 1 == 0, ("invalid %s: %s"):format(what, range))
   return n
end

-- "1-3,5" as a set: a table with these keys, whose values are true.
function M.parse_cpuset (text)
   local set = {}
   if not text:match("%S") then return set end
   for range in (text..","):gmatch("(.-),") do
      local low, dash, high = range:match("^%s*([^%-%s]*)%s*(%-?)%s*([^%-%s]*)%s*$")
      assert(low, "invalid range: "..range)
      local first = whole_number(low, "range begin", range)
      local last = first
      if dash == "-" then
         last = whole_number(high, "range end", range)
         assert(first < last, "invalid range: "..range)
      end
      for cpu = first, last do set[cpu] = true end
   end
   return set
end

-- The CPUs of a NUMA node, as a set.
function M.node_cpus (node)
   local path = NODES..node.."/cpulist"
   return M.parse_cpuset(assert(contents(path), "cannot read "..path))
end

-- The CPUs that the kernel was told to keep other processes away from (isolcpus).
function M.isolated_cpus ()
   return M.parse_cpuset(contents("/sys/devices/system/cpu/isolated") or "")
end

-- The node of a CPU; 0 where the kernel knows of no nodes.
function M.cpu_get_numa_node (cpu)
   local node = 0
   while posix.exists(NODES..node) do
      if posix.exists(("%s%d/cpu%d"):format(NODES, node, cpu)) then return node end
      node = node + 1
   end
   return 0
end

-- Whether there is more than one node.
function M.has_numa ()
   return posix.exists(NODES..1)
end

-- The node of a PCI device.
function M.pci_get_numa_node (address)
   if not address:match("^%x%x%x%x:") then address = "0000:"..address end
   local path = "/sys/bus/pci/devices/"..address.."/numa_node"
   return math.max(0, tonumber((assert(contents(path), "cannot read "..path))))
end

-- The node of these devices. A difference between them is told, or, with `require_affinity`, an error.
function M.choose_numa_node_for_pci_addresses (addresses, require_affinity)
   local chosen, by
   for _, address in ipairs(addresses) do
      local node = M.pci_get_numa_node(address)
      if not chosen then
         chosen, by = node, address
      elseif node ~= chosen then
         local tell = require_affinity and die or warn
         tell("PCI devices %s and %s have different NUMA node affinities", by, address)
      end
   end
   return chosen
end

-- Tells if the devices' node is not the one that memory comes from.
function M.check_affinity_for_pci_addresses (addresses)
   local mode = posix.get_mempolicy()
   if mode == posix.MPOL_DEFAULT then
      if M.has_numa() then
         warn("No NUMA memory affinity.\nPass --cpu to bind to a CPU and its NUMA node.")
      end
   elseif mode ~= posix.MPOL_BIND and mode ~= posix.MPOL_PREFERRED then
      warn("NUMA memory policy already in effect, but it's not --membind or --preferred.")
   else
      local _, node = posix.getcpu()
      local wanted = M.choose_numa_node_for_pci_addresses(addresses)
      if wanted and wanted ~= node then
         warn("Bound NUMA node does not have affinity with PCI devices.")
      end
   end
end

-- Tells what would disturb a process that is alone on a CPU.
local function check_tuning (cpu)
   local governor = contents(("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor"):format(cpu)) or "unknown"
   if not governor:match("performance") then
      warn('Expected performance scaling governor for CPU %s, but got "%s"', cpu, (governor:gsub("%s+$", "")))
   end
   if not M.isolated_cpus()[cpu] then
      warn("Expected dedicated core, but CPU %s is not in isolcpus set", cpu)
   end
end

-- Lets this process run on any CPU.
function M.unbind_cpu ()
   local all = {}
   for cpu = 0, CPUS_MAX do all[cpu] = true end
   assert(posix.set_affinity(all))
   bound_cpu = nil
end

-- Runs this process on a CPU, or one of a list, and takes memory from its node. Without `skip_perf_checks` also tells if the CPU is
-- not as it should be for that. Nil undoes it.
function M.bind_to_cpu (cpu, skip_perf_checks)
   if not cpu then return M.unbind_cpu() end
   if cpu == bound_cpu then return end
   assert(not bound_cpu, "already bound")
   local list = type(cpu) == "table" and cpu or { cpu }
   local set = {}
   for _, each in ipairs(list) do set[tonumber(each)] = true end
   local ok, err = posix.set_affinity(set)
   assert(ok, ("Couldn't set affinity for cpuset %s: %s"):format(table.concat(list, ","), tostring(err)))
   local now, node = posix.getcpu()
   assert(set[now], "the kernel runs this elsewhere")
   bound_cpu = now
   M.bind_to_numa_node(node)
   if not skip_perf_checks then check_tuning(now) end
end

function M.unbind_numa_node ()
   if M.has_numa() then assert(posix.set_mempolicy(posix.MPOL_DEFAULT)) end
   bound_node = nil
end

local policies = { default = posix.MPOL_DEFAULT, preferred = posix.MPOL_PREFERRED, bind = posix.MPOL_BIND }

-- Takes memory from a node, and moves there what this process has. `policy` is "preferred" or "bind". Nil undoes it.
function M.bind_to_numa_node (node, policy)
   if node == bound_node then return end
   if not node then return M.unbind_numa_node() end
   assert(not bound_node, "already bound")
   if M.has_numa() then
      assert(posix.set_mempolicy(assert(policies[policy or "preferred"], "no such policy"), node))
      local ok, err = posix.migrate_pages(node)
      if not ok then warn("Failed to migrate pages to NUMA node %d: %s", node, tostring(err)) end
   end
   bound_node = node
end

-- Makes this a real-time process: only those of a higher priority (1 by default) interrupt it.
function M.prevent_preemption (priority)
   assert(posix.set_realtime(priority or 1), "Failed to enable real-time scheduling.  Try running as root.")
end

return M
