---@meta core.app

---@class core.app
---@field app_table table<string, table> The running apps.
---@field link_table table<string, sluss.link> The links, by their text.
---@field configuration sluss.config
---@field pull_npackets integer How many packets an app brings in a breath.
---@field Hz number|false Breaths a second.
---@field sleep number
---@field maxsleep number The longest sleep between breaths, in microseconds.
---@field busywait boolean
---@field tick_Hz number
---@field log boolean
---@field test_skipped_code integer
---@field program_name string|false
---@field worker integer Which worker this is, from 1.
---@field workers integer
---@field placement table<string, integer> Workers of apps that are placed by hand.
---@field breaths sluss.counter
---@field frees sluss.counter
---@field freebits sluss.counter
---@field freebytes sluss.counter
---@field configs sluss.counter
---@field lost sluss.counter
---@field dropped sluss.counter
---@field breathe_pull_order table
---@field breathe_push_order table
---@field breathe_ticks table
---@field app_events table
---@field auditlog_enabled boolean
---@field vmprofile_enabled boolean
---@field monotonic_now number|false
engine = {}

---The time of this breath, in seconds.
---@return number
function engine.now() end
---Makes the running graph what a configuration says.
---@param new sluss.config
function engine.configure(new) end
---Stops all apps.
function engine.stop() end
---@param old sluss.config
---@param new sluss.config
---@return table actions A list of { operation, arguments }.
function engine.compute_config_actions(old, new) end
---@param actions table
function engine.apply_config_actions(actions) end
---@param nodes table
---@param entries table
---@param successors table
---@return table order
function engine.tsort(nodes, entries, successors) end
function engine.compute_breathe_order() end
---One breath.
function engine.breathe() end
function engine.pace_breathing() end
---@param frequency? number Ticks a second; 0 for none.
function engine.enable_tick(frequency) end
function engine.enable_latency_histogram() end
---@class sluss.main_options
---@field duration? number Seconds.
---@field done? fun(): boolean
---@field report? { showload?: boolean, showlinks?: boolean, showapps?: boolean }
---@field no_report? boolean
---@field no_timers? boolean
---@field measure_latency? boolean

---Breathes for a time, until something is done, or for ever.
---@param options? sluss.main_options
function engine.main(options) end
---@param options? { showload?: boolean, showlinks?: boolean, showapps?: boolean }
function engine.report(options) end
function engine.report_load() end
function engine.report_links() end
function engine.report_apps() end
---@param name string
function engine.claim_name(name) end
---@param name? string
function engine.unclaim_name(name) end
---@return table<string, integer> pids By name.
function engine.enumerate_named_programs() end
---@return table
function engine.timeline() end
function engine.randomize_log_rate() end
function engine.enable_auditlog() end
function engine.setvmprofile() end
function engine.clearvmprofiles() end

return engine
