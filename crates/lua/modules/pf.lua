-- Filters in tcpdump's language, as Lua functions.
--
--     local pf = require("pf")
--     local is_web = pf.compile_filter("tcp port 80")
--     if is_web(p.data, p.length) then … end
--
-- A filter is compiled to machine code, which the function calls. One so short that LuaJIT does as well is compiled to Lua, which becomes
-- part of the caller's own compiled code.

local compiler = require("pf.compiler")

local M = {}

local options = {
   optimize = true,      -- kept for programs that set it: what is compiled is always optimised, and means the same
   libpcap = false,      -- have the machine's libpcap read the text
   bpf = false,          -- the same, for programs that ask for either
   native = false,       -- machine code in any case
   source = false,       -- return text: of the function in Lua, of machine code (native), of bytecode (libpcap)
   dlt = "EN10MB",       -- what packets begin with, by libpcap's names
}

-- A filter becomes Lua when a packet passes at most so many tests, and its decision graph has at most so many nodes.
local TESTS_IN_LUA, NODES_IN_LUA = 5, 16

-- A function of a pointer to a packet and its length: whether the filter matches. With the option `source`, text.
function M.compile_filter (text, opts)
   opts = compiler.options(opts, options)
   local compile = function (wanted) return compiler.compile(text, opts.dlt, wanted) end
   if opts.source then
      return compile(opts.libpcap and "listing" or opts.bpf and "bytecode_lua" or opts.native and "assembly" or "lua").text
   end
   local compiled = compile((opts.libpcap or opts.bpf) and "bytecode" or "code")
   local is_short = compiled.tests <= TESTS_IN_LUA and compiled.nodes <= NODES_IN_LUA
   if is_short and not (opts.native or opts.libpcap or opts.bpf) then
      compiled = compile("lua")
   end
   return compiler.predicate(compiled, text)
end

return M
