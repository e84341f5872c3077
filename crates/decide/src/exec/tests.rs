//! Executable memory where the system is generous, and where it is not.
//!
//! What changes a whole process (refusing to make pages executable, refusing system calls, forking) happens in a
//! child: this test program again, told by a variable which part to play.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use super::memory::Way;
use super::{NativeFilter, NoExec};
use crate::burst::Bits;
use crate::decision::{Decision, Options as DecisionOptions};
use crate::ir::Size;
use crate::ir::tree::Tree;
use crate::ir::verify::Checked;
use crate::ir::verify::Verified;
use crate::ir::{CmpOp, Cond, Graph, Pool, Value};
use crate::opt::Passes;
use crate::target::x64::{self, Options};
use crate::{Budget, Packet};
use std::io::{Read, Write};
use std::process::Command;

const PART: &str = "SLUSS_TEST_EXEC_PART";

/// Accepts packets of this wire length.
fn graph(wire_len: u32) -> Graph {
    let mut pool = Pool::default();
    let (len, k) = (pool.value(Value::Len), pool.constant(wire_len));
    let cond = pool.cond(Cond::Cmp(CmpOp::Eq, len, k));
    let mut graph = Graph::new(pool);
    let (accept, reject) = (graph.leaf(1), graph.leaf(0));
    graph.root = graph.branch(cond, accept, reject);
    graph
}

fn code(wire_len: u32) -> x64::MachineCode {
    x64::compile(Verified::new(&graph(wire_len)).unwrap(), &Options::default()).unwrap()
}

fn check(filter: &NativeFilter, wire_len: u32) {
    assert_eq!(filter.run(&[], wire_len), 1);
    assert_eq!(filter.run(&[], wire_len + 1), 0);
    let mut bitmap = [u64::MAX];
    filter.run_burst(&[Packet::new(&[], wire_len + 1), Packet::new(&[], wire_len)], &mut bitmap);
    assert_eq!(bitmap, [0b10]);
}

#[test]
fn each_way_alone() {
    for way in [Way::Memfd, Way::Mprotect] {
        check(&NativeFilter::placed(&code(60), &[way]).unwrap(), 60);
    }
}

#[test]
fn no_way_is_an_error_in_words() {
    let error = NativeFilter::placed(&code(60), &[]).unwrap_err();
    assert!(matches!(error, NoExec::Refused(_)));
    assert!(error.to_string().starts_with("the system allows no executable memory"));
}

#[test]
fn thousands_of_small_filters() {
    let filters: Vec<NativeFilter> = (0..3000).map(|k| NativeFilter::new(&code(k)).unwrap()).collect();
    (0..).zip(&filters).for_each(|(k, filter)| check(filter, k));
    let (kept, gone): (Vec<_>, Vec<_>) = (0..).zip(filters).partition(|(k, _)| k % 7 == 0);
    drop(gone);
    let new: Vec<NativeFilter> = (0..500).map(|k| NativeFilter::new(&code(k)).unwrap()).collect();
    kept.iter().for_each(|(k, filter)| check(filter, *k));
    (0..).zip(&new).for_each(|(k, filter)| check(filter, k));
}

#[test]
fn filters_are_made_and_used_by_many_threads() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                (0..200).for_each(|k| check(&NativeFilter::new(&code(k + thread)).unwrap(), k + thread))
            });
        }
    });
}

#[test]
fn a_filter_larger_than_a_chunk() {
    let mut tree = Tree::default();
    let source = tree.pool.at(12, Size::B4);
    let set = tree.is_in(source, (0..20_000).map(|i| (7 * i, 7 * i)).collect());
    let graph =
        crate::pipeline::checked(tree, &mut [crate::Clause::Leaf(set, 1)], Passes::ALL, &Budget::unlimited())
            .unwrap();
    let filter = Decision::<Bits>::of_checked(graph, &DecisionOptions::default()).unwrap();
    assert!(filter.native().is_some());
    let mut packet = [0; 20];
    packet[12..16].copy_from_slice(&(7 * 12_345_u32).to_be_bytes());
    assert_eq!(filter.leaf(&packet, 20), 1);
    packet[15] ^= 1;
    assert_eq!(filter.leaf(&packet, 20), 0);
}

