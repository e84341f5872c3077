//! Names of protocols and services for tests: those of this machine, which libpcap asks too, or a handful of our own
//! where the files are absent.

use pflang::{Names, Service};
use std::collections::HashMap;
use std::fs;

/// Protocols and services by name.
#[derive(Debug, Clone, Default)]
pub struct TestNames {
    protocols: HashMap<String, u8>,
    services: HashMap<String, Service>,
}

/// The form of protocols(5).
const PROTOCOLS: &str = "icmp 1 ICMP\nigmp 2 IGMP\ntcp 6 TCP\nudp 17 UDP\nesp 50\nah 51\nsctp 132\n";
/// The form of services(5).
const SERVICES: &str =
    "ssh 22/tcp\ndomain 53/tcp\ndomain 53/udp\nhttp 80/tcp www\nntp 123/udp\nsnmp 161/tcp\nsnmp 161/udp\n";

impl TestNames {
    /// The names of this machine.
    pub fn of_this_machine() -> Self {
        let read =
            |path: &str, instead: &str| fs::read_to_string(path).unwrap_or_else(|_| instead.to_string());
        Self::parse(&read("/etc/protocols", PROTOCOLS), &read("/etc/services", SERVICES))
    }

    fn parse(protocols: &str, services: &str) -> Self {
        let mut names = TestNames::default();
        for (number, aliases) in lines(protocols) {
            let Ok(number) = number.parse() else { continue };
            aliases.into_iter().for_each(|name| _ = names.protocols.entry(name).or_insert(number));
        }
        for (port, aliases) in lines(services) {
            let Some((port, protocol)) = port.split_once('/') else { continue };
            let Ok(port) = port.parse() else { continue };
            for name in aliases {
                let service = names.services.entry(name).or_default();
                match protocol {
                    "tcp" => service.tcp = service.tcp.or(Some(port)),
                    "udp" => service.udp = service.udp.or(Some(port)),
                    "sctp" => service.sctp = service.sctp.or(Some(port)),
                    _ => {}
                }
            }
        }
        names
    }
}

/// The number of each line and all the names that it has.
fn lines(text: &str) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
    text.lines().filter_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace().map(str::to_string);
        let (name, number) = (words.next()?, words.next()?);
        Some((number, std::iter::once(name).chain(words).collect()))
    })
}

impl Names for TestNames {
    fn service(&self, name: &str) -> Option<Service> {
        self.services.get(name).copied()
    }

    fn protocol(&self, name: &str) -> Option<u8> {
        self.protocols.get(name).copied()
    }
}
