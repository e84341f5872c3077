//! gzip (RFC 1952): any number of members, with zero bytes between and after them, as tapes and blocks of a disk leave them.
//!
//! The readers of `flate2` drop what the call that meets the damage has inflated until there: up to a whole window of
//! good packets. This one hands it out first, and tells the damage with the next call.

use std::io::{self, BufRead, Read};

use flate2::{Decompress, DecompressError, FlushDecompress, Status};

/// The largest history that deflate knows: 32 KiB.
const WINDOW_BITS: u8 = 15;

/// Inflates what a reader gives.
pub(crate) struct Gzip<R> {
    compressed: R,
    member: Decompress,
    /// Whether the next byte is padding or begins a member.
    is_between: bool,
    /// The error after the bytes that were handed out last.
    damage: Option<io::Error>,
}

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(compressed: R) -> Gzip<R> {
        Gzip { compressed, member: Decompress::new_gzip(WINDOW_BITS), is_between: true, damage: None }
    }

    /// Passes over padding; says whether a member follows.
    fn begin_member(&mut self) -> io::Result<bool> {
        while self.is_between {
            let input = self.compressed.fill_buf()?;
            if input.is_empty() {
                return Ok(false);
            }
            let padding = input.iter().take_while(|&&byte| byte == 0).count();
            self.is_between = padding == input.len();
            self.compressed.consume(padding);
        }
        Ok(true)
    }

    /// Inflates into `out` once; returns how many bytes came, which may be none before the end of the stream.
    fn inflate(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let input = self.compressed.fill_buf()?;
        let is_over = input.is_empty();
        let (taken, given) = (self.member.total_in(), self.member.total_out());
        let result = self.member.decompress(input, out, FlushDecompress::None);
        let given = (self.member.total_out() - given) as usize;
        self.compressed.consume((self.member.total_in() - taken) as usize);
        match result {
            Ok(Status::StreamEnd) => {
                self.member.reset(true);
                self.is_between = true;
            }
            Ok(_) if is_over && given == 0 => {
                self.damage = Some(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends early"));
            }
            Ok(_) => {}
            Err(error) => self.damage = Some(damage(&error)),
        }
        Ok(given)
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(damage) = self.damage.take() {
                return Err(damage);
            }
            if out.is_empty() || !self.begin_member()? {
                return Ok(0);
            }
            let given = self.inflate(out)?;
            if given > 0 {
                return Ok(given);
            }
        }
    }
}

fn damage(error: &DecompressError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.message().unwrap_or("damaged").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflated(file: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut out = Vec::new();
        let error = Gzip::new(file).read_to_end(&mut out).err();
        (out, error.map(|error| error.to_string()))
    }

    #[test]
    fn padding_between_and_after_members_is_none_of_the_data() {
        for padding in [0, 1, 511, 300_000] {
            let padded = |bytes: &[u8]| [gzip(bytes), vec![0; padding]].concat();
            let file = [padded(b"one "), padded(b""), padded(b"two")].concat();
            assert_eq!(inflated(&file), (b"one two".to_vec(), None));
        }
        let (out, error) = inflated(&[gzip(b"one"), vec![0, 7]].concat());
        assert_eq!((&out[..], error.as_deref()), (&b"one"[..], Some("it ends early")));
        let (out, error) = inflated(&[&gzip(b"one")[..], b"more"].concat());
        assert_eq!((&out[..], error.as_deref()), (&b"one"[..], Some("incorrect header check")));
    }

    #[test]
    fn what_stands_before_the_damage_comes_first() {
        let bytes: Vec<u8> = (0..9000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let mut file = gzip(&bytes);
        let at_sum = file.len() - 8;
        file[at_sum] ^= 1;
        assert_eq!(inflated(&file), (bytes.clone(), Some("incorrect data check".to_owned())));
        file.truncate(at_sum - 4);
        let (out, error) = inflated(&file);
        assert!(out.len() > bytes.len() / 2 && bytes.starts_with(&out), "{}", out.len());
        assert_eq!(error.as_deref(), Some("it ends early"));
    }
}
