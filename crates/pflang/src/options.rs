//! Options: everything besides the text that a compilation depends on.

use crate::Span;
use crate::diag::{Code, Diagnostic};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bounds on what a hostile or mistaken text may cost. Exceeding one is an error with a span.
///
/// ```
/// use pflang::{Code, Compiler, Limits};
/// use wire::LinkType;
///
/// let mut limits = Limits::default();
/// limits.source_bytes = 100;
/// let strangers = Compiler::new(LinkType::EN10MB).limits(limits);
/// let error = strangers.compile(&"arp or ".repeat(100)).unwrap_err();
/// assert_eq!(error.code(), Code::Limit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of source text.
    pub source_bytes: usize,
    /// Primitives, relations and members of sets.
    pub terms: usize,
    /// Nesting of parentheses and `not`.
    pub depth: usize,
    /// Nodes of the lowered tree, where a set has some for each member.
    pub nodes: usize,
    /// Nodes of the decision graph, once the lists of the tree are sets. No more than `nodes` in any case.
    pub graph_nodes: usize,
    /// Bytes of machine code and tables.
    pub code_bytes: usize,
    /// Wall time of one compilation, in milliseconds; checked between steps and, in those that may make
    /// much of little text, on the way.
    pub time_ms: u64,
}

impl Limits {
    /// An error where a text is too long.
    pub(crate) fn check_source(&self, bytes: usize, what: &str) -> Result<(), Box<Diagnostic>> {
        let limit = self.source_bytes.min(u32::MAX as usize);
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("the {what} has {bytes} bytes, more than the limit of {limit}");
        Err(Box::new(Diagnostic::new(Code::Limit, Span::default(), message)))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            source_bytes: 64 << 20,
            terms: 1 << 18,
            depth: 1 << 20,
            nodes: 32 << 20,
            graph_nodes: 32 << 20,
            code_bytes: 256 << 20,
            time_ms: 60_000,
        }
    }
}

/// Where the language departs from libpcap 1.10.3. The default is libpcap's meaning, with the extensions of
/// syntax that mean nothing there.
///
/// ```
/// use pflang::{Compiler, Dialect};
/// use wire::LinkType;
///
/// let mut dialect = Dialect::default();
/// dialect.ipv6 = true;
/// let compiler = Compiler::new(LinkType::EN10MB);
/// assert!(compiler.clone().dialect(dialect).compile("port in {80, 443}").is_ok());
/// assert!(compiler.dialect(Dialect::STRICT).compile("port in {80, 443}").is_err());
/// assert!(Dialect::MODERN.ipv6 && Dialect::MODERN.scoped);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// Refuse what libpcap 1.10.3 refuses: no extensions.
    pub strict: bool,
    /// `tcp[…]`, ports and `tcp`, `udp`, … see IPv6 too, past its extension headers.
    pub ipv6: bool,
    /// `vlan`, `mpls`, `pppoes`, `geneve`, … shift offsets only up to the end of their parenthesis, and not
    /// past an `or`.
    pub scoped: bool,
    /// `protochain` steps over an authentication header by its length (RFC 4302) instead of libpcap's way.
    pub protochain: bool,
    /// Primitives look behind up to 4 VLAN tags, a PPPoE session header and up to 8 MPLS labels of Ethernet; `vlan`, `mpls` and `pppoes` ask for any
    /// of these and shift nothing.
    pub tagged: bool,
}

impl Dialect {
    /// libpcap 1.10.3 and nothing else.
    pub const STRICT: Dialect =
        Dialect { strict: true, ipv6: false, scoped: false, protochain: false, tagged: false };
    /// The meaning that most people expect: IPv6 with extension headers, scoped encapsulation, correct protocol chains.
    pub const MODERN: Dialect =
        Dialect { strict: false, ipv6: true, scoped: true, protochain: true, tagged: false };
}

/// Where names come from. The compiler itself touches neither files nor network.
///
/// Every method answers `None` for a name it does not know; the default answers that to everything.
///
/// ```
/// use pflang::{Compiler, Names};
/// use std::sync::Arc;
/// use wire::LinkType;
///
/// struct Office;
/// impl Names for Office {
///     fn net(&self, name: &str) -> Option<u32> {
///         (name == "office").then_some(0x0a01_0000)
///     }
/// }
/// let compiler = Compiler::new(LinkType::EN10MB).names(Arc::new(Office));
/// assert!(compiler.compile("src net office").is_ok());
/// assert!(compiler.compile("src net home").is_err());
/// ```
#[allow(unused_variables)]
pub trait Names {
    /// The addresses of a host: hosts(5), or a resolver.
    fn host(&self, name: &str) -> Option<HostAddrs> {
        None
    }
    /// Why [`Names::host`] has no address for a name, where there is more to say than that it is unknown: what a resolver
    /// answered. It is shown with the error.
    fn why_no_host(&self, name: &str) -> Option<String> {
        None
    }
    /// The number of a network: networks(5), as the C library answers (glibc: `loopback 127` is 127.0.0.0).
    fn net(&self, name: &str) -> Option<u32> {
        None
    }
    /// The Ethernet address of a host: ethers(5).
    fn ether(&self, name: &str) -> Option<[u8; 6]> {
        None
    }
    /// The port of a service: services(5).
    fn service(&self, name: &str) -> Option<Service> {
        None
    }
    /// The number of an IP protocol: protocols(5).
    fn protocol(&self, name: &str) -> Option<u8> {
        None
    }
    /// The text of a set's file (`@path`).
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn set_file(&self, path: &str) -> Result<String, String> {
        Err(format!("`@{path}` cannot be read: this program gave the compiler no access to files"))
    }
}

/// Knows no name.
///
/// ```
/// use pflang::{Names, NoNames};
///
/// assert_eq!(NoNames.host("localhost"), None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {}

/// The addresses of a host name.
///
/// ```
/// use pflang::{FileNames, HostAddrs, Names};
///
/// let names = FileNames::new().hosts("10.0.0.1 ace");
/// assert_eq!(names.host("ace"), Some(HostAddrs { v4: vec![[10, 0, 0, 1].into()], v6: vec![] }));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAddrs {
    /// IPv4.
    pub v4: Vec<Ipv4Addr>,
    /// IPv6.
    pub v6: Vec<Ipv6Addr>,
}

/// The port of a service, by protocol: a name may be known for some protocols only.
///
/// ```
/// use pflang::{FileNames, Names, Service};
///
/// let names = FileNames::new().services("ntp 123/udp");
/// assert_eq!(names.service("ntp"), Some(Service { udp: Some(123), ..Service::default() }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Over TCP.
    pub tcp: Option<u16>,
    /// Over UDP.
    pub udp: Option<u16>,
    /// Over SCTP.
    pub sctp: Option<u16>,
}
