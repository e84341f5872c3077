//! The compiler of filters, for the Lua modules `pf` and `pf.match`: a text goes in; the address of machine code or a text comes out.

use bpf::internals::Stages;
use pflang::internals::ir::{Graph, NodeId};
use pflang::{Compiler, LinkType, Names, Stage};
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// What is to be made of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Of a filter: machine code where there is any, and the chunk of Lua otherwise; with its size in `nodes`.
    Code = 0,
    /// Of a filter: a chunk of Lua.
    Lua = 1,
    /// Of a filter: its machine code as text.
    Assembly = 2,
    /// Of a filter, by the machine's libpcap and its bytecode: as `Code`.
    BytecodeCode = 3,
    /// As `Lua`.
    BytecodeLua = 4,
    /// The bytecode as text, as `tcpdump -d` prints it.
    BytecodeListing = 5,
    /// Of a pfmatch program: a chunk of Lua.
    Match = 6,
}

impl Wanted {
    fn of(number: u32) -> Option<Wanted> {
        use Wanted::*;
        [Code, Lua, Assembly, BytecodeCode, BytecodeLua, BytecodeListing, Match]
            .into_iter()
            .find(|w| *w as u32 == number)
    }
}

/// What Lua is told. `text` is a chunk, a listing, or the message of an error; `owner` keeps the code and is given back.
#[repr(C)]
pub(super) struct Compiled {
    owner: *mut c_void,
    code: *const c_void,
    text: *mut u8,
    text_length: usize,
    /// Nodes of the optimised decision graph: 1 for a filter that needs no look at the packet.
    nodes: u32,
    /// The most tests of it that one packet passes.
    tests: u32,
}

/// A text that Lua gives.
#[repr(C)]
pub(super) struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    /// # Safety
    ///
    /// `length` bytes at `start` can be read as long as `'a` lives.
    pub(super) unsafe fn get<'a>(&self) -> std::borrow::Cow<'a, str> {
        if self.length == 0 {
            return "".into();
        }
        // SAFETY: what the caller promises.
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(self.start, self.length) })
    }
}

/// What owns machine code.
enum Owner {
    Filter(pflang::Filter),
    Bytecode(bpf::Filter),
}

/// Compiles a text. `names` and `values` are, for a pfmatch program, what `$NAME` stands for, one after the other, and behind these the names of
/// `inputs` numbers that are given with each packet. Returns whether it could; if not, `text` says why.
///
/// # Safety
///
/// Each text can be read; `names` has `substitutions + inputs` elements and `values` has `substitutions`; `to` can be written to.
pub(super) unsafe extern "C" fn sluss_lua_compile(
    text: *const Text,
    link: *const Text,
    wanted: u32,
    names: *const Text,
    values: *const Text,
    substitutions: u32,
    inputs: u32,
    to: *mut Compiled,
) -> bool {
    let list = |texts: *const Text, from: u32, count: u32| -> Vec<String> {
        // SAFETY: what the caller promises of the arrays and their texts.
        (from..from + count).map(|i| unsafe { (*texts.add(i as usize)).get().into_owned() }).collect()
    };
    // SAFETY: what the caller promises.
    let (text, link) = unsafe { ((*text).get(), (*link).get()) };
    let inputs = list(names, substitutions, inputs);
    let substitutions =
        list(names, 0, substitutions).into_iter().zip(list(values, 0, substitutions)).collect();
    let result = Wanted::of(wanted)
        .ok_or_else(|| "no such result".to_owned())
        .and_then(|wanted| compile(&text, &link, wanted, substitutions, inputs));
    let (ok, compiled) = match result {
        Ok(compiled) => (true, compiled),
        Err(message) => (false, Compiled::of_text(message)),
    };
    // SAFETY: what the caller promises.
    unsafe { to.write(compiled) };
    ok
}

/// Gives back what `sluss_lua_compile` has written: its owner, if it has one, and its text.
///
/// # Safety
///
/// Both come from there, are given back once, and the code is not called any more.
pub(super) unsafe extern "C" fn sluss_lua_compiled_free(owner: *mut c_void, text: *mut u8, length: usize) {
    // SAFETY: both were made by `Box::into_raw` in this file, with this length.
    unsafe {
        if !owner.is_null() {
            drop(Box::from_raw(owner.cast::<Owner>()));
        }
        if !text.is_null() {
            drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, length)));
        }
    }
}

impl Compiled {
    pub(super) fn of_text(text: String) -> Compiled {
        let bytes = Box::into_raw(text.into_bytes().into_boxed_slice());
        Compiled {
            owner: std::ptr::null_mut(),
            code: std::ptr::null(),
            text: bytes.cast(),
            text_length: bytes.len(),
            nodes: 0,
            tests: 0,
        }
    }

