-- Finds modules in a folder with Snabb's sources, by the rules by which Snabb's Makefile puts them into its executable:
--
--   a.b         a/b.lua, or a/b.dasl, which DynASM translates
--   a.b_h       a/b.h: C declarations for the FFI
--   a.b_inc     a/b.inc: a text; as are a.b_events and a.b_yang
--
-- Dashes and dots in names of files stand for underscores. Libraries beside the sources are found as well.
local ffi = require("ffi")

local function read (file)
   local stream = io.open(file, "rb")
   if not stream then return end
   local text = stream:read("*a")
   stream:close()
   return text
end

return function (native, root)
   local roots = { root }
   for _, library in ipairs { "ljsyscall", "pflua/src", "ljndpi", "luajit/dynasm" } do
      local folder = root.."/../lib/"..library
      if native.exists(folder) then roots[#roots + 1] = folder end
   end

   -- The names in a folder, by what they are called as parts of modules.
   local listings = {}
   local function listing (folder)
      local known = listings[folder]
      if not known then
         known = {}
         for _, name in ipairs(native.readdir(folder) or {}) do known[(name:gsub("[-.]", "_"))] = name end
         listings[folder] = known
      end
      return known
   end

   -- The file of a module, with a suffix, in one of the roots.
   local function find (name, suffix)
      local parts = {}
      for part in name:gmatch("[^.]+") do parts[#parts + 1] = (part:gsub("-", "_")) end
      for _, folder in ipairs(roots) do
         for i = 1, #parts - 1 do
            local below = folder and listing(folder)[parts[i]]
            folder = below and folder.."/"..below
         end
         local file = folder and listing(folder)[parts[#parts].."_"..suffix]
         if file and file:sub(-#suffix - 1) == "."..suffix then return folder.."/"..file end
      end
   end

   -- By way of bytecode, constant tables are visited in the order in which they were written.
   local function compile (text, file)
      local chunk, why = loadstring(text, "@"..file)
      if not chunk then error(why, 0) end
      return loadstring(string.dump(chunk), "@"..file)
   end

   local function translate (file)
      return assert(require("dynasm").loadfile(file, { comment = false }))
   end

   local function declarations (file)
      return function () ffi.cdef(read(file)) end
   end

   local function text_of (file)
      return function () return read(file) end
   end

   -- Suffixes of modules that are no code, and of their files.
   local texts = { { "inc", "inc" }, { "inc", "md" }, { "yang", "yang" }, { "events", "events" } }

   return function (name)
      local file = find(name, "lua")
      if file then return compile(read(file), file) end
      file = find(name, "dasl")
      if file then return translate(file) end
      local header = name:match("^(.*)[_.]h$")
      file = header and find(header, "h")
      if file then return declarations(file) end
      for _, kind in ipairs(texts) do
         local stem = name:match("^(.*)_"..kind[1].."$")
         file = stem and find(stem, kind[2])
         if file then return text_of(file) end
      end
      if name == "programs_inc" then
         return function () return table.concat(native.readdir(root.."/program") or {}, "\n").."\n" end
      end
      return "\n\tno module '"..name.."' in "..root
   end
end
