//! A compiled filter or program behind a safe interface.

use super::memory::{Placed, Refusal, Way};
use crate::emit::{Bits, Leaves, MachineCode, NoCode};
use crate::exec::Packet;
use std::fmt;
use std::marker::PhantomData;

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
}

/// Machine code whose burst entry writes the number of each packet's leaf.
pub type NativeList = NativeFilter<Leaves>;

/// Why a filter cannot run as machine code here. The interpreter can run it.
///
/// ```
/// use pflang::{Compiler, NoExec};
/// use wire::LinkType;
///
/// let filter = Compiler::new(LinkType::EN10MB).compile("arp")?;
/// match filter.fallback_reason() {
///     None => assert!(filter.is_native()),
///     Some(NoExec::Refused(refusal)) => println!("no executable memory: {refusal}"),
///     Some(reason) => println!("{reason}"),
/// }
/// # Ok::<(), pflang::Error>(())
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

/// Words of bitmap for a number of packets.
pub const fn bitmap_words(packets: usize) -> usize {
    packets.div_ceil(64)
}

/// The entry for one packet: address, captured length, wire length; gives the number of the leaf.
#[cfg(target_arch = "x86_64")]
pub type One = unsafe extern "sysv64" fn(data: *const u8, captured_len: usize, wire_len: u32) -> u32;
/// The entry for a burst: packets, how many, a bitmap of [`bitmap_words`] words.
#[cfg(target_arch = "x86_64")]
pub type Burst = unsafe extern "sysv64" fn(packets: *const Packet<'_>, count: usize, bitmap: *mut u64);
/// The entry for a burst of a program: packets, how many, room for a leaf each.
#[cfg(target_arch = "x86_64")]
pub type BurstOfLeaves =
    unsafe extern "sysv64" fn(packets: *const Packet<'_>, count: usize, leaves: *mut u32);

impl<W> NativeFilter<W> {
    /// Places compiled code in executable memory.
    ///
    /// # Errors
    /// [`NoExec`], with the reason in words, where the platform has no machine code or the system refuses.
    pub fn new(code: &MachineCode<W>) -> Result<NativeFilter<W>, NoExec> {
        NativeFilter::placed(code, &[Way::Memfd, Way::Mprotect])
    }

    pub(super) fn placed(code: &MachineCode<W>, ways: &[Way]) -> Result<NativeFilter<W>, NoExec> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(NoExec::Platform);
        }
        let placed = Placed::new(code.bytes(), ways).map_err(NoExec::Refused)?;
        Ok(NativeFilter { code: placed, one: code.one(), burst: code.burst(), writes: PhantomData })
    }

    /// The address of the code for one packet, for callers that cannot go through [`NativeFilter::run`]. It is valid
    /// while `self` lives.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn one(&self) -> One {
        let entry = self.code.start().wrapping_add(self.one);
        // SAFETY: `entry` is what `emit` made for this signature, since only `emit::compile` makes a `MachineCode`;
        // it stays mapped readable and executable, and unchanged, while `self` lives.
        unsafe { std::mem::transmute::<*const u8, One>(entry) }
    }

    /// The number of the leaf that this packet reaches.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn run(&self, captured: &[u8], wire_len: u32) -> u32 {
        let entry = self.one();
        // SAFETY: the slice is readable for its length. Every load of the code lies under a guard against that
        // length, which `ir::verify` has seen (`emit::compile` takes nothing else), and what the guard compared is
        // not read again. Stores go to the code's own stack frame. Callee-saved registers are not touched.
        unsafe { entry(captured.as_ptr(), captured.len(), wire_len) }
    }

    /// The number of the leaf that this packet reaches.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run(&self, _: &[u8], _: u32) -> u32 {
        unreachable!("made on x86-64 only")
    }
}

impl NativeFilter<Bits> {
    /// The address of the code for a burst. It is valid while `self` lives.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn burst(&self) -> Burst {
        let entry = self.code.start().wrapping_add(self.burst);
        // SAFETY: as in `one`.
        unsafe { std::mem::transmute::<*const u8, Burst>(entry) }
    }

    /// Sets bit `i % 64` of word `i / 64` where packet `i` is accepted; clears the others of the words in use.
    ///
    /// # Panics
    /// Where the bitmap has fewer than [`bitmap_words`] words.
    #[cfg(target_arch = "x86_64")]
    pub fn run_burst(&self, packets: &[Packet<'_>], bitmap: &mut [u64]) {
        assert!(bitmap.len() >= bitmap_words(packets.len()), "a bit for each packet");
        if packets.is_empty() {
            return;
        }
        let entry = self.burst();
        // SAFETY: each descriptor was made from a slice that it keeps borrowed, so as in `run` for each; the loop
        // reads descriptors below `count` only, saves and restores the callee-saved registers that it uses, and
        // stores one word for each 64 packets begun, for which there is room.
        unsafe { entry(packets.as_ptr(), packets.len(), bitmap.as_mut_ptr()) }
    }

    /// Sets bit `i % 64` of word `i / 64` where packet `i` is accepted.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run_burst(&self, _: &[Packet<'_>], _: &mut [u64]) {
        unreachable!("made on x86-64 only")
    }

    /// Appends the indices of the packets that are accepted, in ascending order.
    pub fn run_burst_indices(&self, packets: &[Packet<'_>], indices: &mut Vec<u32>) {
        const WORDS: usize = 64;
        let mut bitmap = [0; WORDS];
        for (i, part) in packets.chunks(64 * WORDS).enumerate() {
            self.run_burst(part, &mut bitmap);
            for (j, &word) in bitmap[..bitmap_words(part.len())].iter().enumerate() {
                let first = (i * WORDS + j) * 64;
                push_set_bits(word, first as u32, indices);
            }
        }
    }
}

impl NativeFilter<Leaves> {
    /// The address of the code for a burst. It is valid while `self` lives.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn burst(&self) -> BurstOfLeaves {
        let entry = self.code.start().wrapping_add(self.burst);
        // SAFETY: as in `one`.
        unsafe { std::mem::transmute::<*const u8, BurstOfLeaves>(entry) }
    }

    /// Writes the number of the leaf that packet `i` reaches to `leaves[i]`.
    ///
    /// # Panics
    /// Where `leaves` is shorter than `packets`.
    #[cfg(target_arch = "x86_64")]
    pub fn run_burst(&self, packets: &[Packet<'_>], leaves: &mut [u32]) {
        assert!(leaves.len() >= packets.len(), "room for the leaf of each packet");
        if packets.is_empty() {
            return;
        }
        let entry = self.burst();
        // SAFETY: as for a bitmap, but that it stores one number for each packet, for which there is room.
        unsafe { entry(packets.as_ptr(), packets.len(), leaves.as_mut_ptr()) }
    }

    /// Writes the number of the leaf that packet `i` reaches to `leaves[i]`.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run_burst(&self, _: &[Packet<'_>], _: &mut [u32]) {
        unreachable!("made on x86-64 only")
    }
}

/// Appends `first` + the number of each bit that is set.
fn push_set_bits(mut word: u64, first: u32, indices: &mut Vec<u32>) {
    while word != 0 {
        indices.push(first + word.trailing_zeros());
        word &= word - 1;
    }
}
