//! libpcap itself: the reference for what an expression means.
//!
//! ```
//! use testkit::{linktype::ETHERNET, oracle};
//!
//! let Some(pcap) = oracle::libpcap("the example") else { return };
//! let program = pcap.compile(ETHERNET, "arp", oracle::Options::default()).unwrap();
//! let mut frame = [0; 60];
//! frame[12..14].copy_from_slice(&[0x08, 0x06]);
//! assert!(program.accepts(&frame, 60));
//! ```
//!
//! Expressions are compiled on the handle of a *savefile* (an empty one, held in memory), unoptimised: with
//! `pcap_open_dead` libpcap answers differently for some link types, and its optimiser changes the meaning of
//! filters on truncated packets.
//!
//! Invariants: every call that compiles holds one lock, because libpcap 1.10 keeps the state of name look-ups and of
//! the parser's error text in places whose thread safety is not documented; programs that jump backwards run
//! in the bounded interpreter of [`bpf::machine`], because `bpf_filter` may never come back from them.
//!
//! Not here: anything that captures, any `DLT_*` number (files have `LINKTYPE_*`), any expression of more than some
//! hundred terms, on which libpcap takes minutes and then overflows its stack.

pub mod kernel;

use crate::linktype::LinkType;
use crate::scratch;
use bpf::machine::{self, Observer, Outcome};
use bpf::{Insn, op};
use std::collections::HashMap;

/// Steps after which a program that jumps backwards counts as endless.
const MAX_STEPS: usize = 100_000;
/// Headers that `protochain` steps over in our filters, as in `pflang::lower`.
const HEADERS_MAX: u32 = 32;

/// How an expression is to be compiled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The netmask for `ip broadcast`, in host order (which is how libpcap uses it); unknown when absent.
    pub netmask: Option<u32>,
    /// Whether libpcap's optimiser runs: for benchmarks only.
    pub optimise: bool,
    /// Whether the file comes from a machine of the other byte order.
    pub swapped: bool,
}

/// A compiled expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BpfProgram {
    insns: Vec<Insn>,
    jumps_back: bool,
}

impl BpfProgram {
    /// Wraps bytecode that came from [`Libpcap::compile`].
    fn new(insns: Vec<Insn>) -> Self {
        let jumps_back = insns.iter().any(|&insn| jumps_back(insn));
        BpfProgram { insns, jumps_back }
    }

    /// The instructions.
    pub fn insns(&self) -> &[Insn] {
        &self.insns
    }

    /// Whether libpcap accepts the packet, if there is something to compare with: nothing where the program reads scratch memory that
    /// it should not ([`scratch`]), nor where `protochain` steps over more headers than we do. Both are lines of COMPAT.md.
    pub fn answer(&self, packet: &[u8], wire_len: u32) -> Option<bool> {
        let is_defined = !scratch::is_undefined(&self.insns, packet, wire_len)
            && self.rounds(packet, wire_len) <= HEADERS_MAX;
        is_defined.then(|| self.accepts(packet, wire_len))
    }

    /// How often the program jumps back to the same place at most: how many headers a `protochain` steps over.
    fn rounds(&self, packet: &[u8], wire_len: u32) -> u32 {
        let mut rounds = Rounds::default();
        if self.jumps_back {
            machine::run(&self.insns, packet, wire_len, MAX_STEPS, &mut rounds);
        }
        rounds.0.values().copied().max().unwrap_or(0)
    }

    /// Runs the program in the bounded interpreter.
    pub fn run(&self, packet: &[u8], wire_len: u32) -> Outcome {
        machine::run(&self.insns, packet, wire_len, MAX_STEPS, &mut ())
    }

    /// Whether libpcap accepts the packet; a packet on which it would loop for ever is not accepted.
    pub fn accepts(&self, packet: &[u8], wire_len: u32) -> bool {
        if self.jumps_back {
            self.run(packet, wire_len).accepts()
        } else {
            sys::filter(&self.insns, packet, wire_len) != 0
        }
    }
}

fn jumps_back(insn: Insn) -> bool {
    insn.code == op::JMP | op::JA && (insn.k as i32) < 0
}

