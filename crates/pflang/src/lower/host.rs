//! IPv4 and IPv6 addresses and networks, by number and by name.
//!
//! Unless a protocol is named, an IPv4 address is looked for in IPv4, ARP and RARP, as in libpcap. A name stands for all of its addresses; whoever
//! resolves it is injected (`names`), so nothing here reads a file or asks a server.

use super::Result;
use super::direction::End;
use super::layers::{NOT_SET, Rel};
use super::lowerer::Lowerer;
use super::net::{Net4, Net6};
use super::numbers::ethertype;
use crate::Span;
use crate::diag::{Code, Diagnostic, Unknown};
use crate::ir::Size;
use crate::ir::tree::TreeId;
use crate::names::number_like_c;
use crate::options::HostAddrs;
use crate::syntax::ast::{Dir, Kind, Proto, Quals, RelOp};
use crate::syntax::lex::TokenKind;
use crate::syntax::range;

impl Lowerer<'_> {
    /// An IPv4 host or network, where `quals.proto` looks for such: by default in IPv4, ARP and RARP.
    pub(crate) fn net4(&mut self, net: Net4, quals: Quals) -> Result {
        if self.keep_for_table(net, quals) {
            return Ok(self.truth(false));
        }
        match quals.proto {
            None => {
                let ip = self.address4(net, quals.dir, ethertype::IP)?;
                if self.layers.mpls_depth > 0 {
                    return Ok(ip);
                }
                let arp = self.address4(net, quals.dir, ethertype::ARP)?;
                let rarp = self.address4(net, quals.dir, ethertype::RARP)?;
                Ok(self.any(&[ip, arp, rarp]))
            }
            Some(Proto::Ip) => self.address4(net, quals.dir, ethertype::IP),
            Some(Proto::Arp) => self.address4(net, quals.dir, ethertype::ARP),
            Some(Proto::Rarp) => self.address4(net, quals.dir, ethertype::RARP),
            // libpcap looks at the low half of whatever number was given.
            Some(Proto::Decnet) => self.decnet_host(net.address as u16, quals.dir),
            Some(proto) => Err(self.no_addresses(proto, Proto::Ip, quals.kind)),
        }
    }

    /// ARP and RARP hold the protocol addresses behind the hardware addresses; libpcap takes those to have six
    /// bytes, and the protocol addresses to be IPv4's.
    fn address4(&mut self, net: Net4, dir: Option<Dir>, link_proto: u32) -> Result {
        self.asked4(dir, link_proto, |this, offset| {
            this.compare_masked(Rel::Net, offset, Size::B4, net.mask, RelOp::Eq, net.address)
        })
    }

    /// What is asked of the addresses of a protocol, each at its offset in the header.
    pub(super) fn asked4(
        &mut self,
        dir: Option<Dir>,
        link_proto: u32,
        ask: impl Fn(&mut Self, u32) -> TreeId,
    ) -> Result {
        let (src, dst) = if link_proto == ethertype::IP { (12, 16) } else { (14, 24) };
        self.ends(dir, "an IP address", |this, end| {
            let offset = if end == End::Src { src } else { dst };
            let link = this.linktype(link_proto)?;
            let address = ask(this, offset);
            Ok(this.and(link, address))
        })
    }

    /// An IPv6 host or network.
    pub(crate) fn net6(&mut self, net: Net6, quals: Quals) -> Result {
        match quals.proto {
            None | Some(Proto::Ip6) => self.address6(net, quals.dir),
            Some(proto) => Err(self.no_addresses(proto, Proto::Ip6, quals.kind)),
        }
    }

    fn address6(&mut self, net: Net6, dir: Option<Dir>) -> Result {
        let here = (net, self.span);
        match &mut self.nets6 {
            None => self.any6(&[here], dir),
            Some(nets) => {
                nets.push(here);
                // What is wrong with one is wrong with all of the set.
                if nets.len() == 1 {
                    self.any6(&[here], dir)?;
                }
                Ok(self.truth(false))
            }
        }
    }

    /// Any of these IPv6 networks, each with its place in the text; those of one mask ascend and stand together.
    pub(crate) fn any6(&mut self, nets: &[(Net6, Span)], dir: Option<Dir>) -> Result {
        let (outer, here) = (self.span, if let [(_, span)] = nets { *span } else { self.span });
        self.span = here;
        let any = self.try_asked6(dir, |this, offset| {
            let of_one_mask = nets.chunk_by(|(a, _), (b, _)| a.mask == b.mask);
            let tests = of_one_mask.map(|nets| this.words6(nets, offset, 0)).collect::<Result<Vec<_>>>()?;
            this.span = here;
            Ok(this.any(&tests))
        });
        self.span = outer;
        any
    }

    /// What is asked of IPv6 addresses, each at its offset in the header.
    pub(super) fn asked6(&mut self, dir: Option<Dir>, ask: impl Fn(&mut Self, u32) -> TreeId) -> Result {
        self.try_asked6(dir, |this, offset| Ok(ask(this, offset)))
    }

    fn try_asked6(&mut self, dir: Option<Dir>, ask: impl Fn(&mut Self, u32) -> Result) -> Result {
        self.ends(dir, "an IPv6 address", |this, end| {
            let offset = if end == End::Src { 8 } else { 24 };
            let link = this.linktype(ethertype::IPV6)?;
            let address = ask(this, offset)?;
            Ok(this.and(link, address))
        })
    }

    /// Any of these networks of one mask, ascending, by the words of the address from this one on: what begins alike is asked for
    /// together.
    fn words6(&mut self, nets: &[(Net6, Span)], offset: u32, word: u32) -> Result {
        let part = |bits: u128| (bits >> (96 - 32 * word)) as u32;
        let mut tests = Vec::new();
        for alike in nets.chunk_by(|(a, _), (b, _)| part(a.address) == part(b.address)) {
            let (net, span) = alike[0];
            self.span = span;
            self.check_limits()?;
            let (mask, address) = (part(net.mask), part(net.address));
            let same = self.compare_masked(Rel::Net, offset + 4 * word, Size::B4, mask, RelOp::Eq, address);
            tests.push(if word == 3 {
                same
            } else {
                let rest = self.words6(alike, offset, word + 1)?;
                self.and(same, rest)
            });
        }
        Ok(self.any(&tests))
    }

    /// An address of this version of IP has not this protocol.
    fn no_addresses(&self, proto: Proto, version: Proto, kind: Option<Kind>) -> Box<Diagnostic> {
        let (proto, kind) = (proto.name(), kind.unwrap_or(Kind::Host).name());
        let (family, right) = (if version == Proto::Ip6 { "an IPv6" } else { "an IPv4" }, version.name());
        let mut error = self.error(Code::BadQualifier, format!("`{proto}` does not go with {family} {kind}"));
        error.help = Some(format!("write `{right} {kind} …`"));
        error
    }

    /// All addresses of a named host.
    pub(crate) fn named_host(&mut self, name: &str, quals: Quals) -> Result {
        let addresses = written_address(name).or_else(|| self.options.names.host(name));
        let addresses = addresses.ok_or_else(|| self.meant_as_range(name, quals, self.unknown_host(name)))?;
        // Where packets do not say what they carry, ARP cannot be told, and is not looked for.
        let untyped = quals.proto.is_none() && self.layers.type_field.constant == NOT_SET;
        let family = |proto| if untyped { Some(proto) } else { quals.proto };
        let mut tests = Vec::new();
        if quals.proto != Some(Proto::Ip6) {
            let quals = Quals { proto: family(Proto::Ip), ..quals };
            for &address in &addresses.v4 {
                tests.push(self.net4(Net4::host(address.into()), quals)?);
            }
        }
        if quals.proto != Some(Proto::Ip) {
            let quals = Quals { proto: family(Proto::Ip6), ..quals };
            for &address in &addresses.v6 {
                tests.push(self.net6(Net6::host(address.into()), quals)?);
            }
        }
        if tests.is_empty() {
            return Err(self.error(Code::UnknownName, format!("host `{name}` has no address of this family")));
        }
        Ok(self.any(&tests))
    }

    /// "No such name".
    pub(crate) fn unknown(&self, what: &str, name: &str) -> Box<Diagnostic> {
        let mut error = self.error(Code::UnknownName, format!("unknown {what} `{name}`"));
        error.unknown = Some(Unknown::Other);
        error.help = Some("write its number, or make the name known to the system's files".into());
        error
    }

    /// With the set that it was meant to be, if the name is `10.0.0.5-10.0.0.9`.
    fn meant_as_range(&self, name: &str, quals: Quals, error: Box<Diagnostic>) -> Box<Diagnostic> {
        match range::ends(name, Span::new(0, 0)) {
            Some([low, high])
                if (low.kind, high.kind) == (TokenKind::Dotted, TokenKind::Dotted)
                    && name.split('-').all(|end| end.parse::<std::net::Ipv4Addr>().is_ok())
                    && !self.options.dialect.strict =>
            {
                let quals = Quals { kind: Some(Kind::Host), ..quals };
                Box::new(error.suggest(format_args!("{quals}in {{{name}}}")))
            }
            _ => error,
        }
    }

    /// The same for a network.
    pub(crate) fn unknown_net(&self, name: &str, quals: Quals) -> Box<Diagnostic> {
        let mut error = self.unknown("network", name);
        error.help = Some(
            "write its address, as in `net 10.0.0.0/8`, or make the name known to the system's files".into(),
        );
        self.meant_as_range(name, quals, error)
    }

    /// The same for a host, with what a resolver answered.
    pub(crate) fn unknown_host(&self, name: &str) -> Box<Diagnostic> {
        let mut error = self.unknown("host", name);
        error.label = self.options.names.why_no_host(name);
        let is_number =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
        if is_number {
            error.message = format!("`{name}` is no IPv4 address");
            error.help = Some("an address is four numbers from 0 to 255, as in `host 10.0.0.1`".into());
        } else {
            error.unknown = Some(Unknown::Host);
            error.help = Some("write its address, or make the name known to the system's files".into());
        }
        error
    }
}

