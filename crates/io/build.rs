//! Compiles the shim of DPDK, a shared object of its own, where pkg-config finds the headers (`libdpdk`). It is embedded, and opened at run time.
//!
//! With `SLUSS_DPDK` set to `no`, without the headers, and in a static build, which opens no shared objects, the crate is built without DPDK, and
//! says so when it is asked for a device.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "src/dpdk/shim.c";
const HEADER: &str = "src/dpdk/packets.h";
/// Libraries that the shim calls; they bring the others.
const LIBRARIES: [&str; 4] = ["-lrte_ethdev", "-lrte_mempool", "-lrte_mbuf", "-lrte_eal"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(dpdk_headers)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed={HEADER}");
    println!("cargo::rerun-if-env-changed=SLUSS_DPDK");
    println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
    match shim() {
        Ok(object) => {
            println!("cargo::rustc-cfg=dpdk_headers");
            println!("cargo::rustc-env=SLUSS_DPDK_SHIM={}", object.display());
        }
        Err(reason) => println!("cargo::rustc-env=SLUSS_DPDK_ABSENT={reason}"),
    }
}

/// The shim, or why there is none.
fn shim() -> Result<PathBuf, String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("SLUSS_DPDK") == "no" {
        return Err("SLUSS_DPDK=no was set".into());
    }
    if variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static") {
        return Err("a static build opens no libraries".into());
    }
    if variable("HOST") != variable("TARGET") {
        return Err("it was built for another kind of machine".into());
    }
    let flags = pkg_config("--cflags").ok_or("its headers were not found")?;
    if let Some(folder) = pkg_config("--variable=includedir").as_deref().and_then(<[String]>::first) {
        let config = Path::new(folder).join("rte_version.h");
        println!("cargo::rerun-if-changed={}", config.display());
    }
    let object = PathBuf::from(variable("OUT_DIR")).join("libsluss_dpdk.so");
    let compiler = cc::Build::new().opt_level(2).cargo_warnings(false).get_compiler();
    let mut command = compiler.to_command();
    command
        .args(["-shared", "-fPIC", "-O2", SOURCE])
        .args(flags)
        .args(pkg_config("--libs-only-L").unwrap_or_default());
    let compiled = command.args(LIBRARIES).arg("-o").arg(&object).output();
    match compiled {
        Ok(output) if output.status.success() => Ok(object),
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stderr);
            told.lines()
                .filter(|line| line.contains("error"))
                .take(3)
                .for_each(|line| println!("cargo::warning={line}"));
            Err("the shim did not compile against its headers".into())
        }
        Err(_) => Err("there was no C compiler".into()),
    }
}

/// What pkg-config says of DPDK.
fn pkg_config(question: &str) -> Option<Vec<String>> {
    let output = Command::new("pkg-config").args([question, "libdpdk"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.split_whitespace().map(str::to_owned).collect())
}
