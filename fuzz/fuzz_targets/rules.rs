//! Bytes as rules of the wall: what is read judges a packet, what is refused says where.
#![no_main]

use wall::rules::{Judged, Rules};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Rules::read(text) {
        Ok(rules) => {
            let protocol = dpi::Protocol::HTTP;
            let judged = Judged { packet: data, wire_len: data.len() as u32, protocol, flow_count: 7 };
            rules.compile(wire::LinkType::EN10MB).judge(&judged);
        }
        Err(error) => {
            let (line, column) = error.place;
            assert!(line <= text.matches('\n').count() + 1 && column >= 1, "{error}");
            assert!(error.span.start <= text.len() && error.span.end <= text.len(), "{error}");
        }
    }
});
