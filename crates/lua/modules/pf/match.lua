-- Programs that hand packets to functions, by filters (pfmatch).
--
--     local match = require("pf.match")
--     local dispatch = match.compile([[match {
--        tcp dst port $port => web(&tcp[0])
--        otherwise => drop
--     }]], { subst = { port = 80 } })
--     dispatch(app, p.data, p.length)        -- returns app:web(p.data, p.length, OFFSET), or app:drop(p.data, p.length), or nil

local compiler = require("pf.compiler")

local M = {}

local options = {
   dlt = "EN10MB",      -- what packets begin with, by libpcap's names
   optimize = true,     -- kept for programs that set it
   source = false,      -- return the text of the function in Lua
   subst = false,       -- a table of what $NAME stands for
   extra_args = {},     -- names of numbers that follow the length, and that the program may use
}

-- A function (handlers, packet, length, extra arguments).
function M.compile (text, opts)
   opts = compiler.options(opts, options)
   local compiled = compiler.compile(text, opts.dlt, "match", opts.subst or nil, opts.extra_args)
   if opts.source then return compiled.text end
   return compiler.load(compiled, text)
end

return M
