-- Runs MyApp in a network: made-up packets of two lengths go to it. `sluss run my_app/main.lua [SECONDS]`
local apps = require("sluss.apps")
local counter = require("core.counter")
local MyApp = require("my_app").MyApp

local c = config.new()
config.app(c, "synth", apps.synth, { sizes = { 60, 1514 } })
config.app(c, "my_app", MyApp, { length = 100 })
config.app(c, "sink", apps.sink)
config.link(c, "synth.output -> my_app.input")
config.link(c, "my_app.output -> sink.input")
engine.configure(c)
engine.main({ duration = tonumber(main.parameters[1]) or 1, report = { showlinks = true } })
print(("%d packets were short"):format(tonumber(counter.read(engine.app_table.my_app.shm.short))))
