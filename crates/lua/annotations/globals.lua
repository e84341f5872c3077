---@meta
-- The types of packets, links and apps. The globals of programs are in `core/*.lua`.

---A packet: a C struct. Whoever has it owns it until it is transmitted or freed.
---@class sluss.packet
---@field length integer
---@field data table<integer, integer> Its bytes, from 0.

---A link between two apps: a ring of 1023 packets.
---@class sluss.link
---@field stats table<string, sluss.counter>

---@class sluss.counter
---@field c integer

---@class sluss.timer
---@field name string

---@class sluss.histogram
---@field total integer

---What `config.new` returns: apps, and links between them.
---@class sluss.config
---@field apps table<string, { class: sluss.class, arg: any }>
---@field links table<string, true>

---An app that runs.
---@class sluss.app
---@field appname string Its name in the graph.
---@field input table<string|integer, sluss.link> By name, and in order from 1.
---@field output table<string|integer, sluss.link>
---@field shm? table Objects that other programs see, such as `{ packets = { counter } }`.
---@field zone? string What profiles call it.

---A class of apps. Each method but `new` may be missing.
---@class sluss.class
---@field new fun(self: sluss.class, conf: any): table Starts an app.
---@field config? table<string, { required?: boolean, default?: any }> Which parameters there are.
---@field pull? fun(self: table) Once a breath: brings packets in.
---@field push? fun(self: table) For each input link, upstream before downstream.
---@field push_link? table<string, fun(self: table, link: sluss.link)> In place of `push`, for inputs of these names.
---@field tick? fun(self: table) A thousand times a second.
---@field link? fun(self: table, direction: "input"|"output", name: string) A link has come.
---@field unlink? fun(self: table, direction: "input"|"output", name: string) A link goes.
---@field reconfig? fun(self: table, conf: any) In place of a new start with another configuration.
---@field report? fun(self: table) At the end of a run.
---@field stop? fun(self: table) The app goes.
