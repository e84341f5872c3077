//! `sluss ps` and `sluss top --once` with a real engine in another process, alive and killed.

use crate::common::{self, Terminal, arg, code, scratch, sluss, stderr, stdout};
use engine::shm::Segment;
use engine::{App, Class, Engine, Graph, Io, OptionError, Ports, Settings, Setup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Runs in a process of its own, started by the tests below: this program, asked for this test.
#[test]
#[ignore = "not a test but the instance that tests look at"]
fn instance() {
    let Ok(name) = std::env::var("SLUSS_TEST_INSTANCE") else { return };
    let counters = Segment::of_instance(&name).expect("counters");
    let mut engine = Engine::new(Settings { counters, ..Settings::new().expect("memory") }).expect("memory");
    let mut graph = Graph::new();
    graph.app("source", apps::Source::default()).expect("a name");
    graph.app("tee", apps::Tee {}).expect("a name");
    graph.app("sink", apps::Sink {}).expect("a name");
    for link in ["source.output -> tee.input", "tee.a -> sink.a", "tee.b -> sink.b"] {
        graph.link(link).expect("apps that are there");
    }
    if name == "looping" {
        graph.app("stuck", Stuck { after: 100_000 }).expect("a name");
        graph.link("tee.c -> stuck.input").expect("ports");
    }
    engine.configure(&graph).expect("a graph that runs");
    engine.run_for(Duration::from_secs(60)).expect("threads");
}

/// Swallows packets, and then loops for ever.
#[derive(Clone, Debug, PartialEq)]
struct Stuck {
    after: u64,
}

struct StuckState {
    left: u64,
    delivered: engine::shm::Counter,
}

impl Class for Stuck {
    const TYPE: &'static str = "stuck";
    const OUTPUTS: Ports = Ports::NONE;
    type App = StuckState;

    fn start(&self, setup: &mut Setup<'_>) -> Result<StuckState, OptionError> {
        Ok(StuckState { left: self.after, delivered: setup.delivered() })
    }
}

impl App for StuckState {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            self.left = self.left.saturating_sub(burst.len() as u64);
            io.pool.free_burst(burst, &self.delivered);
        }
        if self.left == 0 {
            loop {
                std::hint::spin_loop();
            }
        }
    }
}

/// The instance, and the folder of its counters; it ends with this.
struct Instance {
    child: Child,
    folder: PathBuf,
}

