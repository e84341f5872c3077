//! Keeps every n-th packet: `thin N OUT FILE…`. Shows the whole path from words to a written file.

use std::error::Error;

use capture::{Stream, Writer, expand};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(every), Some(out)) = (words.next(), words.next()) else {
        return Err("usage: thin N OUT FILE…".into());
    };
    let every: usize = every.parse()?;
    let mut stream = Stream::new(expand(words)?.inputs);
    let mut writer = Writer::create(out)?;
    let mut seen = 0;
    loop {
        match stream.next_batch() {
            Ok(Some(batch)) => {
                writer.write(&batch, (0..batch.len()).filter(|i| (seen + i) % every == 0))?;
                seen += batch.len();
            }
            Ok(None) => break,
            // The rest of a damaged file is lost; the files behind it are not.
            Err(error) => eprintln!("{error}"),
        }
    }
    writer.finish()?;
    println!("{seen} packets read");
    Ok(())
}
