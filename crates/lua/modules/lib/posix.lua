-- The system calls that these modules need, with results as Lua likes them: a value, or nil and an Errno, whose string is the
-- system's message. Each C function is declared under a name of our own, so that no other declaration of it can be in the way.

local ffi = require("ffi")
local C = ffi.C

ffi.cdef([[
   int sluss_lua_open (const char *path, int flags, int mode) __asm__("open");
   int sluss_lua_close (int fd) __asm__("close");
   ssize_t sluss_lua_read (int fd, void *to, size_t n) __asm__("read");
   ssize_t sluss_lua_write (int fd, const void *from, size_t n) __asm__("write");
   int sluss_lua_ioctl (int fd, unsigned long request, void *argument) __asm__("ioctl");
   int sluss_lua_socket (int domain, int type, int protocol) __asm__("socket");
   int sluss_lua_bind (int fd, const void *address, uint32_t size) __asm__("bind");
   int sluss_lua_connect (int fd, const void *address, uint32_t size) __asm__("connect");
   int sluss_lua_listen (int fd, int backlog) __asm__("listen");
   ssize_t sluss_lua_send (int fd, const void *from, size_t n, int flags) __asm__("send");
   int sluss_lua_accept4 (int fd, void *address, uint32_t *size, int flags) __asm__("accept4");
   unsigned sluss_lua_if_nametoindex (const char *name) __asm__("if_nametoindex");
   int sluss_lua_unlink (const char *path) __asm__("unlink");
   int sluss_lua_access (const char *path, int mode) __asm__("access");
   int sluss_lua_getpid (void) __asm__("getpid");
   void *sluss_lua_mmap (void *at, size_t size, int protection, int flags, int fd, int64_t offset) __asm__("mmap");
   int sluss_lua_munmap (void *at, size_t size) __asm__("munmap");
   int sluss_lua_madvise (void *at, size_t size, int advice) __asm__("madvise");
   int sluss_lua_sched_setaffinity (int pid, size_t size, const void *mask) __asm__("sched_setaffinity");
   int sluss_lua_sched_getaffinity (int pid, size_t size, void *mask) __asm__("sched_getaffinity");
   int sluss_lua_sched_setscheduler (int pid, int policy, const int *priority) __asm__("sched_setscheduler");
   long sluss_lua_syscall (long number, ...) __asm__("syscall");
   char *sluss_lua_strerror (int code) __asm__("strerror");
   int sluss_lua_clock_gettime (int clock, int64_t *seconds_and_nanoseconds) __asm__("clock_gettime");
   int sluss_lua_usleep (uint32_t microseconds) __asm__("usleep");
]])

local M = {}

M.EINTR, M.EAGAIN, M.ENOENT = 4, 11, 2
M.O_RDONLY, M.O_WRONLY, M.O_RDWR, M.O_NONBLOCK, M.O_CLOEXEC = 0, 1, 2, 0x800, 0x80000
M.AF_UNIX, M.AF_INET, M.AF_PACKET = 1, 2, 17
M.SOCK_STREAM, M.SOCK_DGRAM, M.SOCK_RAW, M.SOCK_SEQPACKET, M.SOCK_NONBLOCK, M.SOCK_CLOEXEC = 1, 2, 3, 5, 0x800, 0x80000

local Errno = {}
Errno.__index = Errno
function Errno:__tostring ()
   return ffi.string(C.sluss_lua_strerror(self.code))
end

local errors = {}

-- The error of the last call, one table for each code.
local function last_error ()
   local code = ffi.errno()
   errors[code] = errors[code] or setmetatable({ code = code, again = code == M.EAGAIN }, Errno)
   return errors[code]
end

local function checked (result)
   if result < 0 then return nil, last_error() end
   return tonumber(result)
end

function M.open (path, flags, mode) return checked(C.sluss_lua_open(path, flags, mode or 0)) end
function M.close (fd) return checked(C.sluss_lua_close(fd)) end
function M.read (fd, to, n) return checked(C.sluss_lua_read(fd, to, n)) end
function M.write (fd, from, n) return checked(C.sluss_lua_write(fd, from, n)) end
function M.ioctl (fd, request, argument) return checked(C.sluss_lua_ioctl(fd, request, argument)) end
function M.socket (domain, kind, protocol) return checked(C.sluss_lua_socket(domain, kind, protocol or 0)) end
function M.bind (fd, address) return checked(C.sluss_lua_bind(fd, address, ffi.sizeof(address))) end
function M.connect (fd, address) return checked(C.sluss_lua_connect(fd, address, ffi.sizeof(address))) end
-- As write(), to a socket whose other side may have gone: without the signal.
local MSG_NOSIGNAL = 0x4000
function M.send (fd, from, n) return checked(C.sluss_lua_send(fd, from, n, MSG_NOSIGNAL)) end
function M.listen (fd, backlog) return checked(C.sluss_lua_listen(fd, backlog or 1)) end
function M.accept (fd, flags) return checked(C.sluss_lua_accept4(fd, nil, nil, flags or 0)) end
function M.unlink (path) return checked(C.sluss_lua_unlink(path)) end
function M.exists (path) return C.sluss_lua_access(path, 0) == 0 end
function M.getpid () return C.sluss_lua_getpid() end
function M.usleep (microseconds) C.sluss_lua_usleep(microseconds) end

