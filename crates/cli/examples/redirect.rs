//! The command `sluss`, with an app that changes packets: `redirect` sends what goes to one port to another, and what comes back as from the first.
//!
//! ```text
//! cargo run -p sluss --example redirect -- run crates/cli/examples/redirect.toml
//! ```

use engine::shm::Counter;
use engine::{App, Class, Io, OptionError, Setup};
use serde::Deserialize;
use std::process::ExitCode;
use wire::ip::protocol;
use wire::transport::{TcpMut, UdpMut};
use wire::{Layers, LinkType};

/// Options of `redirect`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Redirect {
    /// The port that packets are sent to.
    from: u16,
    /// The port that they go to.
    to: u16,
}

/// A running `redirect`.
struct Running {
    options: Redirect,
    redirected: Counter,
}

impl Class for Redirect {
    const TYPE: &'static str = "redirect";
    type App = Running;

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running { options: self.clone(), redirected: setup.counter("redirected") })
    }
}

impl App for Running {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(mut burst) = io.inputs[0].burst() {
            let redirected =
                burst.iter_mut().filter_map(|packet| self.options.change(packet.data_mut())).count();
            self.redirected.add(redirected as u64);
            io.outputs[0].send(burst);
        }
    }
}

impl Redirect {
    /// Changes the ports of a packet, and its checksum with them; nothing, if it is none to be changed.
    fn change(&self, packet: &mut [u8]) -> Option<()> {
        let layers = Layers::of(LinkType::EN10MB, packet);
        // Fragments have ports in the first of them only.
        let transport = *layers.transport().filter(|_| layers.fragment().is_none())?;
        let segment = packet.get_mut(transport.off.into()..)?;
        if transport.id == u32::from(protocol::TCP) {
            let mut tcp = TcpMut::new(segment)?;
            match (tcp.view().src_port(), tcp.view().dst_port()) {
                (_, to) if to == self.from => tcp.change_dst_port(self.to),
                (from, _) if from == self.to => tcp.change_src_port(self.from),
                _ => return None,
            }
        } else if transport.id == u32::from(protocol::UDP) {
            let mut udp = UdpMut::new(segment)?;
            match (udp.view().src_port(), udp.view().dst_port()) {
                (_, to) if to == self.from => udp.change_dst_port(self.to),
                (from, _) if from == self.to => udp.change_src_port(self.from),
                _ => return None,
            }
        } else {
            return None;
        }
        Some(())
    }
}

fn main() -> ExitCode {
    sluss::main(sluss::registry().with::<Redirect>())
}