    fn of_code(owner: Owner, text: impl FnOnce() -> Result<String, String>) -> Result<Compiled, String> {
        let (native, graph) = match &owner {
            Owner::Filter(filter) => (filter.native(), filter.graph()),
            Owner::Bytecode(filter) => (filter.native(), filter.graph()),
        };
        let nodes = u32::try_from(graph.node_count()).unwrap_or(u32::MAX);
        let tests = tests(graph);
        let Some(code) = native.and_then(entry) else {
            return Ok(Compiled { nodes, tests, ..Compiled::of_text(text()?) });
        };
        let owner = Box::into_raw(Box::new(owner)).cast();
        Ok(Compiled { owner, code, text: std::ptr::null_mut(), text_length: 0, nodes, tests })
    }
}

/// The most tests that one packet passes. Where one of them is of a table, there is no telling how many it would be as text.
fn tests(graph: &Graph) -> u32 {
    if graph.asks_members() {
        return u32::MAX;
    }
    // By node: the most from there on. A node has a greater id than its successors.
    let mut most: Vec<u32> = Vec::with_capacity(graph.node_count());
    for id in (0..graph.node_count() as u32).map(NodeId) {
        let mut behind = None;
        graph.node(id).for_each_successor(|next| behind = behind.max(most.get(next.index()).copied()));
        most.push(behind.map_or(0, |behind: u32| behind + 1));
    }
    most.get(graph.root.index()).copied().unwrap_or(0)
}

/// The address of a function (data, captured length, wire length) to the number of the leaf: 0 rejects.
#[cfg(target_arch = "x86_64")]
fn entry(native: &pflang::internals::exec::NativeFilter) -> Option<*const c_void> {
    Some(native.one() as *const c_void)
}

#[cfg(not(target_arch = "x86_64"))]
fn entry(_: &pflang::internals::exec::NativeFilter) -> Option<*const c_void> {
    None
}

fn compile(
    text: &str,
    link: &str,
    wanted: Wanted,
    substitutions: Vec<(String, String)>,
    inputs: Vec<String>,
) -> Result<Compiled, String> {
    let linktype: LinkType = link.parse().map_err(|error| format!("{error}"))?;
    let mut compiler = Compiler::new(linktype).names(names());
    let told = |error: pflang::Error| error.to_string();
    match wanted {
        Wanted::Code => {
            let filter = compiler.compile(text).map_err(told)?;
            Compiled::of_code(Owner::Filter(filter), || compiler.to_lua(text).map_err(told))
        }
        Wanted::Lua => compiler.to_lua(text).map_err(told).map(Compiled::of_text),
        Wanted::Assembly => compiler.print(text, Stage::Asm).map_err(told).map(Compiled::of_text),
        Wanted::Match => {
            for (name, value) in substitutions {
                compiler = compiler.substitute(name, value);
            }
            let chunk = compiler.inputs(inputs).match_to_lua(text).map_err(told)?;
            // Handlers are methods of the table that is given.
            Ok(Compiled::of_text(chunk.replace("return self.", "return self:")))
        }
        Wanted::BytecodeCode | Wanted::BytecodeLua | Wanted::BytecodeListing => {
            bytecode(text, linktype, wanted)
        }
    }
}

fn bytecode(text: &str, linktype: LinkType, wanted: Wanted) -> Result<Compiled, String> {
    let told = |error: bpf::Error| error.to_string();
    let program = bpf::libpcap::compile(linktype.value(), text, None).map_err(told)?;
    let options = bpf::Options::default();
    let lua =
        || Stages::new(&program, &[], &options).and_then(|stages| stages.to_lua(&options)).map_err(told);
    match wanted {
        Wanted::BytecodeListing => {
            let listing = program.write(bpf::Format::Listing);
            Ok(Compiled::of_text(String::from_utf8_lossy(&listing).into_owned()))
        }
        Wanted::BytecodeLua => lua().map(Compiled::of_text),
        _ => {
            let filter = bpf::Filter::new(&program, &options).map_err(told)?;
            Compiled::of_code(Owner::Bytecode(filter), lua)
        }
    }
}

/// The names of this system's files, which are read once. No resolver is asked.
fn names() -> Arc<dyn Names + Send + Sync> {
    static NAMES: OnceLock<Arc<apps::SystemNames>> = OnceLock::new();
    Arc::clone(NAMES.get_or_init(|| Arc::new(apps::SystemNames::new(false)))) as _
}
