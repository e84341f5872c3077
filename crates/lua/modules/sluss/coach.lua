-- An optimisation coach: watches LuaJIT's compiler while a program runs, weighs what it meets by where time goes, and says what to write
-- instead.
--
--     trace events ──► aborts, by place and reason ─┐
--     bytecode of compiled loops ───────────────────┼─► findings, by their share of the time ──► text, JSON, HTML
--     samples, by line and by what the machine does ┘
--
-- A place counts when time goes by there: an abort in code that runs once is nobody's loss.
local jit = require("jit")
local util = require("jit.util")
local vmdef = require("jit.vmdef")
local profile = require("jit.profile")
local bit = require("bit")
local advice = require("sluss.coach.advice")

local M = {}

local format, floor = string.format, math.floor

-- Samples are taken so often. The profiler counts CPU time.
local INTERVAL_MS = 1
-- Below this share of the time a place is no finding.
local SHARE_MIN = 0.02
-- Fewer samples say nothing.
local SAMPLES_MIN = 25
-- A hot loop that is left this often into compiled code that begins it anew.
local RESTARTS_MIN = 8
-- Values that a compiled loop keeps at an exit.
local LIVE_MIN = 40
-- Conversions between integers and floating point in one round of a loop.
local CONVERSIONS_MIN = 2
-- Look-ups of globals in one round of a loop.
local GLOBALS_MIN = 2
-- Recordings from one place that a sample has ended: each took about as long as the time between two.
local CUT_MIN = 3
local CUT = "error thrown or hook called"

-- What the machine does when a sample is taken, by the profiler's letter.
local STATES = { N = "compiled", I = "interpreted", C = "c", G = "gc", J = "compiling" }

local state

-- Where a bytecode stands: its file and line, and the function around it.
local function place(func, pc)
   local info = util.funcinfo(func, pc)
   if info.loc then
      local file = info.source and info.source:gsub("^@", "") or "?"
      return { file = file, line = info.currentline or info.linedefined, from = info.linedefined, to = info.lastlinedefined }
   elseif info.ffid then
      return { builtin = vmdef.ffnames[info.ffid] }
   elseif info.addr then
      return { builtin = format("C function %x", tonumber(info.addr)) }
   end
   return { file = "?", line = 0, from = 0, to = 0 }
end

local function key(at)
   return at.file and at.file .. ":" .. at.line or at.builtin
end

-- The reason of an abort in LuaJIT's words, as jit.v has it.
local function reason_of(code, detail)
   if type(code) ~= "number" then return tostring(code) end
   if type(detail) == "function" then
      local at = place(detail)
      detail = key(at)
   end
   local ok, text = pcall(format, vmdef.traceerr[code] or "?", detail)
   text = ok and text or vmdef.traceerr[code]
   -- A bytecode is given by its number.
   return (text:gsub("bytecode (%d+)", function (number)
      local at = tonumber(number) * 6
      return "bytecode " .. vmdef.bcnames:sub(at + 1, at + 6):gsub("%s+$", "")
   end))
end

-- The name of a bytecode.
local function operation(func, pc)
   local ins = util.funcbc(func, pc)
   if not ins then return "" end
   local at = bit.band(ins, 0xff) * 6
   return (vmdef.bcnames:sub(at + 1, at + 6):gsub("%s+$", ""))
end

-- Whether LuaJIT has given up a loop or a function: its first bytecode says so.
local GIVEN_UP = { IFORL = true, IITERL = true, ILOOP = true, IFUNCF = true, IFUNCV = true }

