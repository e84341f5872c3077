//! Captures: those of the repository, and SnabbWall's where they are at hand.

use crate::flows::{Flow, Variant, flows};
use dpi::protocol::Naming;
use dpi::tier1::Tier1;
use dpi::{Protocol, Verdict};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use testkit::corpus::{Capture, captures};

/// Flows with what was found of them; nothing is held behind them.
fn identified(capture: &Capture, variant: Variant) -> Vec<Flow> {
    let mut tier1 = Tier1::default();
    let flows = flows(capture, variant, &mut tier1);
    assert_eq!((tier1.usage().states, tier1.usage().bytes), (0, 0));
    flows
}

fn found(capture: &Capture) -> BTreeSet<Protocol> {
    let verdicts = identified(capture, Variant::Recorded).into_iter().filter_map(|flow| flow.verdict);
    verdicts.map(|(Verdict { protocol, .. }, _)| protocol).collect()
}

#[test]
fn what_snabbwall_expects_is_found_as_far_as_it_is_tier_1s() {
    let mut seen = 0;
    for capture in captures() {
        let path = capture.path.display().to_string();
        let Ok(expected) = std::fs::read_to_string(format!("{path}.spy.expect")) else { continue };
        let found = found(&capture);
        for name in expected.split_whitespace() {
            let protocol = Protocol::named(name).unwrap_or_else(|| panic!("{path}: no protocol {name}"));
            assert_eq!(protocol.name(Naming::Snabbwall), name, "{path}");
            assert!(protocol.tier() == 2 || found.contains(&protocol), "{path}: no {name} in {found:?}");
        }
        // What is expected is all that there is, but for what SnabbWall does not list.
        let expected: BTreeSet<_> = expected.split_whitespace().filter_map(Protocol::named).collect();
        let beside = [Protocol::DNS, Protocol::MDNS, Protocol::HTTP];
        let others: Vec<_> =
            found.difference(&expected).filter(|protocol| !beside.contains(protocol)).collect();
        assert!(others.is_empty(), "{path}: {others:?}");
        seen += 1;
    }
    if seen == 0 {
        testkit::say(
            "SKIPPED: no captures of SnabbWall (set SLUSS_SHARED to the folder that has captures/snabbwall)",
        );
    }
}

/// The repository's captures are of conversations that were recorded on purpose; their names tell.
#[test]
fn the_repositorys_captures_are_identified() {
    for (name, protocols) in [
        ("rtmp.pcap", &[Protocol::DNS, Protocol::RTMP][..]),
        ("ssh.pcap", &[Protocol::DNS, Protocol::SSH]),
        ("tls.pcap", &[Protocol::DNS, Protocol::TLS]),
        ("web.pcap", &[Protocol::DNS, Protocol::HTTP]),
        ("dhcp.pcap", &[Protocol::DHCP]),
        ("ntp-nano.pcap", &[Protocol::NTP]),
        ("mixed.pcap", &[Protocol::DNS, Protocol::HTTP, Protocol::TLS, Protocol::SSH, Protocol::SMTP]),
        ("bittorrent.pcap", &[Protocol::DNS, Protocol::BITTORRENT]),
    ] {
        let is_it = |capture: &Capture| {
            capture.path.parent().is_some_and(|folder| folder.ends_with("captures"))
                && capture.path.ends_with(name)
        };
        let capture = captures().into_iter().find(is_it).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(found(&capture), protocols.iter().copied().collect(), "{name}");
    }
}

/// Recorded conversations on other ports, and in other segments, are what they were.
#[test]
fn what_is_done_to_captures_changes_nothing() {
    let formats = [Protocol::DNS, Protocol::MDNS, Protocol::LLMNR];
    for capture in captures() {
        let recorded = identified(&capture, Variant::Recorded);
        let split = |in_half, swapped| Variant::Split { in_half, swapped };
        for variant in [
            Variant::OtherPorts,
            split(true, false),
            split(true, true),
            split(false, false),
            split(false, true),
        ] {
            for (was, is) in recorded.iter().zip(identified(&capture, variant)) {
                let protocol = |flow: &Flow| flow.verdict.map(|(verdict, _)| verdict.protocol);
                let how = format!(
                    "{}: {variant:?} of {:?}: {was:?} became {is:?}",
                    capture.path.display(),
                    was.ends
                );
                if variant == Variant::OtherPorts
                    && protocol(was).is_some_and(|protocol| formats.contains(&protocol))
                {
                    assert!(protocol(&is).is_none_or(|protocol| formats.contains(&protocol)), "{how}");
                } else if is_exchange(was) && matches!(variant, Variant::Split { in_half: false, .. }) {
                    // The key must be in the first segment, unless something else is waited for.
                    assert!(protocol(&is).is_none_or(|is| is == Protocol::BITTORRENT), "{how}");
                } else {
                    assert!(
                        protocol(&is) == protocol(was) && (was.is_cut || is.details == was.details),
                        "{how}"
                    );
                }
            }
        }
    }
}

/// Whether peers of BitTorrent have exchanged keys before they spoke in clear.
fn is_exchange(flow: &Flow) -> bool {
    flow.verdict.is_some_and(|(verdict, _)| verdict.evidence.ends_with("after an exchange of keys"))
}

/// What the programs of the recording did: a file was announced five times, and fetched from a peer.
#[test]
fn peers_that_exchange_keys_and_go_on_in_clear_are_found() {
    let is_it = |capture: &Capture| capture.path.ends_with("captures/bittorrent.pcap");
    let capture = captures().into_iter().find(is_it).expect("a capture");
    let flows = identified(&capture, Variant::Recorded);
    let peers = flows.iter().filter(|flow| is_exchange(flow));
    let ports: Vec<u16> = peers.filter_map(|flow| flow.ends).map(|(_, to)| to.port()).collect();
    assert_eq!(ports, [51_413]);
    let is_bittorrent =
        |flow: &&Flow| flow.verdict.is_some_and(|(verdict, _)| verdict.protocol == Protocol::BITTORRENT);
    assert_eq!(flows.iter().filter(is_bittorrent).count(), 6);
}

#[test]
fn each_server_name_that_tshark_finds_is_found() {
    let mut count = 0;
    for capture in captures() {
        if !capture.packets.iter().any(|packet| may_have_hello(&packet.bytes)) {
            continue;
        }
        let Some(expected) = server_names(&capture.path) else {
            testkit::say("SKIPPED: no tshark");
            return;
        };
        let names: Vec<String> = identified(&capture, Variant::Recorded)
            .into_iter()
            .filter_map(|flow| flow.details.sni.map(String::from))
            .collect();
        for name in &expected {
            assert!(names.contains(name), "{}: no {name} in {names:?}", capture.path.display());
        }
        count += expected.len();
    }
    testkit::say(format_args!("{count} server names"));
}

/// Whether a packet has what a record of TLS begins with, or a packet of QUIC: tshark takes its time for each file.
fn may_have_hello(bytes: &[u8]) -> bool {
    bytes.windows(5).any(|window| {
        matches!(window, [0x16, 3, 0..=4, _, _] | [0xc0..=0xff, 0, 0, 0, 1] | [0xc0..=0xff, 0xff, 0, 0, 29])
    })
}

/// The server names in the hellos of a capture.
fn server_names(path: &Path) -> Option<BTreeSet<String>> {
    let field = "tls.handshake.extensions_server_name";
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-Y", field, "-T", "fields", "-e", field])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).to_ascii_lowercase();
    Some(text.split(['\n', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
