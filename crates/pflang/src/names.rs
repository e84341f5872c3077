//! Names from the files that the C library reads: hosts(5), networks(5), ethers(5), services(5), protocols(5).
//!
//! The texts are handed in; nothing here opens a file or asks a server. Lines are read as glibc reads them: a hash
//! begins a comment, fields are separated by blanks, a line that makes no sense is skipped, and of two lines for one
//! name the first wins (but a host has the addresses of all its lines).

use crate::options::{HostAddrs, Names, Service};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

/// Where the text of a set's file comes from.
type SetReader = Box<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Tables of names, filled from the texts of files or one by one.
///
/// ```
/// use pflang::{FileNames, Names};
///
/// let names = FileNames::new()
///     .hosts("10.0.0.1 ace ace.example # the first\n::1 ace")
///     .services("https 443/tcp\nhttps 443/udp")
///     .with_protocol("tcp", 6);
/// assert_eq!(names.host("Ace").unwrap().v4[0].octets(), [10, 0, 0, 1]);
/// assert_eq!(names.service("https").unwrap().udp, Some(443));
/// assert_eq!(names.protocol("tcp"), Some(6));
/// ```
#[derive(Default)]
pub struct FileNames {
    hosts: HashMap<String, HostAddrs>,
    nets: HashMap<String, u32>,
    ethers: HashMap<String, [u8; 6]>,
    services: HashMap<String, Service>,
    protocols: HashMap<String, u8>,
    sets: Option<SetReader>,
}

impl FileNames {
    /// No names.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// assert!(FileNames::new().service("https").is_none());
    /// ```
    pub fn new() -> Self {
        FileNames::default()
    }

    /// Adds the text of a hosts(5) file: an address and its names.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().hosts("10.0.0.1 ace\n10.0.0.2 ace");
    /// assert_eq!(names.host("ace").unwrap().v4.len(), 2);
    /// ```
    pub fn hosts(mut self, text: &str) -> Self {
        for (address, names) in entries(text) {
            let Ok(address) = address.parse::<IpAddr>() else { continue };
            for name in names {
                self = self.with_host(name, address);
            }
        }
        self
    }

    /// Adds the text of a networks(5) file: a name, a number and other names.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().networks("loopback 127");
    /// assert_eq!(names.net("loopback"), Some(0x7f00_0000));
    /// ```
    pub fn networks(mut self, text: &str) -> Self {
        for (name, mut rest) in entries(text) {
            let Some(number) = rest.next().and_then(network_number) else { continue };
            for name in [name].into_iter().chain(rest) {
                self = self.with_net(name, number);
            }
        }
        self
    }

    /// Adds the text of an ethers(5) file: an address and a name.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().ethers("2:0:0:0:0:1 ace");
    /// assert_eq!(names.ether("ace"), Some([2, 0, 0, 0, 0, 1]));
    /// ```
    pub fn ethers(mut self, text: &str) -> Self {
        for (address, mut names) in entries(text) {
            if let (Some(address), Some(name)) = (ether_address(address), names.next()) {
                self = self.with_ether(name, address);
            }
        }
        self
    }

    /// Adds the text of a services(5) file: a name, `port/protocol` and other names.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().services("http 80/tcp www # web");
    /// assert_eq!(names.service("www").unwrap().tcp, Some(80));
    /// ```
    pub fn services(mut self, text: &str) -> Self {
        for (name, mut rest) in entries(text) {
            let Some((port, protocol)) = rest.next().and_then(|field| field.split_once('/')) else {
                continue;
            };
            let Ok(port) = port.parse::<u16>() else { continue };
            for name in [name].into_iter().chain(rest) {
                let service = self.services.entry(name.to_owned()).or_default();
                let place = match protocol {
                    "tcp" => &mut service.tcp,
                    "udp" => &mut service.udp,
                    "sctp" => &mut service.sctp,
                    _ => continue,
                };
                place.get_or_insert(port);
            }
        }
        self
    }

