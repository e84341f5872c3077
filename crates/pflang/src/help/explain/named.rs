//! Names, with what they were resolved to.

use super::written::Written;
use crate::lower::{ipproto, promoted, service, services};
use crate::syntax::ast::{Id, Kind, Proto, Quals};
use std::net::Ipv4Addr;

/// What a name was compiled to.
pub(super) struct Named {
    /// Addresses of a host may be several.
    pub(super) values: Vec<String>,
    /// The one transport protocol that a service is for.
    pub(super) transport: Option<Proto>,
}

/// What a name with these qualifiers stands for; `None` where nobody knows, or it is no name.
pub(super) fn named(ast: &Written<'_>, quals: Quals, name: &str) -> Option<Named> {
    let names = ast.names;
    let transport = |known: Option<u32>| match known {
        Some(ipproto::TCP) => Some(Proto::Tcp),
        Some(ipproto::UDP) => Some(Proto::Udp),
        _ => None,
    };
    let one = |value: String| Some(Named { values: vec![value], transport: None });
    match (quals.kind, quals.proto) {
        (Some(Kind::Port), proto) => {
            let (port, known) = service(names, name)?;
            let transport = proto.or(transport(known));
            Some(Named { values: vec![port.to_string()], transport })
        }
        (Some(Kind::Portrange), proto) => {
            let (low, high, known) = services(names, name)?;
            let transport = proto.or(transport(known));
            Some(Named { values: vec![format!("{low}-{high}")], transport })
        }
        (None | Some(Kind::Host), Some(Proto::Link)) => one(Id::Mac(names.ether(name)?).to_string()),
        (None | Some(Kind::Host), Some(Proto::Decnet)) => None,
        (None | Some(Kind::Host), proto) => {
            let addresses = names.host(name)?;
            let v4 = addresses.v4.iter().filter(|_| proto != Some(Proto::Ip6)).map(Ipv4Addr::to_string);
            let v6 = addresses.v6.iter().filter(|_| matches!(proto, None | Some(Proto::Ip6)));
            let values: Vec<String> = v4.chain(v6.map(ToString::to_string)).collect();
            (!values.is_empty()).then_some(Named { values, transport: None })
        }
        (Some(Kind::Net), _) => {
            let net = promoted(names.net(name).filter(|&number| number != 0)?);
            one(format!("{}/{}", Ipv4Addr::from(net.address), net.mask.leading_ones()))
        }
        (Some(Kind::Proto | Kind::Protochain), None | Some(Proto::Ip | Proto::Ip6)) => {
            one(names.protocol(name)?.to_string())
        }
        _ => None,
    }
}