impl Instance {
    fn start(name: &str) -> Self {
        let folder = scratch(name);
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "instances::instance", "--ignored", "--nocapture"])
            .env("SLUSS_TEST_INSTANCE", name)
            .env("SLUSS_RUNTIME_DIR", &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let instance = Instance { child, folder };
        let begin = Instant::now();
        while !instance.lines(&["ps", "--json"]).iter().any(|found| found["packets"].as_u64() > Some(0)) {
            assert!(begin.elapsed() < Duration::from_secs(30), "it does not move packets");
            std::thread::sleep(Duration::from_millis(50));
        }
        instance
    }

    fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    fn sluss(&self, args: &[&str]) -> Output {
        in_folder(&self.folder, args)
    }

    /// What a command prints, as JSON.
    fn lines(&self, args: &[&str]) -> Vec<Value> {
        let output = self.sluss(args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn in_folder(folder: &Path, args: &[&str]) -> Output {
    sluss(args).env("SLUSS_RUNTIME_DIR", folder).output().expect("the command starts")
}

#[test]
fn a_running_instance_has_rates() {
    let instance = Instance::start("rates");
    let pid = instance.child.id();
    let [found] = &instance.lines(&["ps", "--json"])[..] else { panic!("one instance") };
    assert_eq!(
        (&found["name"], &found["pid"], &found["state"]),
        (&"rates".into(), &pid.into(), &"running".into())
    );
    assert_eq!(["workers", "apps", "links"].map(|key| found[key].as_u64()), [Some(1), Some(3), Some(3)]);

    let [top] = &instance.lines(&["top", "--once", "--json", "--interval", "500ms"])[..] else {
        panic!("one")
    };
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {top}"));
    assert_eq!(
        (&top["type"], &top["burst"], &top["apps"]["tee"]["type"]),
        (&"top".into(), &64.into(), &"tee".into())
    );
    assert!(number(&top["interval_s"]) >= 0.5 && number(&top["packets_per_s"]) > 0.0);
    let link = &top["links"]["source.output -> tee.input"];
    let (bits, on_wire) = (number(&link["bits_per_s"]), number(&link["wire_bits_per_s"]));
    // 60 bytes a packet, and 84 on an Ethernet.
    assert!((on_wire / bits - 84.0 / 60.0).abs() < 1e-6, "{link}");
    assert!(number(&link["fill"]) > 0.5, "a source fills its bursts: {link}");
    let busy: f64 = ["source", "tee", "sink"].iter().map(|app| number(&top["apps"][app]["cpu"])).sum();
    assert!(busy > 0.0 && number(&top["workers"][0]["cpu"]) - busy < 1e-6);
    let turn = &top["apps"]["tee"]["turn_ns"];
    assert!(number(&turn["p50"]) > 0.0 && number(&turn["p99"]) >= number(&turn["p50"]), "{turn}");
    assert_eq!(number(&top["drops_per_s"]), 0.0);
    let delivered = &top["apps"]["sink"]["counters"]["delivered"];
    assert!(number(&delivered["total"]) > 0.0 && number(&delivered["per_s"]) > 0.0, "{delivered}");

    let table = stdout(&instance.sluss(&["top", "--once", "--interval", "100ms", &pid.to_string()]));
    assert!(table.contains("rates (pid") && table.contains("source.output -> tee.input"), "{table}");
    let output = instance.sluss(&["top", "--once", "another"]);
    let told = format!(
        "error: no instance has the name or process number `another`\nhelp: there are rates ({pid})\n"
    );
    assert_eq!((code(&output), stderr(&output)), (2, told));
    let output = instance.sluss(&["top"]);
    assert!(code(&output) == 2 && stderr(&output).contains("--once"), "{}", stderr(&output));
}

#[test]
fn an_app_that_loops_for_ever_is_named() {
    let instance = Instance::start("looping");
    let begin = Instant::now();
    let lasting = loop {
        let [found] = &instance.lines(&["ps", "--json"])[..] else { panic!("one instance") };
        if let [lasting] = &found["lasting_turns"].as_array().expect("a list")[..]
            && lasting["for_s"].as_f64() > Some(0.5)
        {
            break lasting.clone();
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{found}");
    };
    assert_eq!((&lasting["app"], &lasting["worker"]), (&"stuck".into(), &0.into()));
    let text = stdout(&instance.sluss(&["ps"]));
    assert!(text.contains("! looping: the turn of app `stuck` lasts, "), "{text}");
    let top = |json: &[&str]| instance.sluss(&[&["top", "--once", "--interval", "100ms"], json].concat());
    let text = stdout(&top(&[]));
    assert!(text.contains("worker 0: ! turn of stuck lasts "), "{text}");
    let object: Value = serde_json::from_str(&stdout(&top(&["--json"]))).expect("JSON");
    let told = &object["workers"][0]["lasting_turn"];
    // The same turn, which has lasted longer since.
    assert_eq!((&told["app"], &told["since_unix_ns"]), (&lasting["app"], &lasting["since_unix_ns"]));
    assert!(told["for_s"].as_f64() > lasting["for_s"].as_f64(), "{told}");
}

#[test]
fn where_nothing_runs_it_is_said_what_starts_something() {
    let folder = common::scratch("no-instances");
    let how = "`sluss run GRAPH` starts one; SLUSS_RUNTIME_DIR says where else they are";
    let nothing = format!("note: no instances: there are no counters in {}; {how}\n", folder.display());
    for (args, expected, told) in [
        (&["ps"][..], 0, nothing.clone()),
        (&["top", "--once"], 1, nothing),
        (
            &["top", "--once", "x"],
            2,
            format!(
                "error: no instance has the name or process number `x`\nhelp: there are no instances: {how}\n"
            ),
        ),
    ] {
        let output = in_folder(&folder, args);
        assert_eq!((code(&output), stderr(&output)), (expected, told), "{args:?}");
    }
}

/// What a command prints on a narrow terminal.
fn on_narrow_terminal(folder: &Path, args: &[&str]) -> String {
    let mut terminal = Terminal::of_columns("40");
    let mut command = sluss(args);
    command.env("SLUSS_RUNTIME_DIR", folder).stdout(terminal.theirs()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // With the last of those at its other end, a terminal ends (EIO).
    drop(command);
    let mut seen = Vec::new();
    let mut more = [0; 1000];
    while let Ok(len @ 1..) = terminal.ours.read(&mut more) {
        seen.extend(&more[..len]);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    String::from_utf8(seen).unwrap()
}

#[test]
fn a_narrow_terminal_is_kept_to() {
    let instance = Instance::start("narrow_terminal_of_an_instance");
    for (args, end) in [
        (&["ps"][..], "DROPS"),
        (&["top", "--once", "--interval", "100ms"], "DROPS/S"),
        (&["explain", "not vlan and tcp port 80", "--color", "never"], "In full:"),
    ] {
        let text = on_narrow_terminal(&instance.folder, args);
        let is_narrow = |line: &str| line.trim_end().chars().count() <= 40;
        let words = text.split("warning[").next().unwrap_or_default();
        assert!(words.lines().all(is_narrow) && words.contains(end), "{args:?}: {text}");
    }
    let wide = stdout(&instance.sluss(&["ps"]));
    assert!(wide.contains("WORKERS") && wide.contains("narrow_terminal_of_an_instance"), "{wide}");
}

#[test]
fn a_killed_instance_keeps_its_counters_until_cleaned() {
    let mut instance = Instance::start("killed");
    instance.kill();
    let [found] = &instance.lines(&["ps", "--json"])[..] else { panic!("one instance") };
    assert_eq!((&found["state"], &found["uptime_s"]), (&"crashed".into(), &Value::Null));
    assert!(found["packets"].as_u64() > Some(0));
    let begin = Instant::now();
    let [top] = &instance.lines(&["top", "--once", "--json", "--interval", "1h"])[..] else { panic!("one") };
    assert!(begin.elapsed() < Duration::from_secs(60), "it does not wait for what is dead");
    assert_eq!((&top["state"], &top["packets_per_s"]), (&"crashed".into(), &Value::Null));
    assert!(top["workers"][0]["breath_ns"]["p50"].as_u64().is_some_and(|ns| ns > 0), "{top}");
    assert!(top["links"]["tee.a -> sink.a"]["txpackets"].as_u64() > Some(0), "{top}");
    assert_eq!(top["apps"]["tee"]["state"], "crashed");
    let table = stdout(&instance.sluss(&["top", "--once"]));
    assert!(!table.contains(" ok "), "no app of what has crashed runs: {table}");
    assert!(stdout(&instance.sluss(&["ps"])).contains("crashed"));

    let cleaned = stdout(&instance.sluss(&["ps", "--clean"]));
    assert!(cleaned.starts_with("removed ") && cleaned.contains("killed."), "{cleaned}");
    assert_eq!(std::fs::read_dir(&instance.folder).expect("a folder").count(), 0);
    assert!(instance.lines(&["ps", "--json"]).is_empty());
}

#[test]
fn hostile_files_are_told_of_and_do_no_harm() {
    let folder = scratch("hostile-counters");
    let mut huge = b"slussctr\x01\0\0\0".to_vec();
    huge.resize(192, 0xff);
    let mut garbage = b"slussctr\x01\0\0\0".to_vec();
    garbage.resize(32, 0);
    garbage.extend(8192_u64.to_ne_bytes());
    garbage.resize(8192, 0xa5);
    for (name, bytes) in [("empty", &b""[..]), ("huge", &huge), ("garbage", &garbage), ("text", b"hello")] {
        std::fs::write(folder.join(format!("{name}.4194999.counters")), bytes).expect("a file");
    }
    for args in [&["ps"][..], &["ps", "--json"], &["top", "--once"], &["top", "--once", "--json"]] {
        let output = in_folder(&folder, args);
        assert!([0, 1].contains(&code(&output)), "{args:?}: {}", stderr(&output));
        let warning = if args.contains(&"--json") { r#""severity":"warning""# } else { "warning: " };
        assert_eq!(stderr(&output).matches(warning).count(), 4, "{args:?}: {}", stderr(&output));
    }
    let output = in_folder(Path::new(arg(&folder.join("empty.4194999.counters"))), &["ps"]);
    assert_eq!(code(&output), 3, "a file is no folder");
}

#[test]
fn a_folder_that_cannot_be_read_hides_no_other() {
    let runtime = scratch("unreadable-folder");
    // A file in its place: nobody can read that as a folder, not even root.
    std::fs::write(runtime.join("sluss"), "").expect("a file");
    for args in [&["ps"][..], &["ps", "--json"], &["top", "--once"], &["top", "--once", "--json"]] {
        let mut command = sluss(args);
        let output = command.env_remove("SLUSS_RUNTIME_DIR").env("XDG_RUNTIME_DIR", &runtime).output();
        let output = output.expect("the command starts");
        let message = format!("{}: Not a directory", runtime.join("sluss").display());
        assert!([0, 1].contains(&code(&output)), "{args:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(&message) && stderr(&output).contains("warning"),
            "{args:?}: {}",
            stderr(&output)
        );
        let nothing =
            stderr(&output).lines().filter(|line| line.contains("no counters in")).collect::<String>();
        assert!(!nothing.contains(arg(&runtime)), "nobody knows: {nothing}");
    }
}

/// Runs a graph of so many sources and sinks, with its counters in a file system of so many bytes.
fn in_small_file_system(bytes: usize, pairs: usize) -> Option<Output> {
    let folder = scratch(&format!("small-{bytes}"));
    let mut graph = String::from("links = [\n");
    (0..pairs).for_each(|at| graph += &format!("\"a{at}.output -> b{at}.input\",\n"));
    graph += "]\n";
    (0..pairs)
        .for_each(|at| graph += &format!("[app.a{at}]\ntype = \"source\"\n[app.b{at}]\ntype = \"sink\"\n"));
    std::fs::write(folder.join("graph.toml"), graph).expect("a file");
    let script = format!(
        "mkdir $0/run && mount -t tmpfs -o size={bytes} none $0/run || exit 77
         SLUSS_RUNTIME_DIR=$0/run exec {} run $0/graph.toml --duration 200ms",
        env!("CARGO_BIN_EXE_sluss")
    );
    let output = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script, arg(&folder)])
        .output();
    let output = output.ok().filter(|output| ![Some(1), Some(77)].contains(&output.status.code()));
    if output.is_none() {
        common::say("skipped: full file systems: unshare cannot mount");
    }
    output
}

#[test]
fn a_full_file_system_is_an_error_at_the_beginning() {
    let Some(output) = in_small_file_system(16 << 10, 1) else { return };
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("`sluss top` will not see this") && errors.contains("No space left"), "{errors}");
    assert_eq!(errors.matches(".counters").count(), 1, "{errors}");

    let Some(output) = in_small_file_system(64 << 10, 100) else { return };
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("no room for counters in") && errors.contains("No space left"), "{errors}");
}

#[test]
fn an_instance_of_another_pid_namespace_is_not_cleaned_up() {
    let folder = scratch("namespace");
    let graph = folder.join("net.toml");
    std::fs::write(
        &graph,
        "links = [\"a.output -> b.input\"]\n[app.a]\ntype = \"source\"\n[app.b]\ntype = \"sink\"\n",
    )
    .expect("a file");
    let unshare = |duration: &str| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--map-root-user", "--fork", "--kill-child", env!("CARGO_BIN_EXE_sluss")]);
        command.args(["run", arg(&graph), "--no-report", "--duration", duration]);
        command.env("SLUSS_RUNTIME_DIR", &folder).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let child = unshare("60s").spawn();
    let Ok(child) = child else { return common::say("skipped: no unshare") };
    let mut instance = Instance { child, folder: folder.clone() };
    let file = folder.join("net.1.counters");
    let begin = Instant::now();
    while !file.exists() {
        let has_ended = instance.child.try_wait().expect("it is ours").is_some();
        if has_ended || begin.elapsed() > Duration::from_secs(30) {
            return common::say("skipped: unshare cannot make a PID namespace");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    let [found] = &instance.lines(&["ps", "--json"])[..] else { panic!("one instance") };
    assert_eq!((&found["pid"], &found["state"]), (&1.into(), &"running".into()));
    assert_eq!(stdout(&instance.sluss(&["ps", "--clean"])), "");
    assert!(file.exists(), "it runs");

    // Another one of this name and number runs unseen, and leaves it alone.
    let second = unshare("100ms").output().expect("it starts");
    assert!(stderr(&second).contains("choose another --name"), "{}", stderr(&second));
    assert!(file.exists(), "it runs");
    instance.kill();
}

/// `sluss top` on a terminal of its own, whose other end is ours.
struct Screen {
    child: Child,
    ours: File,
    shown: Vec<u8>,
}

impl Screen {
    fn start(instance: &Instance) -> Screen {
        let terminal = Terminal::new();
        let mut top = sluss(&["top"]);
        top.env("SLUSS_RUNTIME_DIR", &instance.folder);
        let child = top
            .stdin(terminal.theirs())
            .stdout(terminal.theirs())
            .stderr(terminal.theirs())
            .spawn()
            .expect("sluss");
        Screen { child, ours: terminal.ours, shown: Vec::new() }
    }

    /// Reads until this was printed, after what was waited for before.
    #[track_caller]
    fn shows(&mut self, until: &str) {
        let mut some = [0; 4096];
        loop {
            if let Some(at) = self.shown.windows(until.len()).position(|window| window == until.as_bytes()) {
                self.shown.drain(..at + until.len());
                return;
            }
            let is_there = poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&PATIENCE));
            assert!(
                is_there.expect("a terminal") > 0,
                "{:?} does not come",
                until.escape_debug().to_string()
            );
            match self.ours.read(&mut some) {
                Ok(count @ 1..) => self.shown.extend_from_slice(&some[..count]),
                _ => panic!("{:?} was not printed", until.escape_debug().to_string()),
            }
        }
    }

    fn signal(&self, name: &str) {
        common::signal(&self.child, name);
    }
}

const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
const TAKEN: &str = "\x1b[?1049h";
const HIDDEN: &str = "\x1b[?25l";
const GIVEN_BACK: &str = "\x1b[?1049l";
const SHOWN: &str = "\x1b[?25h";

/// Whatever ends `sluss top` from outside, the terminal is as it was before.
#[test]
fn a_signal_gives_the_terminal_back() {
    let instance = Instance::start("top-signals");
    for (signal, expected) in [("INT", 130), ("QUIT", 131), ("TERM", 143), ("HUP", 129)] {
        let mut screen = Screen::start(&instance);
        screen.shows(HIDDEN);
        screen.signal(signal);
        screen.shows(GIVEN_BACK);
        screen.shows(SHOWN);
        assert_eq!(screen.child.wait().expect("sluss").code(), Some(expected), "SIG{signal}");
    }
}

/// The letter that the kernel has for what a process does: `T` for stopped.
fn state(child: &Child) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn a_screen_that_is_stopped_goes_on_where_it_was() {
    let instance = Instance::start("top-stopped");
    let mut screen = Screen::start(&instance);
    screen.shows(TAKEN);
    screen.shows("sluss top");
    // By a signal, and by the key of which a raw terminal makes none.
    for by_key in [false, true] {
        if by_key {
            screen.ours.write_all(b"\x1a").expect("a key")
        } else {
            screen.signal("TSTP")
        }
        screen.shows(GIVEN_BACK);
        screen.shows(SHOWN);
        let begin = Instant::now();
        while state(&screen.child) != Some('T') {
            assert!(begin.elapsed() < Duration::from_secs(30), "it does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
        screen.signal("CONT");
        screen.shows(TAKEN);
        screen.shows(HIDDEN);
        screen.shows("sluss top");
    }
    screen.ours.write_all(b"q").expect("a key");
    screen.shows(GIVEN_BACK);
    assert_eq!(screen.child.wait().expect("sluss").code(), Some(0));
}

#[test]
fn a_terminal_that_cannot_show_a_screen_gets_none() {
    let terminal = common::Terminal::new();
    let mut command = sluss(&["top"]);
    command.env("SLUSS_RUNTIME_DIR", scratch("dumb")).env("TERM", "dumb").stderr(Stdio::piped());
    let output = command.stdin(terminal.theirs()).stdout(terminal.theirs()).output().unwrap();
    assert!(code(&output) == 2 && stderr(&output).contains("`--once`"), "{}", stderr(&output));
}

#[test]
fn a_terminal_that_nobody_reads_keeps_no_screen_from_its_end() {
    let terminal = Terminal::new();
    let fill = Command::new("timeout").args(["0.3", "yes"]).stdout(terminal.theirs()).status();
    assert!(fill.is_ok());
    let mut command = sluss(&["top"]);
    command.env("SLUSS_RUNTIME_DIR", scratch("unread-screen")).env("TERM", "xterm").stderr(Stdio::null());
    let mut child = command.stdin(terminal.theirs()).stdout(terminal.theirs()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    common::signal(&child, "TERM");
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.kill());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}
