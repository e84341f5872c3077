//! Compiles the hand-written C peers: functions to call, and a bare filter program as the floor of a whole command.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new().file("c/hand.c").opt_level(2).flag("-march=x86-64-v2").compile("hand");
    cc::Build::new().file("c/wall.c").opt_level(3).flag("-march=x86-64-v2").compile("wall_floor");
    acl();
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let floor = out.join("floor");
    let mut compile = cc::Build::new().opt_level(2).get_compiler().to_command();
    let status = compile.args(["c/floor.c", "-o"]).arg(&floor).status().expect("the C compiler starts");
    assert!(status.success(), "c/floor.c does not compile");
    println!("cargo:rustc-env=FLOOR={}", floor.display());
}

/// The harness of librte_acl, where DPDK is installed; the suite tells where it is not.
fn acl() {
    println!("cargo:rustc-check-cfg=cfg(has_acl)");
    let flags = std::process::Command::new("pkg-config").args(["--cflags", "libdpdk"]).output();
    let Some(flags) = flags.ok().filter(|flags| flags.status.success()) else { return };
    let mut build = cc::Build::new();
    build.file("c/acl.c").opt_level(3).define("ALLOW_EXPERIMENTAL_API", None);
    for flag in String::from_utf8_lossy(&flags.stdout).split_whitespace() {
        // Warnings about DPDK's own headers are not ours.
        build.flag(flag.strip_prefix("-I").map_or_else(|| flag.to_owned(), |path| format!("-isystem{path}")));
    }
    build.compile("acl");
    println!("cargo:rustc-link-lib=dylib=rte_acl");
    println!("cargo:rustc-link-lib=dylib=rte_eal");
    println!("cargo:rustc-cfg=has_acl");
}