#[test]
fn hardened_processes() {
    for part in ["mdwe", "seccomp", "fork"] {
        let this = std::env::current_exe().unwrap();
        let arguments = ["--exact", "exec::tests::part_of_a_child", "--nocapture", "--test-threads=1"];
        let output = Command::new(this).args(arguments).env(PART, part).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{part}: {}\n{text}", output.status);
        assert!(text.contains("played") || text.contains("SKIPPED"), "{part}:\n{text}");
        text.lines().filter(|line| line.starts_with("SKIPPED")).for_each(testkit::say);
    }
}

/// Does nothing unless run by the test above.
#[test]
fn part_of_a_child() {
    match std::env::var(PART).as_deref() {
        Ok("mdwe") => without_new_executable_pages(),
        Ok("seccomp") => without_any_executable_memory(),
        Ok("fork") => in_parent_and_child(),
        _ => {}
    }
}

/// A page may not become executable: the file in memory works, being executable from the start.
fn without_new_executable_pages() {
    const PR_SET_MDWE: i32 = 65;
    // SAFETY: sets a flag of this process.
    if unsafe { libc::prctl(PR_SET_MDWE, 1_u64, 0_u64, 0_u64, 0_u64) } != 0 {
        println!("SKIPPED: this kernel has no PR_SET_MDWE (Linux 6.3 has)");
        return;
    }
    let refused = NativeFilter::placed(&code(60), &[Way::Mprotect]).unwrap_err();
    assert!(refused.to_string().contains("cannot be made executable"), "{refused}");
    check(&NativeFilter::new(&code(60)).unwrap(), 60);
    println!("played");
}

/// Neither way works: the interpreter does.
fn without_any_executable_memory() {
    const ERRNO_EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let jump = |test: u32, k, jt, jf| step((libc::BPF_JMP | test | libc::BPF_K) as u16, jt, jf, k);
    let mut program = [
        step(LOAD, 0, 0, 0), // the number of the call
        jump(libc::BPF_JEQ, libc::SYS_memfd_create as u32, 3, 0),
        jump(libc::BPF_JEQ, libc::SYS_mprotect as u32, 0, 3),
        step(LOAD, 0, 0, 32), // its third argument
        jump(libc::BPF_JSET, libc::PROT_EXEC as u32, 0, 1),
        step(RETURN, 0, 0, ERRNO_EPERM),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: restricts this process; the program lives through the call.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as u64, &program) == 0
    };
    if !set {
        println!("SKIPPED: this system lets no process restrict its own calls (seccomp)");
        return;
    }
    let refused = NativeFilter::new(&code(60)).unwrap_err();
    assert!(refused.to_string().contains("a file in memory cannot be mapped executable"), "{refused}");
    assert!(refused.to_string().contains("a page cannot be made executable"), "{refused}");
    let graph = Checked::new_while(graph(60), || Ok::<_, ()>(())).unwrap().unwrap();
    let filter = Decision::<Bits>::of_checked(graph, &DecisionOptions::default()).unwrap();
    assert!(filter.fallback_reason().is_some());
    assert_eq!([60, 61].map(|len| filter.leaf(&[], len)), [1, 0]);
    println!("played");
}

/// What a child places and drops leaves its parent's filters alone, and what a parent does leaves alone what a child inherited.
fn in_parent_and_child() {
    let mine = NativeFilter::new(&code(1)).unwrap();
    let [dropped_here, dropped_there] = [2, 3].map(|k| NativeFilter::new(&code(k)).unwrap());
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the child makes and runs filters, and leaves without returning.
    match unsafe { libc::fork() } {
        0 => {
            drop((writer, dropped_there));
            let theirs: Vec<NativeFilter> = (10..200).map(|k| NativeFilter::new(&code(k)).unwrap()).collect();
            // The parent has dropped its filters now, and made others.
            reader.read_exact(&mut [0]).unwrap();
            (10..).zip(&theirs).for_each(|(k, filter)| check(filter, k));
            check(&mine, 1);
            check(&dropped_here, 2);
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop(dropped_here);
            let after: Vec<NativeFilter> = (300..500).map(|k| NativeFilter::new(&code(k)).unwrap()).collect();
            writer.write_all(&[1]).unwrap();
            let mut status = 0;
            // SAFETY: waits for the child.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
            check(&mine, 1);
            check(&dropped_there, 3);
            (300..).zip(&after).for_each(|(k, filter)| check(filter, k));
        }
    }
    println!("played");
}

