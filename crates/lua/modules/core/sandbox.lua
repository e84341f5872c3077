-- Code that is not trusted. It gets globals of its own, in which every function is either harmless or defined here. It sees no C data: packets and
-- links are tables that hold numbers, and each function that is given one checks them. So a table that a program makes up is refused, or stands for
-- something that the program has.
--
-- Memory and time are limited from outside: `crates/lua/src/ffi/fence.rs`.
local ffi = require("ffi")
local bit = require("bit")
local native = require("core.native")
local app = require("core.app")
local config = require("core.config")
local lib = require("core.lib")
local link = require("core.link")
local nested = require("core.nested")
local packet = require("core.packet")
local timer = require("core.timer")
local core = native.core
local error, getmetatable, load, next, pcall, rawget, rawset, setmetatable, tostring, type =
   error, getmetatable, load, next, pcall, rawget, rawset, setmetatable, tostring, type
local write = io.write

local sandbox = {}
-- Whether the program is the class of an app in a graph of another engine.
local is_guest = false

-- Apps, links, and native apps started, that a program has at most: what they take is not Lua's memory.
local APPS_MAX, LINKS_MAX, STARTS_MAX = 256, 1024, 4096
-- Bytes of a name of an app or port, and of all options of native apps.
local NAME_MAX, OPTIONS_MAX = 60, 4e6
local ESCAPE = 27   -- Bytecode begins with it.

local function fail (level, ...) error(string.format(...), level + 1) end

-- A table whose missing fields are told: `what` is its name with a dot.
local function closed (what, fields)
   return setmetatable(fields, {
      __index = function (_, name)
         if type(name) == "string" then fail(2, "`%s%s` is not there in a sandbox", what, name) end
      end,
      __metatable = "closed",
   })
end

local function copy_of (module)
   local copy = {}
   for name, value in pairs(module) do copy[name] = value end
   return copy
end

-- Numbers

local function whole (value, low, high, what, level)
   if type(value) ~= "number" or not (value >= low and value <= high) or value % 1 ~= 0 then
      fail(level + 1, "%s must be a whole number from %d to %d, not %s", what, low, high, tostring(value))
   end
   return value
end

-- Packets: each that the program has is in a slot. A handle is the number of a slot, and how often that was used.

local SLOTS = native.sandbox.packets
-- Bytes between the places of two packets that are behind one another, less what is before them.
local MAX = packet.max_payload + packet.packet_alignment
local slots = ffi.new("struct packet *[?]", SLOTS)
local uses = ffi.new("uint32_t[?]", SLOTS)
local unused, nunused = ffi.new("int32_t[?]", SLOTS), SLOTS
-- By slot: the instance of an app that has taken the packet, or 0 for the program itself.
local owners = ffi.new("uint32_t[?]", SLOTS)
-- The instance whose code runs, the one whose `new` runs or has failed, and the one that began last.
local running, starting, instances = 0, 0, 0
for i = 0, SLOTS - 1 do unused[i] = SLOTS - 1 - i end

local methods, handle_mt = {}, { __metatable = "packet" }

-- The packet of a handle, which the program must have.
local function have (p, level)
   local slot = type(p) == "table" and rawget(p, "_slot")
   if type(slot) == "number" and slot >= 0 and slot < SLOTS and uses[slot] == rawget(p, "_use") then
      local raw = slots[slot]
      if raw ~= nil then return raw, slot end
   end
   fail(level + 1, "this is no packet, or one that was transmitted or freed")
end

-- A handle for a packet that `take` returns. All that can fail comes before that.
local function handle (take, arg, level)
   if nunused == 0 then fail(level + 1, "the sandbox has room for %d packets, and the program has them all", SLOTS) end
   local slot = unused[nunused - 1]
   local p = setmetatable({ _slot = slot, _use = uses[slot] }, handle_mt)
   local raw = take(arg)
   nunused = nunused - 1
   slots[slot], owners[slot] = raw, running
   return p
end

-- The program gives a packet away.
local function let_go (slot)
   slots[slot] = nil
   uses[slot] = uses[slot] + 1
   unused[nunused] = slot
   nunused = nunused + 1
end

