//! Compiles the hand-written C peers: functions to call, and a bare filter program as the floor of a whole command.

fn main() {
    println!("cargo:rerun-if-changed=c");
    cc::Build::new().file("c/hand.c").opt_level(2).flag("-march=x86-64-v2").compile("hand");
    cc::Build::new().file("c/wall.c").opt_level(3).flag("-march=x86-64-v2").compile("wall_floor");
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let floor = out.join("floor");
    let mut compile = cc::Build::new().opt_level(2).get_compiler().to_command();
    let status = compile.args(["c/floor.c", "-o"]).arg(&floor).status().expect("the C compiler starts");
    assert!(status.success(), "c/floor.c does not compile");
    println!("cargo:rustc-env=FLOOR={}", floor.display());
}
