//! Chunks of Lua, loaded and called by the LuaJIT of this machine; and pflua, where there is a checkout of it.

use crate::files::Scratch;
use std::fmt::Write as _;
use std::process::Command;

/// Which chunk is called for which packet, and the numbers behind `length`.
#[derive(Clone, Debug)]
pub struct Call<'p> {
    /// The number of the chunk.
    pub chunk: usize,
    /// The packet.
    pub data: &'p [u8],
    /// What is given with it.
    pub inputs: Vec<u32>,
}

/// What each call returns, as a line: a word, or what `self` was called with, as `handler(1,2)`; `None`, said aloud, where there is no LuaJIT.
/// Chunks whose function takes `self` say so by `calls`.
///
/// # Panics
/// Where LuaJIT refuses a chunk, or one sets a global.
pub fn run(what: &str, chunks: &[String], calls: bool, packets: &[Call<'_>]) -> Option<Vec<String>> {
    called(what, chunks, if calls { "calls" } else { "answers" }, packets)
}

/// What pflua calls for each packet by these programs, as a line: `handler(1,2)`, `-`, or `refused` for a program that it does not take. `None`, said
/// aloud, unless `SLUSS_PFLUA` names a checkout of pflua, and there is a LuaJIT.
///
/// # Panics
/// Where LuaJIT refuses pflua.
pub fn pflua(what: &str, programs: &[String], packets: &[Call<'_>]) -> Option<Vec<String>> {
    let Ok(folder) = std::env::var("SLUSS_PFLUA") else {
        crate::say(format_args!(
            "SKIPPED: {what}: set SLUSS_PFLUA to a checkout of https://github.com/Igalia/pflua"
        ));
        return None;
    };
    called(what, programs, &folder, packets)
}

/// `how`: `answers`, `calls`, or the folder of pflua.
fn called(what: &str, chunks: &[String], how: &str, packets: &[Call<'_>]) -> Option<Vec<String>> {
    if Command::new("luajit").arg("-v").output().is_err() {
        crate::say(format_args!("SKIPPED: {what}: there is no `luajit`"));
        return None;
    }
    let scratch = Scratch::new();
    let mut list = String::new();
    for (i, chunk) in chunks.iter().enumerate() {
        let path = scratch.file(&format!("chunk{i}.lua"), chunk.as_bytes());
        let _ = writeln!(list, "{}", path.display());
    }
    let list = scratch.file("chunks", list.as_bytes());
    let mut input = String::new();
    for call in packets {
        let _ = write!(input, "{} ", call.chunk + 1);
        call.data.iter().for_each(|byte| {
            let _ = write!(input, "{byte:02x}");
        });
        call.inputs.iter().for_each(|number| {
            let _ = write!(input, " {number}");
        });
        input.push('\n');
    }
    let input = scratch.file("calls", input.as_bytes());
    let script = scratch.file("run.lua", SCRIPT.as_bytes());
    let output = Command::new("luajit").args([&script, &list, &input]).arg(how).output();
    let output = output.expect("it is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{what}: {}\n{said}", output.status);
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Each packet lies at the end of its memory, which ends with a byte that is none of its own.
const SCRIPT: &str = r##"
local ffi = require("ffi")
local how = arg[3]
local load = function(path) return assert(loadfile(path))() end
local is_pflua = how ~= "answers" and how ~= "calls"
if is_pflua then
   package.path = how .. "/src/?.lua;" .. package.path
   -- Its own code generator, which is not asked for, needs to be built.
   package.preload["pf.codegen"] = function() return {} end
   local match = require("pf.match")
   load = function(path)
      local file = assert(io.open(path))
      local is_taken, f = pcall(match.compile, file:read("*a"))
      file:close()
      return is_taken and f or function() return "refused" end
   end
end
if not is_pflua then setmetatable(_G, { __newindex = function(_, name) error("a chunk sets the global " .. tostring(name)) end }) end
local functions = {}
for path in io.lines(arg[1]) do
   functions[#functions + 1] = load(path)
end
local self = setmetatable({}, {
   __index = function(_, handler)
      local function called(P, length, ...)
         local words = {}
         for i = 1, select("#", ...) do words[i] = string.format("%.0f", (select(i, ...))) end
         return #words == 0 and handler or handler .. "(" .. table.concat(words, ",") .. ")"
      end
      -- pflua calls methods.
      return is_pflua and function(_, ...) return called(...) end or called
   end,
})
for line in io.lines(arg[2]) do
   local chunk, hex, rest = line:match("^(%d+) (%x*)(.*)$")
   local length = #hex / 2
   local P = ffi.new("uint8_t[?]", length + 1)
   for i = 0, length - 1 do P[i] = tonumber(hex:sub(2 * i + 1, 2 * i + 2), 16) end
   local inputs, n = {}, 0
   for word in rest:gmatch("%d+") do
      n = n + 1
      inputs[n] = tonumber(word)
   end
   local f = functions[tonumber(chunk)]
   if how ~= "answers" then
      print(tostring(f(self, P, length, unpack(inputs, 1, n)) or "-"))
   else
      print(tostring(f(P, length, unpack(inputs, 1, n))))
   end
end
"##;