local function at (raw, offset, size, level)
   -- Whatever happens to a packet, it has no more room than this.
   if raw.length > MAX then fail(level + 1, "this packet is broken") end
   if type(offset) ~= "number" or not (offset >= 0 and offset + size <= raw.length) or offset % 1 ~= 0 then
      fail(level + 1, "%d byte%s at %s of a packet of %d bytes", size, size == 1 and "" or "s", tostring(offset), raw.length)
   end
   return offset
end

local function resize (raw, length, level)
   packet.resize(raw, whole(length, 0, packet.max_payload, "a packet's length", level + 1))
end

function handle_mt.__index (p, key)
   if type(key) == "number" then
      local raw = have(p, 2)
      return raw.data[at(raw, key, 1, 2)]
   end
   if key == "length" then return (have(p, 2)).length end
   -- `p.data[i]` is `p[i]`.
   if key == "data" then
      have(p, 2)
      return p
   end
   return methods[key]
end

function handle_mt.__newindex (p, key, value)
   local raw = have(p, 2)
   if type(key) == "number" then
      raw.data[at(raw, key, 1, 2)] = whole(value, 0, 0xff, "a byte", 2)
   elseif key == "length" then
      resize(raw, value, 2)
   else
      fail(2, "a packet has no field `%s`", tostring(key))
   end
end

function handle_mt.__len (p) return (have(p, 2)).length end
function handle_mt.__tostring (p) return ("packet of %d bytes"):format((have(p, 2)).length) end

-- Numbers of 8, 16 and 32 bits, in network byte order.
function methods.u8 (p, offset)
   local raw = have(p, 2)
   return raw.data[at(raw, offset, 1, 2)]
end
function methods.u16 (p, offset)
   local raw = have(p, 2)
   local i = at(raw, offset, 2, 2)
   return raw.data[i] * 0x100 + raw.data[i + 1]
end
function methods.u32 (p, offset)
   local raw = have(p, 2)
   local i = at(raw, offset, 4, 2)
   return raw.data[i] * 0x1000000 + raw.data[i + 1] * 0x10000 + raw.data[i + 2] * 0x100 + raw.data[i + 3]
end
function methods.set_u8 (p, offset, value)
   local raw = have(p, 2)
   raw.data[at(raw, offset, 1, 2)] = whole(value, 0, 0xff, "a number of 8 bits", 2)
end
function methods.set_u16 (p, offset, value)
   local raw = have(p, 2)
   local i = at(raw, offset, 2, 2)
   whole(value, 0, 0xffff, "a number of 16 bits", 2)
   raw.data[i], raw.data[i + 1] = bit.rshift(value, 8), bit.band(value, 0xff)
end
function methods.set_u32 (p, offset, value)
   local raw = have(p, 2)
   local i = at(raw, offset, 4, 2)
   whole(value, 0, 0xffffffff, "a number of 32 bits", 2)
   raw.data[i], raw.data[i + 1] = bit.rshift(value, 24), bit.band(bit.rshift(value, 16), 0xff)
   raw.data[i + 2], raw.data[i + 3] = bit.band(bit.rshift(value, 8), 0xff), bit.band(value, 0xff)
end

-- Bytes as a string: all of them, or so many from an offset.
function methods.bytes (p, offset, count)
   local raw = have(p, 2)
   offset = offset == nil and 0 or offset
   at(raw, offset, 0, 2)
   count = count == nil and raw.length - offset or whole(count, 0, packet.max_payload * 2, "a number of bytes", 2)
   at(raw, offset, count, 2)
   return ffi.string(raw.data + offset, count)
