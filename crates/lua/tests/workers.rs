//! Programs on several workers: what becomes of the packets between them when the graph changes.

use lua::{Options, Vm};
use testkit::files::Scratch;

/// A source that counts what it sends, and a sink that counts what it gets; `graph` links them, on these workers. `tell` writes a line of numbers.
const APPS: &str = "
local Source, Sink = {}, {}
local sent, got = 0, 0
function Source:new (limit) return setmetatable({ left = limit or math.huge }, { __index = Source }) end
function Source:pull ()
   local output = self.output.output
   local count = math.min(20, self.left, link.nwritable(output))
   for _ = 1, count do link.transmit(output, packet.from_string(('x'):rep(60))) end
   sent, self.left = sent + count, self.left - count
end
function Sink:new () return setmetatable({}, { __index = Sink }) end
function Sink:push ()
   local input = self.input.input
   while not link.empty(input) do
      packet.free(link.receive(input))
      got = got + 1
   end
end
local function graph (from, to, limit)
   engine.placement = { source = from, sink = to }
   local c = config.new()
   config.app(c, 'source', Source, limit)
   config.app(c, 'sink', Sink)
   config.link(c, 'source.output -> sink.input')
   engine.configure(c)
end
local function tell (...)
   local file = assert(io.open(told, 'a'))
   file:write(table.concat({ ... }, ' '), '\\n')
   file:close()
end
";

/// What a program has told on these workers.
fn run(workers: usize, text: &str) -> Vec<Vec<u64>> {
    let folder = Scratch::new();
    let (told, file) = (folder.path("told"), folder.path("program.lua"));
    std::fs::write(&file, format!("local told = {told:?}\n{APPS}\n{text}")).expect("a file");
    let options = Options { shm_root: Some(folder.path("shm")), ..Options::default() };
    if let Err(error) = Vm::run_file_on_workers(&options, workers, file.as_ref(), &[]) {
        panic!("{error}");
    }
    let told = std::fs::read_to_string(told).unwrap_or_default();
    let numbers = |line: &str| line.split(' ').map(|number| number.parse().expect("a number")).collect();
    told.lines().map(numbers).collect()
}

/// Each worker changes its part when it comes to it, so at times both send, and both receive.
#[test]
fn each_packet_is_freed_once_while_apps_change_workers() {
    let told = run(
        2,
        "for round = 1, 60 do
            if round % 2 == 1 then graph(1, 2) else graph(2, 1) end
            engine.main { duration = 0.005, no_report = true }
         end
         engine.configure(config.new())
         tell(sent, got, tonumber(engine.frees.c))",
    );
    let sum = |column: usize| told.iter().map(|numbers| numbers[column]).sum::<u64>();
    assert!(told.len() == 2 && sum(1) > 0, "{told:?}");
    assert_eq!(sum(0), sum(2), "sent, received and freed on each worker: {told:?}");
}

#[test]
fn packets_left_between_workers_are_freed_and_counted_when_the_link_goes() {
    let told = run(
        2,
        "if engine.worker == 2 then
            engine.main { done = function () return false end, no_report = true }
         else
            graph(1, 2, 100)
            engine.main { done = function () return sent == 100 end, no_report = true }
            engine.configure(config.new())
            tell(tonumber(engine.dropped.c), tonumber(engine.frees.c), tonumber(engine.freebytes.c))
            -- They do not come out of another link of the same text.
            graph(2, 1)
            engine.main { duration = 0.01, no_report = true }
            tell(got, tonumber(engine.dropped.c), packet.nfree() > 0 and 1 or 0)
         end",
    );
    assert_eq!(told, [vec![100, 100, 6000], vec![0, 100, 1]]);
}

#[test]
fn links_whose_texts_differ_in_underscores_are_told_apart() {
    let told = run(
        2,
        "engine.placement = { a = 1, a_b = 1, d = 2, d_e = 2, a_b_c_to_d_e_f = 2 }
         local c = config.new()
         for name in pairs(engine.placement) do
            config.app(c, name, name:sub(1, 1) == 'a' and name ~= 'a_b_c_to_d_e_f' and Source or Sink, 10)
         end
         -- The port `output` is the one that the source knows.
         local pull = Source.pull
         function Source:pull ()
            self.output.output = self.output[1]
            pull(self)
            self.output.output = nil
         end
         function Sink:push ()
            local input = self.input[1]
            while not link.empty(input) do
               packet.free(link.receive(input))
               got = got + 1
            end
         end
         config.link(c, 'a_b.c -> d.e_f')
         config.link(c, 'a.b_c -> d_e.f')
         engine.configure(c)
         if engine.worker == 2 then
            engine.main { done = function () return got == 20 end, no_report = true }
            tell(got)
         else
            engine.main { done = function () return false end, no_report = true }
         end",
    );
    assert_eq!(told, [[20]]);
}
