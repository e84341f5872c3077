-- Shared memory: C values as files under one folder, which other processes map. Names are relative to the folder of this process, unless they
-- begin with a slash.
local ffi = require("ffi")
local native = require("core.native")
local C = ffi.C

local shm = {
   root = native.shm_root,
   types = {},      -- By file suffix: the module that creates and opens such files.
   mappings = {},   -- By address: the size.
}

local function lib () return require("core.lib") end

-- The name without what it is relative to: beginning with a process id, or as it is if it began with a slash.
function shm.resolve (name)
   local slashes, path = name:match("^(/*)(.*)$")
   if slashes ~= "/" then path = native.own_name.."/"..path end
   return path
end

function shm.path (name) return shm.root.."/"..shm.resolve(name) end

-- Makes a folder below the root, and those that it is in.
function shm.mkdir (name)
   local ok, why = native.mkdirs(shm.root.."/"..name)
   if not ok then error("shm: cannot create "..shm.root.."/"..name..": "..why) end
end

local READ, WRITE, CREATE = 0, 1, 2

local function map (name, kind, mode, ...)
   local path = shm.resolve(name)
   local ctype = ffi.typeof(kind)
   local size = ffi.sizeof(ctype, ...)
   if mode == CREATE then shm.mkdir((lib().dirname(path))) end
   local memory = C.sluss_map(shm.root.."/"..path, size, mode)
   if memory == nil then error("shm open error ("..path.."): "..native.strerror(ffi.errno())) end
   shm.mappings[shm.pointer_to_number(memory)] = size
   return ffi.cast(ffi.typeof("$ &", ctype), memory)
end

function shm.create (name, kind, ...) return map(name, kind, CREATE, ...) end
function shm.open (name, kind, readonly, ...) return map(name, kind, readonly and READ or WRITE, ...) end

function shm.pointer_to_number (pointer) return tonumber(ffi.cast("uint64_t", ffi.cast("void *", pointer))) end

function shm.unmap (pointer)
   local address = shm.pointer_to_number(pointer)
   local size = assert(shm.mappings[address], "shm mapping not found")
   C.sluss_unmap(ffi.cast("void *", pointer), size)
   shm.mappings[address] = nil
end

function shm.exists (name) return native.exists(shm.path(name)) end

-- Deletes a file, or a folder with all that is in it.
function shm.unlink (name) return native.remove(shm.path(name)) end

-- The names of what is in a folder.
function shm.children (name) return native.readdir(shm.path(name)) or {} end

-- Makes `name` another name of `target`.
function shm.alias (name, target)
   shm.mkdir((lib().dirname(shm.resolve(name))))
   assert(native.symlink(shm.path(target), shm.path(name)))
end

-- Makes a module responsible for files with a suffix.
function shm.register (suffix, module)
   assert(module, "Must supply module")
   assert(not shm.types[suffix], "Duplicate shm type: "..suffix)
   shm.types[suffix] = module
   return suffix
end

-- A frame: a folder of objects. `specs` has for each name its module, and what its `create` is given after the name.
function shm.create_frame (path, specs)
   local frame = { specs = specs, path = path.."/" }
   for name, spec in pairs(specs) do
      assert(frame[name] == nil, "shm: duplicate name: "..name)
      local module = spec[1]
      frame[name] = module.create(frame.path..name.."."..module.type, unpack(spec, 2, table.maxn(spec)))
   end
   return frame
end

-- Opens all objects in a folder whose suffix is registered, to read.
function shm.open_frame (path)
   local frame = { specs = {}, path = path.."/", readonly = true }
   for _, file in ipairs(shm.children(path)) do
      local name, suffix = file:match("^(.*)%.(.*)$")
      local module = shm.types[suffix]
      if module then
         assert(frame[name] == nil, "shm: duplicate name: "..name)
         frame[name] = module.open(frame.path..file, "readonly")
         frame.specs[name] = { module }
      end
   end
   return frame
end

function shm.delete_frame (frame)
   for name, spec in pairs(frame.specs) do
      local module = spec[1]
      if rawget(module, "delete") then
         module.delete(frame.path..name.."."..module.type)
      else
         shm.unmap(frame[name])
      end
   end
   if not frame.readonly then shm.unlink(frame.path) end
end

-- The list of free packets, which `snabb top` and others read, can be opened as a count and a maximum.
shm.register("freelist", { type = "freelist", open = function (name)
   return shm.open(name, "struct { int nfree, max; }", "readonly")
end })

return shm
