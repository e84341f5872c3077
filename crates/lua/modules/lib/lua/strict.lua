-- Makes the use of a global variable an error unless a main chunk (a file, or C) has assigned it before, even if only nil.
-- A misspelt name so fails where it stands, instead of reading nil.

local getinfo, rawset, rawget, error = debug.getinfo, rawset, rawget, error

local globals = getmetatable(_G)
if not globals then
   globals = {}
   setmetatable(_G, globals)
end
local declared = globals.__declared or {}
globals.__declared = declared

-- What kind of function accesses the global: "main" for a file's own level, "Lua", or "C".
-- Level 3: this function, the metamethod, the code that made the access.
local function accessor ()
   local info = getinfo(3, "S")
   return info and info.what or "C"
end

function globals.__newindex (env, name, value)
   if not declared[name] then
      if accessor() == "Lua" then
         error("assign to undeclared variable '"..tostring(name).."'", 2)
      end
      declared[name] = true
   end
   rawset(env, name, value)
end

function globals.__index (env, name)
   if not declared[name] and accessor() ~= "C" then
      error("variable '"..tostring(name).."' is not declared", 2)
   end
   return rawget(env, name)
end
