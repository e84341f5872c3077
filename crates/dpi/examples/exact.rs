//! Lists the flows of captures as ndpiReader counts them: `exact FILE…`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    dpi::worker::enter();
    for path in std::env::args().skip(1) {
        let mut reader = capture::Reader::open(&path)?;
        let mut exact = dpi::exact::Exact::start(dpi::exact::Options::default())?;
        while let Some(packet) = reader.next_packet()? {
            exact.frame(packet.linktype, packet.timestamp_ns, packet.data)?;
        }
        let summary = exact.finish();
        for flow in &summary.flows {
            println!("{flow:?}");
        }
        println!("{:?}", summary.worker);
    }
    Ok(())
}
