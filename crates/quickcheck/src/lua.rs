//! Lua: a chunk for each subject, in a LuaJIT that is kept running.

use crate::answer::{Answer, Run};
use crate::command::Plugged;
use crate::subject::Subject;
use pflang::Compiler;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

/// Takes `L`, a blank and a chunk in hexadecimal, and says `ok`; or `F` or `P`, a blank and a packet, and says what the chunk, of a filter or
/// of a program, says of it. Behind each packet lies a byte that is none of its own.
const SCRIPT: &str = r##"
local ffi = require("ffi")
local function bytes(hex) return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)) end
local self = setmetatable({}, { __index = function(_, handler)
   return function(P, length, ...)
      local words = {}
      for i = 1, select("#", ...) do words[i] = string.format("%.0f", (select(i, ...))) end
      return #words == 0 and handler or handler .. "(" .. table.concat(words, ",") .. ")"
   end
end })
local f
for line in io.lines() do
   local kind, data = line:sub(1, 1), bytes(line:sub(3))
   local said
   if kind == "L" then
      f = assert(loadstring(data))()
      said = "ok"
   else
      local P = ffi.new("uint8_t[?]", #data + 1)
      ffi.copy(P, data, #data)
      if kind == "P" then said = f(self, P, #data) or "0" else said = f(P, #data) and "1" or "0" end
   end
   io.write(said, "\n")
   io.flush()
end
"##;

/// LuaJIT, where there is one.
pub(crate) fn present() -> Option<Plugged> {
    let is_there = Command::new("luajit").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there.is_ok_and(|status| status.success()).then(|| Plugged::new(&format!("exec luajit -e '{SCRIPT}'")))
}

/// The chunk of a subject, ready to be asked.
pub(crate) fn ready<'e>(luajit: &'e Plugged, subject: &'e Subject, compiler: &Compiler) -> Option<Run<'e>> {
    let is_program = subject.is_program();
    let text = &subject.text;
    let chunk = if is_program { compiler.match_to_lua(text) } else { compiler.to_lua(text) };
    let load = line('L', chunk.ok()?.as_bytes());
    Some(Box::new(move |packets| {
        let loaded = luajit.ask(&load);
        let answer = |packet: &crate::packet::Packet| match &loaded {
            Err(why) => Some(Answer::Fails(format!("the chunk is not taken: {why}").into())),
            // A chunk is told one length only.
            Ok(_) if packet.wire_len as usize != packet.bytes.len() => None,
            Ok(_) => luajit.answer_to(&line(if is_program { 'P' } else { 'F' }, &packet.bytes), subject),
        };
        packets.iter().map(answer).collect()
    }))
}

fn line(kind: char, bytes: &[u8]) -> String {
    let mut line = format!("{kind} ");
    bytes.iter().for_each(|byte| {
        // Writing to a text cannot fail.
        let _ = write!(line, "{byte:02x}");
    });
    line + "\n"
}
