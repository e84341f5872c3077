//! Where apps send more packets than their links take at once, nobody loses any within a worker: receivers have their turns, and the sender goes
//! on in the same breath. Only where a receiver leaves its packets, and the sender has other outputs, a link drops.

use engine::{Engine, Report, Settings};
use graphfile::GraphFile;
use std::time::Duration;

/// What came of a graph that has run until all was at rest.
fn run(text: &str) -> Report {
    let file = GraphFile::parse(text, &apps::registry()).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&file.graph).unwrap_or_else(|error| panic!("{text}: {error}"));
    engine.run_for(Duration::from_secs(120)).unwrap();
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    report
}

/// Every packet that `sources` made has come to the end, and no other was dropped.
#[track_caller]
fn all_arrive(text: &str, packets: u64) {
    let report = run(text);
    let came: u64 =
        report.links.iter().filter(|link| link.link.to.app == "sink").map(|link| link.rxpackets).sum();
    assert_eq!((came, &report.drops), (packets, &Default::default()), "{text}");
}

fn fragmented(size: usize, mtu: usize, family: &str) -> String {
    let ends = match family {
        "v4" => "",
        _ => "src = '2001:db8::1'\ndst = '2001:db8::2'\n",
    };
    format!(
        "links = ['synth.output -> cut.input', 'cut.output -> join.input', 'join.output -> sink.input']\n\
         [app.synth]\ntype = 'synth'\nsizes = [{size}]\ncount = 2000\ndont_fragment = false\n{ends}\
         [app.cut]\ntype = 'fragmenter'\nmtu = {mtu}\n\
         [app.join]\ntype = 'reassembler'\nmax_fragments = 1500\n[app.sink]\ntype = 'sink'\n"
    )
}

#[test]
fn fragments_of_large_packets_arrive() {
    for family in ["v4", "v6"] {
        all_arrive(&fragmented(65_000, 1500, family), 2000);
    }
}

/// One packet has more fragments than a link takes.
#[test]
fn a_packet_of_a_thousand_fragments_arrives() {
    all_arrive(&fragmented(65_535, 68, "v4").replace("2000", "20"), 20);
}

#[test]
fn a_tunnel_over_a_small_mtu_loses_nothing() {
    let end = |local, remote| {
        format!(
            "type = 'vxlan'\nlocal_address = '{local}'\nremote_address = '{remote}'\nvni = 7\ndont_fragment = false\n"
        )
    };
    let (a, b) = (end("192.0.2.1", "192.0.2.2"), end("192.0.2.2", "192.0.2.1"));
    all_arrive(
        &format!(
            "links = ['synth.output -> a.decapsulated', 'a.encapsulated -> cut.input', 'cut.output -> whole.input',\n\
             'whole.output -> b.encapsulated', 'b.decapsulated -> sink.input']\n\
             [app.synth]\ntype = 'synth'\nsizes = [60, 9000, 1500, 40_000]\ncount = 4000\n\
             [app.a]\n{a}[app.b]\n{b}[app.cut]\ntype = 'fragmenter'\nmtu = 1400\n\
             [app.whole]\ntype = 'reassembler'\n[app.sink]\ntype = 'sink'\n"
        ),
        4000,
    );
}

#[test]
fn many_sources_join() {
    let names: Vec<String> = (0..17).map(|number| format!("s{number}")).collect();
    let links: Vec<String> = names.iter().map(|name| format!("'{name}.output -> join.{name}'")).collect();
    let sources: String =
        names.iter().map(|name| format!("[app.{name}]\ntype = 'source'\ncount = 10_000\n")).collect();
    let text = format!(
        "links = ['join.output -> tee.input', 'tee.a -> sink.a', 'tee.b -> sink.b', {}]\n\
         [app.join]\ntype = 'join'\n[app.tee]\ntype = 'tee'\n[app.sink]\ntype = 'sink'\n{sources}",
        links.join(", ")
    );
    all_arrive(&text, 340_000);
}

/// A limiter holds packets back: the filter before it, which has no other output, waits, and so does the source.
#[test]
fn who_has_one_output_waits() {
    all_arrive(
        "links = ['source.output -> cut.input', 'cut.output -> limit.input', 'limit.output -> sink.input']\n\
         [app.source]\ntype = 'source'\ncount = 4000\n[app.cut]\ntype = 'truncate'\nlength = 20\n\
         [app.limit]\ntype = 'rate_limiter'\nhold = true\npackets_per_s = 20_000\n[app.sink]\ntype = 'sink'\n",
        4000,
    );
}

/// The same behind a `tee`: its other output goes on, and what the limiter leaves is dropped and counted.
#[test]
fn who_has_others_goes_on_with_them() {
    let report = run(
        "links = ['source.output -> tee.input', 'tee.slow -> limit.input', 'limit.output -> sink.slow', 'tee.fast -> sink.fast']\n\
         [app.source]\ntype = 'source'\ncount = 100_000\n[app.tee]\ntype = 'tee'\n\
         [app.limit]\ntype = 'rate_limiter'\nhold = true\npackets_per_s = 10_000\n[app.sink]\ntype = 'sink'\n",
    );
    let link = |from: &str| report.links.iter().find(|link| link.link.from.to_string() == from).unwrap();
    let (fast, slow) = (link("tee.fast"), link("tee.slow"));
    assert_eq!((fast.rxpackets, fast.txdrop), (100_000, 0));
    assert!(slow.txdrop > 0, "{slow:?}");
    assert_eq!(slow.txpackets + slow.txdrop, 100_000);
}

#[test]
fn a_full_link_is_passed_over() {
    let report = run(
        "links = ['source.output -> split.input', 'split.a -> limit.input', 'limit.output -> sink.a', 'split.b -> sink.b']\n\
         [app.source]\ntype = 'source'\ncount = 100_000\n[app.split]\ntype = 'split'\n\
         [app.limit]\ntype = 'rate_limiter'\nhold = true\npackets_per_s = 20_000\n[app.sink]\ntype = 'sink'\n",
    );
    assert_eq!((report.delivered, &report.drops), (100_000, &Default::default()));
    assert!(
        report.links.iter().any(|link| link.link.from.to_string() == "split.b" && link.txpackets > 60_000)
    );
}
