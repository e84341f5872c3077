//! Tier 1 on captures: what SnabbWall expects of its own, as far as it is tier 1's to find.

mod common;

use dpi::tier1::Tier1;
use testkit::corpus::captures;

#[test]
fn show() {
    for capture in captures() {
        let mut tier1 = Tier1::default();
        println!("== {}", capture.path.display());
        let mut counts = std::collections::BTreeMap::new();
        for flow in common::flows(&capture, &mut tier1) {
            if flow.packets == 0 {
                continue;
            }
            let what = match &flow.verdict {
                Some((verdict, after)) => format!(
                    "{:?} over {:?} {:?} `{}` after {after}; {:?}",
                    verdict.protocol, verdict.master, verdict.confidence, verdict.evidence, flow.details.sni
                ),
                None if flow.is_left => format!("left ({:?})", flow.ends.map(|e| (e.0.port(), e.1.port()))),
                None => format!("undecided ({:?})", flow.ends.map(|e| (e.0.port(), e.1.port()))),
            };
            *counts.entry(what).or_insert(0) += 1;
        }
        for (what, n) in counts.iter().take(25) {
            println!("  {n} {what}");
        }
        assert_eq!(tier1.usage().states, 0);
        assert_eq!(tier1.usage().bytes, 0);
    }
}