    /// Adds the text of a protocols(5) file: a name, a number and other names.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().protocols("ospf 89 OSPFIGP");
    /// assert_eq!(names.protocol("ospf"), Some(89));
    /// ```
    pub fn protocols(mut self, text: &str) -> Self {
        for (name, mut rest) in entries(text) {
            let Some(number) = rest.next().and_then(|field| field.parse::<u8>().ok()) else { continue };
            for name in [name].into_iter().chain(rest) {
                self = self.with_protocol(name, number);
            }
        }
        self
    }

    /// Adds an address of a host. Case does not matter in the names of hosts.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().with_host("ace", [10, 0, 0, 1].into());
    /// assert!(names.host("ACE").unwrap().v6.is_empty());
    /// ```
    pub fn with_host(mut self, name: &str, address: IpAddr) -> Self {
        let host = self.hosts.entry(name.to_ascii_lowercase()).or_default();
        match address {
            IpAddr::V4(address) if !host.v4.contains(&address) => host.v4.push(address),
            IpAddr::V6(address) if !host.v6.contains(&address) => host.v6.push(address),
            _ => {}
        }
        self
    }

    /// Adds a network, unless the name is taken. Case does not matter in the names of networks.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().with_net("office", 0x0a01_0000).with_net("office", 0);
    /// assert_eq!(names.net("office"), Some(0x0a01_0000));
    /// ```
    pub fn with_net(mut self, name: &str, number: u32) -> Self {
        self.nets.entry(name.to_ascii_lowercase()).or_insert(number);
        self
    }

    /// Adds the Ethernet address of a host, unless the name is taken.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().with_ether("ace", [2, 0, 0, 0, 0, 1]);
    /// assert_eq!(names.ether("ace"), Some([2, 0, 0, 0, 0, 1]));
    /// ```
    pub fn with_ether(mut self, name: &str, address: [u8; 6]) -> Self {
        self.ethers.entry(name.to_owned()).or_insert(address);
        self
    }

    /// Adds a protocol, unless the name is taken.
    ///
    /// ```
    /// # use pflang::{FileNames, Names};
    /// let names = FileNames::new().with_protocol("ospf", 89);
    /// assert_eq!(names.protocol("ospf"), Some(89));
    /// ```
    pub fn with_protocol(mut self, name: &str, number: u8) -> Self {
        self.protocols.entry(name.to_owned()).or_insert(number);
        self
    }

    /// Says how to read the files of sets.
    ///
    /// ```
    /// use pflang::{FileNames, Names};
    ///
    /// let names = FileNames::new().with_sets(|path| match path {
    ///     "bad" => Ok("10.0.0.1\n10.0.0.2".into()),
    ///     other => Err(format!("`@{other}`: no such set")),
    /// });
    /// assert!(names.set_file("bad").is_ok());
    /// assert!(names.set_file("good").is_err());
    /// ```
    pub fn with_sets(
        mut self,
        read: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        self.sets = Some(Box::new(read));
        self
    }
}

impl Names for FileNames {
    fn host(&self, name: &str) -> Option<HostAddrs> {
        self.hosts.get(&name.to_ascii_lowercase()).cloned()
    }

    fn net(&self, name: &str) -> Option<u32> {
        self.nets.get(&name.to_ascii_lowercase()).copied()
    }

    fn ether(&self, name: &str) -> Option<[u8; 6]> {
        self.ethers.get(name).copied()
    }

    fn service(&self, name: &str) -> Option<Service> {
        self.services.get(name).copied()
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.protocols.get(name).copied()
    }

    fn set_file(&self, path: &str) -> Result<String, String> {
        match &self.sets {
            Some(read) => read(path),
            None => crate::options::NoNames.set_file(path),
        }
    }
}

impl fmt::Debug for FileNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileNames")
            .field("hosts", &self.hosts.len())
            .field("nets", &self.nets.len())
            .field("ethers", &self.ethers.len())
            .field("services", &self.services.len())
            .field("protocols", &self.protocols.len())
            .finish_non_exhaustive()
    }
}

