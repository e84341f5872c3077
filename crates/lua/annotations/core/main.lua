---@meta core.main

---@class core.main
---@field parameters string[] The arguments of the program.
main = {}

---Ends the process.
---@param status? integer
function main.exit(status) end
---@param name string
---@return string
function main.programname(name) end
---@param program string
---@return string
function main.modulename(program) end
---@return string[]
function main.parse_command_line() end
---@param args string[]
---@return string program
---@return string[] args
function main.select_program(args) end
function main.shutdown() end

return main
