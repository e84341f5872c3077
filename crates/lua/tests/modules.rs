//! The Lua modules of `lib`, `apps` and `pf`: each file below `tests/modules` is a program of its own that fails if something is not as it must be. They
//! are written so that they pass on Snabb as well, except where a line says otherwise.

use lua::{Error, Options, Vm};
use std::path::Path;
use testkit::files::Scratch;

/// Runs one of them in a state of its own.
fn run(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules").join(name);
    let folder = Scratch::new();
    let options = Options { shm_root: Some(folder.folder().into()), ..Options::default() };
    let vm = Vm::new(&options).expect("a state");
    let text = std::fs::read(&file).expect("a program");
    // Not by its place: a program may be called as the module that it is about.
    if let Err(error) = vm.run_text(&text, &format!("={name}"), &[]) {
        let traceback = if let Error::Raised(failure) = &error { failure.traceback.as_str() } else { "" };
        panic!("{error}\n{traceback}");
    }
}

macro_rules! programs {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                run(concat!(stringify!($name), ".lua"));
            }
        )*

        #[test]
        fn none_is_forgotten() {
            let mut listed = vec![$(concat!(stringify!($name), ".lua")),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/modules");
            let mut there: Vec<String> = std::fs::read_dir(folder)
                .expect("the folder of programs")
                .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
                .collect();
            listed.sort_unstable();
            there.sort_unstable();
            assert_eq!(listed, there);
        }
    };
}

programs! { apps checksum ctable datagram devices hash interlink lib numa packet_filter pcap pf protocol wall }
