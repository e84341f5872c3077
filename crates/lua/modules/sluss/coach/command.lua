-- The coach of `sluss run --coach`: watches from the beginning of a program to its end, and prints what it has found.
local coach = require("sluss.coach")
local report = require("sluss.coach.report")

local M = {}

local wanted

--- Begins to watch. At the end, the findings are printed as JSON if `json`, else in words, and a page with the source is written to the
--- file `page`, if that is a name.
function M.begin(json, page)
   wanted = { json = json == "json" }
   if page ~= "" then
      local file, why = io.open(page, "w")
      if not file then error(why, 0) end
      wanted.page = file
   end
   -- A program may end the process itself.
   local exit = os.exit
   os.exit = function (...)
      M.finish()
      exit(...)
   end
   coach.start()
end

--- Prints what was found, once.
function M.finish()
   local how = wanted
   if not how then return end
   wanted = nil
   local result = coach.stop()
   if how.page then
      assert(how.page:write(report.html(result)))
      assert(how.page:close())
   end
   io.stdout:write(how.json and report.json(result) or report.text(result))
   io.stdout:flush()
end

return M
