//! A compiled filter or program behind a safe interface.
//!
//! The code comes from a graph that the verifier has passed, and reads no byte behind the captured length that it is given; the packet is a slice, so
//! that length is right. It allocates nothing, calls nothing but sets that the filter keeps alive, and stores only answers and its own stack slots. The pages stay mapped as
//! long as the filter lives.

use super::memory::{Placed, Refusal, Way};
use crate::burst::{Bits, Leaves, Written};
use crate::exec::Packet;
use crate::ir::{Members, WORDS_MAX};
use crate::target::lir::NoCode;
use crate::target::x64::{MachineCode, ValuesCode};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Machine code, ready to run. `W` is what its burst entry writes.
#[derive(Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "nothing enters code of another processor")
)]
pub struct NativeFilter<W = Bits> {
    code: Placed,
    one: usize,
    /// INVARIANT: the offset of an entry that writes `W`: a `MachineCode<W>` has no other.
    burst: usize,
    writes: PhantomData<W>,
    /// INVARIANT: all sets whose addresses the code has.
    _members: Vec<Arc<Arc<dyn Members>>>,
}

/// Asks a large set, for machine code.
///
/// # Safety
/// `set` points to a set, and `row` to as many numbers as its rows have.
#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn is_member(set: *const Arc<dyn Members>, row: *const u32) -> u32 {
    // SAFETY: the caller's promise.
    let set = unsafe { &*set };
    // SAFETY: likewise; `words` is at most the length of the row in a frame, which `Pool::is_member` has checked against the values.
    let row = unsafe { std::slice::from_raw_parts(row, set.words().min(WORDS_MAX)) };
    u32::from(set.contains(row))
}

/// The address of the function that asks a large set.
#[cfg(target_arch = "x86_64")]
pub(crate) fn member_entry() -> Option<u64> {
    let entry: unsafe extern "sysv64" fn(*const Arc<dyn Members>, *const u32) -> u32 = is_member;
    Some(entry as usize as u64)
}

/// No machine code, no function.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn member_entry() -> Option<u64> {
    None
}

/// Machine code whose burst entry writes the number of each packet's leaf.
pub type NativeList = NativeFilter<Leaves>;

/// Why a filter cannot run as machine code here. The interpreter can run it.
///
/// ```
/// use decide::{NoCode, NoExec};
///
/// let reason = NoExec::from(NoCode::TooComplex);
/// assert_eq!(reason.to_string(), "too many values must be kept at once for machine code");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoExec {
    /// Another processor or operating system than the machine code is made for.
    Platform,
    /// The system lets no memory be executable.
    Refused(Refusal),
    /// The filter does not lend itself to machine code.
    Code(NoCode),
}

impl fmt::Display for NoExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoExec::Platform => f.write_str("machine code is made for x86-64 under Linux only"),
            NoExec::Refused(refusal) => write!(f, "the system allows no executable memory: {refusal}"),
            NoExec::Code(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoExec {}

impl From<NoCode> for NoExec {
    fn from(error: NoCode) -> NoExec {
        NoExec::Code(error)
    }
}

/// The entry for one packet: address, captured length, wire length; gives the number of the leaf.
#[cfg(target_arch = "x86_64")]
pub type One = unsafe extern "sysv64" fn(data: *const u8, captured_len: usize, wire_len: u32) -> u32;
/// The entry for a burst: packets, how many, and room for what it writes of them ([`Written::cells`]).
#[cfg(target_arch = "x86_64")]
pub type Burst<Cell> = unsafe extern "sysv64" fn(packets: *const Packet<'_>, count: usize, to: *mut Cell);

/// The entry for one packet and its row.
#[cfg(target_arch = "x86_64")]
type OneWithRow =
    unsafe extern "sysv64" fn(data: *const u8, captured_len: usize, wire_len: u32, row: *const u32) -> u32;
/// The entry for a burst and its rows.
#[cfg(target_arch = "x86_64")]
type BurstWithRows<Cell> =
    unsafe extern "sysv64" fn(packets: *const Packet<'_>, count: usize, to: *mut Cell, rows: *const u32);

impl<W> NativeFilter<W> {
    /// Places compiled code in executable memory.
    ///
    /// # Errors
    /// [`NoExec`], with the reason in words, where the platform has no machine code or the system refuses.
    ///
    /// # Panics
    /// If the code reads inputs: see [`NativeWithInputs`].
    pub fn new(code: &MachineCode<W>) -> Result<NativeFilter<W>, NoExec> {
        assert_eq!(code.inputs(), None, "nobody gives this code inputs");
        NativeFilter::placed(code, &[Way::Memfd, Way::Mprotect])
    }

    pub(super) fn placed(code: &MachineCode<W>, ways: &[Way]) -> Result<NativeFilter<W>, NoExec> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(NoExec::Platform);
        }
        let placed = Placed::new(code.bytes(), ways).map_err(NoExec::Refused)?;
        let (one, burst, members) = (code.one(), code.burst(), code.members());
        Ok(NativeFilter { code: placed, one, burst, writes: PhantomData, _members: members })
    }

    /// The address of the code for one packet, for callers that cannot go through [`NativeFilter::run`]. It is valid
    /// while `self` lives.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn one(&self) -> One {
        let entry = self.code.start().wrapping_add(self.one);
        // SAFETY: `entry` is what `emit` made for this signature, since only `x64::compile` makes a `MachineCode`;
        // it stays mapped readable and executable, and unchanged, while `self` lives.
        unsafe { std::mem::transmute::<*const u8, One>(entry) }
    }

    /// The number of the leaf that this packet reaches.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn run(&self, captured: &[u8], wire_len: u32) -> u32 {
        let entry = self.one();
        // SAFETY: the slice is readable for its length. Every load of the code lies under a guard against that
        // length, which `ir::verify` has seen (`x64::compile` takes nothing else), and what the guard compared is
        // not read again. Stores go to the code's own stack frame. Callee-saved registers are not touched.
        unsafe { entry(captured.as_ptr(), captured.len(), wire_len) }
    }

    /// The number of the leaf that this packet reaches.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run(&self, _: &[u8], _: u32) -> u32 {
        unreachable!("made on x86-64 only")
    }
}

