-- Command lines as getopt_long(3) reads them.
--
--     local opts, first, args = get_ordered_opts(arg, "hvo:", { help = "h", verbose = "v", output = "o", level = 1 })
--
-- The string lists short options, those that take a value with a colon behind them. The table gives long options:
-- their value is another option that they stand for, or 1 if they take a value, or 0 if not.
-- A bad command line ends the process with status 1 and a message, as programs expect.

local M = {}

local function bail (message)
   io.stderr:write(message, "\n")
   os.exit(1)
end

-- A table from option to whether it takes a value (0, 1), or to the option that it stands for.
local function option_table (short, long)
   local options = {}
   for letter, colon in short:gmatch("(%w)(:?)") do
      options[letter] = #colon
   end
   for name, meaning in pairs(long or {}) do
      options[name] = meaning
   end
   return options
end

-- Follows what `name` stands for to an option proper.
local function resolve (options, name)
   local option = name
   repeat
      name = option
      option = options[name]
      if option == nil then
         bail(("Unknown option `%s%s'"):format(#name > 1 and "--" or "-", name))
      end
   until type(option) ~= "string"
   return name, option ~= 0
end

-- Returns the options in order, the index of the first argument that is not an option, and the values: `values[i]` is that
-- of the i-th option.
function M.get_ordered_opts (arg, short, long)
   local options = option_table(short, long)
   local found, values, n = {}, {}, 0
   local function add (name, value)
      n = n + 1
      found[n], values[n] = name, value
   end

   local i = 1
   local function next_argument (shown)
      if i == #arg then bail(("Missed value for option `%s'"):format(shown)) end
      i = i + 1
      return arg[i]
   end

   while i <= #arg do
      local word = arg[i]
      if word == "--" then
         i = i + 1
         break
      elseif word:sub(1, 2) == "--" then
         local written, equals, value = word:match("^%-%-([^=]*)(=?)(.*)$")
         local name, takes_value = resolve(options, written)
         if equals == "" then
            add(name, takes_value and next_argument(word) or nil)
         elseif takes_value then
            add(name, value)
         else
            bail(("Bad usage of option `%s'"):format(word))
         end
      elseif word:sub(1, 1) == "-" and word ~= "-" then
         -- A cluster such as -abofile: the first option with a value takes the rest, or the next argument.
         local at = 2
         while at <= #word do
            local name, takes_value = resolve(options, word:sub(at, at))
            at = at + 1
            if takes_value then
               local rest = word:sub(at)
               add(name, rest ~= "" and rest or next_argument("-"..name))
               break
            end
            add(name)
         end
      else
         break
      end
      i = i + 1
   end
   return found, i, values
end

-- The options as a table from name to value, or to 1 for those without; and the index of the first other argument.
function M.get_opts (arg, short, long)
   local found, first, values = M.get_ordered_opts(arg, short, long)
   local result = {}
   for i, name in ipairs(found) do
      result[name] = values[i] or 1
   end
   return result, first
end

return M
