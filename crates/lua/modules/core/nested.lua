-- Functions of Lua's libraries that call back, for code that is not trusted. Where a function in C calls back, it takes some of the thread's stack,
-- which LuaJIT does not count: a program that goes on so would end the process. Here, such functions call back from Lua, which takes none of that
-- stack, or they are counted.
local native = require("core.native")
local error, ipairs, select, tonumber, tostring, type, unpack, xpcall =
   error, ipairs, select, tonumber, tostring, type, unpack, xpcall
local find, format, gsub, sub = string.find, string.format, string.gsub, string.sub
local concat, sort = table.concat, table.sort
local create, resume = coroutine.create, coroutine.resume
local time = os.time

local nested = {}

-- Calls within one another: each takes at most a few thousand bytes of the two millions that a worker's thread has.
local MAX = 200
local TOO_DEEP = "stack overflow: more than "..MAX.." coroutines, sorts or calls of the engine within one another"
local depth = 0

-- A call is over: what ran around it is as deep as before, also if it has failed.
local function leave (outer, ...)
   depth = outer
   return ...
end

-- As `xpcall`, with the handler that keeps the calls which led to an error.
function nested.try (f, ...)
   local outer = depth
   if outer >= MAX then return false, TOO_DEEP end
   depth = outer + 1
   return leave(outer, xpcall(f, native.on_error, ...))
end

-- The same, and nothing in it can yield: whoever goes on with a coroutine from elsewhere would be as deep as where it was left, and the engine half way through a
-- change. LuaJIT lets no coroutine yield across a function of C that calls back.
function nested.whole (f, ...)
   local given, count, is_called = { ... }, select("#", ...), false
   return nested.try(sort, { 1, 2 }, function ()
      if not is_called then
         is_called = true
         f(unpack(given, 1, count))
      end
      return false
   end)
end

function nested.resume (co, ...)
   if type(co) ~= "thread" then error("bad argument #1 to 'resume' (coroutine expected)", 2) end
   local outer = depth
   if outer >= MAX then return false, TOO_DEEP end
   depth = outer + 1
   return leave(outer, resume(co, ...))
end

local function results (ok, ...)
   if not ok then error((...), 0) end
   return ...
end

function nested.wrap (f)
   if type(f) ~= "function" then error("bad argument #1 to 'wrap' (function expected)", 2) end
   local co = create(f)
   return function (...) return results(nested.resume(co, ...)) end
end

-- It also calls `__lt`, without a comparator.
function nested.sort (t, before)
   if type(t) ~= "table" then error("bad argument #1 to 'sort' (table expected, got "..type(t)..")", 2) end
   results(nested.try(sort, t, before))
end

-- What a match is replaced by, after where it begins and ends.
local function replacement (by, text, first, last, ...)
   if not first then return end
   local whole = sub(text, first, last)
   local new
   if select("#", ...) == 0 then
      if type(by) == "table" then new = by[whole] else new = by(whole) end
   else
      if type(by) == "table" then new = by[(...)] else new = by(...) end
   end
   if not new then
      new = whole
   elseif type(new) ~= "string" and type(new) ~= "number" then
      error("invalid replacement value (a "..type(new)..")", 3)
   end
   return first, last, new
end

function nested.gsub (text, pattern, by, most)
   if type(by) ~= "function" and type(by) ~= "table" then return gsub(text, pattern, by, most) end
   -- Looks at the arguments alone.
   text = gsub(text, pattern, "", 0)
   most = most == nil and #text + 1 or tonumber(most) or error("bad argument #4 to 'gsub' (number expected)", 2)
   local is_anchored = sub(pattern, 1, 1) == "^"
   local pieces, at, count = {}, 1, 0
   while count < most and at <= #text + 1 do
      local first, last, new = replacement(by, text, find(text, pattern, at))
      if not first then break end
      count = count + 1
      pieces[#pieces + 1] = sub(text, at, first - 1)
      pieces[#pieces + 1] = new
      at = last + 1
      if last < first then
         -- A match of nothing: the next is looked for behind the byte that follows.
         pieces[#pieces + 1] = sub(text, first, first)
         at = first + 1
      end
      if is_anchored then break end
   end
   pieces[#pieces + 1] = sub(text, at)
   return concat(pieces), count
end

-- Tables are made text before, also those without `__tostring`: that of another could give them one meanwhile.
function nested.format (how, ...)
   local given, count, has_changed = { ... }, select("#", ...), false
   for i = 1, count do
      local value = given[i]
      if type(value) == "table" then
         given[i], has_changed = tostring(value), true
         if type(given[i]) ~= "string" then error("`__tostring` returns no text", 2) end
      end
   end
   if has_changed then return format(how, unpack(given, 1, count)) end
   return format(how, ...)
end

-- The fields of a date may be looked up by `__index`.
function nested.time (date)
   if type(date) ~= "table" then return time(date) end
   local plain = {}
   for _, name in ipairs { "year", "month", "day", "hour", "min", "sec", "isdst" } do plain[name] = date[name] end
   return time(plain)
end

return nested
