//! The decoders alone, draining to nothing: the floor under compressed input. The same crates as the reader uses.

use std::fs::File;
use std::io::Read;

const BUFFER: usize = 256 * 1024;

/// Decodes a gzip or zstd file and throws the result away.
///
/// # Panics
/// Where that fails: the benchmark has made the file itself.
pub(crate) fn drain(path: &str) {
    let file = File::open(path).expect("the benchmark made it");
    let mut decoder: Box<dyn Read> = if path.ends_with(".gz") {
        Box::new(flate2::bufread::MultiGzDecoder::new(std::io::BufReader::with_capacity(BUFFER, file)))
    } else {
        Box::new(zstd::stream::read::Decoder::new(file).expect("the benchmark made it"))
    };
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    loop {
        match decoder.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => total += read,
            Err(error) => panic!("{path}: {error}"),
        }
    }
    assert!(std::hint::black_box(total) > 0, "{path} is empty");
}