/// How often a run has jumped back to each place.
#[derive(Default)]
struct Rounds(HashMap<usize, u32>);

impl Observer for Rounds {
    fn step(&mut self, pc: usize, insn: Insn, _a: u32, _x: u32) {
        if jumps_back(insn) {
            *self.0.entry(pc.wrapping_add_signed(insn.k as i32 as isize)).or_default() += 1;
        }
    }
}

/// A libpcap that can be asked.
#[derive(Debug, Clone, Copy)]
pub struct Libpcap(());

/// libpcap, or, where it could not be linked, `None` and a line on standard error that says what is skipped.
pub fn libpcap(who: &str) -> Option<Libpcap> {
    if cfg!(have_libpcap) {
        return Some(Libpcap(()));
    }
    crate::say(format_args!(
        "SKIPPED: {who} does not compare with libpcap: install libpcap-dev (Debian) and build again"
    ));
    None
}

impl Libpcap {
    /// The library's own words about its version.
    pub fn version(self) -> String {
        sys::version()
    }

    /// Compiles `expression` for a file of type `linktype`.
    ///
    /// # Errors
    ///
    /// libpcap's message, when it rejects the expression.
    pub fn compile(
        self,
        linktype: LinkType,
        expression: &str,
        options: Options,
    ) -> Result<BpfProgram, String> {
        sys::compile(linktype.value(), expression, options).map(BpfProgram::new)
    }

    /// What `bpf_filter` returns for a packet.
    ///
    /// # Panics
    ///
    /// If the kernel's checker would refuse the program: `bpf_filter` checks nothing itself.
    pub fn filter(self, insns: &[Insn], packet: &[u8], wire_len: u32) -> u32 {
        bpf::Program::from(insns.to_vec()).check(bpf::Validate::Kernel).expect("a program that can be run");
        sys::filter(insns, packet, wire_len)
    }

    /// Whether `bpf_validate` accepts a program.
    pub fn validates(self, insns: &[Insn]) -> bool {
        sys::validates(insns)
    }

    /// An instruction as `bpf_image` writes it, in the line of a listing.
    pub fn image(self, insn: Insn, number: usize) -> String {
        sys::image(insn, number)
    }
}

#[cfg(have_libpcap)]
mod sys {
    //! The foreign functions, each behind a safe one.

    use super::{Insn, Options};
    use std::ffi::{CStr, CString, c_char, c_int, c_uint};
    use std::sync::{Mutex, PoisonError};

    /// `PCAP_NETMASK_UNKNOWN`.
    const NETMASK_UNKNOWN: u32 = 0xffff_ffff;
    /// `PCAP_ERRBUF_SIZE`.
    const ERROR_BUFFER_BYTES: usize = 256;

    #[repr(C)]
    struct Handle {
        _opaque: [u8; 0],
    }

    #[repr(C)]
    struct BpfProgram {
        len: c_uint,
        insns: *mut Insn,
    }

    // SAFETY: these are the declarations of pcap/pcap.h, with `pcap_t` as `Handle`.
    #[link(name = "pcap")]
    unsafe extern "C" {
        fn pcap_fopen_offline(file: *mut libc::FILE, error: *mut c_char) -> *mut Handle;
        fn pcap_close(handle: *mut Handle);
        fn pcap_geterr(handle: *mut Handle) -> *mut c_char;
        fn pcap_compile(
            handle: *mut Handle,
            program: *mut BpfProgram,
            text: *const c_char,
            optimise: c_int,
            netmask: u32,
        ) -> c_int;
        fn pcap_freecode(program: *mut BpfProgram);
        fn pcap_lib_version() -> *const c_char;
        fn bpf_filter(
            insns: *const Insn,
            packet: *const u8,
            wire_len: c_uint,
            captured_len: c_uint,
        ) -> c_uint;
        fn bpf_validate(insns: *const Insn, len: c_int) -> c_int;
        fn bpf_image(insn: *const Insn, number: c_int) -> *mut c_char;
    }

    static LOCK: Mutex<()> = Mutex::new(());