/// An address where a name is expected, as in `host \10.0.0.1`: libpcap asks getaddrinfo(3), which reads IPv4 addresses as inet_aton(3)
/// does, of one to four numbers, the last of which fills what the others leave.
fn written_address(name: &str) -> Option<HostAddrs> {
    if let Ok(address) = name.parse() {
        return Some(HostAddrs { v4: Vec::new(), v6: vec![address] });
    }
    let (mut address, mut free_bits) = (0, u32::BITS);
    let mut parts = name.split('.').peekable();
    while let Some(part) = parts.next() {
        let number = number_like_c(part)?;
        let bits = if parts.peek().is_some() { 8 } else { free_bits };
        free_bits = free_bits.checked_sub(bits).filter(|_| bits > 0 && u64::from(number) >> bits == 0)?;
        address |= number << free_bits;
    }
    Some(HostAddrs { v4: vec![address.into()], v6: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_the_c_library_reads_them() {
        for (text, address) in [
            ("10.0.0.1", "10.0.0.1"),
            ("10.1", "10.0.0.1"),
            ("1.2.0xffff", "1.2.255.255"),
            ("0377.1", "255.0.0.1"),
            ("80", "0.0.0.80"),
            ("4294967295", "255.255.255.255"),
        ] {
            let v4 = vec![address.parse().unwrap()];
            assert_eq!(written_address(text), Some(HostAddrs { v4, v6: Vec::new() }), "{text}");
        }
        let v6 = vec!["::ffff:1.2.3.4".parse().unwrap()];
        assert_eq!(written_address("::ffff:1.2.3.4"), Some(HostAddrs { v4: Vec::new(), v6 }));
        let others = [
            "",
            ".",
            "1.",
            ".1",
            "1..2",
            "1.2.3.256",
            "256.1",
            "1.2.65536",
            "1.2.3.4.5",
            "4294967296",
            "08",
            "0x",
            "+1",
            "-1",
            "1.+2",
            "ace",
            "1.2.3.4.",
            "::1%lo",
        ];
        for text in others {
            assert_eq!(written_address(text), None, "{text}");
        }
    }
}
