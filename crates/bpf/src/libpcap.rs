//! The machine's libpcap, loaded at run time: text of a filter to bytecode, as a second opinion.
//!
//! The text is compiled on the handle of an empty savefile of the link type, which libpcap reads from memory, without its optimiser, which
//! changes what filters mean on packets that are cut.
//!
//! INVARIANT: one lock is held over each compilation: libpcap 1.10 keeps names and the text of errors where two threads would meet.

use crate::{Error, ErrorKind, Insn, Program};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::net::Ipv4Addr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The names under which distributions have it.
const NAMES: [&CStr; 3] = [c"libpcap.so.0.8", c"libpcap.so.1", c"libpcap.so"];
/// `PCAP_NETMASK_UNKNOWN`.
const NETMASK_UNKNOWN: u32 = 0xffff_ffff;
/// `PCAP_ERRBUF_SIZE`.
const ERROR_BUFFER_BYTES: usize = 256;

// The declarations of pcap/pcap.h.
type FopenOffline = unsafe extern "C" fn(*mut libc::FILE, *mut c_char) -> *mut Handle;
type Close = unsafe extern "C" fn(*mut Handle);
type Geterr = unsafe extern "C" fn(*mut Handle) -> *mut c_char;
type Compile = unsafe extern "C" fn(*mut Handle, *mut BpfProgram, *const c_char, c_int, u32) -> c_int;
type Freecode = unsafe extern "C" fn(*mut BpfProgram);
type LibVersion = unsafe extern "C" fn() -> *const c_char;

/// The functions that are called.
struct Libpcap {
    fopen_offline: FopenOffline,
    close: Close,
    geterr: Geterr,
    compile: Compile,
    freecode: Freecode,
    lib_version: LibVersion,
    lock: Mutex<()>,
}

/// `pcap_t`.
#[repr(C)]
struct Handle {
    _opaque: [u8; 0],
}

/// `struct bpf_program`.
#[repr(C)]
struct BpfProgram {
    len: c_uint,
    insns: *mut Insn,
}

/// Compiles the text of a filter for a capture of a link type, which is the number that capture files have.
///
/// ```
/// match bpf::libpcap::compile(1, "arp", None) {
///     Ok(program) => assert_eq!(program.insns().len(), 4),
///     Err(error) => assert_eq!(error.kind(), bpf::ErrorKind::NoLibpcap),
/// }
/// ```
///
/// # Errors
/// [`ErrorKind::NoLibpcap`] where there is none, and [`ErrorKind::Filter`] with what it says where it refuses the text.
pub fn compile(linktype: u32, text: &str, netmask: Option<Ipv4Addr>) -> Result<Program, Error> {
    let refused = |why: String| Error::whole(ErrorKind::Filter, format!("libpcap says: {why}"));
    let pcap = loaded()?;
    let text = CString::new(text).map_err(|_| refused("the filter contains a zero byte".into()))?;
    pcap.program(linktype, &text, netmask.map_or(NETMASK_UNKNOWN, u32::from)).map_err(refused)
}

/// The library's own words about its version.
///
/// ```
/// if let Ok(version) = bpf::libpcap::version() {
///     assert!(version.starts_with("libpcap version"));
/// }
/// ```
///
/// # Errors
/// [`ErrorKind::NoLibpcap`] where there is none.
pub fn version() -> Result<String, Error> {
    let pcap = loaded()?;
    // SAFETY: libpcap returns a static, terminated string.
    Ok(unsafe { CStr::from_ptr((pcap.lib_version)()) }.to_string_lossy().into_owned())
}

fn loaded() -> Result<&'static Libpcap, Error> {
    static LOADED: OnceLock<Option<Libpcap>> = OnceLock::new();
    let absent = || {
        let why = if cfg!(target_feature = "crt-static") {
            "this build of sluss is static, and loads no libraries"
        } else {
            "libpcap is not installed on this machine"
        };
        Error::whole(ErrorKind::NoLibpcap, why)
    };
    LOADED.get_or_init(load).as_ref().ok_or_else(absent)
}

