-- The timeline, a log of events: nothing is logged. The functions are there for programs that name them.
local timeline = {}
local function nothing () end
local every = setmetatable({}, { __index = function () return nothing end })

function timeline.new () return {} end
function timeline.rate () end
-- A table that has a function for each event.
function timeline.load_events () return every end

return timeline
