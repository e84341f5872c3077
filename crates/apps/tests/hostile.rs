//! Every app against packets that somebody has made to break it: cut, with headers changed where apps look, and noise. None fails, every
//! packet is accounted for, and what looks at one packet at a time treats each as it would alone.

mod common;

use common::packet;
use engine::Class;
use testkit::rig::{APP, Rig};
use testkit::rng::Rng;

/// Packets between which what is known of the app is looked at.
const ROUND: usize = 200;
const ROUNDS: u64 = 40;

/// Sends hostile packets into an app by all its inputs.
fn attack(class: impl Class, inputs: &[&str], outputs: &[&str]) {
    let mut rig = Rig::new(class, inputs, outputs);
    for seed in 0..ROUNDS {
        let mut rng = Rng::new(seed);
        for number in 0..ROUND {
            rig.send(inputs[number % inputs.len()], packet(&mut rng));
        }
        rig.advance(7_000_000);
        let report = rig.report();
        assert!(report.balanced(), "{inputs:?}, seed {seed}: {:#?}", report.imbalances);
        let app = &report.apps[APP];
        assert_eq!(app.last_error, None, "{}, seed {seed}", app.class);
        outputs.iter().for_each(|output| _ = rig.take(output));
    }
    // What waits for the rest comes to its end, too.
    rig.advance(3_600_000_000_000);
    assert_eq!(rig.report().apps[APP].last_error, None);
}

fn read<C: Class + serde::de::DeserializeOwned>(options: &str) -> C {
    toml::from_str(options).unwrap_or_else(|error| panic!("{options}: {error}"))
}

const THROUGH: (&[&str], &[&str]) = (&["input"], &["output"]);
const SIDES: (&[&str], &[&str]) = (&["south", "north"], &["south", "north"]);
const TUNNEL: (&[&str], &[&str]) = (&["decapsulated", "encapsulated"], &["decapsulated", "encapsulated"]);

#[test]
fn responders_stand_what_comes() {
    let (inputs, outputs) = SIDES;
    let mac = "mac = '02:00:00:00:00:01'";
    attack(read::<apps::ArpResponder>(&format!("ip = '192.0.2.1'\n{mac}")), inputs, outputs);
    attack(read::<apps::NdResponder>(&format!("ip = '2001:db8::1'\n{mac}")), inputs, outputs);
    attack(read::<apps::IcmpEcho>("ip = ['192.0.2.1', '2001:db8::1']"), inputs, outputs);
}

#[test]
fn tunnels_stand_what_comes() {
    let (inputs, outputs) = TUNNEL;
    let ends = "local_address = '192.0.2.1'\nremote_address = '192.0.2.2'";
    let ends_v6 = "local_address = '2001:db8::1'\nremote_address = '2001:db8::2'";
    for ends in [ends, ends_v6] {
        attack(read::<apps::Gre>(ends), inputs, outputs);
        attack(read::<apps::Vxlan>(&format!("{ends}\nvni = 7\nchecksum = true")), inputs, outputs);
    }
    let cookies = "local_cookie = '0102030405060708'\nremote_cookie = '0102030405060708'";
    attack(read::<apps::KeyedIpv6Tunnel>(&format!("{ends_v6}\n{cookies}")), inputs, outputs);
}

#[test]
fn what_looks_at_ip_stands_what_comes() {
    let (inputs, outputs) = THROUGH;
    for mtu in [68, 100, 1280] {
        attack(apps::Fragmenter { mtu }, inputs, outputs);
    }
    let small = apps::Reassembler { max_reassemblies: 5, max_fragments: 4, ..apps::Reassembler::default() };
    attack(apps::Reassembler::default(), inputs, outputs);
    attack(small, inputs, outputs);
    let router = "
        port.a = { ip = ['198.18.0.1', '2001:db8:f::1'], mtu = 100 }
        port.b = { ip = '198.19.0.1' }
        route = [
            { prefix = '192.0.2.0/25', port = 'a', next_hop = '02:00:00:00:00:0a' },
            { prefix = '2001:db8::/32', port = 'b', next_hop = '02:00:00:00:00:0b' },
        ]";
    attack(read::<apps::Router>(router), &["a", "b"], &["a", "b"]);
}

#[test]
fn what_looks_at_frames_stands_what_comes() {
    let (inputs, outputs) = THROUGH;
    attack(apps::Bridge::default(), &["a", "b", "c"], &["a", "b", "c"]);
    attack(read::<apps::VlanTag>("tag = 7"), inputs, outputs);
    attack(read::<apps::VlanUntag>("tag = 7"), inputs, outputs);
    attack(apps::VlanMux::default(), &["trunk", "native", "vlan7"], &["trunk", "native", "vlan7", "vlan8"]);
    attack(apps::Rss::default(), &["input"], &["a", "b", "c"]);
    attack(apps::Filter::new("ip6 protochain 6 or vlan and tcp[tcpflags] != 0"), inputs, outputs);
    attack(apps::Truncate { length: 20, pad: true }, inputs, outputs);
}