/// The lines that have a field, as the first field and the others.
fn entries(text: &str) -> impl Iterator<Item = (&str, std::str::SplitAsciiWhitespace<'_>)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split('#').next().unwrap_or("").split_ascii_whitespace();
        fields.next().map(|first| (first, fields))
    })
}

/// The number of a network with one to four parts, zeros appended as glibc does. Parts are decimal, octal after 0
/// or hexadecimal after 0x.
///
/// NOTE: libpcap expects the number right-aligned and takes its mask from the zeros in front, of which glibc
/// leaves none: on Linux `net loopback` is the one address 127.0.0.0.
fn network_number(text: &str) -> Option<u32> {
    let mut number = 0;
    let mut parts = 0;
    for part in text.split('.') {
        number = number << 8 | number_like_c(part).filter(|&part| part <= 0xff)?;
        parts += 1;
    }
    (parts <= 4).then(|| if parts == 4 { number } else { number << (8 * (4 - parts)) })
}

/// A number without a sign: decimal, octal after 0 or hexadecimal after 0x.
pub(crate) fn number_like_c(text: &str) -> Option<u32> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| is_plain)
}

/// Six hexadecimal numbers with colons between.
fn ether_address(text: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut address {
        *byte = parts.next().and_then(|part| u8::from_str_radix(part, 16).ok())?;
    }
    parts.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_all_their_addresses() {
        let names = FileNames::new()
            .hosts("127.0.0.1\tlocalhost  lo #x\n#1.2.3.4 no\n::1 LOCALHOST\nbad line\n10.0.0.1 lo");
        let localhost = names.host("localhost").unwrap();
        assert_eq!((localhost.v4.len(), localhost.v6.len()), (1, 1));
        assert_eq!(names.host("lo").unwrap().v4.len(), 2);
        assert_eq!(names.host("line"), None);
        assert_eq!(names.host("no"), None);
    }

    #[test]
    fn networks_are_filled_with_zeros() {
        let names = FileNames::new()
            .networks("loopback 127\nten 10.1 zehn\nfull 1.2.3.4\nbad 1.2.3.4.5\nhex 0x0a.010\nbig 300");
        assert_eq!(names.net("loopback"), Some(0x7f00_0000));
        assert_eq!(names.net("zehn"), Some(0x0a01_0000));
        assert_eq!(names.net("full"), Some(0x0102_0304));
        assert_eq!(names.net("hex"), Some(0x0a08_0000));
        assert_eq!((names.net("bad"), names.net("big")), (None, None));
    }

    #[test]
    fn services_are_known_by_protocol_and_the_first_line_wins() {
        let names = FileNames::new()
            .services("http 80/tcp www # web\nhttp 81/tcp\nntp 123/udp\nodd 5/ddp\nbad 99999/tcp");
        assert_eq!(names.service("www"), Some(Service { tcp: Some(80), ..Service::default() }));
        assert_eq!(names.service("http").unwrap().tcp, Some(80));
        assert_eq!(names.service("ntp").unwrap().udp, Some(123));
        assert_eq!(names.service("odd"), Some(Service::default()));
        assert_eq!(names.service("bad"), None);
        assert_eq!(names.service("HTTP"), None, "case matters here");
    }

    #[test]
    fn ethers_and_protocols() {
        let names = FileNames::new()
            .ethers("0:1:2:a:b:ff ace\n1:2:3 short\n1:2:3:4:5:6:7 long")
            .protocols("tcp 6 TCP\ntcp 7\nbig 300");
        assert_eq!(names.ether("ace"), Some([0, 1, 2, 10, 11, 255]));
        assert_eq!((names.ether("short"), names.ether("long")), (None, None));
        assert_eq!(
            (names.protocol("TCP"), names.protocol("tcp"), names.protocol("big")),
            (Some(6), Some(6), None)
        );
        assert!(names.set_file("x").unwrap_err().contains("no access"));
    }
}
