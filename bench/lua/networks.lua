-- Networks of apps in Lua, in Snabb or in sluss; what `make bench BENCH=snabb` runs.
--
--    sluss run bench/lua/networks.lua NETWORK CAPTURE WINDOWS
--    snabb snsh bench/lua/networks.lua NETWORK CAPTURE WINDOWS
--
-- A line a window: nanoseconds of CPU time for each packet that a source has sent; of `idle`, for each breath. Of `branches`, which run on several workers, packets for each
-- nanosecond that goes by, from each worker. `pf FILTER` and `pf-native FILTER`, a filter in a loop: nanoseconds that go by for each packet of the capture, and behind it how many match.
-- `start` ends after a breath, and prints nothing.
local ffi = require("ffi")
local basic = require("apps.basic.basic_apps")
local counter = require("core.counter")

local SECONDS = 0.2

local name, capture, windows = unpack(main.parameters)

-- Nanoseconds of CPU time, in steps of some milliseconds in Snabb; and of time that goes by.
local function cpu() return os.clock() * 1e9 end
local function now() return engine.now() * 1e9 end

-- The packets of a classic pcap of little-endian numbers.
local function read(path, visit)
   local file = assert(io.open(path, "rb"))
   local bytes = file:read("*a")
   file:close()
   local at = 24
   while at < #bytes do
      local length = tonumber(ffi.cast("uint32_t*", ffi.cast("const char*", bytes) + at + 8)[0])
      visit(bytes:sub(at + 17, at + 16 + length))
      at = at + 16 + length
   end
end

-- Sends the packets of the capture once, to an app that repeats them.
local Once = {}
function Once:new() return setmetatable({}, { __index = Once }) end
function Once:pull()
   if self.is_over then return end
   self.is_over = true
   read(capture, function(bytes) link.transmit(self.output.output, packet.from_string(bytes)) end)
end

-- A graph of sources by name, of which `Repeater` gets the packets of the capture, of other apps, and of links.
local function graph(sources, apps, links)
   local c = config.new()
   for source, class in pairs(sources) do
      config.app(c, source, class)
      if class == basic.Repeater then
         config.app(c, source .. "_once", Once)
         config.link(c, ("%s_once.output -> %s.input"):format(source, source))
      end
   end
   for _, app in ipairs(apps) do config.app(c, unpack(app)) end
   for from, to in links:gmatch("(%S+) %-> (%S+)") do config.link(c, from .. " -> " .. to) end
   engine.configure(c)
   return sources
end

