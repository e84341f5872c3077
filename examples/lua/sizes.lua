-- An app for `examples/lua/sizes.toml`: counts packets by size, and passes them on. Every so many packets it prints what it has seen.
local Sizes = {
   config = {
      every = { default = 1000 },
   },
}
Sizes.__index = Sizes

function Sizes:new (arg)
   return setmetatable({ every = arg.every, seen = 0, small = 0 }, Sizes)
end

function Sizes:push ()
   local input, output = self.input.input, self.output.output
   while not link.empty(input) do
      local p = link.receive(input)
      self.seen = self.seen + 1
      if p.length <= 128 then self.small = self.small + 1 end
      if self.seen % self.every == 0 then
         print(("%d packets, %d of them small"):format(self.seen, self.small))
      end
      link.transmit(output, p)
   end
end

return { Sizes = Sizes }
