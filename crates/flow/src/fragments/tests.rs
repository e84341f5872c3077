use super::*;
use crate::decode;
use testkit::packet::Packet;
use wire::LinkType;

fn decoded(line: &str) -> Decoded {
    let packet = Packet::parse(line).unwrap_or_else(|error| panic!("`{line}`: {error}"));
    decode(LinkType::EN10MB, &packet.bytes).unwrap_or_else(|why| panic!("`{line}`: {why:?}"))
}

/// The three parts of a datagram, and the same from the other end.
fn parts(ends: [&str; 2], id: u16) -> [Decoded; 3] {
    let [src, dst] = ends;
    [
        decoded(&format!("eth / ip4({src},{dst},id={id},mf=1) / udp(4000,53) / pad(16)")),
        decoded(&format!("eth / ip4({src},{dst},id={id},mf=1,frag=3,proto=17) / pad(24)")),
        decoded(&format!("eth / ip4({src},{dst},id={id},frag=6,proto=17) / pad(9)")),
    ]
}

#[test]
fn later_fragments_belong_to_the_flow_of_the_first() {
    for ends in [["10.0.0.1", "10.0.0.2"], ["10.0.0.2", "10.0.0.1"]] {
        let [first, second, last] = parts(ends, 7);
        assert_eq!([first.part, second.part, last.part], [Part::First, Part::Later, Part::Later]);
        assert_eq!(last.payload().len(), 9);
        let mut fragments = Fragments::new(4);
        for order in [[0, 1, 2], [0, 2, 1]] {
            for at in order {
                let mut part = [first, second, last][at];
                assert!(fragments.follow(&mut part, 0));
                assert_eq!((part.key, part.direction), (first.key, first.direction));
            }
        }
    }
}

#[test]
fn later_fragments_alone_belong_to_none() {
    let mut fragments = Fragments::new(2);
    let [first, mut second, last] = parts(["10.0.0.1", "10.0.0.2"], 7);
    assert!(!fragments.follow(&mut second, 0), "before the first");
    assert!(fragments.follow(&mut { first }, 0));
    // Another number, another sender, another VLAN.
    assert!(!fragments.follow(&mut parts(["10.0.0.1", "10.0.0.2"], 8)[1], 0));
    assert!(!fragments.follow(&mut parts(["10.0.0.2", "10.0.0.1"], 7)[1], 0));
    assert!(
        !fragments
            .follow(&mut decoded("eth / vlan(3) / ip4(10.0.0.1,10.0.0.2,id=7,frag=6,proto=17) / pad(9)"), 0)
    );
    assert!(!fragments.follow(&mut decoded("eth / ip4(10.0.0.1,10.0.0.2,id=7,frag=6,proto=6) / pad(9)"), 0));
    // In time, and no longer.
    assert!(fragments.follow(&mut { last }, TIMEOUT_NS));
    assert!(!fragments.follow(&mut { last }, TIMEOUT_NS + 1));
    // The oldest makes room; a number that is used again is not older.
    for id in [1, 2, 1, 3] {
        assert!(fragments.follow(&mut parts(["10.0.0.1", "10.0.0.2"], id)[0].clone(), 0));
    }
    let known = |fragments: &mut Fragments, id| {
        fragments.follow(&mut parts(["10.0.0.1", "10.0.0.2"], id)[2].clone(), 0)
    };
    assert_eq!([1, 2, 3].map(|id| known(&mut fragments, id)), [true, false, true]);
}

#[test]
fn fragments_of_ipv6_and_of_other_protocols() {
    let mut fragments = Fragments::new(9);
    let mut first = decoded("eth / ip6 / frag(0,more=1,id=9) / dest / tcp(1,2) / pad(16)");
    let mut later = decoded("eth / ip6 / frag(6,id=9,next=60) / pad(16)");
    assert!(fragments.follow(&mut first, 0) && fragments.follow(&mut later, 0));
    assert_eq!((first.key, later.part), (later.key, Part::Later));
    let atomic = decoded("eth / ip6 / frag(0,more=0,id=9) / tcp(1,2) / pad(16)");
    assert_eq!((atomic.part, atomic.key), (Part::Whole, first.key));
    // An authentication header is in the first fragment only.
    let mut first = decoded("eth / ip4(id=5,mf=1) / ah / udp(1,2) / pad(16)");
    let mut later = decoded("eth / ip4(id=5,frag=9,proto=51) / pad(16)");
    assert!(fragments.follow(&mut first, 0) && fragments.follow(&mut later, 0));
    assert_eq!((first.key, first.protocol()), (later.key, 17));
}