impl<W: Written> NativeFilter<W> {
    /// The address of the code for a burst. It is valid while `self` lives.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn burst(&self) -> Burst<W::Cell> {
        let entry = self.code.start().wrapping_add(self.burst);
        // SAFETY: as in `one`; what it writes is `W`.
        unsafe { std::mem::transmute::<*const u8, Burst<W::Cell>>(entry) }
    }

    /// Writes the answers for packets.
    ///
    /// # Panics
    /// Where there is no room for the answer for each packet.
    #[cfg(target_arch = "x86_64")]
    pub fn run_burst(&self, packets: &[Packet<'_>], to: &mut [W::Cell]) {
        assert!(to.len() >= W::cells(packets.len()), "room for the answer for each packet");
        if packets.is_empty() {
            return;
        }
        let entry = self.burst();
        // SAFETY: each descriptor was made from a slice that it keeps borrowed, so as in `run` for each; the loop
        // reads descriptors below `count` only, saves and restores the callee-saved registers that it uses, and
        // stores as many cells as `count` packets need, for which there is room.
        unsafe { entry(packets.as_ptr(), packets.len(), to.as_mut_ptr()) }
    }

    /// Writes the answers for packets.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run_burst(&self, _: &[Packet<'_>], _: &mut [W::Cell]) {
        unreachable!("made on x86-64 only")
    }
}

/// Machine code that reads numbers which the caller gives with each packet.
#[derive(Debug)]
pub struct NativeWithInputs<W = Bits> {
    /// INVARIANT: its code expects the row as a fourth argument, so that only methods of this type may call it.
    inner: NativeFilter<W>,
    /// Numbers in the row of a packet, at least one.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "nothing enters code of another processor")
    )]
    row: usize,
}

impl<W: Written> NativeWithInputs<W> {
    /// Places compiled code in executable memory.
    ///
    /// # Errors
    /// As [`NativeFilter::new`].
    ///
    /// # Panics
    /// If the code reads no inputs.
    pub fn new(code: &MachineCode<W>) -> Result<NativeWithInputs<W>, NoExec> {
        let row = code.inputs().expect("code that reads inputs") as usize;
        let inner = NativeFilter::placed(code, &[Way::Memfd, Way::Mprotect])?;
        Ok(NativeWithInputs { inner, row })
    }

    /// The number of the leaf that a packet reaches with this row.
    ///
    /// # Panics
    /// If the row is too short.
    #[cfg(target_arch = "x86_64")]
    pub fn run(&self, captured: &[u8], wire_len: u32, row: &[u32]) -> u32 {
        assert!(row.len() >= self.row, "{} inputs, of {} that are read", row.len(), self.row);
        let entry = self.inner.code.start().wrapping_add(self.inner.one);
        // SAFETY: as in `NativeFilter::one`; the code was made for this signature, since it reads inputs.
        let entry = unsafe { std::mem::transmute::<*const u8, OneWithRow>(entry) };
        // SAFETY: as in `NativeFilter::run`; of the row the code reads numbers below `self.row`, which it has.
        unsafe { entry(captured.as_ptr(), captured.len(), wire_len, row.as_ptr()) }
    }

