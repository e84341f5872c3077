//! Headers of tunnels: GRE (RFC 2784, RFC 2890), VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281) and the keyed IPv6 tunnel
//! (RFC 8159).
//!
//! ```text
//! ip │ gre: flags, EtherType, checksum?, key?, sequence number? │ packet
//! ip │ udp 4789 │ vxlan: flags, network identifier              │ Ethernet frame
//! ip │ udp 4790 │ vxlan-gpe: flags, protocol, network identifier │ packet, or Ethernet frame
//! ip │ udp 6081 │ geneve: EtherType, network identifier, options?  │ packet
//! ip │ udp 2152 │ gtp-u: endpoint identifier, options?           │ packet
//! ip6, next header 115 │ session, 64-bit cookie                 │ Ethernet frame
//! ```

mod geneve;
mod gre;
mod gtpu;
mod header;
mod keyed;
mod vxlan;
mod vxlan_gpe;

pub use geneve::{GENEVE_PORT, Geneve};
pub use gre::{Gre, GreHeader, TRANSPARENT_ETHERNET};
pub use gtpu::{GTPU_PORT, Gtpu};
pub use header::{MPLS_PORT, Tunnel};
pub use keyed::{KeyedTunnel, KeyedTunnelHeader, SESSION_ANY};
pub use vxlan::{VXLAN_PORT, VXLAN_PORT_LINUX, Vxlan, VxlanHeader, vxlan_src_port};
pub use vxlan_gpe::{VXLAN_GPE_PORT, VxlanGpe};