local function on_trace(what, trace, func, pc, code, detail)
   if what == "start" then
      state.starts[trace] = { at = place(func, pc), func = func, pc = pc }
      state.recorded[trace] = {}
   elseif what == "abort" then
      local start, at = state.starts[trace], place(func, pc)
      local reason = reason_of(code, detail)
      -- Where a built-in stops it, its caller is the place.
      if not at.file then at = state.last or (start and start.at) or at end
      local id = key(at) .. "\0" .. reason
      local abort = state.aborts[id]
      if not abort then
         abort = { at = at, reason = reason, tries = 0, start = start }
         state.aborts[id] = abort
         state.order[#state.order + 1] = abort
      end
      abort.tries = abort.tries + 1
   elseif what == "stop" then
      local info = util.traceinfo(trace)
      state.traces[trace] = { start = state.starts[trace], lines = state.recorded[trace], func = func }
      local callee = place(func)
      -- A trace ends before a call that cannot be compiled, and another begins behind it, or none does.
      if info and (info.linktype == "stitch" or (info.linktype == "return" and callee.builtin)) then
         state.stitches[#state.stitches + 1] = { at = state.last or callee, callee = callee.builtin or key(callee) }
      end
   elseif what == "flush" then
      state.flushes = state.flushes + 1
      state.traces, state.starts, state.recorded = {}, {}, {}
   end
end

-- Each bytecode that is recorded: which lines a trace has, and which of them look up globals.
local function on_record(trace, func, pc)
   local info = util.funcinfo(func, pc)
   if not info.loc then return end
   local at = place(func, pc)
   state.last = at
   local lines = state.recorded[trace]
   if not lines then return end
   local id = key(at)
   local line = lines[id]
   if not line then
      line = { at = at, globals = 0 }
      lines[id] = line
   end
   if operation(func, pc) == "GGET" then line.globals = line.globals + 1 end
end

local function on_sample(thread, samples, vmstate)
   if state.is_over then return end
   state.samples = state.samples + samples
   local what = STATES[vmstate] or "interpreted"
   state.by_state[what] = (state.by_state[what] or 0) + samples
   local id = profile.dumpstack(thread, "pl", 1)
   local line = state.lines[id]
   if not line then
      line = { total = 0 }
      state.lines[id] = line
   end
   line.total = line.total + samples
   line[what] = (line[what] or 0) + samples
end

--- Begins to watch.
function M.start()
   state = {
      starts = {}, recorded = {}, traces = {}, aborts = {}, order = {}, stitches = {},
      samples = 0, by_state = {}, lines = {}, flushes = 0, began = os.clock(),
   }
   jit.attach(on_trace, "trace")
   jit.attach(on_record, "record")
   profile.start("li" .. INTERVAL_MS, on_sample)
end

-- Samples of the lines from `from` to `to` of a file, of some states.
local function samples_within(file, from, to, states)
   local sum = 0
   for id, line in pairs(state.lines) do
      local source, number = id:match("^(.*):(%d+)$")
      number = tonumber(number)
      if source == file and number and number >= from and number <= to then
         for _, what in ipairs(states) do sum = sum + (line[what] or 0) end
      end
   end
   return sum
end

local NOT_COMPILED = { "interpreted", "c", "gc", "compiling" }
local ALL = { "compiled", "interpreted", "c", "gc", "compiling" }

-- The lines of the loop, or of the function, that a bytecode begins.
local function extent(start)
   if not start or not start.func then return nil end
   local func, op = start.func, operation(start.func, start.pc)
   local from, to = start.pc, start.pc
   if op:find("FORL$") then
      -- It stands at the loop's end. Loops within have a pair of their own.
      local depth = 1
      while from > 1 and depth > 0 do
         from = from - 1
         local at = operation(func, from)
         if at:find("FORL$") then depth = depth + 1 elseif at:find("FORI$") then depth = depth - 1 end
      end
   elseif op:find("ITERL$") or op:find("ITERN$") or op:find("LOOP$") then
      -- A jump leads to the other end, unless the loop was compiled since.
      local ins = util.funcbc(func, start.pc)
      local target = start.pc + 1 + bit.rshift(ins, 16) - 0x8000
      if not op:find("^J") and util.funcbc(func, target) then from, to = math.min(from, target), math.max(to, target) end
   else
      while util.funcbc(func, to + 1) do to = to + 1 end
   end
   local first, last = start.at.line, start.at.line
   for pc = from, to do
      local line = util.funcinfo(func, pc).currentline
      if line then first, last = math.min(first, line), math.max(last, line) end
   end
   return first, last
end

-- The texts of source files, by line.
local sources = {}
local function text_of(file, line)
   if not sources[file] then
      sources[file] = {}
      local handle = io.open(file)
      if handle then
         for text in handle:lines() do sources[file][#sources[file] + 1] = text end
         handle:close()
      end
   end
   return sources[file][line]
end

local function add(findings, finding)
   -- What is in the executable, who runs a program cannot change.
   if finding.at.file:find("^sluss/") then return end
   if finding.samples >= SHARE_MIN * state.samples then
      finding.share = finding.samples / state.samples
      finding.text = text_of(finding.at.file, finding.at.line)
      findings[#findings + 1] = finding
   end
end

-- Adds to the findings by place the loops whose recording was ended by samples again and again: they are too long, too.
local function cut_off(best)
   local cuts = {}
   for _, abort in ipairs(state.order) do
      if abort.reason:find(CUT) and abort.start and abort.start.at.file then
         local id = key(abort.start.at)
         cuts[id] = cuts[id] or { start = abort.start, tries = 0 }
         cuts[id].tries = cuts[id].tries + abort.tries
      end
   end
   for id, cut in pairs(cuts) do
      local at = cut.start.at
      local from, to = extent(cut.start)
      local is_known = false
      for _, finding in pairs(best) do
         is_known = is_known or (finding.at.file == at.file and finding.at.line >= from and finding.at.line <= to)
      end
      if cut.tries >= CUT_MIN and not is_known then
         best[id] = {
            at = at, kind = "too_long", reason = format("recording takes longer than %d ms", INTERVAL_MS), tries = cut.tries,
            given_up = GIVEN_UP[operation(cut.start.func, cut.start.pc)] or false, samples = samples_within(at.file, from, to, NOT_COMPILED),
         }
      end
   end
end

-- What stopped the compiler, with the time that the code around it then takes uncompiled.
local function aborted(findings)
   local best = {}
   for _, abort in ipairs(state.order) do
      local start = abort.start
      local given_up = start and start.func and GIVEN_UP[operation(start.func, start.pc)] or false
      local at = abort.at
      local samples = 0
      if at.file then
         local from, to = extent(start)
         samples = samples_within(at.file, at.line, at.line, NOT_COMPILED)
         if from and start.at.file then
            samples = math.max(samples, samples_within(start.at.file, from, to, NOT_COMPILED))
         end
         local kind = advice.of_reason(abort.reason, text_of(at.file, at.line))
         local finding = {
            at = at, kind = kind, reason = abort.reason, tries = abort.tries, given_up = given_up, samples = samples,
         }
         -- One finding a line: that which was met most.
         local id = key(at)
         if kind ~= "warm_up" and (not best[id] or best[id].tries < finding.tries) then best[id] = finding end
      end
   end
   cut_off(best)
   local ids = {}
   for id in pairs(best) do ids[#ids + 1] = id end
   table.sort(ids)
   for _, id in ipairs(ids) do add(findings, best[id]) end
end

-- Calls of built-in functions that are not compiled, around which traces are sewn together.
local function stitched(findings)
   local seen = {}
   for _, stitch in ipairs(state.stitches) do
      local at = stitch.at
      if at.file and not seen[key(at) .. stitch.callee] then
         seen[key(at) .. stitch.callee] = true
         add(findings, {
            at = at, kind = "builtin", reason = "NYI: " .. stitch.callee, tries = 0, given_up = false,
            samples = samples_within(at.file, at.line, at.line, NOT_COMPILED),
         })
      end
   end
end

-- The name of an instruction of the intermediate form.
local function instruction(m, ot)
   local at = bit.rshift(ot, 8) * 6
   return (vmdef.irnames:sub(at + 1, at + 6):gsub("%s+$", ""))
end

-- What a compiled loop does in each round.
local function anatomy(trace)
   local info = util.traceinfo(trace)
   if not info then return nil end
   local found = { allocations = 0, conversions = 0, live = 0, link = info.link, linktype = info.linktype }
   local in_loop = info.linktype ~= "loop"
   for ins = 1, info.nins do
      local m, ot, op1, op2, ridsp = util.traceir(trace, ins)
      if not m then break end
      local name = instruction(m, ot)
      if name == "LOOP" then in_loop = true end
      -- What escapes from no round is not allocated: it is sunk, which its register says.
      local register = bit.band(ridsp, 0xff)
      local sunk = register == 253 or register == 254
      if in_loop then
         if not sunk and (name == "CNEW" or name == "CNEWI" or name == "TNEW" or name == "TDUP") then
            found.allocations = found.allocations + 1
            found.allocated = name
         elseif name == "CONV" then
            -- Types: the lower five bits of each; 14 is a number, 19 an int.
            local to, from = bit.band(ot, 31), bit.band(op2, 31)
            if (to == 14) ~= (from == 14) then found.conversions = found.conversions + 1 end
            found.truncates = found.truncates or (to ~= 14 and from == 14)
         end
      end
   end
   for number = 0, info.nexit - 1 do
      local snapshot = util.tracesnap(trace, number)
      if snapshot then found.live = math.max(found.live, #snapshot - 2) end
   end
   return found
end

-- Samples of the lines of a trace, and its hottest line that `suits`.
local function weight(trace, states, suits)
   local sum, hottest, most = 0, nil, -1
   for _, line in pairs(trace.lines or {}) do
      local samples = samples_within(line.at.file, line.at.line, line.at.line, states)
      sum = sum + samples
      if (not suits or suits(line)) and samples > most then
         hottest, most = line.at, samples
      end
   end
   return sum, hottest, most
end

local function allocates(line)
   local text = text_of(line.at.file, line.at.line) or ""
   return text:find("ffi%.new") or text:find("ffi%.cast") or text:find("%f[%w]new%(") or text:find("cast%(")
      or text:find("[%w_]+_t%(") or text:find("{")
end

-- Whether a line may make doubles of integers.
local function divides(line)
   local text = text_of(line.at.file, line.at.line) or ""
   return text:find("/") or text:find("%^") or text:find("%d%.%d") or text:find("math%.")
end

-- What compiled code does that it need not.
local function compiled(findings)
   local children = {}
   for number in pairs(state.traces) do
      local info = util.traceinfo(number)
      if info and info.link ~= number and info.linktype == "root" then
         children[info.link] = (children[info.link] or 0) + 1
      end
   end
   local seen = {}
   for number, trace in pairs(state.traces) do
      local found = anatomy(number)
      local function once(kind, at, samples, reason)
         local id = kind .. key(at)
         if not seen[id] then
            seen[id] = true
            add(findings, { at = at, kind = kind, reason = reason, tries = 0, given_up = false, samples = samples })
         end
      end
      if found and trace.lines then
         local sum, hottest = weight(trace, ALL)
         if found.allocations > 0 then
            local _, at, samples = weight(trace, ALL, allocates)
            if not at then at, samples = hottest, sum end
            local kind = (found.allocated == "TNEW" or found.allocated == "TDUP") and "table" or "escape"
            if at then
               local cast = (text_of(at.file, at.line) or ""):find("cast%(")
               once(kind == "escape" and cast and "cast" or kind, at, samples,
                  format("%d allocation%s in each round", found.allocations, found.allocations == 1 and "" or "s"))
            end
         end
         -- One way alone may be what is asked for: an element of a table is a double.
         if hottest and found.truncates and found.conversions >= CONVERSIONS_MIN then
            local _, at = weight(trace, ALL, divides)
            once("conversion", at or hottest, sum, format("%d conversions between integers and doubles in each round", found.conversions))
         end
         if hottest and found.linktype == "loop" and (children[number] or 0) >= RESTARTS_MIN then
            once("restarts", trace.start and trace.start.at or hottest, sum,
               format("%d ways out of the loop begin it anew", children[number]))
         end
         if hottest and found.live >= LIVE_MIN then
            once("live", hottest, sum, format("%d values are kept for an exit of the loop", found.live))
         end
         local globals, where, most = 0, nil, 0
         for _, line in pairs(trace.lines) do
            globals = globals + line.globals
            if line.globals > most then where, most = line.at, line.globals end
         end
         if where and globals >= GLOBALS_MIN then
            once("globals", where, (weight(trace, ALL, function (line) return line.globals > 0 end)), format("%d look-ups of globals in each round", globals))
         end
      end
   end
end

--- Ends the watch, and returns what was found.
function M.stop()
   state.is_over = true
   jit.attach(on_trace)
   jit.attach(on_record)
   local seconds = os.clock() - state.began
   local findings = {}
   aborted(findings)
   stitched(findings)
   compiled(findings)
   -- Last, since it throws away all compiled code.
   profile.stop()
   table.sort(findings, function (a, b)
      if a.samples ~= b.samples then return a.samples > b.samples end
      return key(a.at) .. a.kind < key(b.at) .. b.kind
   end)
   local shares = {}
   for what, samples in pairs(state.by_state) do shares[what] = samples / math.max(state.samples, 1) end
   return {
      findings = findings, samples = state.samples, shares = shares, seconds = seconds,
      flushes = state.flushes, lines = state.lines, is_short = state.samples < SAMPLES_MIN, text_of = text_of,
   }
end

return M