-- The index of a network interface, or nil and the error.
function M.interface_index (name)
   local index = C.sluss_lua_if_nametoindex(name)
   if index == 0 then return nil, last_error() end
   return index
end

local PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, MADV_HUGEPAGE, HUGE_PAGE = 3, 0x22, 14, 2097152

-- `size` bytes of memory, all zero, as a uint8_t pointer that gives the memory back when it is collected. The kernel is asked to
-- use huge pages where they fit.
function M.zeroed_memory (size)
   local memory = C.sluss_lua_mmap(nil, size, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
   if ffi.cast("intptr_t", memory) == -1 then
      error(("cannot allocate %d bytes: %s"):format(size, tostring(last_error())))
   end
   if size >= HUGE_PAGE then
      C.sluss_lua_madvise(memory, size, MADV_HUGEPAGE)
   end
   return ffi.gc(ffi.cast("uint8_t *", memory), function (at) C.sluss_lua_munmap(at, size) end)
end

local CLOCK_MONOTONIC = 1
local time = ffi.new("int64_t[2]")

-- Nanoseconds of the monotonic clock, as uint64_t.
function M.monotonic_ns ()
   C.sluss_lua_clock_gettime(CLOCK_MONOTONIC, time)
   return time[0] * 1000000000ULL + time[1]
end

-- Sets of CPUs, as tables whose keys are their numbers: those that this thread may run on.
local CPU_SET_BYTES = 128

function M.get_affinity ()
   local mask = ffi.new("uint8_t[?]", CPU_SET_BYTES)
   local ok, err = checked(C.sluss_lua_sched_getaffinity(0, CPU_SET_BYTES, mask))
   if not ok then return nil, err end
   local cpus = {}
   for cpu = 0, CPU_SET_BYTES * 8 - 1 do
      if bit.band(mask[bit.rshift(cpu, 3)], bit.lshift(1, bit.band(cpu, 7))) ~= 0 then cpus[cpu] = true end
   end
   return cpus
end

function M.set_affinity (cpus)
   local mask = ffi.new("uint8_t[?]", CPU_SET_BYTES)
   for cpu in pairs(cpus) do
      local at = bit.rshift(cpu, 3)
      mask[at] = bit.bor(mask[at], bit.lshift(1, bit.band(cpu, 7)))
   end
   return checked(C.sluss_lua_sched_setaffinity(0, CPU_SET_BYTES, mask))
end

local SCHED_FIFO, SYS_GETCPU, SYS_SET_MEMPOLICY, SYS_GET_MEMPOLICY, SYS_MIGRATE_PAGES = 1, 309, 238, 239, 256

-- Real-time scheduling with a priority.
function M.set_realtime (priority)
   return checked(C.sluss_lua_sched_setscheduler(0, SCHED_FIFO, ffi.new("int[1]", priority)))
end

-- The CPU that runs this, and its NUMA node.
function M.getcpu ()
   local cpu, node = ffi.new("uint32_t[1]"), ffi.new("uint32_t[1]")
   local ok, err = checked(C.sluss_lua_syscall(SYS_GETCPU, cpu, node, nil))
   if not ok then return nil, err end
   return cpu[0], node[0]
end

local NODE_BITS = 1024

local function node_mask (node)
   local mask = ffi.new("uint64_t[?]", NODE_BITS / 64)
   if node then mask[math.floor(node / 64)] = bit.lshift(1ULL, node % 64) end
   return mask
end

M.MPOL_DEFAULT, M.MPOL_PREFERRED, M.MPOL_BIND = 0, 1, 2

-- From which NUMA node this thread's memory comes: a mode, and the node for those that take one.
function M.set_mempolicy (mode, node)
   return checked(C.sluss_lua_syscall(SYS_SET_MEMPOLICY, ffi.cast("long", mode), node_mask(node), ffi.cast("long", NODE_BITS)))
end

function M.get_mempolicy ()
   local mode = ffi.new("int[1]")
   local ok, err = checked(C.sluss_lua_syscall(SYS_GET_MEMPOLICY, mode, nil, ffi.cast("long", 0), nil, ffi.cast("long", 0)))
   if not ok then return nil, err end
   return mode[0]
end

-- Moves this process's memory from all other nodes to `node`.
function M.migrate_pages (node)
   local from, to = node_mask(), node_mask(node)
   for i = 0, NODE_BITS / 64 - 1 do
      from[i] = bit.bnot(to[i])
   end
   return checked(C.sluss_lua_syscall(SYS_MIGRATE_PAGES, ffi.cast("long", 0), ffi.cast("long", NODE_BITS), from, to))
end

return M
