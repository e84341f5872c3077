-- A packet as a stack of headers, which can be parsed in place, removed and prepended, and a payload.
--
--     parsed headers | payload                 parse_match(), parse(), parse_n(), unparse(), stack(), payload()
--     pushed | packet                          push(), push_raw(); pop(), pop_raw() take from the front
--
-- Pushing and popping moves the packet, which would invalidate views of parsed headers: so it is an error while
-- headers are parsed. With `delayed_commit` they only take note, and commit() changes the packet once; up to 512 bytes can be
-- pushed between two commits.

require("lib.lua.class")
local ffi = require("ffi")
local packet = require("core.packet")

local bytes_t = ffi.typeof("uint8_t *")
local PUSH_ROOM = 512

ffi.cdef("void *memmove (void *to, const void *from, size_t n);")

local datagram = subClass(nil)
datagram._name = "datagram"
datagram.push_buffer_size = PUSH_ROOM

-- A datagram of packet `p`, or of a new empty one. `class` is the protocol that it starts with, if it is to be parsed.
-- Called on a datagram it frees the headers that are still parsed.
function datagram:new (p, class, options)
   local o = datagram:superClass().new(self)
   if o._recycled then
      o:_forget_headers()
   else
      o._parse = { stack = {}, index = 0 }
      o._push = { buffer = ffi.new("uint8_t[?]", PUSH_ROOM) }
      -- A pointer in an array: assigning another packet to it makes no garbage.
      o._packet = ffi.new("struct packet *[1]")
   end
   local parse, push = o._parse, o._push
   parse.offset, parse.ulp = 0, class
   push.offset, push.size = PUSH_ROOM, 0
   o._offset = 0 -- bytes popped, with delayed commit
   o._delayed_commit = options and options.delayed_commit
   o._packet[0] = p or packet.allocate()
   return o
end

function datagram:_forget_headers ()
   local parse = self._parse
   for i = parse.index, 1, -1 do
      parse.stack[i]:free()
      parse.stack[i] = nil
   end
   parse.index = 0
end

local function assert_nothing_parsed (self)
   assert(self._parse.index == 0, "parse stack not empty")
end

-- Prepends a header.
function datagram:push (header)
   self:push_raw(header:header_ptr(), header:sizeof())
end

-- Prepends `length` bytes.
function datagram:push_raw (data, length)
   if self._delayed_commit then
      local push = self._push
      assert(length <= push.offset, "more than "..PUSH_ROOM.." bytes pushed without commit")
      push.offset, push.size = push.offset - length, push.size + length
      ffi.copy(push.buffer + push.offset, data, length)
   else
      assert_nothing_parsed(self)
      self._packet[0] = packet.prepend(self._packet[0], ffi.cast(bytes_t, data), length)
      self._parse.offset = self._parse.offset + length
   end
end

-- Parses one header of `class`, or of the protocol that the last header names, and returns it; nil, and nothing parsed, if no
-- protocol is known, the class declines, or `check(header)` returns false.
function datagram:parse_match (class, check)
   local parse = self._parse
   class = class or parse.ulp
   if not class then return nil end
   local p = self._packet[0]
   local header = class:new_from_mem(p.data + parse.offset, p.length - parse.offset)
   if not header then return nil end
   if check and not check(header) then
      header:free()
      return nil
   end
   local n = parse.index + 1
   parse.stack[n], parse.index = header, n
   parse.ulp = header:upper_layer()
   parse.offset = parse.offset + header:sizeof()
   return header
end

-- Parses a header for each { class, check } of the list; returns the last, or nil at the first that does not match.
-- Without a list, parses one.
function datagram:parse (list)
   if not list then return self:parse_match() end
   local header
   for _, wanted in ipairs(list) do
      header = self:parse_match(wanted[1], wanted[2])
      if not header then return nil end
   end
   return header
end

-- Parses `n` headers, one by default; returns the last, or nil if there are fewer.
function datagram:parse_n (n)
   local header
   for _ = 1, n or 1 do
      header = self:parse_match()
      if not header then return nil end
   end
   return header
end

-- Gives the last `n` parsed headers back to the payload.
function datagram:unparse (n)
   local parse = self._parse
   for _ = 1, math.min(n, parse.index) do
      local header = parse.stack[parse.index]
      parse.stack[parse.index] = nil
      parse.index = parse.index - 1
      parse.offset = parse.offset - header:sizeof()
      parse.ulp = header:class()
      header:free()
   end
end

-- Removes the first `n` parsed headers from the packet.
function datagram:pop (n)
   local parse = self._parse
   local stack, count = parse.stack, parse.index
   assert(n <= count, "fewer headers parsed than to be popped")
   local bytes = 0
   for i = 1, n do
      bytes = bytes + stack[i]:sizeof()
      stack[i]:free()
   end
   for i = 1, count do
      stack[i] = stack[i + n]
   end
   parse.index = count - n
   self:pop_raw(bytes)
   parse.offset = parse.offset - bytes -- these bytes were counted as parsed, and pop_raw() has counted them again
end

-- Removes `length` bytes from the front; `ulp` is the protocol behind them.
function datagram:pop_raw (length, ulp)
   local parse = self._parse
   if self._delayed_commit then
      self._offset = self._offset + length
      parse.offset = parse.offset + length
   else
      assert_nothing_parsed(self)
      self._packet[0] = packet.shiftleft(self._packet[0], length)
   end
   if ulp then parse.ulp = ulp end
end

-- The parsed headers, first to last.
function datagram:stack ()
   return self._parse.stack
end

function datagram:packet ()
   return self._packet[0]
end

-- The payload, after appending `size` bytes at `mem` if given: pointer and length.
function datagram:payload (mem, size)
   local p = self._packet[0]
   if mem then
      packet.append(p, ffi.cast(bytes_t, mem), size)
   end
   local offset = self._parse.offset
   return p.data + offset, p.length - offset
end

-- The packet's bytes and length.
function datagram:data ()
   local p = self._packet[0]
   return p.data, p.length
end

-- With delayed commit, changes the packet as the calls of push and pop since the last commit have asked for.
function datagram:commit ()
   if not self._delayed_commit then return end
   assert_nothing_parsed(self)
   local p, push = self._packet[0], self._push
   local grown = push.size - self._offset
   ffi.C.memmove(p.data + push.size, p.data + self._offset, p.length - self._offset)
   ffi.copy(p.data, push.buffer + push.offset, push.size)
   p.length = p.length + grown
   self._parse.offset = self._parse.offset + grown
   push.offset, push.size = PUSH_ROOM, 0
   self._offset = 0
end

return datagram
