local c = config.new()
config.link(c, " a.x->b.y ")
assert(c.links["a.x -> b.y"])
local a, x, b, y = config.parse_link("a.x -> b.y")
assert(a == "a" and x == "x" and b == "b" and y == "y")
for _, wrong in ipairs { "a -> b", "a.x - b.y", "a.x -> b.y!", "" } do assert(not pcall(config.parse_link, wrong), wrong) end

-- Arguments are checked against the class's parameters; text is read as Lua.
local Class = { config = { size = { required = true }, colour = { default = "red" } } }
config.app(c, "one", Class, { size = 1 })
assert(c.apps.one.arg.colour == "red" and c.apps.one.class == Class)
config.app(c, "two", Class, "{ size = 2, colour = 'blue' }")
assert(c.apps.two.arg.size == 2 and c.apps.two.arg.colour == "blue")
local ok, why = pcall(config.app, c, "three", Class, {})
assert(not ok and why:match("failed to configure 'three'") and why:match("size"), why)
assert(not pcall(config.app, c, "four", Class, { size = 1, shape = 1 }))
assert(not pcall(config.app, c, 5, Class) and not pcall(config.app, c, "six", "class"))
assert(config.graphviz(c):match('a %-> b %[taillabel="x" headlabel="y"%]'))