/// Rows that add up to something even: asked with two values, one of them computed, and with values that live across the call.
#[derive(Debug)]
struct EvenSums(std::sync::Arc<std::sync::atomic::AtomicU32>);

impl crate::ir::Members for EvenSums {
    fn words(&self) -> usize {
        2
    }

    fn contains(&self, row: &[u32]) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        row.iter().fold(0_u32, |sum, &number| sum.wrapping_add(number)).is_multiple_of(2)
    }

    fn describe(&self) -> String {
        "even sums".into()
    }
}

#[test]
fn large_sets_are_called_and_nothing_is_lost_on_the_way() {
    use crate::ir::BinOp;
    use crate::{Decision, Leaves, Options, Tree};
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let set: std::sync::Arc<dyn crate::ir::Members> =
        std::sync::Arc::new(EvenSums(std::sync::Arc::clone(&calls)));
    let mut tree = Tree::default();
    let bytes: Vec<_> = (0..6).map(|at| tree.pool.at(at, crate::ir::Size::B1)).collect();
    let sum = tree.pool.op(BinOp::Add, bytes[2], bytes[3]);
    // An input and the wire length have registers that a call destroys.
    let (input, length) = (tree.pool.input(1), tree.pool.value(crate::ir::Value::Len));
    let asked = [[bytes[0], bytes[1]], [sum, input], [length, bytes[4]]];
    let mut tests = Vec::new();
    for words in asked {
        let cond = tree.pool.is_member(&words, std::sync::Arc::clone(&set));
        tests.push(tree.test(cond));
        let later = tree.pool.op(BinOp::Xor, words[0], words[1]);
        let nine = tree.pool.constant(9);
        let cond = tree.pool.cond(crate::ir::Cond::Cmp(crate::ir::CmpOp::Eq, later, nine));
        let equal = tree.push(crate::ir::tree::TreeNode::Test(cond), crate::Span::default());
        tests.push(tree.not(equal));
    }
    let all = tree.all(&tests);
    let odd = tree.has_bits(bytes[5], 1);
    let both = tree.all(&[tests[0], odd]);
    let arms = vec![(all, 1), (both, 2)];
    let native: Decision<Leaves> =
        Decision::of_tree(tree.clone(), arms.clone(), &Options::default()).unwrap();
    let options = Options { backend: crate::Backend::Interpreter, ..Options::default() };
    let reference: Decision<Leaves> = Decision::of_tree(tree, arms, &options).unwrap();
    assert_eq!(native.fallback_reason(), None);
    let mut random = 7_u64;
    let mut next = || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) as u8
    };
    let packets: Vec<Vec<u8>> = (0..1000).map(|i| (0..i % 8).map(|_| next() % 12).collect()).collect();
    let rows: Vec<u32> = packets.iter().flat_map(|_| [u32::from(next()), u32::from(next())]).collect();
    let burst: Vec<Packet<'_>> =
        packets.iter().map(|data| Packet::new(data, data.len() as u32 + 3)).collect();
    let mut leaves = vec![9; packets.len()];
    native.run_burst_with(&burst, &rows, &mut leaves);
    let before = calls.load(std::sync::atomic::Ordering::Relaxed);
    assert!(before > 300, "{before}");
    let mut seen = [0; 3];
    for ((packet, row), leaf) in packets.iter().zip(rows.chunks(2)).zip(leaves) {
        let wire_len = packet.len() as u32 + 3;
        let expected = reference.leaf_with(packet, wire_len, row);
        seen[expected as usize] += 1;
        assert_eq!(
            (native.leaf_with(packet, wire_len, row), leaf),
            (expected, expected),
            "{packet:?} {row:?}"
        );
    }
    assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
}
