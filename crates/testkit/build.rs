//! Finds out whether libpcap can be linked, so that the tests that compare with it can skip aloud instead of
//! breaking the build.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

fn main() {
    println!("cargo:rustc-check-cfg=cfg(have_libpcap)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    println!("cargo:rerun-if-changed=/usr/include/pcap.h");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    if links_libpcap(Path::new(&out)) {
        println!("cargo:rustc-cfg=have_libpcap");
    } else {
        // A file that is never there counts as changed, so that each build looks again. The header of a package is older than this build,
        // whenever it is installed.
        println!("cargo:rerun-if-changed={out}/no-libpcap-yet");
    }
}

/// Links a program that mentions every symbol which `oracle` uses.
fn links_libpcap(dir: &Path) -> bool {
    let (source, program) = (dir.join("probe.c"), dir.join("probe"));
    let text = "char pcap_compile(), bpf_filter();\n\
                int main(void) { return &pcap_compile == (void *)0 || &bpf_filter == (void *)0; }\n";
    if fs::write(&source, text).is_err() {
        return false;
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    Command::new(compiler)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-lpcap")
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
