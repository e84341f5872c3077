-- Starting and ending programs.
local native = require("core.native")
local lib = require("core.lib")

local main = {}

-- The arguments of the program that runs; the first is its name.
main.parameters = native.arguments

-- Ends the process with an exit code.
function main.exit (status) os.exit(status) end

-- The name of a program from that of a file.
function main.programname (name)
   return (name:gsub("^.*/", ""):gsub("%-[0-9.]+[-%w]+$", ""):gsub("%-", "_"):gsub("^snabb_", ""))
end

function main.modulename (program)
   program = main.programname(program)
   return ("program.%s.%s"):format(program, program)
end

function main.parse_command_line () return lib.array_copy(native.arguments) end

-- The program that the arguments name, and the arguments for it.
function main.select_program (args)
   local program = main.programname(table.remove(args, 1))
   if program == "snabb" then program = main.programname(table.remove(args, 1)) end
   return program, args
end

function main.shutdown () end

return main
