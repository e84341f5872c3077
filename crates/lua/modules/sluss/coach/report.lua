-- What the coach has found, in words, as JSON, and as a page with the source.
local advice = require("sluss.coach.advice")

local M = {}

local format, concat = string.format, table.concat

-- Where the book has more.
local PAGE = "explanation/coach.html"

-- What the time went to, the largest part first.
local WORDS = { compiled = "compiled code", interpreted = "the interpreter", c = "C functions", gc = "garbage collection", compiling = "the compiler" }

local function percent(share)
   return format("%.0f %%", share * 100)
end

local function parts(result)
   local list = {}
   for what, share in pairs(result.shares) do list[#list + 1] = { what = what, share = share } end
   table.sort(list, function (a, b) return a.share > b.share end)
   local words = {}
   for at, part in ipairs(list) do
      if part.share >= 0.005 then words[at] = percent(part.share) .. " " .. WORDS[part.what] end
   end
   return #words > 0 and concat(words, ", ") or "nothing"
end

local function cost(finding)
   return (advice.kinds[finding.kind].is_part and "a part of " or "") .. percent(finding.share) .. " of the time"
end

local function tries(finding)
   if finding.tries == 0 then return "" end
   local words = format(", tried %d time%s", finding.tries, finding.tries == 1 and "" or "s")
   return finding.given_up and words .. ", then given up" or words
end

local function anchor(finding)
   return PAGE .. "#" .. finding.kind:gsub("_", "-")
end

-- A line of source, cut where it is long.
local function brief(text)
   text = text:gsub("^%s+", "")
   return #text > 110 and text:sub(1, 107) .. "…" or text
end

--- The findings in words.
function M.text(result)
   local out = {}
   local function line(...) out[#out + 1] = format(...) end
   line("coach: %.1f s of CPU time in %d samples: %s", result.seconds, result.samples, parts(result))
   if #result.findings == 0 then
      line(result.is_short and "coach: too short to weigh anything: let it run for some seconds"
         or "coach: no finding: what takes time is compiled, and does nothing that it need not")
   end
   for at, finding in ipairs(result.findings) do
      local known = advice.kinds[finding.kind]
      line("")
      line("%d. %s:%d: %s", at, finding.at.file, finding.at.line, known.what)
      if finding.text then line("     %s", brief(finding.text)) end
      line("   costs: %s", cost(finding))
      line("   LuaJIT: %s%s", finding.reason, tries(finding))
      for number, words in ipairs(known.instead) do line("   %s%s", number == 1 and "instead: " or "         ", words) end
      line("   in the book: %s", anchor(finding))
   end
   return concat(out, "\n") .. "\n"
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(text)
   return '"' .. text:gsub('[%c"\\]', function (c) return ESCAPES[c] or format("\\u%04x", c:byte()) end) .. '"'
end

--- The findings as JSON, an object a line, and what the time went to as the last.
function M.json(result)
   local out = {}
   for _, finding in ipairs(result.findings) do
      out[#out + 1] = format(
         '{"v":1,"type":"coach.finding","file":%s,"line":%d,"kind":%s,"what":%s,"reason":%s,"share":%.4f,"samples":%d,"tries":%d,"given_up":%s,"instead":%s,"more":%s}',
         quoted(finding.at.file), finding.at.line, quoted(finding.kind), quoted(advice.kinds[finding.kind].what), quoted(finding.reason),
         finding.share, finding.samples, finding.tries, tostring(finding.given_up),
         quoted(concat(advice.kinds[finding.kind].instead, "\n")), quoted(anchor(finding)))
   end
   local shares = {}
   for _, what in ipairs { "compiled", "interpreted", "c", "gc", "compiling" } do
      shares[#shares + 1] = format('"%s":%.4f', what, result.shares[what] or 0)
   end
   out[#out + 1] = format('{"v":1,"type":"coach","findings":%d,"samples":%d,"seconds":%.3f,"shares":{%s},"is_short":%s}',
      #result.findings, result.samples, result.seconds, concat(shares, ","), tostring(result.is_short))
   return concat(out, "\n") .. "\n"
end

local function escaped(text)
   return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

-- Advice as HTML: what is indented is code.
local function in_html(lines)
   local out, words = {}, {}
   local function flush()
      if #words > 0 then out[#out + 1] = "<p>" .. escaped(concat(words, " ")) .. "</p>" end
      words = {}
   end
   for _, line in ipairs(lines) do
      local code = line:match("^    (.*)")
      if code then
         flush()
         out[#out + 1] = "<pre>" .. escaped(code) .. "</pre>"
      else
         words[#words + 1] = line
      end
   end
   flush()
   return concat(out)
end

local HEAD = [[
<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>sluss coach</title><style>
:root { color-scheme: light dark; --line: #8883; --bar: #e0701a; --note: #fff3e0; --ink: #222 }
@media (prefers-color-scheme: dark) { :root { --note: #3a2a17; --ink: #ddd } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink) }
h1 { font-size: 1.3rem } h2 { font-size: 1.05rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100%; font: 13px/1.45 ui-monospace, monospace }
.source { overflow-x: auto }
td { padding: 0 .6rem; white-space: pre; vertical-align: top } td.n { text-align: right; width: 2.5rem; opacity: .55 }
td.s { text-align: right; width: 4rem } td.b { width: 6rem } td.b div { background: var(--bar); height: .7em; margin-top: .35em }
tr.note td { white-space: normal; background: var(--note); font: 14px/1.5 system-ui, sans-serif; padding: .4rem .6rem }
tr.note td.n { border-left: 3px solid var(--bar); font-weight: 600; opacity: 1 }
p { margin: .2rem 0 } pre { font: 13px/1.45 ui-monospace, monospace; margin: .2rem 0 } .small { opacity: .75; font-weight: normal }
li { margin: .15rem 0 } a { color: inherit }
</style>
]]

--- The source of all files that took time, with each line's share and what was found there.
function M.html(result)
   local out = { HEAD }
   local function add(...) out[#out + 1] = format(...) end
   add("<h1>sluss coach</h1><p>%.1f s of CPU time: %s. %s</p>", result.seconds, escaped(parts(result)),
      #result.findings == 0 and "No finding." or format("%d finding%s.", #result.findings, #result.findings == 1 and "" or "s"))
   if #result.findings > 0 then add("<ol>") end
   for at, finding in ipairs(result.findings) do
      add('<li><a href="#finding-%d">%s:%d</a>: %s <span class=small>%s</span></li>', at, escaped(finding.at.file), finding.at.line,
         escaped(advice.kinds[finding.kind].what), cost(finding))
   end
   if #result.findings > 0 then add("</ol>") end
   local files, names = {}, {}
   local function file(name)
      if not files[name] then
         files[name] = { total = 0, lines = {}, notes = {} }
         names[#names + 1] = name
      end
      return files[name]
   end
   for id, line in pairs(result.lines) do
      local name, number = id:match("^(.*):(%d+)$")
      if name then
         local of = file(name)
         of.total = of.total + line.total
         of.lines[tonumber(number)] = line
      end
   end
   for at, finding in ipairs(result.findings) do
      local notes = file(finding.at.file).notes
      notes[finding.at.line] = notes[finding.at.line] or {}
      table.insert(notes[finding.at.line], { number = at, finding = finding })
   end
   table.sort(names, function (a, b)
      if files[a].total ~= files[b].total then return files[a].total > files[b].total end
      return a < b
   end)
   for _, name in ipairs(names) do
      local of = files[name]
      add("<h2>%s <span class=small>%s of the time</span></h2><div class=source><table>", escaped(name), percent(of.total / math.max(result.samples, 1)))
      local number = 1
      while true do
         local text = result.text_of(name, number)
         if not text then break end
         local line = of.lines[number]
         local share = line and line.total / result.samples or 0
         add("<tr><td class=n>%d</td><td class=s>%s</td><td class=b>%s</td><td>%s</td></tr>", number,
            share > 0 and format("%.1f %%", share * 100) or "",
            share > 0 and format('<div style="width:%.1f%%"></div>', share * 100) or "", escaped(text))
         for _, note in ipairs(of.notes[number] or {}) do
            local finding = note.finding
            local known = advice.kinds[finding.kind]
            add('<tr class=note id="finding-%d"><td class=n>%d.</td><td colspan=3><b>%s</b> <span class=small>costs %s; LuaJIT: %s%s</span>%s</td></tr>',
               note.number, note.number, escaped(known.what), cost(finding), escaped(finding.reason), escaped(tries(finding)), in_html(known.instead))
         end
         number = number + 1
      end
      add("</table></div>")
   end
   return concat(out, "\n")
end

return M
