-- A device of DPDK: what comes in at `input` is sent, what is received goes to `output`. It is the native app `dpdk`: packets are not copied where its driver
-- allows that, and are `struct packet` here as everywhere.
--
-- The argument is a device as DPDK names it (`"net_ring0"`), the options of the native app (`{ device = "net_tap0,iface=t0", queues = 2, queue = 1 }`), or a number,
-- as in snabb-libmoon-compat, where DPDK was set up elsewhere: that of a device in the list `devices`, from 0. The list is what SLUSS_DPDK_DEVICES names,
-- with semicolons between.

local counter = require("core.counter")
local lib = require("core.lib")

local M = { devices = {} }

for device in (lib.getenv("SLUSS_DPDK_DEVICES") or ""):gmatch("[^;]+") do
   M.devices[M.devices[0] and #M.devices + 1 or 0] = device
end

local DPDKDevice = {}
M.DPDKDevice = DPDKDevice

local function device_of (number)
   local device = M.devices[number]
   if device then return device end
   error(("there is no device %d: SLUSS_DPDK_DEVICES, with semicolons between devices, names %d"):format(number,
      M.devices[0] and #M.devices + 1 or 0), 0)
end

local function report (self)
   local output = self.output.output
   local received = output and tonumber(counter.read(output.stats.txpackets)) or 0
   print(("DPDKDevice '%s' sent %d packets and received %d packets"):format(self.appname, self:counters().delivered or 0, received))
end

function DPDKDevice:new (arg)
   local options = type(arg) == "table" and lib.deepcopy(arg) or { device = arg }
   if type(options.device) == "number" then options.device = device_of(options.device) end
   local app = require("sluss.apps").dpdk:new(options)
   app.report = report
   return app
end

return M
