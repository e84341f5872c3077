-- Classes with inheritance, whose instances can be reused instead of collected.
--
--     require("lib.lua.class")
--     local point = subClass(nil)                  -- or subClass(another_class)
--     function point:new (x)
--        local o = point:superClass().new(self)    -- superClass() of the class that is being defined, never of self
--        o.x = x
--        return o
--     end
--     local p = point:new(1)
--     p:free()                                     -- the next point:new() returns this same table
--     p = point:new(2)                             -- p._recycled is true
--     p:new(3)                                     -- called on an instance, new() reuses that instance at once
--
-- A freed instance keeps its fields; a constructor that allocates looks at `_recycled` to allocate only once.

local root = { _name = "elementary class" }

-- Called on a class: an instance, a freed one if there is one. Called on an instance: that instance.
function root:new ()
   assert(self ~= root, "Can't instantiate abstract class elementaryClass")
   if self._instance then
      self._recycled = true
      return self
   end
   local freed = self._freelist
   local n = freed.index
   if n == 0 then
      return setmetatable({ _instance = true, _recycled = false }, self._instances)
   end
   local instance = freed.list[n]
   freed.index = n - 1
   instance._recycled = true
   return instance
end

-- Gives an instance back for reuse. Whoever still holds it must not use it.
function root:free ()
   local freed = self:class()._freelist
   local n = freed.index + 1
   freed.list[n], freed.index = self, n
end

function root:name ()
   return self._name
end

-- A new class that inherits from `base`, or from the class that all others inherit from.
function subClass (base)
   base = base or root
   local class = { _freelist = { index = 0, list = {} } }
   class._instances = { __index = class }
   function class:class () return class end
   function class:superClass () return base end
   return setmetatable(class, { __index = base })
end