-- A source, apps in a line, and a sink.
local function line(class, apps)
   local links, last = "", "source.output"
   for _, app in ipairs(apps) do
      links = links .. last .. " -> " .. app[1] .. ".input "
      last = app[1] .. ".output"
   end
   apps[#apps + 1] = { "sink", basic.Sink }
   return graph({ source = class }, apps, links .. last .. " -> sink.input")
end

local function joins(class, count)
   local apps = {}
   for i = 1, count do apps[i] = { "join" .. i, class } end
   return apps
end

-- A tunnel that is its own other end.
local function tunnel(class)
   local class_of = require("apps.keyed_ipv6_tunnel.tunnel").SimpleKeyedTunnel
   local ends = { local_address = "2001:db8::1", remote_address = "2001:db8::1", local_cookie = "12345678", remote_cookie = "12345678" }
   local links = "source.output -> tunnel.decapsulated tunnel.encapsulated -> tunnel.encapsulated tunnel.decapsulated -> sink.input"
   return graph({ source = class }, { { "tunnel", class_of, ends }, { "sink", basic.Sink } }, links)
end

local function filter(class, text)
   return line(class, { { "filter", require("apps.packet_filter.pcap_filter").PcapFilter, { filter = text } } })
end

local networks = {}
networks["source-sink"] = function() return line(basic.Source, {}) end
function networks.tee()
   local sinks = { { "tee", basic.Tee }, { "one", basic.Sink }, { "two", basic.Sink } }
   return graph({ source = basic.Source }, sinks, "source.output -> tee.input tee.one -> one.input tee.two -> two.input")
end
function networks.chain() return line(basic.Source, joins(basic.Join, 8)) end
networks["native-joins"] = function() return line(basic.Source, joins(require("sluss.apps").join, 8)) end
function networks.vlan()
   local vlan = require("apps.vlan.vlan")
   return line(basic.Source, { { "tag", vlan.Tagger, { tag = 7 } }, { "untag", vlan.Untagger, { tag = 7 } } })
end
function networks.tunnel() return tunnel(basic.Source) end
networks["tunnel-replay"] = function() return tunnel(basic.Repeater) end
function networks.bridge()
   local ports, sources, apps, links = {}, {}, {}, ""
   for i = 1, 3 do
      local port = "p" .. i
      ports[i], sources["source" .. i], apps[i] = port, basic.Repeater, { "sink" .. i, basic.Sink }
      links = links .. ("source%d.output -> bridge.%s bridge.%s -> sink%d.input "):format(i, port, port, i)
   end
   apps[4] = { "bridge", require("apps.bridge.learning").bridge, { ports = ports } }
   return graph(sources, apps, links)
end
function networks.rss()
   local apps, links = { { "rss", require("apps.rss.rss").rss } }, "source.output -> rss.input "
   for i = 1, 4 do
      apps[i + 1] = { "sink" .. i, basic.Sink }
      links = links .. ("rss.default_%d -> sink%d.input "):format(i, i)
   end
   return graph({ source = basic.Repeater }, apps, links)
end
function networks.ipfix()
   local exporter = { exporter_ip = "192.0.2.1", collector_ip = "192.0.2.2", collector_port = 4739 }
   return line(basic.Repeater, { { "ipfix", require("apps.ipfix.ipfix").IPFIX, exporter } })
end
networks["filter-source"] = function() return filter(basic.Source, "tcp port 80 or not ip") end
networks["filter-most"] = function() return filter(basic.Repeater, "tcp port 80 or not ip") end
networks["filter-few"] = function() return filter(basic.Repeater, "tcp port 80") end
function networks.idle()
   local links = ""
   for i = 1, 50 do links = links .. ("join%d.output -> join%d.input "):format(i, i % 50 + 1) end
   return graph({}, joins(basic.Join, 50), links)
end

-- What can be done apart, twice.
function networks.branches()
   local sources, apps, links = {}, {}, ""
   for i = 1, 2 do
      sources["source" .. i] = basic.Repeater
      local last = ("source%d.output"):format(i)
      for j = 1, 4 do
         local app = ("join%d%d"):format(i, j)
         apps[#apps + 1] = { app, basic.Join }
         links, last = links .. last .. " -> " .. app .. ".input ", app .. ".output"
      end
      apps[#apps + 1] = { "sink" .. i, basic.Sink }
      links = links .. last .. (" -> sink%d.input "):format(i)
   end
   return graph(sources, apps, links)
end

-- A filter in a loop over the packets of the capture, by one of pflua's two ways.
local function looped(text, options)
   local packets = {}
   read(capture, function(bytes) packets[#packets + 1] = packet.from_string(bytes) end)
   local matches = require("pf").compile_filter(text, options)
   local function pass(times)
      local count = 0
      for _ = 1, times do
         for i = 1, #packets do
            if matches(packets[i].data, packets[i].length) then count = count + 1 end
         end
      end
      return count
   end
   local times = math.ceil(4e6 / #packets)
   for window = 0, tonumber(windows) do
      local start = now()
      local count = pass(times)
      if window > 0 then print(string.format("%.4f %d", (now() - start) / (times * #packets), count / times)) end
   end
end

local function raced(sources, clock)
   engine.busywait = true
   local function work()
      if not next(sources) then return tonumber(counter.read(engine.breaths)) end
      local sent = 0
      for source in pairs(sources) do
         local app = engine.app_table[source]
         if app then sent = sent + tonumber(link.stats(app.output.output).txpackets) end
      end
      return sent
   end
   -- The first windows are for the compiler.
   for window = -1, tonumber(windows) do
      local start, before = clock(), work()
      engine.main({ duration = SECONDS, no_report = true })
      local took, done = clock() - start, work() - before
      if window > 0 then print(string.format("%.4f", clock == cpu and took / done or done / took)) end
   end
end

local way, text = name:match("^(pf%S*) (.*)$")
if way then
   looped(text, { native = way == "pf-native" })
elseif name == "start" then
   networks["source-sink"]()
   engine.main({ done = function() return true end, no_report = true })
else
   local network = assert(networks[name], "there is no network " .. name)
   raced(network(), name == "branches" and now or cpu)
end
