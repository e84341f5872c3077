//! Ports and port ranges, by number and by name.
//!
//! As in libpcap, they are looked for in the first fragment of IPv4 packets, behind the options, and in IPv6 packets without extension
//! headers; TCP, UDP and SCTP unless the filter or services(5) says which. The dialect `ipv6` steps over extension headers.

use super::Result;
use super::direction::End;
use super::layers::Rel;
use super::lowerer::Lowerer;
use super::numbers::{ethertype, ipproto};
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::TreeId;
use crate::ir::{Size, ValueId};
use crate::options::Names;
use crate::syntax::ast::{Dir, Kind, Proto, Quals, RelOp};
use crate::syntax::range;

/// Which ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ports {
    One(u32),
    /// Both ends belong to it.
    Range(u32, u32),
}

const PORT_MAX: u32 = 65535;

impl Lowerer<'_> {
    /// `port N`, and `portrange N`, which is a range of one.
    pub(crate) fn port_number(&mut self, port: u32, quals: Quals) -> Result {
        let transport = self.transport(quals)?;
        self.check_port(port)?;
        let ports =
            if quals.kind == Some(Kind::Portrange) { Ports::Range(port, port) } else { Ports::One(port) };
        self.ports(ports, transport, quals.dir)
    }

    /// `portrange A-B` by number.
    pub(crate) fn port_numbers(&mut self, low: u32, high: u32, quals: Quals) -> Result {
        let transport = self.transport(quals)?;
        self.check_port(low)?;
        self.check_port(high)?;
        self.ports(Ports::Range(low.min(high), low.max(high)), transport, quals.dir)
    }

    /// `port NAME`: services(5) says which transport protocols the name is for.
    pub(crate) fn named_port(&mut self, name: &str, quals: Quals) -> Result {
        let wanted = self.transport(quals)?;
        let known = service(self.options.names, name);
        let (port, known) = known.ok_or_else(|| self.unknown_port(name, quals))?;
        let transport = self.agreed_transport(name, wanted, known)?;
        self.check_port(port)?;
        self.ports(Ports::One(port), transport, quals.dir)
    }

    /// `portrange A-B`, by numbers or names. A name may itself contain a `-`: libpcap splits at the first one.
    pub(crate) fn named_portrange(&mut self, text: &str, quals: Quals) -> Result {
        let wanted = self.transport(quals)?;
        if let Some((low, high)) = leading_numbers(text) {
            return self.port_numbers(low, high, quals);
        }
        let known = services(self.options.names, text);
        let (low, high, known) = known.ok_or_else(|| self.unknown("port range", text))?;
        let transport = self.agreed_transport(text, wanted, known)?;
        self.check_port(high)?;
        self.ports(Ports::Range(low, high), transport, quals.dir)
    }

    /// "No such port", which may have been meant as a range.
    fn unknown_port(&self, name: &str, quals: Quals) -> Box<Diagnostic> {
        let mut error = self.unknown("port", name);
        error.help =
            Some("write its number, from 0 to 65535, or make the name known to the system's files".into());
        let range = name.replacen("..", "-", 1);
        let Some((low, high)) = range::numbers(&range) else { return error };
        let quals = Quals { kind: Some(Kind::Portrange), ..quals };
        Box::new(error.suggest(format_args!("{quals}{}-{}", low.min(high), low.max(high))))
    }

    /// The protocol that a qualifier restricts ports to.
    fn transport(&self, quals: Quals) -> Result<Option<u32>> {
        match quals.proto {
            None => Ok(None),
            Some(Proto::Tcp) => Ok(Some(ipproto::TCP)),
            Some(Proto::Udp) => Ok(Some(ipproto::UDP)),
            Some(Proto::Sctp) => Ok(Some(ipproto::SCTP)),
            Some(proto) => {
                let (proto, kind) = (proto.name(), quals.kind.unwrap_or(Kind::Host).name());
                let mut error = self.error(Code::BadQualifier, format!("`{proto}` has no `{kind}`"));
                error.help = Some(match quals.proto {
                    Some(Proto::Ip | Proto::Ip6) => {
                        format!(
                            "only `tcp`, `udp` and `sctp` have ports; `{proto} and {kind} …` asks for both"
                        )
                    }
                    Some(Proto::Link) => "only `tcp`, `udp` and `sctp` have ports".to_owned(),
                    _ => format!(
                        "only `tcp`, `udp` and `sctp` have ports, so that no packet is both; `{proto} or {kind} …` accepts either"
                    ),
                });
                Err(error)
            }
        }
    }

    fn check_port(&self, port: u32) -> Result<()> {
        if port > PORT_MAX {
            return Err(self.out_of_range("port", port, PORT_MAX));
        }
        Ok(())
    }

    /// The protocol that both the filter and services(5) allow.
    fn agreed_transport(&self, name: &str, wanted: Option<u32>, known: Option<u32>) -> Result<Option<u32>> {
        match (wanted, known) {
            (Some(wanted), Some(known)) if wanted != known => {
                let known = if known == ipproto::TCP { "TCP" } else { "UDP" };
                let mut error =
                    self.error(Code::UnknownName, format!("port `{name}` is known for {known} only"));
                error.help = Some("write the port's number".into());
                Err(error)
            }
            (wanted, known) => Ok(wanted.or(known)),
        }
    }

    /// A port of TCP, UDP or SCTP (or of the one given) over IPv6 or IPv4.
    pub(crate) fn ports(&mut self, ports: Ports, transport: Option<u32>, dir: Option<Dir>) -> Result {
        let four = self.ports4(ports, transport, dir)?;
        let six = self.ports6(ports, transport, dir)?;
        Ok(self.or(six, four))
    }

    pub(crate) fn ports4(&mut self, ports: Ports, transport: Option<u32>, dir: Option<Dir>) -> Result {
        let link = self.linktype(ethertype::IP)?;
        let transports = self.each_transport(transport, |this, proto| {
            let same = this.eq(Rel::Net, 9, Size::B1, proto);
            let first = this.first_fragment();
            let ends = this.port_ends(ports, dir, Rel::Ip4Payload)?;
            Ok(this.all(&[same, first, ends]))
        })?;
        Ok(self.and(link, transports))
    }

    pub(crate) fn ports6(&mut self, ports: Ports, transport: Option<u32>, dir: Option<Dir>) -> Result {
        if self.options.dialect.ipv6 {
            return self.ports6_walked(ports, transport, dir);
        }
        self.ports6_direct(ports, transport, dir)
    }

    /// IPv6 without extension headers.
    pub(crate) fn ports6_direct(&mut self, ports: Ports, transport: Option<u32>, dir: Option<Dir>) -> Result {
        let link = self.linktype(ethertype::IPV6)?;
        let transports = self.each_transport(transport, |this, proto| {
            let same = this.eq(Rel::Net, 6, Size::B1, proto);
            let ends = this.port_ends(ports, dir, Rel::Ip6Payload)?;
            Ok(this.and(same, ends))
        })?;
        Ok(self.and(link, transports))
    }

    pub(crate) fn each_transport(
        &mut self,
        transport: Option<u32>,
        mut test: impl FnMut(&mut Self, u32) -> Result,
    ) -> Result {
        if let Some(proto) = transport {
            return test(self, proto);
        }
        let sctp = test(self, ipproto::SCTP)?;
        let tcp = test(self, ipproto::TCP)?;
        let udp = test(self, ipproto::UDP)?;
        Ok(self.any(&[sctp, tcp, udp]))
    }

    /// No fragment, or the first one: only there is a transport header.
    pub(crate) fn first_fragment(&mut self) -> TreeId {
        let later = self.bits(Rel::Net, 6, Size::B2, 0x1fff);
        self.not(later)
    }

    fn port_ends(&mut self, ports: Ports, dir: Option<Dir>, rel: Rel) -> Result {
        let place = self.place(rel);
        self.ends(dir, "a port", |this, end| {
            let port = this.load_at(place, if end == End::Src { 0 } else { 2 }, Size::B2);
            Ok(this.port_is(port, ports))
        })
    }

    /// This port is (one of) those.
    pub(crate) fn port_is(&mut self, port: ValueId, ports: Ports) -> TreeId {
        match ports {
            Ports::One(number) => self.relation_k(RelOp::Eq, port, number),
            Ports::Range(low, high) => {
                let from = self.relation_k(RelOp::Ge, port, low);
                let to = self.relation_k(RelOp::Le, port, high);
                self.and(from, to)
            }
        }
    }
}

