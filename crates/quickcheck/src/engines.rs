//! Every engine that is present here, and what each makes of a filter or a program.

use crate::answer::{Answer, Run};
use crate::command::Plugged;
use crate::kernel::Attached;
use crate::lua;
use crate::packet::Packet;
use crate::scratch;
use crate::subject::Subject;
use bpf::{Insn, Program, machine, op};
use decide::internals::exec::mask::MaskFilter;
use decide::internals::ir::interp::Interp;
use decide::internals::ir::verify::Verified;
use decide::{Graph, Isa, Leaves, REJECT};
use pflang::{Backend, Calls, Compiler, Filter, Matcher};

/// The engine that all others are compared with.
pub(crate) const REFERENCE: usize = 0;
/// The name of the engine that compiles many functions at once, and so is not among [`Engines::of`].
pub(crate) const C: &str = "C";

/// Steps after which libpcap's program counts as endless.
const MAX_STEPS: usize = 100_000;

/// An engine that is present.
#[derive(Debug)]
enum Engine {
    Interpreter,
    MachineCode,
    Baseline,
    Burst,
    MaskVm(Isa),
    Bytecode,
    BytecodeIn,
    Kernel,
    Libpcap,
    C,
    Lua(Plugged),
    Plugged(Plugged),
}

/// The engines that are present.
#[derive(Debug)]
pub(crate) struct Engines {
    named: Vec<(String, Engine)>,
}

impl Engines {
    /// Those of this machine, and these commands.
    pub(crate) fn present(commands: &[(String, String)], with_c: bool) -> Engines {
        let mut named: Vec<(String, Engine)> = vec![
            ("interpreter".into(), Engine::Interpreter),
            ("machine code".into(), Engine::MachineCode),
            ("machine code, baseline".into(), Engine::Baseline),
            ("burst".into(), Engine::Burst),
        ];
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_available()) {
            named.push((format!("mask VM, {isa}"), Engine::MaskVm(isa)));
        }
        named.push(("bytecode".into(), Engine::Bytecode));
        named.push(("bytecode, read back".into(), Engine::BytecodeIn));
        let nothing = Insn { code: op::RET, jt: 0, jf: 0, k: 0 };
        if Attached::new(&[nothing]).is_ok() {
            named.push(("bytecode, kernel".into(), Engine::Kernel));
        }
        if bpf::libpcap::version().is_ok() {
            named.push(("libpcap's bytecode".into(), Engine::Libpcap));
        }
        if with_c && crate::c::is_present() {
            named.push((C.into(), Engine::C));
        }
        if let Some(luajit) = lua::present() {
            named.push(("Lua".into(), Engine::Lua(luajit)));
        }
        let plugged =
            commands.iter().map(|(name, command)| (name.clone(), Engine::Plugged(Plugged::new(command))));
        named.extend(plugged);
        Engines { named }
    }

    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// The number of the engine that compiles C, where there is one.
    pub(crate) fn c(&self) -> Option<usize> {
        self.named.iter().position(|(_, engine)| matches!(engine, Engine::C))
    }

    /// An engine made ready for a subject; `None` where the subject is outside of its domain.
    pub(crate) fn ready<'e>(
        &'e self,
        number: usize,
        subject: &'e Subject,
        compiler: &Compiler,
    ) -> Option<Run<'e>> {
        let engine = &self.named[number].1;
        if let Engine::Plugged(plugged) = engine {
            return Some(each(move |packet| plugged.answer(subject, packet)));
        }
        if let Engine::Lua(luajit) = engine {
            return lua::ready(luajit, subject, compiler);
        }
        if subject.is_program() {
            program(engine, subject, compiler)
        } else {
            filter(engine, subject, compiler)
        }
    }
}

fn each<'e>(answer: impl Fn(&Packet) -> Option<Answer> + 'e) -> Run<'e> {
    Box::new(move |packets| packets.iter().map(&answer).collect())
}

fn views(packets: &[Packet]) -> Vec<decide::Packet<'_>> {
    packets.iter().map(|packet| decide::Packet::new(&packet.bytes, packet.wire_len)).collect()
}

