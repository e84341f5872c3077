//! Builds LuaJIT from the sources that the crate `luajit-src` carries, with six edits, and beside it DynASM's encoder and a call of our own.
//!
//! The crate builds what it carries and does not say where that is; but it builds in a copy. So it is let build once, the copy is edited, and
//! `make` compiles the files that changed. That first build may fail: it links a `luajit` that nobody needs, which musl's compiler cannot.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/dynasm.c");
    println!("cargo::rerun-if-changed=src/call.c");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if let Err(error) = luajit_src::Build::new().lua52compat(true).debug(false).try_build() {
        println!("building what luajit-src carries: {error}");
    }
    let build = out.join("luajit-build");
    let sources = build.join("src");
    edit(&sources);
    make(&sources);
    cc::Build::new().warnings(false).include(&sources).file("src/call.c").compile("sluss_luajit_call");
    println!("cargo::rustc-link-search=native={}", sources.display());
    println!("cargo::rustc-link-lib=static=luajit");
    if !is_musl() {
        // Where the machine code of C frames is unwound, for errors that cross them. With musl, Rust's own library has it.
        println!("cargo::rustc-link-lib=dylib=gcc_s");
        println!("cargo::rustc-link-lib=dylib=m");
        println!("cargo::rustc-link-lib=dylib=dl");
    }
    dynasm(&build.join("dynasm"));
    embed(&sources.join("jit"), &out);
}

fn is_musl() -> bool {
    env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl")
}

/// Edits the sources, each line of which must be there once.
fn edit(sources: &Path) {
    // The order in which `pairs` visits a table follows from the contents of its keys alone: no seed, and no sequence number in place of the
    // hash. Snabb's apps depend on an order that does not change from run to run.
    let seed = ("g->str.seed = lj_prng_u64(&g->prng);", "g->str.seed = 0;");
    let id = ("  s->reserved = 0;\n  s->hashalg", "  s->sid = hash;\n  s->reserved = 0;\n  s->hashalg");
    replace(&sources.join("lj_str.c"), &[seed, id]);
    // Functions that Rust offers to `ffi.C`, without exporting them from the executable.
    let before = "static void *clib_getsym(CLibrary *cl, const char *name)\n{\n  void *p = dlsym(cl->handle, name);\n  return p;\n}";
    let after = "void *(*sluss_luajit_symbol)(const char *name);\n\n\
        static void *clib_getsym(CLibrary *cl, const char *name)\n{\n  void *p = dlsym(cl->handle, name);\n  \
        if (p == NULL && sluss_luajit_symbol != NULL)\n    p = sluss_luajit_symbol(name);\n  return p;\n}";
    replace(&sources.join("lj_clib.c"), &[(before, after)]);
    // Compiled loops look at whether a hook was set, as with LUAJIT_ENABLE_CHECKHOOK, in states with an allocator of their own only: those of
    // sandboxes, which have limits of time. In all others, loops stay as fast as they are.
    let include = ("#include \"lj_prng.h\"\n", "#include \"lj_prng.h\"\n#include \"lj_alloc.h\"\n");
    let in_iterator = (
        "#ifdef LUAJIT_ENABLE_CHECKHOOK\n    ref += 3;\n#endif",
        "    if (J2G(J)->allocf != lj_alloc_f) ref += 3;",
    );
    let begin = (
        "#ifdef LUAJIT_ENABLE_CHECKHOOK\n  /* Regularly check for",
        "  if (J2G(J)->allocf != lj_alloc_f)\n  /* Regularly check for",
    );
    let end = (
        "    emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, 0));\n  }\n#endif\n}",
        "    emitir(IRTGI(IR_EQ), tr, lj_ir_kint(J, 0));\n  }\n}",
    );
    // A trace that begins with a function may go on in the trace of a loop, whichever loop that is: LuaJIT lets it do so for numeric ones. It waits
    // for all others to get a side trace that leads back, which the loop around them does, but no function. So each call of an app's method would
    // be interpreted up to its loop.
    let inner = (
        "if (J->parent == 0 && J->exitno == 0) {  /* Root trace hit an inner loop. */",
        "if (J->parent == 0 && J->exitno == 0 && bc_op(J->cur.startins) != BC_FUNCF) {",
    );
    // A trace whose number cannot be had, since the allocator of a sandbox refuses memory, is not the one before, which may be gone.
    let number = (
        "  /* Get a new trace number. */\n",
        "  memset(&J->cur, 0, sizeof(GCtrace));\n  J->cur.startins = BCINS_AD(BC_RET0, 0, 0);\n",
    );
    replace(&sources.join("lj_trace.c"), &[number]);
    replace(&sources.join("lj_record.c"), &[include, in_iterator, begin, end, inner]);
}

fn replace(file: &Path, edits: &[(&str, &str)]) {
    let mut text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    for (before, after) in edits {
        assert_eq!(text.matches(before).count(), 1, "{}: `{before}` is not there once", file.display());
        text = text.replace(before, after);
    }
    fs::remove_file(file).expect("removing what is replaced");
    fs::write(file, text).expect("writing an edited source");
}

/// Compiles what has changed, as `luajit-src` has compiled it.
fn make(sources: &Path) {
    let compiler = cc::Build::new().warnings(false).get_compiler();
    let command = format!("{} {}", compiler.path().display(), compiler.cflags_env().to_string_lossy());
    let archiver = cc::Build::new().get_archiver().get_program().to_string_lossy().into_owned();
    let mut make = Command::new("make");
    make.current_dir(sources).arg("-e").args(["BUILDMODE=static", "libluajit.a", "jit/vmdef.lua"]);
    let flags = "-fPIC -DLUAJIT_ENABLE_LUA52COMPAT";
    if is_musl() {
        // LLVM's library, which Rust unwinds with here, reads the frames of compiled Lua otherwise than GCC's. All is compiled again.
        make.arg("--always-make").env("XCFLAGS", format!("{flags} -DLUAJIT_NO_UNWIND"));
    } else {
        make.env("XCFLAGS", flags);
    }
    make.env("TARGET_SYS", "Linux");
    for (variable, value) in [("STATIC_CC", command), ("TARGET_AR", format!("{archiver} rcus"))] {
        if env::var_os(variable).is_none() {
            make.env(variable, value);
        }
    }
    let status = make.status().expect("running make");
    assert!(status.success(), "make in {}: {status}", sources.display());
}

/// Compiles the encoder of DynASM, which Lua programs that assemble machine code call.
fn dynasm(folder: &Path) {
    let target = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    if target == "x86_64" {
        cc::Build::new().warnings(false).include(folder).file("src/dynasm.c").compile("sluss_dynasm");
    }
}

/// Writes a table of LuaJIT's own modules in Lua, `jit.v` and the others, as Rust.
fn embed(folder: &Path, out: &Path) {
    let entries = fs::read_dir(folder).expect("the modules of LuaJIT");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a module of LuaJIT").path()).collect();
    files.sort();
    let rows = files.iter().filter_map(|file| {
        let name = file.file_name()?.to_str()?.strip_suffix(".lua")?;
        let is_foreign = name.starts_with("dis_") && !["dis_x64", "dis_x86", "dis_arm64"].contains(&name);
        (!is_foreign)
            .then(|| format!("    (\"jit.{name}\", include_str!({:?})),\n", file.display().to_string()))
    });
    let text = format!("&[\n{}]\n", rows.collect::<String>());
    fs::write(out.join("modules.rs"), text).expect("writing the table of modules");
}
