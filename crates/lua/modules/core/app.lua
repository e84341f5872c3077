-- The engine: which apps run, how they are linked, and the breaths in which they move packets. What a breath does is decided here, when the graph
-- changes; the breaths themselves run in native code, which calls the apps' methods.
local ffi = require("ffi")
local native = require("core.native")
local config = require("core.config")
local counter = require("core.counter")
local lib = require("core.lib")
local shm = require("core.shm")
local new_table = require("table.new")
local C, core = ffi.C, native.core

local app = {
   app_table = {},            -- The running apps, by name.
   link_table = {},           -- The links, by their text.
   configuration = config.new(),
   pull_npackets = math.floor(1023 / 10),
   test_skipped_code = 43,
   log = false,               -- Whether changes of the graph are printed.
   Hz = false,                -- Breaths a second; false to breathe as often as there is something to do.
   sleep = 0,
   maxsleep = 100,            -- The longest sleep between breaths when there is nothing to do, in microseconds.
   busywait = false,          -- Whether not to sleep at all.
   tick_Hz = 1000,            -- How often `tick` methods are called in a second.
   program_name = false,
   auditlog_enabled = false,
   vmprofile_enabled = false,
   monotonic_now = false,
   -- With `sluss run --workers N`: which worker this is, of how many, and the worker of each app that is placed by hand.
   worker = native.worker or 1,
   workers = native.workers or 1,
   placement = {},
   breaths = counter.create("engine/breaths.counter"),
   frees = counter.create("engine/frees.counter"),
   freebits = counter.create("engine/freebits.counter"),
   freebytes = counter.create("engine/freebytes.counter"),
   configs = counter.create("engine/configs.counter"),
   -- Packets that apps had when they failed; and those that came to an app while it was down, or were left between workers when their link went.
   lost = counter.create("engine/lost.counter"),
   dropped = counter.create("engine/dropped.counter"),
}
core.breaths, core.frees = app.breaths, app.frees
core.freebits, core.freebytes = app.freebits, app.freebytes

-- `core.packet` counts in these, and `core.link` frees packets.
package.loaded["core.app"] = app
local link = require("core.link")
local packet = require("core.packet")
local histogram = require("core.histogram")
local timer = require("core.timer")

-- The time of this breath, in seconds; outside of breaths, the time. It never goes back.
function app.now ()
   if core.running ~= 0 then return core.now end
   return C.get_monotonic_time()
end

-- Changes of the graph

