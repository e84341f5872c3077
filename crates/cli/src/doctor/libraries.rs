//! Libraries that are loaded while sluss runs.

use super::{Check, State, install};
use dpi::worker::{Options, Worker};

/// The compiler whose bytecode `--front libpcap` runs.
pub(super) fn libpcap() -> Check {
    let check = |found: String| Check::ok("libpcap", found, "present", "`--front libpcap`");
    match bpf::libpcap::version() {
        Ok(version) => check(version),
        Err(error) => check(error.to_string()).but(State::Warn, install("libpcap0.8")),
    }
}

/// What identifies flows that our own code leaves open: started as the wall starts it.
pub(super) fn libndpi() -> Check {
    let needed_for = "names of protocols that our own identification does not know";
    let check = |found: String, wanted: &str| Check::ok("libndpi", found, wanted, needed_for);
    let Some(version) = dpi::ndpi::built_with() else {
        let why = dpi::ndpi::absent().unwrap_or("no reason is known");
        let found = format!("sluss was built without nDPI: {why}");
        return check(found, "a sluss that was built with libndpi-dev").but(State::Warn, None);
    };
    let wanted = format!("nDPI {version}");
    match Worker::start(Options::default()) {
        Ok(worker) => check(format!("nDPI {}", worker.names().revision()), &wanted),
        Err(error) => check(error.to_string(), &wanted).but(State::Warn, install("libndpi-bin")),
    }
}

/// DPDK, loaded as an app loads it.
pub(super) fn libdpdk() -> Check {
    let wanted = "that which sluss was built with";
    let check = |found: String| Check::ok("libdpdk", found, wanted, "devices of DPDK");
    match io::dpdk::version() {
        Ok(version) => check(version),
        Err(why) if io::dpdk::is_built_in() => check(why.to_owned()).but(State::Fail, install("libdpdk-dev")),
        Err(why) => check(format!("{why}; install libdpdk-dev and build it anew")).but(State::Fail, None),
    }
}
