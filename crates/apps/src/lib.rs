//! The standard apps, one file each; what several of them need is in `shared`.
//!
//! Each file says what the app does, which ports and options it has, and what it counts. Apps that move packets between
//! files or devices and the graph are in the crate `io`.

#![forbid(unsafe_code)]

mod arp_responder;
mod bridge;
mod counter;
mod delay;
mod filter;
mod fragmenter;
mod gre;
mod icmp_echo;
mod join;
mod keyed_ipv6_tunnel;
mod r#match;
mod merge;
mod nd_responder;
mod printer;
mod queue;
mod rate_limiter;
mod reassembler;
mod repeater;
mod router;
mod rss;
mod sampler;
mod shared;
mod sink;
mod source;
mod split;
mod synth;
mod tee;
#[cfg(test)]
mod testing;
mod truncate;
mod vlan_mux;
mod vlan_tag;
mod vlan_untag;
mod vxlan;

pub use arp_responder::ArpResponder;
pub use bridge::Bridge;
pub use counter::{Count, PacketCounter};
pub use delay::Delay;
pub use filter::Filter;
pub use fragmenter::Fragmenter;
pub use gre::Gre;
pub use icmp_echo::IcmpEcho;
pub use join::Join;
pub use keyed_ipv6_tunnel::{Cookie, KeyedIpv6Tunnel, ParseCookieError};
pub use r#match::{Case, Match};
pub use merge::Merge;
pub use nd_responder::NdResponder;
pub use printer::Printer;
pub use queue::{Policy, Queue};
pub use rate_limiter::RateLimiter;
pub use reassembler::Reassembler;
pub use repeater::Repeater;
pub use router::{Route, Router, RouterPort, RoutesFile};
pub use rss::{Rss, SpreadBy};
pub use sampler::Sampler;
pub use shared::names::SystemNames;
pub use shared::outlet::{Outlet, Stream};
pub use shared::set_changes::SetChanges;
pub use shared::tpid::Tpid;
pub use sink::Sink;
pub use source::Source;
pub use split::Split;
pub use synth::{Proto, Synth};
pub use tee::Tee;
pub use truncate::Truncate;
pub use vlan_mux::VlanMux;
pub use vlan_tag::VlanTag;
pub use vlan_untag::VlanUntag;
pub use vxlan::Vxlan;

use engine::Registry;

/// The classes that a graph file can name.
#[rustfmt::skip]
pub fn registry() -> Registry {
    Registry::new()
        .with::<ArpResponder>()
        .with::<Bridge>()
        .with::<PacketCounter>()
        .with::<Delay>()
        .with::<Filter>()
        .with::<Fragmenter>()
        .with::<Gre>()
        .with::<IcmpEcho>()
        .with::<Join>()
        .with::<KeyedIpv6Tunnel>()
        .with::<Match>()
        .with::<Merge>()
        .with::<NdResponder>()
        .with::<Printer>()
        .with::<Queue>()
        .with::<RateLimiter>()
        .with::<Reassembler>()
        .with::<Repeater>()
        .with::<Router>()
        .with::<Rss>()
        .with::<Sampler>()
        .with::<Sink>()
        .with::<Source>()
        .with::<Split>()
        .with::<Synth>()
        .with::<Tee>()
        .with::<Truncate>()
        .with::<VlanMux>()
        .with::<VlanTag>()
        .with::<VlanUntag>()
        .with::<Vxlan>()
}
