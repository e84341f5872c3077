-- Sets that number their values: each gets the lowest number, from 0, that none has.
--
--     local ports = require("lib.index_set"):new(16, "ports")
--     local number, is_new = ports:add("eth0")

local set = {}
set.__index = set

-- At most `max` values. `name` stands in the message if there are more.
function set:new (max, name)
   return setmetatable({ __nxt = 0, __max = max, __name = name }, self)
end

local function holds (key)
   return key ~= "__nxt" and key ~= "__max" and key ~= "__name"
end

-- The value that has a number, or nil.
function set:search (number)
   if type(number) ~= "number" or number % 1 ~= 0 then return nil end
   for value, its_number in pairs(self) do
      if its_number == number and holds(value) then return value end
   end
   return nil
end

-- The number of `value`, and whether it is new.
function set:add (value)
   local known = self[value]
   if known then return known, false end
   local number = self.__nxt
   assert(number < self.__max, self.__name.." overflow")
   self[value] = number
   repeat
      self.__nxt = self.__nxt + 1
   until not self:search(self.__nxt)
   return number, true
end

-- Removes a value. Returns the number it had, or nil.
function set:pop (value)
   local number = self[value]
   if number ~= nil then
      self[value] = nil
      self.__nxt = math.min(self.__nxt, number)
   end
   return number
end

return set
