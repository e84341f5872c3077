//! Generated code gives back what a caller expects back: rbx, rbp, r12 to r15, and the stack pointer.

use decide::Packet;
use decide::internals::exec::NativeFilter;
use decide::internals::ir::verify::Verified;
use decide::internals::x64::{self, Options};
use std::sync::{Mutex, PoisonError};
use testkit::native::graphs::{Shape, random_graph};
use testkit::rng::Rng;

/// A call to be made with known values in the registers that belong to the caller.
#[repr(C)]
struct Probe {
    entry: u64,
    arguments: [u64; 3],
    /// rbx, rbp, r12, r13, r14, r15.
    before: [u64; 6],
    after: [u64; 6],
    stack_before: u64,
    stack_after: u64,
}

// The probe is found through a static, not through a register: those are what is in question.
std::arch::global_asm!(
    ".pushsection .data",
    "sluss_test_probe_at: .quad 0",
    ".popsection",
    ".globl sluss_test_probe",
    "sluss_test_probe:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "mov [rip + sluss_test_probe_at], rdi",
    "mov r11, rdi",
    "mov rdi, [r11 + 8]",
    "mov rsi, [r11 + 16]",
    "mov rdx, [r11 + 24]",
    "mov rbx, [r11 + 32]",
    "mov rbp, [r11 + 40]",
    "mov r12, [r11 + 48]",
    "mov r13, [r11 + 56]",
    "mov r14, [r11 + 64]",
    "mov r15, [r11 + 72]",
    "mov [r11 + 128], rsp",
    "call [r11]",
    "mov r11, [rip + sluss_test_probe_at]",
    "mov [r11 + 80], rbx",
    "mov [r11 + 88], rbp",
    "mov [r11 + 96], r12",
    "mov [r11 + 104], r13",
    "mov [r11 + 112], r14",
    "mov [r11 + 120], r15",
    "mov [r11 + 136], rsp",
    "mov rsp, [r11 + 128]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
);

// SAFETY: the assembler code above has this name, and takes the address of a probe by the same convention.
unsafe extern "sysv64" {
    fn sluss_test_probe(probe: *mut Probe);
}

/// One at a time: they share the static.
static TURN: Mutex<()> = Mutex::new(());

fn check_call(rng: &mut Rng, entry: u64, arguments: [u64; 3], what: &str) {
    let before = std::array::from_fn(|_| rng.next_u64());
    let mut probe = Probe { entry, arguments, before, after: [0; 6], stack_before: 0, stack_after: 1 };
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the entry is that of a living filter, the arguments are those it takes.
    unsafe { sluss_test_probe(&mut probe) };
    drop(turn);
    assert_eq!(probe.after, probe.before, "{what}: rbx, rbp, r12-r15");
    assert_eq!(probe.stack_after, probe.stack_before, "{what}: rsp");
}

fn check_shape(shape: Shape, rounds: u64) {
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let graph = random_graph(&mut rng, shape);
        let mut options = Options::default();
        options.prefetch_distance = *rng.pick(&[0, 16]);
        let Ok(code) = x64::compile(Verified::new(&graph).unwrap(), &options) else { continue };
        let filter = NativeFilter::new(&code).unwrap();
        let code = x64::compile_leaves(Verified::new(&graph).unwrap(), &options).unwrap();
        let program = NativeFilter::new(&code).unwrap();
        let data: Vec<Vec<u8>> =
            (0..70).map(|_| (0..rng.below(80)).map(|_| rng.next_u32() as u8 & 0x3f).collect()).collect();
        for data in &data {
            let arguments = [data.as_ptr() as u64, data.len() as u64, rng.next_u64()];
            check_call(&mut rng, filter.one() as usize as u64, arguments, &format!("seed {seed}, one"));
        }
        let packets: Vec<Packet<'_>> = data.iter().map(|data| Packet::new(data, 60)).collect();
        for len in [1, 20, 64, 70] {
            let mut bitmap = vec![0_u64; usize::div_ceil(len, 64)];
            let arguments = [packets.as_ptr() as u64, len as u64, bitmap.as_mut_ptr() as u64];
            check_call(&mut rng, filter.burst() as usize as u64, arguments, &format!("seed {seed}, burst"));
            let mut leaves = vec![0_u32; len];
            let arguments = [packets.as_ptr() as u64, len as u64, leaves.as_mut_ptr() as u64];
            check_call(&mut rng, program.burst() as usize as u64, arguments, &format!("seed {seed}, leaves"));
        }
    }
}

#[test]
fn of_small_filters() {
    check_shape(Shape { values: 8, tests: 4, filters: 2, switches: 1, inputs: 0 }, 100);
}

#[test]
fn of_filters_that_spill() {
    check_shape(Shape { values: 90, tests: 50, filters: 4, switches: 2, inputs: 0 }, 40);
}
