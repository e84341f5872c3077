use super::*;
use crate::linktype::{self, ETHERNET};
use crate::oracle::{self, Options};

#[test]
fn shrinks_to_the_culprit() {
    let expression = "tcp and (host 10.0.0.1 or (udp port 53 and not ip[0] & 1 = 1)) or arp";
    assert_eq!(shrink(expression, |text| text.contains("port 53")), "port 53");
}

/// Most of what is generated is valid: for each link type, and more so for Ethernet.
#[test]
fn libpcap_accepts_most() {
    let Some(pcap) = oracle::libpcap("expr") else { return };
    let options = Options { netmask: Some(0xffff_ff00), ..Options::default() };
    for linktype in linktype::all() {
        let mut generator = Generator::new(linktype, 11);
        let total = if linktype == ETHERNET { 400 } else { 60 };
        let mut accepted = 0;
        for _ in 0..total {
            let expression = generator.expression();
            match pcap.compile(linktype, &expression, options) {
                Ok(_) => accepted += 1,
                Err(why) if std::env::var_os("SLUSS_VERBOSE").is_some() => {
                    eprintln!("{linktype}: {expression}: {why}")
                }
                Err(_) => {}
            }
        }
        assert!(accepted * 100 >= total * 60, "{linktype}: libpcap accepted {accepted} of {total}");
    }
}
