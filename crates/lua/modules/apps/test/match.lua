-- Compares the packets that come in at `rx` with those that come in at `comparator`, and collects what differs.

local ffi = require("ffi")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")

ffi.cdef("int memcmp (const void *a, const void *b, size_t n);")

local M = {}

local Match = {
   config = {
      fuzzy = {},   -- packets at rx that are not the next one expected are no error
      modest = {},  -- expected packets that did not come are no error, if at least one did
   },
}
Match.__index = Match
M.Match = Match

function Match:new (conf)
   return setmetatable({ fuzzy = conf.fuzzy, modest = conf.modest, seen = 0, errs = {} }, self)
end

local function dump (p)
   return lib.hexdump(ffi.string(p.data, p.length))
end

function Match:push ()
   local rx, comparator = self.input.rx, self.input.comparator
   for _ = 1, link.nreadable(rx) do
      local p = link.receive(rx)
      local expected = comparator and link.front(comparator)
      if not expected then
         -- Nothing is expected, or not yet.
      elseif expected.length == p.length and ffi.C.memcmp(expected.data, p.data, p.length) == 0 then
         self.seen = self.seen + 1
         packet.free(link.receive(comparator))
      elseif not self.fuzzy then
         table.insert(self.errs, "Mismatch:\n"..dump(expected).."\n"..dump(p))
      end
      packet.free(p)
   end
end

-- The list of what differed, as text; with the packets that were expected and have not come.
function Match:errors ()
   local comparator = self.input.comparator
   if comparator and not (self.modest and self.seen > 0) then
      while not link.empty(comparator) do
         local p = link.receive(comparator)
         table.insert(self.errs, "Not matched:\n"..dump(p))
         packet.free(p)
      end
   end
   return self.errs
end

function Match:report ()
   for _, text in ipairs(self:errors()) do print(text) end
end

return M
