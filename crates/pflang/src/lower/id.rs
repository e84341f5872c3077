//! Identifiers behind their qualifiers: which test `src host a`, `port 80`, `net 10.0.0.0/8` … ask for.

use super::Result;
use super::lowerer::Lowerer;
use super::net::{Net4, Net6};
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Dir, Id, Kind, Proto, Quals};
use std::net::Ipv6Addr;

impl Lowerer<'_> {
    /// `[quals] id`.
    pub(crate) fn identifier(&mut self, quals: Quals, id: &Id) -> Result {
        self.tested(quals, id).map_err(|error| match self.meant_by_transport(quals, id) {
            Some(meant) if error.code == Code::BadQualifier => Box::new(error.suggest(meant)),
            _ => error,
        })
    }

    fn tested(&mut self, quals: Quals, id: &Id) -> Result {
        match *id {
            Id::Name(ref name) => self.named(name, quals),
            Id::Number(number) => self.number(number, quals),
            Id::V4 { value, bits } => self.dotted(value, bits, quals),
            Id::Decnet(address) => self.decnet_id(address, quals),
            Id::V4Prefix { value, bits, len } => self.prefix4(left_aligned(value, bits), len, quals),
            Id::V4Mask { value, bits, mask, mask_bits } => {
                let mask = left_aligned(mask, mask_bits);
                let written = format!(" mask {}", std::net::Ipv4Addr::from(mask));
                self.masked4(left_aligned(value, bits), mask, quals, &written)
            }
            Id::V6(address) => self.prefix6(address, 128, quals),
            Id::V6Prefix(address, len) => self.prefix6(address, len, quals),
            Id::Mac(address) => {
                self.check_link_host("an Ethernet address", quals).map_err(|error| {
                    let quals = Quals { proto: Some(Proto::Link), kind: Some(Kind::Host), ..quals };
                    Box::new(error.suggest(format_args!("{quals}{id}")))
                })?;
                self.ether_host(address, quals.dir)
            }
            Id::Arcnet(address) => {
                self.check_link_host("an ARCnet address", quals)?;
                self.arcnet_host(address, quals.dir)
            }
        }
    }

    fn named(&mut self, name: &str, quals: Quals) -> Result {
        match quals.kind {
            None | Some(Kind::Host) => match quals.proto {
                Some(Proto::Link) => self.named_ether_host(name, quals.dir),
                Some(Proto::Decnet) => {
                    let mut error = self.unknown("DECnet host", name);
                    error.help = Some("write its address, as in `decnet host 1.2`".into());
                    Err(error)
                }
                _ => self.named_host(name, quals),
            },
            Some(Kind::Net) => {
                let number = self.options.names.net(name).filter(|&number| number != 0);
                let number = number.ok_or_else(|| self.unknown_net(name, quals))?;
                self.net4(promoted(number), quals)
            }
            Some(Kind::Port) => self.named_port(name, quals),
            Some(Kind::Portrange) => self.named_portrange(name, quals),
            Some(Kind::Gateway) => self.gateway(name, quals),
            Some(Kind::Proto) => self.named_proto(name, quals),
            Some(Kind::Protochain) => {
                let number = self.proto_by_name(name, quals.proto)?;
                self.protochain(number, quals)
            }
        }
    }

    fn number(&mut self, number: u32, quals: Quals) -> Result {
        match quals.kind {
            None | Some(Kind::Host | Kind::Net) => {
                self.check_network_layer(quals)?;
                let net = if quals.kind == Some(Kind::Net) { promoted(number) } else { Net4::host(number) };
                let net = if quals.proto == Some(Proto::Decnet) { Net4::host(number) } else { net };
                self.net4(net, quals)
            }
            Some(Kind::Port | Kind::Portrange) => self.port_number(number, quals),
            Some(Kind::Gateway) => Err(self.gateway_needs_name()),
            Some(Kind::Proto) => self.proto_number(number, quals),
            Some(Kind::Protochain) => self.protochain(number, quals),
        }
    }

    fn dotted(&mut self, value: u32, bits: u8, quals: Quals) -> Result {
        match quals.kind {
            None | Some(Kind::Host | Kind::Net) => {
                self.check_network_layer(quals)?;
                let mask = u32::MAX << (32 - u32::from(bits));
                self.net4(Net4 { address: left_aligned(value, bits), mask }, quals)
            }
            Some(Kind::Gateway) => Err(self.gateway_needs_name()),
            Some(_) => Err(self.not_an_address(quals.kind)),
        }
    }

    fn decnet_id(&mut self, address: u16, quals: Quals) -> Result {
        match quals.kind {
            None | Some(Kind::Host | Kind::Net) => self.decnet_host(address, quals.dir),
            Some(Kind::Gateway) => Err(self.gateway_needs_name()),
            Some(_) => Err(self.not_an_address(quals.kind)),
        }
    }

    fn prefix4(&mut self, address: u32, len: u32, quals: Quals) -> Result {
        if len > 32 {
            return Err(self.out_of_range("prefix length", len, 32));
        }
        let mask = u32::MAX.checked_shl(32 - len).unwrap_or(0);
        self.masked4(address, mask, quals, &format!("/{len}"))
    }

    /// `written` is what stands behind the address.
    fn masked4(&mut self, address: u32, mask: u32, quals: Quals, written: &str) -> Result {
        if address & !mask != 0 {
            let net = std::net::Ipv4Addr::from(address & mask);
            let given = std::net::Ipv4Addr::from(address);
            return Err(self.host_bits(quals, &given.to_string(), &format!("{net}{written}")));
        }
        if quals.kind != Some(Kind::Net) {
            let net = format!("{}{written}", std::net::Ipv4Addr::from(address));
            return Err(self.prefix_needs_net(quals, &net));
        }
        self.net4(Net4 { address, mask }, quals)
    }

    fn prefix6(&mut self, address: Ipv6Addr, len: u32, quals: Quals) -> Result {
        if len > 128 {
            return Err(self.out_of_range("prefix length", len, 128));
        }
        let mask = u128::MAX.checked_shl(128 - len).unwrap_or(0);
        let number = u128::from(address);
        if number & !mask != 0 {
            let net = format!("{}/{len}", Ipv6Addr::from(number & mask));
            return Err(self.host_bits(quals, &address.to_string(), &net));
        }
        match quals.kind {
            None | Some(Kind::Host) if len != 128 => {
                Err(self.prefix_needs_net(quals, &format!("{address}/{len}")))
            }
            None | Some(Kind::Host | Kind::Net) => self.net6(Net6 { address: number, mask }, quals),
            Some(_) => Err(self.not_an_address(quals.kind)),
        }
    }

    /// COMPAT: on Debian libpcap refuses `gateway`, being built with IPv6; so does `strict`.
    fn gateway(&mut self, name: &str, quals: Quals) -> Result {
        if self.options.dialect.strict {
            return Err(self.error(
                Code::Strict,
                "`gateway` is not supported: libpcap refuses it where it is built with IPv6",
            ));
        }
        if let Some(dir) = quals.dir {
            let message = format!("`{}` does not go with `gateway`", dir.name());
            return Err(self.error(Code::BadQualifier, message));
        }
        if let Some(proto) =
            quals.proto.filter(|proto| !matches!(proto, Proto::Ip | Proto::Arp | Proto::Rarp))
        {
            let message = format!("`{}` does not go with `gateway`", proto.name());
            return Err(self.error(Code::BadQualifier, message));
        }
        let link = self.named_ether_host(name, None)?;
        let addresses = self.options.names.host(name).unwrap_or_default().v4;
        if addresses.is_empty() {
            return Err(self.unknown_host(name));
        }
        let quals = Quals { dir: Some(Dir::SrcOrDst), kind: Some(Kind::Host), ..quals };
        let hosts = addresses.into_iter().map(|address| self.net4(Net4::host(address.into()), quals));
        let hosts = hosts.collect::<Result<Vec<_>>>()?;
        let any = self.any(&hosts);
        let other = self.not(any);
        Ok(self.and(link, other))
    }

    fn check_link_host(&self, what: &str, quals: Quals) -> Result<()> {
        let is_host = matches!(quals.kind, None | Some(Kind::Host));
        if is_host && quals.proto == Some(Proto::Link) {
            return Ok(());
        }
        let mut error = self.error(Code::BadQualifier, format!("{what} needs `ether` in front of it"));
        error.help = Some("as in `ether host …`, `ether src …`".into());
        Err(error)
    }

    fn check_network_layer(&self, quals: Quals) -> Result<()> {
        if quals.proto != Some(Proto::Link) {
            return Ok(());
        }
        let mut error = self.error(Code::BadQualifier, "`ether` does not go with a network-layer address");
        error.help = Some("an Ethernet address has six bytes: `ether host 00:11:22:33:44:55`".into());
        Err(error)
    }

    fn not_an_address(&self, kind: Option<Kind>) -> Box<Diagnostic> {
        self.error(
            Code::BadQualifier,
            format!("`{}` does not go with an IP address", kind.unwrap_or(Kind::Host).name()),
        )
    }

    fn gateway_needs_name(&self) -> Box<Diagnostic> {
        let mut error = self.error(Code::BadQualifier, "`gateway` needs a name");
        error.help = Some("both its Ethernet and its IP addresses are looked up".into());
        error
    }

    fn prefix_needs_net(&self, quals: Quals, net: &str) -> Box<Diagnostic> {
        let error = self.error(Code::BadQualifier, "a prefix or mask needs `net` in front of it");
        // In place of a port or protocol it may be the address that is wrong.
        match quals.kind {
            None | Some(Kind::Host) => {
                let quals = Quals { kind: Some(Kind::Net), ..quals };
                Box::new(error.suggest(format_args!("{quals}{net}")))
            }
            Some(_) => error,
        }
    }

    /// "No network": either the address was meant, or the network that it is in.
    fn host_bits(&self, quals: Quals, address: &str, net: &str) -> Box<Diagnostic> {
        let mut error = self.error(Code::OutOfRange, "bits of the address are set outside the mask");
        let written = |kind, id| self.written(Quals { kind: Some(kind), ..quals }, id);
        error.help = Some(match (quals.kind, written(Kind::Host, address), written(Kind::Net, net)) {
            (None | Some(Kind::Host), Some(host), Some(network)) => {
                format!("write `{host}` for the one address, or `{network}` for its network")
            }
            _ => format!("the network is `{net}`"),
        });
        error
    }

    /// What is meant by `tcp src 80` and `tcp host 10.0.0.1`.
    fn meant_by_transport(&self, quals: Quals, id: &Id) -> Option<String> {
        let proto = quals.proto?;
        let has_ports = matches!(proto, Proto::Tcp | Proto::Udp | Proto::Sctp);
        match (quals.kind, id) {
            // Nobody means the host 0.0.0.80; a port that is too large is told to be.
            (None, Id::Number(_)) => {
                has_ports.then(|| format!("{}{id}", Quals { kind: Some(Kind::Port), ..quals }))
            }
            (None | Some(Kind::Host | Kind::Net), _) if is_without_addresses(proto) => {
                let is_prefix = matches!(id, Id::V4Prefix { .. } | Id::V4Mask { .. } | Id::V6Prefix(..));
                let kind = if is_prefix { Some(Kind::Net) } else { quals.kind };
                self.written(Quals { kind, ..quals }, &id.to_string())
            }
            _ => None,
        }
    }

    /// How the IP address or prefix `id` is written with these qualifiers, if they go with it.
    fn written(&self, quals: Quals, id: &str) -> Option<String> {
        let alone = Quals { proto: None, ..quals };
        match (quals.proto, id.contains(':')) {
            (None, _) | (Some(Proto::Ip | Proto::Arp | Proto::Rarp), false) | (Some(Proto::Ip6), true) => {
                Some(format!("{quals}{id}"))
            }
            (Some(proto), _) if is_without_addresses(proto) => {
                Some(self.operands(&format!("{} and {alone}{id}", proto.name())))
            }
            _ => None,
        }
    }

    /// Operands of `and` in place of the primitive at hand. They stay together: `and` and `or` bind alike, from the left, and
    /// `not` binds closer.
    fn operands(&self, text: &str) -> String {
        if self.span == self.filter { text.to_owned() } else { format!("({text})") }
    }
}

/// Whether a protocol is carried by IP and has no addresses of its own, but is likely to be written before one.
fn is_without_addresses(proto: Proto) -> bool {
    matches!(proto, Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Icmp | Proto::Icmp6)
}

/// The parts that were written, moved to where an address starts.
pub(crate) fn left_aligned(value: u32, bits: u8) -> u32 {
    value.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

/// A network by its number, without the zeros that follow: `net 10` is 10.0.0.0/8.
pub(crate) fn promoted(number: u32) -> Net4 {
    let zeros = if number == 0 { 0 } else { number.leading_zeros() / 8 * 8 };
    Net4 { address: number << zeros, mask: u32::MAX << zeros }
}
