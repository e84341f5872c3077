use super::*;
use dpi::Protocol;
use engine::Metadata;
use testkit::packet::Packet as Text;
use testkit::rig::Rig;

fn frame(line: &str) -> Vec<u8> {
    Text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")).bytes
}

fn own() -> L7Spy {
    L7Spy { dpi: Dpi::Own, flows: 1000, ..L7Spy::default() }
}

const DNS: &str = "eth / ip4(src=10.0.0.1, dst=10.0.0.2) / udp(sport=4000, dport=9953) / \
    hex(12 34 01 00 00 01 00 00 00 00 00 00 03 77 77 77 07 65 78 61 6d 70 6c 65 00 00 01 00 01)";

#[test]
fn packets_go_across_with_what_their_flow_speaks() {
    let mut rig = Rig::new(own(), &["south", "north"], &["south", "north"]);
    let metadata = Metadata { linktype: 1, timestamp_ns: 5, mark: 7, ..Metadata::default() };
    rig.send_with("south", frame(DNS), metadata);
    rig.send_with("north", frame(DNS), metadata);
    rig.send_with("north", frame("eth / arp"), metadata);
    rig.breathe();
    let north = rig.received("north");
    let south = rig.received("south");
    assert_eq!((north.len(), south.len()), (1, 2));
    let tag = |metadata: &Metadata| (metadata.application, metadata.flow_packets, metadata.mark);
    let dns = Protocol::DNS.number();
    assert_eq!(tag(&north[0].metadata), (dns, 1, 7));
    assert_eq!((tag(&south[0].metadata), tag(&south[1].metadata)), ((dns, 2, 7), (0, 0, 7)));
    rig.advance(2_000_000);
    rig.breathe();
    for (name, count) in [("flows_created", 1), ("flows_now", 1), ("identified_own", 1), ("no_flow", 1)] {
        assert_eq!(rig.counter(name), count, "{name}");
    }
}

#[test]
fn over_a_capture_all_is_counted_when_it_has_come() {
    let mut rig = Rig::new(L7Spy { wait: true, ..own() }, &["south"], &["north"]);
    rig.send("south", frame(DNS));
    rig.breathe();
    assert_eq!((rig.counter("flows_created"), rig.counter("identified_own")), (1, 1));
}

#[test]
fn flows_are_told_of_when_they_are_over() {
    let ledger = Ledger::new(crate::ledger::Wanted { identified: false, ended: true });
    let mut rig = Rig::new(L7Spy { ledger: Some(ledger.clone()), ..own() }, &["south"], &["north"]);
    rig.send("south", frame(DNS));
    rig.breathe();
    assert_eq!(ledger.take_ended(), []);
    assert!(ledger.memory() > 100_000 && ledger.looked_at().0 == 1);
    // Without any packet.
    rig.advance(59_000_000_000);
    rig.advance(LISTEN_EVERY_NS);
    assert_eq!(ledger.take_ended(), []);
    rig.advance(5_000_000_000);
    rig.advance(LISTEN_EVERY_NS);
    let ended: Vec<_> = ledger.take_ended().iter().map(|record| record.end).collect();
    assert_eq!(
        (ended, rig.counter("flows_idle"), rig.counter("flows_now")),
        (vec![crate::record::End::Idle], 1, 0)
    );
    drop(rig);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (options, option) in [
        ("flows = 0", "flows"),
        ("flows = 999999999", "flows"),
        ("udp_idle = 0.0", "udp_idle"),
        ("tcp_idle = -1.0", "tcp_idle"),
        ("active = nan", "active"),
    ] {
        let class: L7Spy = toml::from_str(options).unwrap();
        let error = class.check().unwrap_err();
        assert_eq!(error.option.as_deref(), Some(option), "{options}");
    }
    assert!(
        toml::from_str::<L7Spy>("dpi = 'exact'").is_err() && toml::from_str::<L7Spy>("nosuch = 1").is_err()
    );
}

#[test]
fn without_ndpi_our_own_identification_goes_on_and_that_is_told() {
    let absent = Options { library: Some("libndpi-that-is-not-there.so".into()), ..Options::default() };
    let ndpi = NdpiOptions(Some(absent));
    let mut rig = Rig::new(L7Spy { dpi: Dpi::Auto, ndpi: ndpi.clone(), ..own() }, &["south"], &["north"]);
    rig.send("south", frame(DNS));
    rig.breathe();
    assert_eq!(rig.received("north")[0].metadata.application, Protocol::DNS.number());
    let report = rig.report();
    let text = report.apps[testkit::rig::APP].text.clone().unwrap();
    assert!(text.starts_with("nDPI is not asked: "), "{text}");
}
