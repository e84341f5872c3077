-- Tests MyApp: sends it packets, and looks at what comes out. `sluss run my_app/my_app_test.lua`
local counter = require("core.counter")
local MyApp = require("my_app").MyApp

-- Sends what it is given, once.
local Feed = {}
function Feed:new (packets) return setmetatable({ packets = packets }, { __index = Feed }) end
function Feed:pull ()
   for _, bytes in ipairs(self.packets) do link.transmit(self.output.output, packet.from_string(bytes)) end
   self.packets = {}
end

-- Keeps the bytes of what comes.
local Catch = {}
function Catch:new () return setmetatable({ seen = {} }, { __index = Catch }) end
function Catch:push ()
   while not link.empty(self.input.input) do
      local p = link.receive(self.input.input)
      table.insert(self.seen, require("ffi").string(p.data, p.length))
      packet.free(p)
   end
end

-- What comes out of the app for these packets, and how many it has counted as short.
local function passed (conf, packets)
   local c = config.new()
   config.app(c, "feed", Feed, packets)
   config.app(c, "app", MyApp, conf)
   config.app(c, "catch", Catch)
   config.link(c, "feed.output -> app.input")
   config.link(c, "app.output -> catch.input")
   engine.configure(c)
   engine.breathe()
   local seen, short = engine.app_table.catch.seen, tonumber(counter.read(engine.app_table.app.shm.short))
   engine.configure(config.new())
   return table.concat(seen, " "), short
end

local seen, short = passed({ length = 3 }, { "ab", "abc", "", "abcd" })
assert(seen == "abc abcd" and short == 2, seen)
seen, short = passed({}, { ("x"):rep(59), ("y"):rep(60) })
assert(seen == ("y"):rep(60) and short == 1, seen)
assert(not pcall(passed, { size = 3 }, {}), "an unknown parameter is an error")
print("my_app: all tests passed")
