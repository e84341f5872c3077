//! Finds the headers of nDPI, and compiles the shim against them.
//!
//! They are searched for in the folder that `SLUSS_NDPI_INCLUDE` names (empty: without nDPI), by pkg-config (`libndpi`), and in `/usr/include/ndpi`.
//! Without them the crate is built without nDPI, and says so. The library itself is not linked.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(ndpi_headers)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/ndpi/shim.c");
    println!("cargo::rerun-if-env-changed=SLUSS_NDPI_INCLUDE");
    match shim() {
        Ok([major, minor, patch]) => {
            println!("cargo::rustc-cfg=ndpi_headers");
            println!("cargo::rustc-env=SLUSS_NDPI_VERSION={major}.{minor}.{patch}");
        }
        Err(reason) => println!("cargo::rustc-env=SLUSS_NDPI_ABSENT={reason}"),
    }
}

/// The version of the headers that the shim was compiled against, or why it was not.
fn shim() -> Result<[u32; 3], String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static") {
        return Err("a static build loads no libraries".into());
    }
    let cross = variable("HOST") != variable("TARGET");
    let folder = headers(cross).ok_or("its headers were not found")?;
    println!("cargo::rerun-if-changed={}", folder.join("ndpi_define.h").display());
    let version = version(&folder).ok_or("its headers name no version")?;
    let [major, minor, _] = version;
    if major >= 6 {
        let why = "dissectors of 6.0 and later are not free for commercial use: 4.2 to 5.x can be used";
        return Err(format!("nDPI {major}.{minor} is refused: {why}"));
    }
    if (major, minor) < (4, 2) {
        return Err(format!("nDPI {major}.{minor} is older than 4.2"));
    }
    cc::Build::new()
        .file("src/ndpi/shim.c")
        .include(&folder)
        .opt_level(2)
        .cargo_warnings(false)
        .try_compile("sluss_ndpi")
        .map_err(|_| "the shim did not compile against its headers")?;
    Ok(version)
}

fn headers(cross: bool) -> Option<PathBuf> {
    let candidates = match std::env::var_os("SLUSS_NDPI_INCLUDE") {
        Some(folder) => vec![PathBuf::from(folder)],
        None if cross => Vec::new(),
        None => {
            let output = Command::new("pkg-config").args(["--cflags-only-I", "libndpi"]).output().ok();
            let text =
                output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            let mut folders: Vec<PathBuf> = text
                .split_whitespace()
                .filter_map(|word| word.strip_prefix("-I"))
                .map(PathBuf::from)
                .collect();
            folders.push("/usr/include/ndpi".into());
            folders
        }
    };
    candidates.into_iter().find(|folder| folder.join("ndpi_define.h").is_file())
}

/// What `ndpi_define.h` defines as `NDPI_MAJOR`, `NDPI_MINOR` and `NDPI_PATCH`.
fn version(folder: &Path) -> Option<[u32; 3]> {
    let text = std::fs::read(folder.join("ndpi_define.h")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let number = |name: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && words.next() == Some(name))
                .then(|| words.next()?.parse().ok())?
        })
    };
    Some([number("NDPI_MAJOR")?, number("NDPI_MINOR")?, number("NDPI_PATCH")?])
}
