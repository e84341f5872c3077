//! Counts packets: `count FILE…`. The least a program can do with a capture; what it costs is what reading costs.

use std::error::Error;

use capture::{Stream, expand};

fn main() -> Result<(), Box<dyn Error>> {
    let mut stream = Stream::new(expand(std::env::args().skip(1))?.inputs);
    let (mut packets, mut bytes) = (0_u64, 0_u64);
    while let Some(batch) = stream.next_batch()? {
        packets += batch.len() as u64;
        bytes += batch.packets().iter().map(|packet| u64::from(packet.wire_len)).sum::<u64>();
    }
    println!("{packets} packets, {bytes} bytes on the wire");
    Ok(())
}