fn load() -> Option<Libpcap> {
    if cfg!(target_feature = "crt-static") {
        return None;
    }
    let open = |name: &CStr| {
        // SAFETY: the name is terminated. The library's initialisers are those of libpcap, which do nothing but set up itself.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!library.is_null()).then_some(library)
    };
    let library = NAMES.into_iter().find_map(open)?;
    let symbol = |name: &CStr| -> Option<*mut c_void> {
        // SAFETY: the library is open and never closed, the name is terminated.
        let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    // SAFETY: each symbol is the function of that name, whose type is that of the field by the declarations of pcap/pcap.h.
    unsafe {
        Some(Libpcap {
            fopen_offline: std::mem::transmute::<*mut c_void, FopenOffline>(symbol(c"pcap_fopen_offline")?),
            close: std::mem::transmute::<*mut c_void, Close>(symbol(c"pcap_close")?),
            geterr: std::mem::transmute::<*mut c_void, Geterr>(symbol(c"pcap_geterr")?),
            compile: std::mem::transmute::<*mut c_void, Compile>(symbol(c"pcap_compile")?),
            freecode: std::mem::transmute::<*mut c_void, Freecode>(symbol(c"pcap_freecode")?),
            lib_version: std::mem::transmute::<*mut c_void, LibVersion>(symbol(c"pcap_lib_version")?),
            lock: Mutex::new(()),
        })
    }
}

impl Libpcap {
    fn program(&self, linktype: u32, text: &CStr, netmask: u32) -> Result<Program, String> {
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let savefile = Savefile::empty(self, linktype)?;
        let mut program = BpfProgram { len: 0, insns: std::ptr::null_mut() };
        // SAFETY: the handle is open, the text is terminated, the program is ours to be filled.
        let status = unsafe { (self.compile)(savefile.handle, &mut program, text.as_ptr(), 0, netmask) };
        if status != 0 {
            // SAFETY: after a failure the handle holds a terminated message, which lives as long as the handle.
            return Err(unsafe { CStr::from_ptr((self.geterr)(savefile.handle)) }
                .to_string_lossy()
                .into_owned());
        }
        // SAFETY: after a success `insns` points to `len` instructions, laid out as `Insn` is.
        let insns = unsafe { std::slice::from_raw_parts(program.insns, program.len as usize) }.to_vec();
        // SAFETY: the program came from pcap_compile and is freed once.
        unsafe { (self.freecode)(&mut program) };
        Ok(Program::from(insns))
    }
}

/// An open savefile; `_header` is what its `FILE` reads from.
struct Savefile<'l> {
    pcap: &'l Libpcap,
    handle: *mut Handle,
    _header: Box<[u8; 24]>,
}

impl<'l> Savefile<'l> {
    /// An empty capture with the usual snap length, in this machine's byte order.
    fn empty(pcap: &'l Libpcap, linktype: u32) -> Result<Self, String> {
        let mut header = Box::new([0_u8; 24]);
        header[0..4].copy_from_slice(&0xa1b2_c3d4_u32.to_ne_bytes());
        header[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        header[6..8].copy_from_slice(&4_u16.to_ne_bytes());
        header[16..20].copy_from_slice(&262_144_u32.to_ne_bytes());
        header[20..24].copy_from_slice(&linktype.to_ne_bytes());
        // SAFETY: the buffer has 24 bytes and is dropped only after the handle that owns the FILE is closed.
        let file = unsafe { libc::fmemopen(header.as_mut_ptr().cast(), header.len(), c"r".as_ptr()) };
        if file.is_null() {
            return Err("fmemopen failed: out of memory".into());
        }
        let mut error = [0 as c_char; ERROR_BUFFER_BYTES];
        // SAFETY: `file` is open for reading and `error` has the size that libpcap asks for.
        let handle = unsafe { (pcap.fopen_offline)(file, error.as_mut_ptr()) };
        if handle.is_null() {
            // SAFETY: libpcap left the FILE to us.
            unsafe { libc::fclose(file) };
            // SAFETY: libpcap wrote a C string, and the buffer was zeroed before.
            return Err(unsafe { CStr::from_ptr(error.as_ptr()) }.to_string_lossy().into_owned());
        }
        Ok(Savefile { pcap, handle, _header: header })
    }
}

impl Drop for Savefile<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open, is closed once, and closes its FILE.
        unsafe { (self.pcap.close)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_loaded_and_says_what_is_wrong() {
        let error = compile(1, "tcp prot 80", None).unwrap_err();
        match error.kind() {
            ErrorKind::NoLibpcap => assert!(version().is_err()),
            kind => {
                assert_eq!(kind, ErrorKind::Filter);
                assert!(error.to_string().contains("syntax error"), "{error}");
                assert!(compile(1, "ip broadcast", None).is_err());
                assert!(compile(1, "ip broadcast", Some([255, 255, 255, 0].into())).is_ok());
            }
        }
    }
}
