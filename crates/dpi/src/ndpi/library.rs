//! The shim, as Rust sees it.

use crate::Confidence;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;

/// What the shim says of a flow; the same struct is in shim.c.
#[repr(C)]
#[derive(Default)]
struct Finding {
    app: u16,
    master: u16,
    category: u16,
    confidence: u8,
    more: u8,
    risks: u64,
}

/// Strings of a flow; the same struct is in shim.c.
#[repr(C)]
struct Strings {
    host: *const c_char,
    alpn: *const c_char,
    ja4: *const c_char,
    ja3: *const c_char,
}

// The functions of shim.c.
unsafe extern "C" {
    fn sluss_ndpi_open(name: *const c_char) -> *const c_char;
    fn sluss_ndpi_revision() -> *const c_char;
    fn sluss_ndpi_flow_bytes(of_library: *mut usize) -> usize;
    fn sluss_ndpi_module() -> *mut c_void;
    fn sluss_ndpi_protocols(module: *mut c_void) -> u32;
    fn sluss_ndpi_name(module: *mut c_void, id: u16) -> *const c_char;
    fn sluss_ndpi_category_name(module: *mut c_void, category: u16) -> *const c_char;
    fn sluss_ndpi_category(module: *mut c_void, id: u16) -> u16;
    fn sluss_ndpi_categories() -> u16;
    fn sluss_ndpi_packet(
        module: *mut c_void,
        flow: *mut c_void,
        packet: *const u8,
        bytes: u16,
        ms: u64,
        finding: *mut Finding,
    );
    fn sluss_ndpi_give_up(module: *mut c_void, flow: *mut c_void, guess: c_int, finding: *mut Finding);
    fn sluss_ndpi_details(flow: *const c_void, details: *mut Strings);
    fn sluss_ndpi_free(flow: *mut c_void);
}

/// What nDPI says of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) app: u16,
    pub(crate) master: u16,
    pub(crate) category: u16,
    pub(crate) confidence: Confidence,
    /// Whether further packets may tell more.
    pub(crate) more: bool,
    /// What is risky about it, see [`crate::risk`].
    pub(crate) risks: u64,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Found {
        Found {
            app: finding.app,
            master: finding.master,
            category: finding.category,
            confidence: super::confidence(finding.confidence),
            more: finding.more != 0,
            risks: finding.risks,
        }
    }
}

/// State of one flow: its address. The memory is of the pool of states.
pub(crate) type FlowState = NonNull<c_void>;

/// The library and a module of it, which knows all protocols.
pub(crate) struct Module {
    module: NonNull<c_void>,
    revision: String,
    flow_bytes: usize,
}

impl Module {
    /// Loads the library of this name, or by default that of the headers, and builds a module.
    pub(crate) fn load(name: Option<&str>) -> Result<Module, String> {
        let version = super::built_with().unwrap_or_default();
        let names = name.map_or_else(|| library_names(version), |name| vec![name.to_string()]);
        let mut failures = names.iter().map(|name| open(name).err());
        if let Some(first) = failures.next().flatten() {
            // The reason of the most exact name is the one to tell.
            if failures.all(|failure| failure.is_some()) {
                return Err(format!("nDPI {version} cannot be loaded: {first}"));
            }
        }
        // SAFETY: the library is open.
        let revision = unsafe { text(sluss_ndpi_revision()) }.map(lossy).unwrap_or_default();
        if !serves(&revision, version) {
            return Err(format!(
                "the installed library is nDPI {revision}, this program was built for nDPI {version}"
            ));
        }
        let mut of_library = 0;
        // SAFETY: the library is open, and the pointer is that of a usize.
        let flow_bytes = unsafe { sluss_ndpi_flow_bytes(&raw mut of_library) };
        if flow_bytes != of_library {
            return Err(format!(
                "the installed library of nDPI {revision} keeps {of_library} bytes of state a flow, this program was built for {flow_bytes}"
            ));
        }
        // SAFETY: the library is open, and its types are those of the headers.
        let module = NonNull::new(unsafe { sluss_ndpi_module() });
        let module = module.ok_or_else(|| format!("nDPI {revision} could not be initialised"))?;
        Ok(Module { module, revision, flow_bytes })
    }

    /// What the library calls its version.
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// Bytes of a flow's state, which begins as zeros.
    pub(crate) fn flow_bytes(&self) -> usize {
        self.flow_bytes
    }

    /// Names and categories of all protocols, in the order of their ids.
    pub(crate) fn protocols(&self) -> Vec<(String, String)> {
        let module = self.module.as_ptr();
        // SAFETY: the module is one, ids are below the number of protocols, and strings are copied at once.
        unsafe {
            (0..sluss_ndpi_protocols(module).min(1 << 15) as u16)
                .map(|id| {
                    let name = text(sluss_ndpi_name(module, id)).map(lossy).unwrap_or_default();
                    let category = sluss_ndpi_category(module, id);
                    (name, text(sluss_ndpi_category_name(module, category)).map(lossy).unwrap_or_default())
                })
                .collect()
        }
    }