end
-- Writes a string over what is there.
function methods.write (p, offset, text)
   local raw = have(p, 2)
   if type(text) ~= "string" then fail(2, "bytes are written from a string, not from a %s", type(text)) end
   ffi.copy(raw.data + at(raw, offset, #text, 2), text, #text)
end

function methods.free (p)
   local raw, slot = have(p, 2)
   let_go(slot)
   packet.free(raw)
end
function methods.clone (p) return handle(packet.clone, have(p, 2), 2) end
function methods.resize (p, length)
   resize(have(p, 2), length, 2)
   return p
end

local function text_of (text, length, level)
   if type(text) ~= "string" then fail(level + 1, "bytes are taken from a string, not from a %s", type(text)) end
   return text, length == nil and #text or whole(length, 0, #text, "a number of bytes of the string", level + 1)
end

-- Functions that change where the packet begins: the handle stays the same.
local function moved (slot, raw) slots[slot] = raw end

function methods.append (p, text, length)
   local raw = have(p, 2)
   text, length = text_of(text, length, 2)
   if raw.length + length > packet.max_payload then fail(2, "a packet has room for %d bytes", packet.max_payload) end
   packet.append(raw, text, length)
   return p
end
function methods.prepend (p, text, length)
   local raw, slot = have(p, 2)
   text, length = text_of(text, length, 2)
   if raw.length + length > packet.max_payload then fail(2, "a packet has room for %d bytes", packet.max_payload) end
   moved(slot, packet.prepend(raw, text, length))
   return p
end
function methods.shiftleft (p, count)
   local raw, slot = have(p, 2)
   moved(slot, packet.shiftleft(raw, whole(count, 0, raw.length, "a number of bytes to drop", 2)))
   return p
end
function methods.shiftright (p, count)
   local raw, slot = have(p, 2)
   moved(slot, packet.shiftright(raw, whole(count, 0, packet.max_payload - raw.length, "a number of bytes to open", 2)))
   return p
end

local function checked_from_string (text) return packet.append(packet.allocate(), text, #text) end

local packets = copy_of(methods)
packets.max_payload = packet.max_payload
function packets.allocate () return handle(packet.allocate, nil, 2) end
function packets.from_string (text)
   if type(text) ~= "string" or #text > packet.max_payload then
      fail(2, "a packet is made of a string of at most %d bytes", packet.max_payload)
   end
   return handle(checked_from_string, text, 2)
end
function packets.length (p) return (have(p, 2)).length end
function packets.data (p)
   have(p, 2)
   return p
end

-- Links: by number, what the program may do with each, and the link.

local ends, last_end = {}, 0
local end_mt = { __metatable = "link", __tostring = function (e) return "link "..tostring(rawget(e, "_end")) end }

local function new_end (role, l)
   last_end = last_end + 1
   ends[last_end] = { role = role, link = l }
   return setmetatable({ _end = last_end }, end_mt), last_end
end

local function the_end (e, role, level)
   local known = type(e) == "table" and ends[rawget(e, "_end")]
   if not known then fail(level + 1, "this is no link, or one that is gone") end
   if role and known.role ~= role then
      fail(level + 1, "packets are %s from %s", role == "input" and "received" or "transmitted", role == "input" and
         "inputs" or "outputs, and received from inputs")
   end
   return known.link
end

local links = { max = link.max }
function links.receive (e)
   local l = the_end(e, "input", 2)
   if link.empty(l) then fail(2, "the link is empty") end
   return handle(link.receive, l, 2)
end
function links.transmit (e, p)
   local l = the_end(e, "output", 2)
   local raw, slot = have(p, 2)
   let_go(slot)
   link.transmit(l, raw)
end
for _, name in ipairs { "empty", "full", "nreadable", "nwritable", "stats" } do
   local f = link[name]
   links[name] = function (e) return f(the_end(e, nil, 2)) end
end
end_mt.__index = links

-- Apps: the engine has a wrapper for each, whose links are C data. The program's own table, in `inner`, gets handles for them.

local function function_of (t, name)
   local f = t[name]
   if type(f) == "function" then return f end
end

local counters = {}

-- Counters are tables of the program.
local function make_counters (shm)
   if type(shm) ~= "table" then return end
   for name, spec in next, shm do
      if type(spec) == "table" and rawget(spec, 1) == counters then
         rawset(shm, name, counters.create(name, rawget(spec, 2)))
      end
   end
end

-- Calls a function of an instance, perhaps from within another's.
local function as (number, f, ...)
   local outer = running
   running = number
   local result = f(...)
   running = outer
   return result
end

-- Calls a function of the engine, which runs and starts instances. Afterwards the same code runs as before, also if one of them has failed.
local function run_engine (f, ...)
   local outer, outer_start = running, starting
   local ok, why = nested.whole(f, ...)
   running, starting = outer, outer_start
   if not ok then error(why, 0) end
end

-- Takes all packets from an instance. What it has given to others without a link goes as well: their handles lead nowhere from now on.
local function take_packets (number)
   local count = 0
   for slot = 0, SLOTS - 1 do
      local raw = slots[slot]
      if raw ~= nil and owners[slot] == number then
         let_go(slot)
         packet.free_internal(raw)
         count = count + 1
      end
   end
   return count
end

local function instance_of (number, class, inner)
   local self = { inner = inner }
   local handles = { input = {}, output = {} }
   rawset(inner, "input", {})
   rawset(inner, "output", {})
   make_counters(rawget(inner, "shm"))
   for _, name in ipairs { "pull", "tick", "stop", "report" } do
      local f = function_of(inner, name)
      if f then self[name] = function () as(number, f, inner) end end
   end
   local push = function_of(inner, "push")
   if push then
      function self.push (_, l)
         for _, one in pairs(handles.input) do
            if one.link == l then return as(number, push, inner, one.handle) end
         end
         as(number, push, inner)
      end
   end
   local reconfig = function_of(inner, "reconfig")
   if reconfig then function self:reconfig (arg) as(number, reconfig, inner, arg) end end

   local function relink (direction)
      local known, current, own = handles[direction], {}, {}
      for port, l in pairs(self[direction]) do
         if type(port) == "string" then
            local one = known[port]
            if not one or one.link ~= l then
               one = { link = l }
               one.handle, one.number = new_end(direction, l)
            end
            current[port], own[port] = one, one.handle
         end
      end
      for port, one in pairs(known) do
         if current[port] ~= one then ends[one.number] = nil end
      end
      for i, l in ipairs(self[direction]) do
         for _, one in pairs(current) do
            if one.link == l then own[i] = one.handle end
         end
      end
      handles[direction] = current
      local into = rawget(inner, direction)
      if type(into) ~= "table" then
         into = {}
         rawset(inner, direction, into)
      end
      for key in next, into do rawset(into, key, nil) end
      for key, value in pairs(own) do rawset(into, key, value) end
      rawset(inner, "appname", self.appname)
      local push_link = class.push_link
      if direction == "input" and type(push_link) == "table" then
         self.push_link = {}
         for port, one in pairs(current) do
            local f = function_of(push_link, port)
            if f then self.push_link[port] = function () as(number, f, inner, one.handle) end end
         end
      end
   end

   -- The app has failed: its links are another's. Returns how many packets it had.
   function self:abandon ()
      running = 0
      for _, known in pairs(handles) do
         for _, one in pairs(known) do ends[one.number] = nil end
      end
      return take_packets(number)
   end

   local told = { link = function_of(inner, "link"), unlink = function_of(inner, "unlink") }
   function self:link (direction, port)
      relink(direction)
      if told.link then as(number, told.link, inner, direction, port) end
   end
   function self:unlink (direction, port)
      relink(direction)
      local f = told.unlink or told.link
      if f then as(number, f, inner, direction, port) end
   end
   return self
end

local wrappers = setmetatable({}, { __mode = "k" })

local function checked_arg (class, arg)
   local parameters = rawget(class, "config") or class.config
   if type(parameters) ~= "table" then return arg end
   if arg ~= nil and type(arg) ~= "table" then error("the parameters of an app are a table in a sandbox", 0) end
   return lib.parse(arg, parameters)
end

-- The class that the engine gets for one of the program.
local function wrapper_of (class)
   local wrapper = wrappers[class]
   if wrapper then return wrapper end
   wrapper = {}
   -- An instance has not become one. Returns how many packets it had.
   function wrapper.abandon ()
      running = 0
      return starting > 0 and take_packets(starting) or 0
   end
   function wrapper.new (_, arg)
      starting = 0
      local new = function_of(class, "new") or error("a class has no function `new`", 0)
      instances = instances + 1
      local number = instances
      starting = number
      local inner = as(number, new, class, arg)
      if type(inner) ~= "table" or getmetatable(inner) == "packet" or getmetatable(inner) == "link" then
         error("`new` returns no table", 0)
      end
      local instance = instance_of(number, class, inner)
      starting = 0
      return instance
   end
   -- Whether there are such methods.
   for _, name in ipairs { "pull", "tick", "reconfig" } do wrapper[name] = function_of(class, name) and true or nil end
   wrapper.push = (function_of(class, "push") or type(class.push_link) == "table") and true or nil
   wrappers[class] = wrapper
   return wrapper
end

-- Native apps: those that touch nothing outside, and captures that the command line names.

local HARMLESS = lib.set("arp_responder", "bridge", "delay", "filter", "fragmenter", "gre", "icmp_echo", "join", "keyed_ipv6_tunnel", "match",
   "merge", "nd_responder", "queue", "rate_limiter", "reassembler", "rss", "sampler", "sink", "source", "split", "synth", "tee", "truncate",
   "vlan_mux", "vlan_tag", "vlan_untag", "vxlan")
local FILES = { pcap_reader = "read", pcap_writer = "write" }

local tokens = {}    -- By what the program has in place of a class: the name of the type, and the class.
local starts = 0

local apps = setmetatable({}, {
   __metatable = "closed",
   __index = function (t, name)
      if not (HARMLESS[name] or FILES[name]) then
         fail(2, "the native app `%s` is not there in a sandbox", tostring(name))
      end
      local token = closed(name..".", {})
      tokens[token] = { type = name, class = require("sluss.apps")[name] }
      rawset(t, name, token)
      return token
   end,
})

-- How much more the options of a configuration may take.
local room = 0

-- Options as a table of ours. Filters may name files after an `@`.
local function options_of (value, depth)
   local kind = type(value)
   room = room - 64 - (kind == "string" and #value or 0)
   if room < 0 then error(("the options of native apps have %d bytes at most in a sandbox"):format(OPTIONS_MAX), 0) end
   if kind == "string" then
      if value:find("@", 1, true) then error("options of native apps have no `@` in a sandbox, which names files", 0) end
   elseif kind == "table" then
      if depth > 8 then error("options are nested too deeply", 0) end
      local copy = {}
      for key, item in next, value do
         if type(key) ~= "string" and type(key) ~= "number" then error("options have names", 0) end
         if type(key) == "string" then room = room - #key end
         copy[key] = options_of(item, depth + 1)
      end
      return copy
   elseif kind ~= "number" and kind ~= "boolean" then
      error("an option is no text, number, boolean or table", 0)
   end
   return value
end

local function native_options (token, arg)
   local options = options_of(arg == nil and {} or arg, 0)
   local use = FILES[token.type]
   if use then
      for name in pairs(options) do
         if name ~= "path" then error(("`%s` takes a `path` alone in a sandbox, no `%s`"):format(token.type, tostring(name)), 0) end
      end
      if type(options.path) ~= "string" or not native.sandbox_allows(use, options.path) then
         error(("the sandbox gives no leave to %s %s: --sandbox-%s does"):format(use, tostring(options.path), use), 0)
      end
   end
   return options
end

-- What a program calls the engine

local configs = {}
function configs.new () return { apps = {}, links = {} } end

local function parts_of (c, level)
   local has_both = type(c) == "table" and type(rawget(c, "apps")) == "table" and type(rawget(c, "links")) == "table"
   if not has_both then fail(level + 1, "this is no configuration: config.new() makes one") end
   return rawget(c, "apps"), rawget(c, "links")
end

local function is_name (name) return type(name) == "string" and #name <= NAME_MAX and name:find("^[%w_]+$") ~= nil end

local function checked_link (spec, level)
   if type(spec) ~= "string" then fail(level + 1, "a link is a text") end
   -- Four names, and what is between them.
   if #spec > 5 * NAME_MAX then fail(level + 1, "names of apps and ports have at most %d letters", NAME_MAX) end
   for _, name in ipairs { config.parse_link(spec) } do
      if #name > NAME_MAX then fail(level + 1, "names of apps and ports have at most %d letters: `%s`", NAME_MAX, name) end
   end
   return config.canonical_link(spec)
end

function configs.app (c, name, class, arg)
   local all = parts_of(c, 2)
   if not is_name(name) then fail(2, "the name of an app has letters, digits and _, and at most %d of them", NAME_MAX) end
   if type(class) ~= "table" then fail(2, "class must be a table") end
   if not tokens[class] then
      local ok, result = pcall(checked_arg, class, arg)
      if not ok then fail(2, "failed to configure '%s': %s", name, tostring(result)) end
      arg = result
   end
   rawset(all, name, { class = class, arg = arg })
end

function configs.link (c, spec)
   local _, all = parts_of(c, 2)
   rawset(all, checked_link(spec, 2), true)
end

local engine = { app_table = {}, link_table = {}, placement = {}, pull_npackets = app.pull_npackets, worker = app.worker, workers = app.workers,
   busywait = false, maxsleep = app.maxsleep, now = app.now, report_links = app.report_links, report_apps = function () run_engine(app.report_apps) end,
   report_load = app.report_load }

local watched = {}

local function refill (t, values)
   for key in next, t do rawset(t, key, nil) end
   for key, value in pairs(values) do rawset(t, key, value) end
end

-- Shows the program what runs.
local function show ()
   local all, all_links = {}, {}
   for name, instance in pairs(app.app_table) do
      if instance.inner then
         rawset(instance.inner, "appname", name)
         all[name] = instance.inner
      elseif instance.counters then
         all[name] = { counters = function () return instance:counters() end }
      end
   end
   for spec, l in pairs(app.link_table) do
      local one = watched[spec]
      if not one or one.link ~= l then
         one = { link = l }
         one.handle, one.number = new_end("watched", l)
         watched[spec] = one
      end
      all_links[spec] = one.handle
   end
   for spec, one in pairs(watched) do
      if not all_links[spec] then
         ends[one.number] = nil
         watched[spec] = nil
      end
   end
   refill(engine.app_table, all)
   refill(engine.link_table, all_links)
end

-- Of a class for a graph, its file and `new` are one turn, which nothing suspends.
local function outside_of_graphs (level)
   if is_guest then fail(level + 1, "an app does not run the engine: it is run by it") end
end

function engine.configure (c)
   outside_of_graphs(2)
   local all, all_links = parts_of(c, 2)
   local new, count = config.new(), 0
   room = OPTIONS_MAX
   for name, info in next, all do
      count = count + 1
      if count > APPS_MAX then fail(2, "a program in a sandbox has at most %d apps", APPS_MAX) end
      if not is_name(name) or type(info) ~= "table" or type(rawget(info, "class")) ~= "table" then
         fail(2, "this is no app: config.app() adds one")
      end
      local token = tokens[info.class]
      if token then
         starts = starts + 1
         if starts > STARTS_MAX then fail(2, "a program in a sandbox configures at most %d native apps", STARTS_MAX) end
         config.app(new, name, token.class, native_options(token, info.arg))
      else
         config.app(new, name, wrapper_of(info.class), info.arg)
      end
   end
   count = 0
   for spec in next, all_links do
      count = count + 1
      if count > LINKS_MAX then fail(2, "a program in a sandbox has at most %d links", LINKS_MAX) end
      config.link(new, checked_link(spec, 2))
   end
   app.placement = {}
   for name, worker in next, engine.placement do
      if type(worker) == "number" then app.placement[name] = worker end
   end
   run_engine(app.configure, new)
   show()
end

function engine.stop () engine.configure(configs.new()) end

local function outside_of_apps (level)
   outside_of_graphs(level + 1)
   if core.running ~= 0 then fail(level + 1, "an app does not run the engine: it is run by it") end
end

local function settings ()
   app.busywait = rawget(engine, "busywait") == true
   for _, name in ipairs { "Hz", "maxsleep" } do
      local value = rawget(engine, name)
      app[name] = type(value) == "number" and value or (name == "maxsleep" and 100)
   end
end

function engine.breathe ()
   outside_of_apps(2)
   run_engine(app.breathe)
end

function engine.main (options)
   outside_of_apps(2)
   if options ~= nil and type(options) ~= "table" then fail(2, "options are a table") end
   options = options or {}
   local given = { no_report = options.no_report and true or nil, measure_latency = false }
   if options.duration ~= nil then given.duration = whole(math.ceil(options.duration), 0, 2^53, "a duration", 2) and options.duration end
   if options.done ~= nil then
      if type(options.done) ~= "function" then fail(2, "`done` is a function") end
      given.done = options.done
   end
   if type(options.report) == "table" then
      given.report = {}
      for _, name in ipairs { "showload", "showlinks", "showapps" } do given.report[name] = options.report[name] and true or nil end
   end
   settings()
   run_engine(app.main, given)
end

function counters.create (_, initial) return { c = tonumber(initial) or 0 } end
function counters.add (c, value) c.c = c.c + (value or 1) end
function counters.set (c, value) c.c = value end
function counters.read (c) return c.c end

local timers = { cancel = timer.cancel }
function timers.new (name, fn, nanoseconds, mode)
   if type(fn) ~= "function" then fail(2, "a timer calls a function") end
   nanoseconds = type(nanoseconds) == "cdata" and tonumber(nanoseconds) or nanoseconds
   return timer.new(name, fn, whole(nanoseconds, 1, 2^53, "a time in nanoseconds", 2), mode)
end
function timers.activate (t)
   if type(t) ~= "table" or type(t.fn) ~= "function" then fail(2, "this is no timer: timer.new() makes one") end
   t.ticks = whole(t.ticks, 1, 2^53, "a time in ticks", 2)
   timer.activate(t)
end

local libs = {}
for _, name in ipairs { "equal", "bits", "bitset", "hexdump", "comma_value", "yesno", "align", "deepcopy", "array_copy", "set", "htonl", "htons", "ntohl",
   "ntohs", "throttle", "timeout", "parse" } do
   libs[name] = lib[name]
end
function libs.hexundump (text, count)
   local bytes = {}
   for digits in text:gmatch("%s*(%x%x)") do bytes[#bytes + 1] = string.char(tonumber(digits, 16)) end
   if count and #bytes < count then fail(2, "Wanted %d bytes, but only got %d", count, #bytes) end
   return table.concat(bytes, "", 1, count or #bytes)
end

-- The globals

local env = {}

local function clean (text) return (text:gsub("[%c\127]", function (c) return c == "\n" and c or c == "\t" and c or ("\\%d"):format(c:byte()) end)) end

for _, name in ipairs { "assert", "error", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable",
   "tonumber", "tostring", "type", "unpack", "_VERSION" } do
   env[name] = _G[name]
end
env._G = env

-- What a program prints has no control characters.
function env.print (...)
   local texts = {}
   for i = 1, select("#", ...) do
      local text = tostring((select(i, ...)))
      texts[i] = type(text) == "string" and clean(text) or "?"
   end
   write(table.concat(texts, "\t"), "\n")
end

function env.getmetatable (value)
   if type(value) ~= "table" then fail(2, "in a sandbox, `getmetatable` is for tables, not for a %s", type(value)) end
   return (getmetatable(value))
end

-- The handler is called when the error is caught: none runs inside of it.
function env.xpcall (f, handler, ...)
   local function finish (ok, ...)
      if ok then return true, ... end
      return false, handler((...))
   end
   return finish(pcall(f, ...))
end

function env.collectgarbage (what)
   if what == nil or what == "collect" or what == "step" or what == "count" then return collectgarbage(what or "collect") end
   fail(2, "`collectgarbage` does no `%s` in a sandbox", tostring(what))
end

local function compile (text, name, scope)
   if text:byte(1) == ESCAPE then return nil, "bytecode is not loaded in a sandbox" end
   return load(text, name, "t", scope)
end

-- Text only, and always with the globals of the sandbox, or with those that are given.
function env.load (chunk, name, mode, ...)
   local text = chunk
   if type(chunk) == "function" then
      local pieces = {}
      while true do
         local piece = chunk()
         if piece == nil or piece == "" then break end
         if type(piece) ~= "string" then fail(2, "the function of `load` returns strings") end
         pieces[#pieces + 1] = piece
      end
      text = table.concat(pieces)
   end
   if type(text) ~= "string" then fail(2, "`load` takes a string or a function") end
   if mode ~= nil and (type(mode) ~= "string" or not mode:find("t", 1, true)) then
      return nil, "bytecode is not loaded in a sandbox"
   end
   local scope = env
   if select("#", ...) > 0 then scope = (...) end
   if type(scope) ~= "table" then fail(2, "the environment of `load` is a table") end
   return compile(text, "="..clean(type(name) == "string" and name or "(load)"), scope)
end
function env.loadstring (text, name)
   if type(text) ~= "string" then fail(2, "`loadstring` takes a string") end
   return compile(text, "="..clean(type(name) == "string" and name or "(load)"), env)
end

-- Also as a method of strings.
function string.dump () error("`string.dump` is not there in a sandbox", 2) end
string.format, string.gsub = nested.format, nested.gsub
getmetatable("").__metatable = "string"

env.string, env.table, env.math = closed("string.", copy_of(string)), closed("table.", copy_of(table)), closed("math.", copy_of(math))
env.bit, env.coroutine = closed("bit.", copy_of(bit)), closed("coroutine.", copy_of(coroutine))
env.coroutine.resume, env.coroutine.wrap, env.table.sort = nested.resume, nested.wrap, nested.sort
env.os = closed("os.", { clock = os.clock, time = nested.time })
env.config, env.engine, env.link, env.packet, env.timer = configs, engine, links, packets, timers
local main = { parameters = {} }
function main.exit (status) native.exit(type(status) == "number" and status % 256 or (status == false and 1 or 0)) end
env.main = main

local FORBIDDEN = lib.set("io", "debug", "jit", "ffi", "package", "module", "dofile", "loadfile", "getfenv", "setfenv", "newproxy", "gcinfo")
setmetatable(env, {
   __index = function (_, name)
      if FORBIDDEN[name] then fail(2, "`%s` is not there in a sandbox", name) end
   end,
   __metatable = "_G",
})

-- Modules: those here, and files beside the program.

local modules = {
   ["core.app"] = engine, ["core.config"] = configs, ["core.link"] = links, ["core.packet"] = packets, ["core.lib"] = libs, ["core.counter"] = counters,
   ["core.timer"] = timers, ["core.main"] = main, ["sluss.apps"] = apps, bit = env.bit, string = env.string, table = env.table, math = env.math,
   coroutine = env.coroutine, os = env.os,
}
local folder = "."
local loading = {}

-- How messages call a file. What begins as our own modules do is not one of them.
local function chunk_name (file) return "@"..(file:find("^sluss/") and "./" or "")..file end

function env.require (name)
   if type(name) ~= "string" then fail(2, "the name of a module is a string") end
   local module = modules[name]
   if module ~= nil then return module end
   if name == "ffi" then fail(2, "`ffi` is not there in a sandbox: packets have methods, such as p:u16(12)") end
   if FORBIDDEN[name] or name:find("^jit%.") then fail(2, "`%s` is not there in a sandbox", name) end
   if not name:find("^[%w_%-]+[%w_%-.]*$") or name:find("..", 1, true) then fail(2, "`%s` is no name of a module in a sandbox", clean(name)) end
   if loading[name] then fail(2, "module `%s` requires itself", name) end
   local text, file = native.sandbox_module(folder, name)
   if not text then fail(2, "module `%s` is not there in a sandbox: neither among its own nor beside the program", name) end
   local chunk, why = compile(text, chunk_name(file), env)
   if not chunk then error(why, 0) end
   loading[name] = true
   local ok, value = pcall(chunk, name)
   loading[name] = nil
   if not ok then error(value, 0) end
   if value == nil then value = true end
   modules[name] = value
   return value
end

-- A file's chunk, whose modules are beside it.
local function chunk_of (text, name)
   if name:sub(1, 1) == "@" then
      local file = name:sub(2)
      folder = file:match("^(.*)/[^/]*$") or "."
      if folder == "" then folder = "/" end
      name = chunk_name(file)
   end
   local chunk, why = compile((text:gsub("^#[^\n]*", "")), name, env)
   if not chunk then
      native.not_lua()
      error(why, 0)
   end
   return chunk
end

-- Runs a program, as `core.program` does.
function sandbox.run (text, name, ...)
   local arguments = { ... }
   main.parameters = arguments
   rawset(env, "arg", { [0] = name:sub(2), unpack(arguments) })
   local result = chunk_of(text, name)(...)
   if type(result) == "table" and type(rawget(result, "run")) == "function" then result.run(arguments) end
end

-- The class in a file, for an app of a graph that is not Lua's.
function sandbox.class (text, file, name)
   is_guest = true
   local result = chunk_of(text, "@"..file)(file:match("([^/]+)%.lua$") or file)
   local class = result
   if name ~= "" then class = type(result) == "table" and result[name] or rawget(env, name) end
   if type(class) ~= "table" then return nil end
   local wrapper = wrapper_of(class)
   local new = wrapper.new
   local function check (arg) return checked_arg(class, arg) end
   return setmetatable({ check = check, new = function (_, arg) return new(nil, check(arg)) end }, { __index = wrapper })
end

-- Garbage counts until it is collected: more often than usual.
collectgarbage("setpause", 120)

return sandbox