fn marked(packets: &[Packet], run: impl Fn(&[decide::Packet<'_>], &mut [u64])) -> Vec<Option<Answer>> {
    let mut bits = vec![0; packets.len().div_ceil(64)];
    run(&views(packets), &mut bits);
    (0..packets.len()).map(|i| Some((bits[i / 64] >> (i % 64) & 1 == 1).into())).collect()
}

/// An engine for a filter.
fn filter<'e>(engine: &Engine, subject: &'e Subject, compiler: &Compiler) -> Option<Run<'e>> {
    let text = &subject.text;
    let one = |filter: Filter| {
        each(move |packet| Some(filter.matches_captured(&packet.bytes, packet.wire_len).into()))
    };
    let native = |compiler: &Compiler| compiler.compile(text).ok().filter(Filter::is_native);
    Some(match *engine {
        Engine::Interpreter => {
            let graph = compiler.as_written(text).ok()?;
            interpreted(graph)
        }
        Engine::MachineCode => one(native(compiler)?),
        Engine::Baseline => one(native(&compiler.clone().baseline())?),
        Engine::Burst => {
            let filter = compiler.compile(text).ok()?;
            Box::new(move |packets| {
                marked(packets, |views, bits| {
                    filter.match_burst(views, bits);
                })
            })
        }
        Engine::MaskVm(isa) => {
            let filter = compiler.compile(text).ok()?;
            let masks: MaskFilter = MaskFilter::new(Verified::new(filter.graph()).ok()?)?;
            Box::new(move |packets| marked(packets, |views, bits| masks.run_burst(isa, views, bits)))
        }
        Engine::Bytecode => {
            let insns = compiler.to_cbpf(text).ok()?;
            each(move |packet| Some(run(&insns, packet).into()))
        }
        Engine::BytecodeIn => {
            let program = Program::from(compiler.to_cbpf(text).ok()?);
            let filter = bpf::Filter::new(&program, &bpf::Options::default()).ok()?;
            each(move |packet| Some(filter.matches_captured(&packet.bytes, packet.wire_len).into()))
        }
        Engine::Kernel => {
            let attached = Attached::new(&compiler.to_cbpf(text).ok()?).ok()?;
            each(move |packet| {
                // The kernel has no other length than that of the bytes.
                let is_whole = packet.wire_len as usize == packet.bytes.len() && !packet.bytes.is_empty();
                is_whole.then(|| match attached.accepts(&packet.bytes) {
                    Ok(accepts) => accepts.into(),
                    Err(error) => Answer::Fails(error.to_string().into()),
                })
            })
        }
        Engine::Libpcap => {
            let program = bpf::libpcap::compile(subject.linktype.value(), text, None).ok()?;
            // `protochain` steps over more headers than ours.
            if program.insns().iter().any(|insn| insn.code == op::JMP | op::JA && (insn.k as i32) < 0) {
                return None;
            }
            each(move |packet| {
                let is_defined = !scratch::is_undefined(program.insns(), &packet.bytes, packet.wire_len);
                is_defined.then(|| run(program.insns(), packet).into())
            })
        }
        Engine::C | Engine::Lua(_) | Engine::Plugged(_) => return None,
    })
}

fn interpreted(graph: Graph) -> Run<'static> {
    Box::new(move |packets| {
        let mut interpreter = Interp::new(&graph);
        let mut answer = |packet: &Packet| (interpreter.run(&packet.bytes, packet.wire_len) != REJECT).into();
        packets.iter().map(|packet| Some(answer(packet))).collect()
    })
}

fn run(insns: &[Insn], packet: &Packet) -> bool {
    machine::run(insns, &packet.bytes, packet.wire_len, MAX_STEPS, &mut ()).accepts()
}

/// An engine for a program.
fn program<'e>(engine: &Engine, subject: &'e Subject, compiler: &Compiler) -> Option<Run<'e>> {
    let matcher = |compiler: &Compiler| compiler.compile_match(&subject.text).ok();
    let native = |compiler: &Compiler| matcher(compiler).filter(|it| it.fallback_reason().is_none());
    let one = |matcher: Matcher| {
        each(move |packet| {
            let mut values = Vec::new();
            Some(called(matcher.call_captured(&packet.bytes, packet.wire_len, &[], &mut values)))
        })
    };
    Some(match engine {
        Engine::Interpreter => one(matcher(&compiler.clone().backend(Backend::Interpreter))?),
        Engine::MachineCode => one(native(compiler)?),
        Engine::Baseline => one(native(&compiler.clone().baseline())?),
        Engine::Burst => {
            let matcher = matcher(compiler)?;
            Box::new(move |packets| {
                let mut calls = Calls::default();
                matcher.call_burst(&views(packets), &[], &mut calls);
                matcher.calls(&calls).map(|call| Some(called(call))).collect()
            })
        }
        &Engine::MaskVm(isa) => {
            let matcher = matcher(compiler)?;
            // What is looked up in tables is no part of the graph.
            if matcher.has_tables() {
                return None;
            }
            let masks: MaskFilter<Leaves> = MaskFilter::new(Verified::new(matcher.graph()).ok()?)?;
            Box::new(move |packets| {
                let (views, mut calls) = (views(packets), Calls::default());
                matcher.call_burst_by(&views, &[], &mut calls, |leaves| masks.run_burst(isa, &views, leaves));
                matcher.calls(&calls).map(|call| Some(called(call))).collect()
            })
        }
        // No bytecode has more answers than yes and no.
        _ => return None,
    })
}

fn called(call: Option<pflang::Call<'_>>) -> Answer {
    call.map_or(Answer::Rejects, |call| Answer::Calls(call.to_string().into()))
}
