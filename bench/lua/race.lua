-- Chunks of Lua, and pflua's own Lua, in this LuaJIT, over the packets of a capture in turns; what `make bench BENCH=lua` runs.
--
--    luajit bench/lua/race.lua PFLUA CAPTURE ROUNDS ENGINE…
--
-- PFLUA is a checkout of pflua. An ENGINE is `chunk:FILE`, a chunk that returns function(P, length), or `pflua:FILTER`. CAPTURE is a classic pcap of
-- little-endian numbers. A line a round: for each engine the nanoseconds a packet, and how many packets match.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } lap_t; int clock_gettime(int, lap_t *);")

-- So many packets are visited in each turn of an engine.
local VISITS = 400000

package.path = arg[1] .. "/src/?.lua;" .. package.path
-- Its own code generator, which is not asked for, needs to be built.
package.preload["pf.codegen"] = function() return {} end

local function now()
   local lap = ffi.new("lap_t")
   ffi.C.clock_gettime(3, lap)
   return tonumber(lap.s) * 1e9 + tonumber(lap.ns)
end

local function read(path)
   local file = assert(io.open(path, "rb"))
   local bytes = file:read("*a")
   file:close()
   local memory = ffi.new("uint8_t[?]", #bytes)
   ffi.copy(memory, bytes, #bytes)
   local at, packets, lengths = 24, {}, {}
   while at < #bytes do
      local length = ffi.cast("uint32_t*", memory + at + 8)[0]
      packets[#packets + 1], lengths[#lengths + 1] = memory + at + 16, length
      at = at + 16 + length
   end
   return { memory = memory, packets = packets, lengths = lengths }
end

-- A loop of its own for each filter, so that each has traces of its own.
local function looped(filter)
   local source = [[
      local filter = ...
      return function(packets, lengths, rounds)
         local count = 0
         for _ = 1, rounds do
            for i = 1, #packets do
               if filter(packets[i], lengths[i]) then count = count + 1 end
            end
         end
         return count
      end]]
   return assert(loadstring(source))(filter)
end

local function engine(name)
   local chunk = name:match("^chunk:(.*)$")
   if chunk then return looped(assert(loadfile(chunk))()) end
   return looped(require("pf").compile_filter(assert(name:match("^pflua:(.*)$"))))
end

local traffic = read(arg[2])
local visits = math.ceil(VISITS / #traffic.packets)
local engines = {}
for i = 4, #arg do engines[i - 3] = engine(arg[i]) end
-- The first round is for the compiler.
for round = 0, tonumber(arg[3]) do
   local words = {}
   for _, run in ipairs(engines) do
      local start = now()
      local count = run(traffic.packets, traffic.lengths, visits)
      words[#words + 1] = string.format("%.4f %d", (now() - start) / (visits * #traffic.packets), count)
   end
   if round > 0 then print(table.concat(words, " ")) end
end