    /// Writes the answers for packets, each with a row, one behind the other.
    ///
    /// # Panics
    /// Where there is no room for the answer for each packet, or no row for each.
    #[cfg(target_arch = "x86_64")]
    pub fn run_burst(&self, packets: &[Packet<'_>], rows: &[u32], to: &mut [W::Cell]) {
        assert!(to.len() >= W::cells(packets.len()), "room for the answer for each packet");
        assert!(rows.len() / self.row >= packets.len(), "a row for each packet");
        if packets.is_empty() {
            return;
        }
        let entry = self.inner.code.start().wrapping_add(self.inner.burst);
        // SAFETY: as in `NativeFilter::burst`; the code was made for this signature, since it reads inputs.
        let entry = unsafe { std::mem::transmute::<*const u8, BurstWithRows<W::Cell>>(entry) };
        // SAFETY: as in `NativeFilter::run_burst`; the row of packet `i` begins `i * self.row` numbers after the first, and there are
        // so many rows.
        unsafe { entry(packets.as_ptr(), packets.len(), to.as_mut_ptr(), rows.as_ptr()) }
    }

    /// The number of the leaf that a packet reaches with this row.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run(&self, _: &[u8], _: u32, _: &[u32]) -> u32 {
        unreachable!("made on x86-64 only")
    }

    /// Writes the answers for packets, each with a row, one behind the other.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run_burst(&self, _: &[Packet<'_>], _: &[u32], _: &mut [W::Cell]) {
        unreachable!("made on x86-64 only")
    }
}

/// Machine code that hands out the values of a leaf.
#[derive(Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "nothing enters code of another processor")
)]
pub(crate) struct NativeValues {
    /// INVARIANT: its first byte is the entry of code that reads `row` inputs and hands out `outputs` numbers.
    code: Placed,
    row: usize,
    outputs: usize,
}

/// The entry for one packet, its row, and room for what is handed out; gives whether all could be computed.
#[cfg(target_arch = "x86_64")]
type Values = unsafe extern "sysv64" fn(
    data: *const u8,
    captured_len: usize,
    wire_len: u32,
    row: *const u32,
    to: *mut u32,
) -> u32;

impl NativeValues {
    pub(crate) fn new(code: &ValuesCode) -> Result<NativeValues, NoExec> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(NoExec::Platform);
        }
        let placed = Placed::new(code.bytes(), &[Way::Memfd, Way::Mprotect]).map_err(NoExec::Refused)?;
        let row = code.inputs().unwrap_or(0) as usize;
        Ok(NativeValues { code: placed, row, outputs: code.outputs() as usize })
    }

    /// Hands out the values of a packet; `false` where one cannot be computed.
    ///
    /// # Panics
    /// Where the row is too short, or there is too little room.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn run(&self, (captured, wire_len): (&[u8], u32), row: &[u32], to: &mut [u32]) -> bool {
        assert!(row.len() >= self.row && to.len() >= self.outputs, "all inputs, and room for all values");
        // SAFETY: the invariant of `code`; `emit_one` made it for this signature.
        let entry = unsafe { std::mem::transmute::<*const u8, Values>(self.code.start()) };
        // SAFETY: as in `NativeFilter::run`, and `CheckedLeaves` has seen the guards of the values that are handed out; the code reads
        // inputs below `self.row` and stores numbers below `self.outputs`.
        unsafe { entry(captured.as_ptr(), captured.len(), wire_len, row.as_ptr(), to.as_mut_ptr()) != 0 }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn run(&self, _: (&[u8], u32), _: &[u32], _: &mut [u32]) -> bool {
        unreachable!("made on x86-64 only")
    }
}

impl NativeFilter<Bits> {
    /// Appends the indices of the packets that are accepted, in ascending order.
    pub fn run_burst_indices(&self, packets: &[Packet<'_>], indices: &mut Vec<u32>) {
        const WORDS: usize = 64;
        let mut bitmap = [0; WORDS];
        for (i, part) in packets.chunks(64 * WORDS).enumerate() {
            self.run_burst(part, &mut bitmap);
            for (j, &word) in bitmap[..Bits::cells(part.len())].iter().enumerate() {
                let first = (i * WORDS + j) * 64;
                push_set_bits(word, first as u32, indices);
            }
        }
    }
}

/// Appends `first` + the number of each bit that is set.
fn push_set_bits(mut word: u64, first: u32, indices: &mut Vec<u32>) {
    while word != 0 {
        indices.push(first + word.trailing_zeros());
        word &= word - 1;
    }
}