    /// An open savefile; `header` is what its `FILE` reads from.
    struct Savefile {
        handle: *mut Handle,
        _header: Box<[u8; 24]>,
    }

    impl Savefile {
        /// An empty capture of type `linktype` with the usual snap length, in this machine's byte order or the other.
        fn empty(linktype: u32, swapped: bool) -> Result<Self, String> {
            let short = |n: u16| if swapped { n.swap_bytes() } else { n }.to_ne_bytes();
            let long = |n: u32| if swapped { n.swap_bytes() } else { n }.to_ne_bytes();
            let mut header = Box::new([0u8; 24]);
            header[0..4].copy_from_slice(&long(0xa1b2_c3d4));
            header[4..6].copy_from_slice(&short(2));
            header[6..8].copy_from_slice(&short(4));
            header[16..20].copy_from_slice(&long(262_144));
            header[20..24].copy_from_slice(&long(linktype));
            // SAFETY: the buffer has 24 bytes and is dropped only after the handle that owns the FILE is closed.
            let file = unsafe { libc::fmemopen(header.as_mut_ptr().cast(), header.len(), c"r".as_ptr()) };
            if file.is_null() {
                return Err("fmemopen failed: out of memory".into());
            }
            let mut error = [0 as c_char; ERROR_BUFFER_BYTES];
            // SAFETY: `file` is open for reading and `error` has the size that libpcap asks for.
            let handle = unsafe { pcap_fopen_offline(file, error.as_mut_ptr()) };
            if handle.is_null() {
                // SAFETY: libpcap left the FILE to us, and wrote a C string.
                unsafe { libc::fclose(file) };
                // SAFETY: as above; the buffer was zeroed, so it is terminated in any case.
                return Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned());
            }
            Ok(Savefile { handle, _header: header })
        }
    }

    impl Drop for Savefile {
        fn drop(&mut self) {
            // SAFETY: the handle is open, is closed once, and closes its FILE.
            unsafe { pcap_close(self.handle) };
        }
    }

    pub(super) fn compile(linktype: u32, text: &str, options: Options) -> Result<Vec<Insn>, String> {
        let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let savefile = Savefile::empty(linktype, options.swapped)?;
        let text = CString::new(text).map_err(|_| "the expression contains a zero byte".to_string())?;
        let mut program = BpfProgram { len: 0, insns: std::ptr::null_mut() };
        let netmask = options.netmask.unwrap_or(NETMASK_UNKNOWN);
        // SAFETY: the handle is open, the text is terminated, the program is ours to be filled.
        let status = unsafe {
            pcap_compile(savefile.handle, &mut program, text.as_ptr(), options.optimise.into(), netmask)
        };
        if status != 0 {
            // SAFETY: after a failure the handle holds a terminated message, which lives as long as the handle.
            return Err(unsafe { CStr::from_ptr(pcap_geterr(savefile.handle)) }
                .to_string_lossy()
                .into_owned());
        }
        // SAFETY: after a success `insns` points to `len` instructions of this very layout.
        let insns = unsafe { std::slice::from_raw_parts(program.insns, program.len as usize) }.to_vec();
        // SAFETY: the program came from pcap_compile and is freed once.
        unsafe { pcap_freecode(&mut program) };
        Ok(insns)
    }

    pub(super) fn filter(insns: &[Insn], packet: &[u8], wire_len: u32) -> u32 {
        // SAFETY: the instructions came from pcap_compile, which makes valid programs that end in a return, or were checked; bpf_filter reads no byte at or past `packet.len()`.
        unsafe { bpf_filter(insns.as_ptr(), packet.as_ptr(), wire_len, packet.len() as c_uint) }
    }

    pub(super) fn validates(insns: &[Insn]) -> bool {
        // SAFETY: it reads this many instructions.
        unsafe { bpf_validate(insns.as_ptr(), insns.len() as c_int) != 0 }
    }

    pub(super) fn image(insn: Insn, number: usize) -> String {
        // The text is in a static buffer.
        let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it reads the instruction, and returns a terminated string, which nobody else writes to meanwhile.
        unsafe { CStr::from_ptr(bpf_image(&insn, number as c_int)) }.to_string_lossy().into_owned()
    }

    pub(super) fn version() -> String {
        // SAFETY: libpcap returns a static string.
        unsafe { CStr::from_ptr(pcap_lib_version()) }.to_string_lossy().into_owned()
    }
}