-- Makes the running graph what a configuration says: only what differs is started, stopped or linked.
function app.configure (new)
   local names = {}
   for name in pairs(app.app_table) do names[#names + 1] = name end
   native.keep_accounts(names)
   if app.workers > 1 then new = require("core.team").part(new, app.worker, app.workers, app.placement) end
   app.apply_config_actions(app.compute_config_actions(app.configuration, new))
   counter.add(app.configs)
end

function app.stop () app.configure(config.new()) end

-- What has to be done to come from one configuration to another: a list of {operation, arguments}.
function app.compute_config_actions (old, new)
   local actions = {}
   local function act (operation, ...) actions[#actions + 1] = { operation, { ... } } end
   for spec in pairs(old.links) do
      if not new.links[spec] then
         local from_app, from_port, to_app, to_port = config.parse_link(spec)
         act("unlink_output", from_app, from_port)
         act("unlink_input", to_app, to_port)
         act("free_link", spec)
      end
   end
   for name in pairs(old.apps) do
      if not new.apps[name] then act("stop_app", name) end
   end
   local fresh = {}
   for name, info in pairs(new.apps) do
      local before = old.apps[name]
      local class, arg = info.class, info.arg
      if not before then
         act("start_app", name, class, arg)
         fresh[name] = true
      elseif before.class ~= class or (not lib.equal(before.arg, arg) and not class.reconfig) then
         act("stop_app", name)
         act("start_app", name, class, arg)
         fresh[name] = true
      elseif not lib.equal(before.arg, arg) then
         act("reconfig_app", name, class, arg)
      end
   end
   for spec in pairs(new.links) do
      local from_app, from_port, to_app, to_port = config.parse_link(spec)
      if not new.apps[from_app] then error("no such app: "..from_app) end
      if not new.apps[to_app] then error("no such app: "..to_app) end
      local is_new = not old.links[spec]
      if is_new then act("new_link", spec) end
      if is_new or fresh[from_app] then act("link_output", from_app, from_port, spec) end
      if is_new or fresh[to_app] then act("link_input", to_app, to_port, spec) end
   end
   return actions
end

local operations = {}

-- Apps that are down, by name: class and argument, when each is started again, and how long it is down the next time.
local outages = {}
-- By name: since when an app runs, its links with what went over them before, and what went over links that are gone.
local books = {}

-- Tracebacks leave out calls of this name.
local protected_call = xpcall

-- Calls a function that runs an app's code outside of its turns: what it takes and frees is in the app's books, or with `nil` in no app's. Then the
-- books of the app go on that ran before, whose code may have changed the graph or called `main`; also if the function fails.
local function as_app (name, f, ...)
   local outer = native.enter(name)
   local ok, result = protected_call(f, native.on_error, ...)
   native.enter(outer)
   if not ok then error(result, 0) end
   return result
end

-- Ports are found by name and by number.
local function attach (name, direction, port, spec)
   local instance = app.app_table[name]
   local l = assert(app.link_table[spec])
   local ports = instance[direction]
   assert(not ports[port], name..": duplicate "..direction.." link "..port)
   ports[port] = l
   table.insert(ports, l)
   operations.book_link(name, direction, l)
   if instance.link then as_app(name, instance.link, instance, direction, port) end
end

local function detach (name, direction, port)
   local instance = app.app_table[name]
   local ports = instance[direction]
   local l = ports[port]
   operations.unbook_link(name, l)
   ports[port] = nil
   for i = 1, #ports do
      if ports[i] == l then
         table.remove(ports, i)
         break
      end
   end
   if instance.unlink then
      as_app(name, instance.unlink, instance, direction, port)
   elseif instance.link then
      as_app(name, instance.link, instance, direction, port)
   end
end

function operations.unlink_output (name, port) detach(name, "output", port) end
function operations.unlink_input (name, port) detach(name, "input", port) end
function operations.link_output (name, port, spec) attach(name, "output", port, spec) end
function operations.link_input (name, port, spec) attach(name, "input", port, spec) end

function operations.new_link (spec)
   app.link_table[spec] = link.new(spec)
   app.configuration.links[spec] = true
end

function operations.free_link (spec)
   link.free(app.link_table[spec], spec)
   app.link_table[spec] = nil
   app.configuration.links[spec] = nil
end

function operations.start_app (name, class, arg)
   books[name] = { since = C.get_monotonic_time(), links = {}, gone = 0 }
   native.taken(name, 0)
   local instance = as_app(name, function () return class:new(arg) end)
   if type(instance) ~= "table" then
      error(("bad return value from app '%s' start() method: %s"):format(name, tostring(instance)))
   end
   instance.appname = name
   -- PERF: with room for links by number, which would else be in the part that is searched by hash.
   instance.input, instance.output = new_table(4, 4), new_table(4, 4)
   instance.zone = instance.zone or rawget(getfenv(class.new), "_NAME") or name
   app.app_table[name] = instance
   if instance.shm then
      instance.shm.dtime = { counter, C.get_unix_time() }
      instance.shm = shm.create_frame("apps/"..name, instance.shm)
   end
   if class.push_link then
      if type(class.push_link) ~= "table" then
         error(("bad push_link value for app '%s' (must be a table)"):format(name))
      end
      instance.push_link = {}
      for port, method in pairs(class.push_link) do instance.push_link[port] = method end
   end
   app.configuration.apps[name] = { class = class, arg = arg }
end

function operations.stop_app (name)
   local instance = app.app_table[name]
   if instance.stop then as_app(name, instance.stop, instance) end
   if instance.shm then shm.delete_frame(instance.shm) end
   app.app_table[name] = nil
   app.configuration.apps[name] = nil
   outages[name], books[name] = nil, nil
end

function operations.reconfig_app (name, _, arg)
   if outages[name] then
      outages[name].arg = arg
   else
      local instance = app.app_table[name]
      as_app(name, instance.reconfig, instance, arg)
   end
   app.configuration.apps[name].arg = arg
end

local function apply (actions)
   for _, action in ipairs(actions) do
      local name, args = action[1], action[2]
      if app.log then io.write("engine: ", name, " ", tostring(args[1]), "\n") end
      local operation = operations[name] or error("unknown operation: "..tostring(name))
      operation(unpack(args, 1, table.maxn(args)))
   end
   app.compute_breathe_order()
end

-- Packets that are freed with their link belong to no app.
function app.apply_config_actions (actions) as_app(nil, apply, actions) end

-- The order of a breath

-- Nodes in topological order along `successors`, beginning at `entries`: the reverse of a depth-first search's post-order.
function app.tsort (nodes, entries, successors)
   local seen, post_order = {}, {}
   local function visit (node)
      if seen[node] then return end
      seen[node] = true
      for _, successor in ipairs(successors[node]) do visit(successor) end
      post_order[#post_order + 1] = node
   end
   for _, node in ipairs(entries) do visit(node) end
   for _, node in ipairs(nodes) do visit(node) end
   local order = {}
   for i = #post_order, 1, -1 do order[#order + 1] = post_order[i] end
   return order
end

-- A push for each link, upstream before downstream; pulls and ticks by name. One that would repeat the push before it is left out.
function app.compute_breathe_order ()
   local names, receivers, entries = {}, {}, {}
   local pulls, pushes, ticks = {}, {}, {}
   for name in pairs(app.app_table) do names[#names + 1] = name end
   table.sort(names)
   local function by_name (instances)
      return function (link_a, link_b) return instances[link_a].sort_key < instances[link_b].sort_key end
   end
   for _, name in ipairs(names) do
      local instance = app.app_table[name]
      -- Native apps are called without Lua, by their number.
      local number = instance.relink and instance.native or nil
      if number then instance:relink() end
      if instance.pull then pulls[#pulls + 1] = { instance.pull, instance, false, name, number } end
      if instance.tick then ticks[#ticks + 1] = { instance.tick, instance, false, name, number } end
      for port, l in pairs(instance.input) do
         if type(port) == "string" then
            local push = instance.push_link and instance.push_link[port] or instance.push
            receivers[l] = { instance = instance, push = push, sort_key = name.."."..port }
         end
      end
   end
   -- Links whose other end is not there lead nowhere.
   local function outputs (instance)
      local links, seen = {}, {}
      for _, l in pairs(instance.output) do
         if receivers[l] and not seen[l] then
            links[#links + 1] = l
            seen[l] = true
         end
      end
      table.sort(links, by_name(receivers))
      return links
   end
   local nodes, successors, is_entry = {}, {}, {}
   for l, receiver in pairs(receivers) do
      nodes[#nodes + 1] = l
      successors[l] = receiver.instance.pull and {} or outputs(receiver.instance)
   end
   for _, pull in ipairs(pulls) do
      for _, l in ipairs(outputs(pull[2])) do
         if not is_entry[l] then entries[#entries + 1] = l end
         is_entry[l] = true
      end
   end
   table.sort(nodes, by_name(receivers))
   table.sort(entries, by_name(receivers))
   local last
   for _, l in ipairs(app.tsort(nodes, entries, successors)) do
      local receiver = receivers[l]
      local is_repeated = last and last.instance == receiver.instance and last.push == receiver.push
      if receiver.push and not is_repeated then
         local instance = receiver.instance
         local number = instance.relink and instance.native or nil
         pushes[#pushes + 1] = { receiver.push, instance, l, instance.appname, number }
         last = receiver
      end
   end
   app.breathe_pull_order, app.breathe_push_order, app.breathe_ticks = pulls, pushes, ticks
   native.plan(pulls, pushes, ticks)
end
app.breathe_pull_order, app.breathe_push_order, app.breathe_ticks = {}, {}, {}

-- Running

local run

-- What an app raised goes on to the caller of the engine.
local function raise (failed, message)
   -- `nil` and a text if the engine itself has failed.
   if failed or (failed == nil and message) then error(message, 0) end
end

-- One breath: every app that pulls brings packets in, then pushes move them on, then ticks, when their time has come.
function app.breathe () raise(native.breathe()) end

-- Sleeps as `main` does between two breaths, for programs that breathe by themselves.
function app.pace_breathing () native.pace(app) end

-- Sets how often a second `tick` methods are called; 0 for never.
function app.enable_tick (frequency) native.set_tick(frequency or app.tick_Hz) end
app.enable_tick()

-- Apps that fail: each is stopped, and started again after a time that doubles with each failure. Until then, what comes to it is dropped.

-- The memory of packets that an app had when it failed is not used again, unless it is known which packets these are. When this part of all that
-- there can be is gone, apps that fail stay down.
local GONE_MAX = 1 / 4
local gone = 0

-- How many packets an app has, by what it has received and sent, and what its own turns have taken and freed. Others may have freed some of these: a
-- timer, or an app that shares a table with it.
local function has (name)
   local book = books[name]
   local sum = native.taken(name) + book.gone
   for l, entry in pairs(book.links) do sum = sum + entry.sign * (tonumber(l.stats[entry.counter].c) - entry.before) end
   return sum
end

function operations.book_link (name, direction, l)
   local entry = direction == "input" and { counter = "rxpackets", sign = 1 } or { counter = "txpackets", sign = -1 }
   entry.before = tonumber(l.stats[entry.counter].c)
   books[name].links[l] = entry
end

function operations.unbook_link (name, l)
   local book = books[name]
   local entry = book and book.links[l]
   if entry then
      book.gone = book.gone + entry.sign * (tonumber(l.stats[entry.counter].c) - entry.before)
      book.links[l] = nil
   end
end

-- In the place of an app that is down. All that the app was can still be read.
local function stand_in_of (instance)
   local function drain ()
      for _, l in ipairs(instance.input) do
         while not link.empty(l) do
            packet.free(link.receive(l))
            counter.add(app.dropped)
         end
      end
   end
   return setmetatable({ push = drain, pull = false, tick = false, push_link = false, link = false, unlink = false, stop = false, relink = false,
      native = false, report = false, shm = false }, { __index = instance })
end

local function in_words (seconds)
   return seconds < 1 and ("%d ms"):format(seconds * 1000) or ("%g s"):format(seconds)
end

-- On standard error, in lines that are the message's own: without control characters.
local function tell (...)
   local text = string.format(...)
   io.stderr:write((text:gsub("[%c\127]", function (c) return (c == "\n" or c == "\t") and c or ("\\%d"):format(c:byte()) end)), "\n")
end

local function failed_again (name, outage, message, traceback, held)
   local first, max = native.restart_first, native.restart_max
   local delay = outage.delay or first
   -- One that ran for long begins again with short times.
   if outage.ran and outage.ran > max then delay = first end
   outage.due, outage.delay = C.get_monotonic_time() + delay, math.min(delay * 2, max)
   local fate = "started again in "..in_words(delay)
   if gone >= native.packets_max * GONE_MAX then
      outage.due = math.huge
      fate = ("not started again, since apps that failed have lost the memory of %d packets, of %d that there can be"):format(gone, native.packets_max)
   end
   local lost = held > 0 and ("; %d packet%s that it had %s lost"):format(held, held == 1 and "" or "s", held == 1 and "is" or "are") or ""
   tell("error: app `%s`: %s%s%s\nnote: app `%s` is %s%s", name, tostring(message), traceback ~= "" and "\n" or "", traceback, name, fate, lost)
end

-- How many packets are in use and in no link. A worker of several does not know: packets come from others and go to them.
local function outside_of_links ()
   if app.workers > 1 then return math.huge end
   local count = native.in_use()
   for _, l in pairs(app.link_table) do count = count - link.nreadable(l) end
   return math.max(0, count)
end

-- Counts packets that an app had when it failed, and returns how many: what `has` says, at most those that are outside of links. In a sandbox,
-- `abandon` makes them free again.
local function lose (held, abandon, instance)
   held = math.max(0, math.min(held, outside_of_links()))
   if held > 0 then counter.add(app.lost, held) end
   local regained = native.sandbox and abandon and abandon(instance) or 0
   gone = math.min(gone + math.max(0, held - regained), outside_of_links())
   return held
end

-- Stops an instance that has failed, and counts the packets that it had as lost. Returns how many.
local function discard (name, instance)
   if instance.stop then as_app(name, pcall, instance.stop, instance) end
   -- What native apps take and free is not in these books.
   local is_native = instance.relink and instance.native
   local held = lose(is_native and 0 or has(name), instance.abandon, instance)
   if instance.shm then pcall(shm.delete_frame, instance.shm) end
   return held
end

-- Takes down the app that has raised an error. If it was none, or apps are not started again, the error goes on.
local function take_down (message)
   local name, traceback = native.failed_app()
   local instance = name and app.app_table[name]
   if not instance or not native.restart_first or outages[name] then error(message, 0) end
   native.failure_told()
   local held = discard(name, instance)
   local info = app.configuration.apps[name]
   local outage = { class = info.class, arg = info.arg, delay = books[name].delay, ran = C.get_monotonic_time() - books[name].since }
   outages[name] = outage
   app.app_table[name] = stand_in_of(instance)
   failed_again(name, outage, message, traceback, held)
   app.compute_breathe_order()
end

local function ports_of (instance, direction)
   local ports = {}
   for i, l in ipairs(instance[direction]) do
      for port, other in pairs(instance[direction]) do
         if type(port) == "string" and other == l then ports[i] = { port = port, link = l } end
      end
   end
   return ports
end

-- Starts an app that is down, with the links that it had.
local function start_again (name, outage)
   local stand_in = app.app_table[name]
   -- It is not started from within its start.
   outage.due = math.huge
   local ports = { input = ports_of(stand_in, "input"), output = ports_of(stand_in, "output") }
   local ok, why = pcall(function ()
      operations.start_app(name, outage.class, outage.arg)
      local instance = app.app_table[name]
      for direction, list in pairs(ports) do
         for _, one in ipairs(list) do
            instance[direction][one.port] = one.link
            table.insert(instance[direction], one.link)
            operations.book_link(name, direction, one.link)
            if instance.link then as_app(name, instance.link, instance, direction, one.port) end
         end
      end
      books[name].delay = outage.delay
      app.compute_breathe_order()
   end)
   if ok then
      outages[name] = nil
      return
   end
   -- It has changed the graph, and is not there any more.
   if outages[name] ~= outage then error(why, 0) end
   native.failure_told()
   outage.ran = nil
   -- It has become an instance, and failed later; or it has not.
   local instance = app.app_table[name]
   local held = instance ~= stand_in and discard(name, instance) or lose(has(name), outage.class.abandon)
   app.app_table[name] = stand_in
   failed_again(name, outage, "does not start: "..tostring(why), "", held)
   app.compute_breathe_order()
end

-- When the first app is started again.
local function next_start ()
   local due
   for _, outage in pairs(outages) do due = math.min(due or outage.due, outage.due) end
   return due
end

function run (done, deadline, timers)
   while true do
      local due = next_start()
      local failed, message = native.main(app, done, due and math.min(due, deadline or due) or deadline, timers)
      local now = C.get_monotonic_time()
      if failed == nil then error(message, 0) end
      if failed then
         as_app(nil, take_down, message)
      elseif not message or (deadline and now >= deadline) then
         return
      end
      for name, outage in pairs(outages) do
         if now >= outage.due then as_app(nil, start_again, name, outage) end
      end
   end
end

local latency
function app.enable_latency_histogram ()
   latency = latency or histogram.create("engine/latency.histogram", 1e-6, 1e0)
   core.latency = ffi.cast("void *", latency)
end

-- Breathes for `duration` seconds, or until `done` returns true, or for ever. Then prints what `report` asks for, unless `no_report`.
function app.main (options)
   options = options or {}
   assert(not (options.duration and options.done), "You can not have both 'duration' and 'done'")
   if options.measure_latency == false then core.latency = nil else app.enable_latency_histogram() end
   app.enable_tick()
   local deadline = options.duration and C.get_monotonic_time() + options.duration
   run(options.done, deadline, not options.no_timers and timer.run or nil)
   counter.commit()
   if not options.no_report then app.report(options.report) end
   if package.loaded["core.checked"] then
      for _, line in ipairs(require("core.checked").held()) do io.stderr:write("SNABB_DEBUG: ", line, "\n") end
   end
end

-- Reports

function app.report (options)
   if not options or options.showload then app.report_load() end
   if app.lost.c > 0 then print(("lost with failed apps: %s packets"):format(lib.comma_value(app.lost.c))) end
   if options and options.showlinks then app.report_links() end
   if options and options.showapps then app.report_apps() end
end

local before
-- Prints packets freed a second and a breath, and bytes a packet, since it was called last.
function app.report_load ()
   local time = app.now()
   local now = { time = time }
   for _, name in ipairs { "breaths", "frees", "freebits", "freebytes" } do
      now[name] = tonumber(counter.read(app[name]))
   end
   if before then
      local seconds = now.time - before.time
      local frees = now.frees - before.frees
      local per_packet = math.floor((now.freebytes - before.freebytes) / frees)
      print(("load: time: %-2.2fs  fps: %-9s fpGbps: %-3.3f fpb: %-3s bpp: %-4s sleep: %-4dus"):format(
         seconds, lib.comma_value(math.floor(frees / seconds)), (now.freebits - before.freebits) / seconds / 1e9,
         lib.comma_value(math.floor(frees / (now.breaths - before.breaths))),
         frees > 0 and tostring(per_packet) or "-", core.sleep_us))
   end
   before = now
end

function app.report_links ()
   print("link report:")
   local specs = {}
   for spec in pairs(app.link_table) do specs[#specs + 1] = spec end
   table.sort(specs)
   for _, spec in ipairs(specs) do
      local stats = link.stats(app.link_table[spec])
      local sent = stats.txpackets
      local lost = sent == 0 and 0 or stats.txdrop * 100 / (stats.txdrop + sent)
      print(("%20s sent on %s (loss rate: %d%%)"):format(lib.comma_value(sent), spec, lost))
   end
end

function app.report_apps ()
   print("apps report:")
   for name, instance in pairs(app.app_table) do
      if instance.report then
         print(name)
         instance:report()
      end
   end
end

-- Names of programs: a link `by-name/<name>` to the folder of the process

local function named (name) return shm.root.."/by-name/"..name end

-- Gives this process a name, in place of the one it has. It is an error if another has it.
function app.claim_name (name)
   if app.program_name == name then return end
   shm.mkdir("by-name")
   local own = shm.root.."/"..native.own_name
   assert(native.symlink(own, named(name)), "Name already taken.")
   if app.program_name then app.unclaim_name(app.program_name) end
   app.program_name = name
   assert(native.symlink(named(name), own.."/name"))
end

function app.unclaim_name (name)
   name = assert(name or app.program_name or nil, "No claim to name.")
   local own = assert(native.readlink(named(name)))
   native.remove(own.."/name")
   assert(native.remove(named(name)))
   app.program_name = false
end

-- The process ids of named programs that run, by name.
function app.enumerate_named_programs ()
   local programs = {}
   for _, name in ipairs(shm.children("/by-name")) do
      local folder = native.readlink(named(name))
      -- An engine beside the first of a process has a number behind that of the process.
      local pid = folder and tonumber(lib.basename(folder):match("^%d+"))
      if pid and native.alive(pid) then programs[name] = pid end
   end
   return programs
end

-- Logs and profiles that only Snabb's own virtual machine writes: the functions are there for programs that call them.
function app.timeline () return require("core.timeline").new() end
function app.randomize_log_rate () end
function app.enable_auditlog () end
function app.setvmprofile () end
function app.clearvmprofiles () end
app.app_events = setmetatable({}, { __index = function () return require("core.timeline").load_events() end })

return app