    /// Names of all categories, in the order of their ids.
    pub(crate) fn categories(&self) -> Vec<String> {
        let name = |category| {
            // SAFETY: the module is one, and the string is copied at once.
            unsafe { text(sluss_ndpi_category_name(self.module.as_ptr(), category)) }
                .map(lossy)
                .unwrap_or_default()
        };
        // SAFETY: it returns a constant.
        (0..unsafe { sluss_ndpi_categories() }).map(name).collect()
    }

    /// Shows nDPI one packet of a flow, from its IP header on.
    ///
    /// # Safety
    /// The state is of [`Module::flow_bytes`] bytes, zeros or as this module left them, and all packets of it are of one flow. At least 64
    /// bytes behind the packet can be read.
    pub(crate) unsafe fn packet(&self, flow: FlowState, packet: &[u8], ms: u64) -> Found {
        let mut finding = Finding::default();
        let bytes = packet.len().min(u16::MAX.into()) as u16;
        // SAFETY: the module is one, the packet has at least that many bytes, and the caller keeps the rest.
        unsafe {
            sluss_ndpi_packet(
                self.module.as_ptr(),
                flow.as_ptr(),
                packet.as_ptr(),
                bytes,
                ms,
                &raw mut finding,
            );
        }
        finding.into()
    }

    /// What a flow is by all that was seen of it, guessed from its ports and addresses if need be.
    ///
    /// # Safety
    /// The state is one that [`Module::packet`] takes.
    pub(crate) unsafe fn give_up(&self, flow: FlowState, guess: bool) -> Found {
        let mut finding = Finding::default();
        // SAFETY: the module is one, and the caller keeps the rest.
        unsafe { sluss_ndpi_give_up(self.module.as_ptr(), flow.as_ptr(), guess.into(), &raw mut finding) };
        finding.into()
    }

    /// What the flow says of itself: name of the host, ALPN, JA4, JA3. They live until its next packet.
    ///
    /// # Safety
    /// The state is one that [`Module::packet`] takes.
    pub(crate) unsafe fn strings<'a>(&self, flow: FlowState) -> [Option<&'a [u8]>; 4] {
        let mut strings = Strings {
            host: std::ptr::null(),
            alpn: std::ptr::null(),
            ja4: std::ptr::null(),
            ja3: std::ptr::null(),
        };
        // SAFETY: by the caller; strings of nDPI are terminated.
        unsafe {
            sluss_ndpi_details(flow.as_ptr(), &raw mut strings);
            [text(strings.host), text(strings.alpn), text(strings.ja4), text(strings.ja3)]
        }
    }

    /// Frees what a state has allocated; its memory can then be zeroed for another flow.
    ///
    /// # Safety
    /// The state is one that [`Module::packet`] takes.
    pub(crate) unsafe fn free(&self, flow: FlowState) {
        // SAFETY: by the caller.
        unsafe { sluss_ndpi_free(flow.as_ptr()) };
    }
}

fn open(name: &str) -> Result<(), String> {
    let name = CString::new(name).map_err(|_| "the name contains a zero byte".to_string())?;
    // SAFETY: the name is terminated. The library's initialisers are those of nDPI.
    match unsafe { text(sluss_ndpi_open(name.as_ptr())) } {
        None => Ok(()),
        Some(why) => Err(lossy(why)),
    }
}

/// # Safety
/// It is null, or a terminated string that lives for `'a`.
unsafe fn text<'a>(string: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: by the caller.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) }.to_bytes())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// File names under which the library of a version may be installed, the most exact first.
fn library_names(version: &str) -> Vec<String> {
    let numbers: Vec<&str> = version.split('.').collect();
    let versioned = (1..=numbers.len()).rev().map(|n| format!("libndpi.so.{}", numbers[..n].join(".")));
    versioned.chain(["libndpi.so".to_string()]).collect()
}

/// Whether a library of one revision, as it names itself, serves headers of a version: both are of the same release.
fn serves(revision: &str, version: &str) -> bool {
    let release = |text: &str| {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    release(revision).is_some() && release(revision) == release(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_tried_from_the_most_exact_name_on() {
        assert_eq!(
            library_names("4.2.0"),
            ["libndpi.so.4.2.0", "libndpi.so.4.2", "libndpi.so.4", "libndpi.so"]
        );
    }

    #[test]
    fn a_library_of_another_release_does_not_serve() {
        assert!(serves("4.2.0", "4.2.0") && serves("4.2.1-5-gabc", "4.2.0"));
        assert!(
            !serves("4.4.0", "4.2.0")
                && !serves("14.2.0", "4.2.0")
                && !serves("", "4.2.0")
                && !serves("x", "y")
        );
    }
}