#[cfg(not(have_libpcap))]
mod sys {
    //! What remains where libpcap is absent: nothing of this can be reached, for nobody can make a `Libpcap`.

    use super::{Insn, Options};

    const ABSENT: &str = "libpcap-dev is not installed";

    pub(super) fn compile(_: u32, _: &str, _: Options) -> Result<Vec<Insn>, String> {
        Err(ABSENT.into())
    }

    pub(super) fn filter(_: &[Insn], _: &[u8], _: u32) -> u32 {
        0
    }

    pub(super) fn validates(_: &[Insn]) -> bool {
        false
    }

    pub(super) fn image(_: Insn, _: usize) -> String {
        ABSENT.into()
    }

    pub(super) fn version() -> String {
        ABSENT.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linktype::{self, ETHERNET};
    use crate::rng::Rng;

    #[test]
    fn compiles_and_runs() {
        let Some(pcap) = libpcap("oracle") else { return };
        let program = pcap.compile(ETHERNET, "ip6", Options::default()).unwrap();
        let mut frame = [0u8; 60];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        assert!(program.accepts(&frame, 60));
        assert!(!program.accepts(&frame[..13], 60), "the type is outside the captured bytes");
    }

    #[test]
    fn reports_what_libpcap_says() {
        let Some(pcap) = libpcap("oracle") else { return };
        let error = pcap.compile(ETHERNET, "tcp prot 80", Options::default()).unwrap_err();
        assert!(error.contains("syntax error"), "{error}");
    }

    #[test]
    fn takes_the_netmask_in_host_order() {
        let Some(pcap) = libpcap("oracle") else { return };
        let mask = Options { netmask: Some(0xffff_ff00), ..Options::default() };
        assert!(pcap.compile(ETHERNET, "ip broadcast", Options::default()).is_err());
        let program = pcap.compile(ETHERNET, "ip broadcast", mask).unwrap();
        let mut frame = [0u8; 34];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[30..34].copy_from_slice(&[10, 0, 0, 255]);
        assert!(program.accepts(&frame, 34));
    }

    #[test]
    fn knows_every_linktype() {
        let Some(pcap) = libpcap("oracle") else { return };
        for linktype in linktype::all() {
            let compiled = pcap.compile(linktype, "link[0] = 1", Options::default());
            assert!(compiled.is_ok(), "{}: {compiled:?}", linktype);
        }
    }

    /// The bounded interpreter and `bpf_filter` agree on programs that libpcap made.
    #[test]
    fn interpreter_is_bpf_filter() {
        let Some(pcap) = libpcap("oracle") else { return };
        let filters = [
            "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)",
            "host 10.0.0.1 or ip6 net 2001:db8::/32",
            "vlan and udp portrange 1-6000",
            "ip[len] / ip[1] % (ip[2] - 1) << ip[3] >= ip[4] * 3 >> 1 ^ -ip[5]",
            "link[0:4] & link[3:2] | 0x55 > len",
        ];
        let mut rng = Rng::new(1);
        for filter in filters {
            let program = pcap.compile(ETHERNET, filter, Options::default()).unwrap();
            for _ in 0..2000 {
                let mut packet: Vec<u8> = (0..rng.below(80)).map(|_| rng.next_u32() as u8).collect();
                if packet.len() > 24 {
                    packet[12..15].copy_from_slice(rng.pick::<[u8; 3]>(&[
                        [8, 0, 0x45],
                        [0x86, 0xdd, 0x60],
                        [0x81, 0, 0],
                    ]));
                    packet[23] = *rng.pick(&[6, 17]);
                }
                let wire_len = packet.len() as u32 + rng.below(3) as u32;
                let ours = program.run(&packet, wire_len).accepts();
                assert_eq!(
                    ours,
                    sys::filter(&program.insns, &packet, wire_len) != 0,
                    "{filter}\n{packet:02x?}"
                );
            }
        }
    }
}
