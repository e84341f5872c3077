//! Conformance of `core.*`: each module against what Snabb's documentation says of it, in Lua.

use lua::{Action, Error, Options, Vm};

fn vm(name: &str) -> Vm {
    let root = std::env::temp_dir().join(format!("sluss-lua-{}-{name}", std::process::id()));
    Vm::new(&Options { shm_root: Some(root), ..Options::default() }).expect("a Lua state")
}

/// Runs a file of `tests/core`, which ends without an error if all is as it should be.
fn check(name: &str, text: &str) {
    let outcome = vm(name).run_text(text.as_bytes(), &format!("@tests/core/{name}.lua"), &[]);
    if let Err(error) = outcome {
        let traceback =
            if let Error::Raised(failure) = &error { failure.traceback.clone() } else { String::new() };
        panic!("{error}\n{traceback}");
    }
}

macro_rules! conformance {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), include_str!(concat!("core/", stringify!($name), ".lua")));
            }
        )*
    };
}

conformance!(app config counter histogram lib link packet shm timer memory);

#[test]
fn an_error_names_the_app_the_line_and_the_calls() {
    let text = "
        local Broken = {}
        function Broken:new () return setmetatable({}, { __index = Broken }) end
        function Broken:pull () self:fail() end
        function Broken:fail () error('no packets') end
        local c = config.new()
        config.app(c, 'broken', Broken)
        engine.configure(c)
        engine.main { duration = 1, no_report = true }";
    let Err(Error::Raised(failure)) = vm("error").run_text(text.as_bytes(), "@broken.lua", &[]) else {
        panic!("the app fails");
    };
    assert_eq!(failure.message, "broken.lua:5: no packets");
    assert_eq!(failure.app.as_deref(), Some("broken"));
    assert!(failure.traceback.contains("in function 'fail'"), "{}", failure.traceback);
    assert_eq!(failure.to_string(), "app `broken`: broken.lua:5: no packets");
}

/// No process has these numbers: they are beyond the kernel's greatest.
#[test]
fn folders_of_dead_processes_go_and_those_of_others_stay() {
    let root = testkit::files::Scratch::new();
    let folder = |name: &str, file: &str| {
        let path = root.path(name).join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, "x").expect("a file");
        path
    };
    let mark = "engine/packets.freelist";
    let left = [folder("4999990", mark), folder("4999990-12", mark)];
    let kept = [
        folder("2024-captures", "in.pcap"),
        folder("4999991", "notes"),
        folder("4999992-captures", mark),
        folder("+4999993", mark),
        folder(&std::process::id().to_string(), "notes"),
        folder("4999994", mark),
        folder("other", mark),
    ];
    std::os::unix::fs::symlink(root.path("other"), root.path("4999995")).expect("a link");
    // As a process of another PID namespace does.
    let held = std::fs::File::open(root.path("4999994").join(mark)).expect("a file");
    held.try_lock().expect("nobody else has it");
    let options = Options { shm_root: Some(root.folder().into()), ..Options::default() };
    drop(Vm::new(&options).expect("a Lua state"));
    for path in left {
        assert!(!path.exists(), "{}", path.display());
    }
    for path in kept {
        assert!(path.exists(), "{}", path.display());
    }
}

#[test]
fn an_error_outside_of_apps_names_none() {
    let Err(Error::Raised(failure)) = vm("outside").run_text(b"local x = nil; x.y = 1", "@a.lua", &[]) else {
        panic!("it fails");
    };
    assert_eq!((failure.app, failure.message.starts_with("a.lua:1: attempt to index")), (None, true));
}

#[test]
fn the_modules_of_luajit_are_there() {
    let vm = vm("jit");
    vm.shell(&Action::Eval(
        "require('jit.dump'); require('jit.v'); require('jit.p'); require('jit.dis_x64')".into(),
    ))
    .expect("LuaJIT's modules");
    let Err(error) = vm.shell(&Action::Jit("none".into())) else { panic!("there is no such flag") };
    assert!(error.to_string().contains("jit.none"), "{error}");
}

/// Two states in one process have engines of their own.
#[test]
fn states_are_apart() {
    let (a, b) = (vm("first"), vm("second"));
    a.shell(&Action::Eval("x = packet.from_string('abc')".into())).expect("a packet");
    b.shell(&Action::Eval("assert(rawget(_G, 'x') == nil and packet.allocate().length == 0)".into()))
        .expect("another state");
}
