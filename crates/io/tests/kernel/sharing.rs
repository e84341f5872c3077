//! Sockets that share the frames of a device.

use crate::{cable, device};
use io::{AfPacket, FanoutAddresses};
use std::time::Instant;
use testkit::netns::{Namespace, PATIENCE};
use testkit::packet::Packet;
use testkit::rig::Rig;
use wire::FlowHasher;

#[test]
fn by_their_addresses_frames_come_where_rss_would_put_them() {
    let Some((_turn, [here])) = Namespace::some("a group by addresses") else { return };
    cable((&here, "a"), (&here, "b"), 1500);
    let (key, sockets) = (7, 3);
    let lines = (1..40).flat_map(|host| {
        [
            format!("eth / ip4(src=10.0.0.{host}, dst=192.0.2.1) / tcp(sport=1, dport=2)"),
            format!("eth / ip4(src=192.0.2.1, dst=10.0.0.{host}) / udp(sport=3, dport=4)"),
            format!("eth / ip6(src=2001:db8::{host}, dst=2001:db8:1::1) / udp(sport=1, dport=2)"),
            format!("eth / vlan(9) / ip4(src=10.0.0.{host}, dst=10.0.0.1) / udp"),
            format!("eth / vlan(9) / vlan(8) / ip4(src=10.0.0.{host}, dst=10.0.0.2) / udp"),
            format!("eth / vlan(9) / vlan(8) / ip6(src=2001:db8::{host}, dst=::2) / udp"),
        ]
    });
    let mut frames: Vec<Vec<u8>> = lines.map(|line| Packet::parse(&line).unwrap().bytes).collect();
    frames.sort_unstable();
    here.enter(|| {
        let options = AfPacket {
            fanout: Some(3),
            fanout_addresses: Some(FanoutAddresses { key, sockets }),
            ..device("b")
        };
        let mut group = [(); 3].map(|()| Rig::new(options.clone(), &[], &["output"]));
        let mut from = Rig::new(device("a"), &["input"], &[]);
        frames.iter().for_each(|frame| from.send("input", frame));
        let (mut came, begin) = (Vec::new(), Instant::now());
        while came.len() < frames.len() && begin.elapsed() < PATIENCE {
            from.breathe();
            for (number, rig) in group.iter_mut().enumerate() {
                rig.breathe();
                // The kernel sends frames of its own as well.
                for frame in
                    rig.take("output").into_iter().filter(|frame| frames.binary_search(frame).is_ok())
                {
                    let bucket = FlowHasher::new(key).addresses(&frame).bucket(sockets);
                    assert_eq!(number, bucket as usize, "{frame:x?}");
                    came.push(frame);
                }
            }
        }
        came.sort_unstable();
        assert!(came == frames, "{} of {}", came.len(), frames.len());
    });
}

#[test]
fn what_a_group_cannot_be_is_told() {
    for (options, what) in [
        ("fanout_addresses = { key = 1, sockets = 2 }", "`fanout` names none"),
        ("fanout = 1\nfanout_addresses = { key = 1, sockets = 0 }", "1 to 256 sockets"),
    ] {
        let class: AfPacket = toml::from_str(&format!("device = 'lo'\n{options}")).unwrap();
        let error = engine::Class::check(&class).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
