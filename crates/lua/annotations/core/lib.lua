---@meta core.lib

---@class core.lib
local lib = {}

---@param x any
---@param y any
---@return boolean
function lib.equal(x, y) end
---@param name string
---@param mode? string
---@return boolean
function lib.can_open(name, mode) end
---@param name string
---@return boolean
function lib.can_read(name) end
---@param name string
---@return boolean
function lib.can_write(name) end
---@param command string
---@param what string
---@return string?
function lib.readcmd(command, what) end
---@param name string
---@param what string
---@return string?
function lib.readfile(name, what) end
---@param name string
---@param value string
function lib.writefile(name, value) end
---@param name string
---@return string?
function lib.firstline(name) end
---@param folder string
---@return string?
function lib.firstfile(folder) end
---@param path string
---@return string?
function lib.readlink(path) end
---@param path string?
---@return string?
function lib.dirname(path) end
---@param path string?
---@return string?
function lib.basename(path) end
---@param text string
---@return any
function lib.load_string(text) end
---@param name string
---@return any
function lib.load_conf(name) end
---@param value any
---@param stream? file*
function lib.print_object(value, stream) end
---@param name string
---@param value any
function lib.store_conf(name, value) end
---@param numbers table
---@param base? integer
---@return integer
function lib.bits(numbers, base) end
---@param value integer
---@param n integer
---@return boolean
function lib.bitset(value, n) end
---@param s string
---@return string
function lib.hexdump(s) end
---@param text string
---@param n integer
---@param complaint? string|false
---@return string
function lib.hexundump(text, n, complaint) end
---@param n number|ffi.cdata*
---@return string
function lib.comma_value(n) end
---@param flag any
---@return "yes"|"no"
function lib.yesno(flag) end
---@param kind string|ffi.ctype*
---@param base ffi.cdata*
---@param offset integer
---@param size integer
---@return ffi.cdata*
function lib.bounds_checked(kind, base, offset, size) end
---@param kind string|ffi.ctype*
---@return ffi.cdata*
function lib.malloc(kind) end
---@param value integer
---@param size integer
---@return integer
function lib.align(value, size) end
---@generic T
---@param value T
---@return T
function lib.deepcopy(value) end
---@generic T
---@param array T[]
---@return T[]
function lib.array_copy(array) end
---@return table<any, boolean>
function lib.set(...) end
function lib.compiler_barrier() end
---@param n integer
---@return integer
function lib.htonl(n) end
---@param n integer
---@return integer
function lib.htons(n) end
---@param n integer
---@return integer
function lib.ntohl(n) end
---@param n integer
---@return integer
function lib.ntohs(n) end
---@param size integer
---@param struct table|ffi.cdata*
---@param member string
---@param offset integer
---@param count integer
---@param value? integer
---@return integer?
function lib.bitfield(size, struct, member, offset, count, value) end
---@param pointer ffi.cdata*
---@param length integer
---@param sum? integer
---@return integer
function lib.update_csum(pointer, length, sum) end
---@param sum integer
---@return integer
function lib.finish_csum(sum) end
---@param pointer ffi.cdata*
---@param length integer
---@return integer
function lib.csum(pointer, length) end
---A function that returns true at most once in so many seconds.
---@param seconds number
---@return fun(): boolean
function lib.throttle(seconds) end
---A function that returns true once so many seconds have passed.
---@param seconds number
---@return fun(): boolean
function lib.timeout(seconds) end
---@param condition fun(): boolean
function lib.waitfor(condition) end
---@param name string
---@param test fun(): boolean
---@param attempts integer
---@param interval integer
function lib.waitfor2(name, test, attempts, interval) end
---@param args string[]
---@param actions table<string, fun(arg: string?)>
---@param short string
---@param long? table<string, string|integer>
---@return string[] rest
function lib.dogetopt(args, actions, short, long) end
---Checks a table of parameters, and fills in defaults.
---@param arg table?
---@param config table<string, { required?: boolean, default?: any }>
---@return table
function lib.parse(arg, config) end
---@param name string
---@return boolean
function lib.have_module(name) end
---@param name string
---@return string?
function lib.getenv(name) end
---@param message? string
function lib.root_check(message) end
---@param path string
---@param argv? string[]
function lib.execv(path, argv) end
---@param name string
---@return boolean
function lib.is_iface(name) end
---@param count integer
---@return ffi.cdata*
function lib.random_bytes(count) end
---@param count integer
---@return ffi.cdata*
function lib.random_bytes_from_dev_urandom(count) end
---@param count integer
---@return ffi.cdata*
function lib.random_bytes_from_math_random(count) end
---@param seed? integer|string
---@return integer
function lib.randomseed(seed) end
---@param length integer
---@return string
function lib.random_data(length) end
---@param entropy? integer
---@return string
function lib.random_printable_string(entropy) end

return lib