/// Number of a service, and the one protocol it is for, if it is for one only. A number in place of a name is
/// good for any.
///
/// COMPAT: `port-numbers-do-not-wrap`: of larger numbers getaddrinfo(3), which libpcap asks, takes the low 16 bits.
pub(crate) fn service(names: &dyn Names, name: &str) -> Option<(u32, Option<u32>)> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((name.parse().unwrap_or(u32::MAX), None));
    }
    let service = names.service(name)?;
    match (service.tcp, service.udp) {
        (Some(tcp), Some(udp)) if tcp == udp => Some((tcp.into(), None)),
        (Some(tcp), _) => Some((tcp.into(), Some(ipproto::TCP))),
        (None, Some(udp)) => Some((udp.into(), Some(ipproto::UDP))),
        (None, None) => None,
    }
}

/// The least and greatest number of a range between services, and the one protocol that both are for.
pub(crate) fn services(names: &dyn Names, text: &str) -> Option<(u32, u32, Option<u32>)> {
    let (low, high) = text.split_once('-')?;
    let ((low, low_proto), (high, high_proto)) = (service(names, low)?, service(names, high)?);
    let known = if low_proto == high_proto { low_proto } else { None };
    Some((low.min(high), low.max(high), known))
}

/// `A-B…` with A and B decimal. Like libpcap 1.10.3, which ignores what follows: `1-2-3` is `1-2`.
fn leading_numbers(text: &str) -> Option<(u32, u32)> {
    let (low, rest) = text.split_once('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = |text: &str| match text {
        "" => None,
        text if !text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        text => Some(text.parse().unwrap_or(u32::MAX)),
    };
    Some((number(low)?, number(&rest[..digits])?))
}
