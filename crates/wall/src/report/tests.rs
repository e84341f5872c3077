use super::*;
use crate::record::End;
use dpi::{By, Confidence, Details, Verdict};

fn record() -> Record {
    let ends = ["[2001:db8::9]:50000", "[2001:db8::1]:443"].map(|end| end.parse().unwrap());
    Record {
        number: 3,
        vlans: [7, 0],
        packets: [5, 4],
        bytes: [500, 4000],
        first_ns: 1_700_000_000_000_000_001,
        last_ns: 1_700_000_002_500_000_000,
        verdict: Verdict {
            protocol: Protocol::named("Google").unwrap(),
            master: Protocol::TLS,
            by: By::Tier1,
            confidence: Confidence::Payload,
            evidence: "TLS ClientHello",
        },
        details: Some(Box::new(Details {
            sni: Some("www.\u{1b}google.com".into()),
            alpn: Some("h2".into()),
            ja4: Some("t13d1516h2_x_y".into()),
        })),
        end: End::Closed,
        ..Record::new(ends, 6)
    }
}

#[test]
fn a_line_of_snabbwall_has_its_columns() {
    let line = snabbwall(&record(), Naming::Snabbwall);
    assert_eq!(line[10..], *"    9p     2001:db8::1:443   -     2001:db8::9:50000  GOOGLE:SSL", "{line}");
    assert!(line.starts_with("0x") && line[2..10].bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
}

#[test]
fn an_object_has_all_that_is_known() {
    let expected = r#"{"v":1,"type":"flow","l4":"tcp","vlan":[7],"a":"[2001:db8::9]:50000","b":"[2001:db8::1]:443","proto":"Google","master":"TLS","category":"Web","by":"sluss","confidence":"payload","evidence":"TLS ClientHello","packets_ab":5,"packets_ba":4,"bytes_ab":500,"bytes_ba":4000,"first":"2023-11-14T22:13:20.000000001Z","duration":2.499999999,"end":"closed","sni":"www.\u001bgoogle.com","alpn":"h2","ja4":"t13d1516h2_x_y"}"#;
    assert_eq!(object(&record(), Naming::Ndpi).to_string(), expected);
}

#[test]
fn what_is_not_known_is_null() {
    let object = object(
        &Record::new(["192.0.2.1:0", "192.0.2.2:0"].map(|end| end.parse().unwrap()), 200),
        Naming::Ndpi,
    );
    for key in ["master", "by", "sni", "alpn", "ja4"] {
        assert!(object[key].is_null(), "{key}");
    }
    assert_eq!((object["l4"].as_str(), object["proto"].as_str()), (Some("200"), Some("Unknown")));
}

#[test]
fn eve_has_suricatas_keys() {
    let object = eve(&record());
    for (pointer, value) in [
        ("/timestamp", "2023-11-14T22:13:22.500000+0000"),
        ("/event_type", "flow"),
        ("/src_ip", "2001:db8::9"),
        ("/proto", "TCP"),
        ("/app_proto", "google"),
        ("/flow/state", "closed"),
        ("/tls/ja4", "t13d1516h2_x_y"),
        ("/sluss/master", "TLS"),
    ] {
        assert_eq!(object.pointer(pointer).and_then(serde_json::Value::as_str), Some(value), "{pointer}");
    }
    assert_eq!(object["flow"]["age"], 2);
    assert_eq!(object["dest_port"], 443);
    assert!(!object.to_string().contains('\u{1b}'), "strings from packets are escaped");
}

#[test]
fn protocols_are_sorted_by_the_bytes_of_their_names() {
    let mut protocols = Protocols::default();
    protocols.add(&record());
    protocols.add(&record());
    protocols.add(&Record { packets: [1, 0], bytes: [60, 0], ..Record::new(record().ends, 17) });
    let tally = |packets, bytes, flows| Tally { packets, bytes, flows };
    assert_eq!(
        protocols.sorted(Naming::Ndpi),
        [("Google", tally(18, 9000, 2)), ("Unknown", tally(1, 60, 1))]
    );
}

#[test]
fn numbers_of_flows_differ_in_every_part() {
    let base = record();
    let mut others = vec![base.clone(); 5];
    others[0].vlans[0] = 8;
    others[1].transport = 17;
    others[2].ends[0].set_port(1);
    others[3].ends[1].set_ip("2001:db8::2".parse().unwrap());
    others[4].ends.swap(0, 1);
    let hashes: Vec<bool> = others.iter().map(|other| other.hash() == base.hash()).collect();
    assert_eq!(hashes, [false, false, false, false, true]);
}
