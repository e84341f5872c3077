local counter, shm = require("core.counter"), require("core.shm")
local a = counter.create("test/a.counter", 5)
assert(counter.read(a) == 5 and counter.create("test/a.counter") == a)
counter.add(a)
counter.add(a, 10)
assert(a.c == 16)
counter.set(a, 2^40)

-- Other processes see it after a commit.
local file = io.open(shm.path("test/a.counter"), "rb")
counter.commit()
local bytes = file:read("*a")
file:close()
assert(#bytes == 8 and bytes:byte(6) == 1, bytes)
assert(tostring(counter.create("test/b.counter", 1234567)) == "1,234,567")

-- One that is opened is read where it is.
shm.create("other/c.counter", "struct counter").c = 9
assert(counter.read(counter.open("other/c.counter")) == 9)
counter.delete("test/a.counter")
assert(not shm.exists("test/a.counter") and not pcall(counter.delete, "test/a.counter"))
local again = counter.create("test/a.counter")
assert(again.c == 0)
