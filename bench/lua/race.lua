-- Chunks of `sluss compile --to lua` against pflua's own Lua, in this LuaJIT, over the same packets in turns.
--
--    luajit bench/lua/race.lua SLUSS PFLUA FILTER… < packets
--
-- SLUSS is the command, PFLUA the `src` folder of a checkout of pflua. The environment names captures (classic pcap, little-endian): CAPTURES="a.pcap b.pcap".
-- Counts must be equal first. A line a capture and filter: nanoseconds a packet of each, the median ratio, and its least and greatest.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } lap_t; int clock_gettime(int, lap_t *);")

local sluss, pflua = arg[1], arg[2]
package.path = pflua .. "/?.lua;" .. package.path
package.preload["pf.codegen"] = function() return {} end
local pf = require("pf")

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

local function ours(filter)
   local pipe = assert(io.popen(sluss .. " compile --to lua '" .. filter .. "' 2>/dev/null"))
   local text = pipe:read("*a")
   pipe:close()
   return assert(loadstring(text))()
end

for path in (os.getenv("CAPTURES") or ""):gmatch("%S+") do
   local traffic = read(path)
   local rounds = math.ceil(400000 / #traffic.packets)
   for i = 3, #arg do
      local mine, theirs = looped(ours(arg[i])), looped(pf.compile_filter(arg[i]))
      local function time(run)
         local start = now()
         local count = run(traffic.packets, traffic.lengths, rounds)
         return (now() - start) / (rounds * #traffic.packets), count
      end
      time(mine)
      time(theirs)
      local ratios, laps = {}, {}
      for round = 1, 15 do
         local a, mine_count = time(mine)
         local b, their_count = time(theirs)
         assert(mine_count == their_count, arg[i] .. ": " .. mine_count .. " and " .. their_count)
         ratios[round], laps[round] = a / b, { a, b }
      end
      table.sort(ratios)
      table.sort(laps, function(x, y) return x[1] < y[1] end)
      local least = laps[1][1]
      table.sort(laps, function(x, y) return x[2] < y[2] end)
      print(string.format("%-24s %-34s sluss %6.2f ns  pflua %6.2f ns  ratio %.2f (%.2f to %.2f)", path:match("[^/]+$"), arg[i]:sub(1, 34),
         least, laps[1][2], ratios[8], ratios[1], ratios[15]))
      io.stdout:flush()
   end
end
