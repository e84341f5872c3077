//! The bytes of a packet below its line, as tcpdump prints them for -x, -X and -A.

use capture::PacketRef;
use std::fmt::Write;

/// Bytes that a line of hexadecimal digits has.
const LINE: usize = 16;

/// Which bytes are printed below a line, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dump {
    form: Option<Form>,
    /// Whether those of the link header are among them.
    has_link_header: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Hex,
    HexAndText,
    Text,
}

impl Dump {
    /// As flags ask for it, by how often each is given: of several, the one that shows more.
    pub(super) fn of([hex, hex_and_text, text]: [u8; 3]) -> Dump {
        let (form, times) = match (hex, hex_and_text, text) {
            (_, 1.., _) => (Some(Form::HexAndText), hex_and_text),
            (1.., ..) => (Some(Form::Hex), hex),
            (.., 1..) => (Some(Form::Text), text),
            _ => (None, 0),
        };
        Dump { form, has_link_header: times > 1 }
    }

    /// Appends the bytes of a packet, as lines.
    pub(super) fn put(self, packet: &PacketRef<'_>, out: &mut Vec<u8>) {
        let Some(form) = self.form else { return };
        let skipped =
            if self.has_link_header { 0 } else { wire::link::header_len(packet.linktype, packet.data) };
        let bytes = packet.data.get(skipped..).unwrap_or_default();
        if bytes.is_empty() {
            return;
        }
        match form {
            Form::Text => {
                put_text(bytes, out);
                out.push(b'\n');
            }
            Form::Hex | Form::HexAndText => {
                for (number, line) in bytes.chunks(LINE).enumerate() {
                    put_hex(number * LINE, line, form == Form::HexAndText, out);
                }
            }
        }
    }
}

fn put_hex(offset: usize, bytes: &[u8], with_text: bool, out: &mut Vec<u8>) {
    let mut digits = String::with_capacity(48);
    // Writing to a String cannot fail.
    let _ = write!(digits, "\t0x{offset:04x}: ");
    let begin = digits.len();
    for pair in bytes.chunks(2) {
        digits.push(' ');
        for byte in pair {
            let _ = write!(digits, "{byte:02x}");
        }
    }
    out.extend_from_slice(digits.as_bytes());
    if with_text {
        const WIDTH: usize = LINE / 2 * 5;
        out.resize(out.len() + WIDTH - (digits.len() - begin) + 2, b' ');
        out.extend(bytes.iter().map(|&byte| if byte.is_ascii_graphic() { byte } else { b'.' }));
    }
    out.push(b'\n');
}

/// Lines of text stay lines: a carriage return before the end of one is left out.
fn put_text(bytes: &[u8], out: &mut Vec<u8>) {
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' if bytes.get(i + 1) == Some(&b'\n') => {}
            b' ' | b'\t' | b'\n' => out.push(byte),
            _ if byte.is_ascii_graphic() => out.push(byte),
            _ => out.push(b'.'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_that_shows_more_is_taken() {
        let of = |flags| Dump::of(flags);
        assert_eq!(of([0, 0, 0]), Dump::default());
        assert_eq!(of([1, 2, 1]), Dump { form: Some(Form::HexAndText), has_link_header: true });
        assert_eq!(of([1, 0, 3]), Dump { form: Some(Form::Hex), has_link_header: false });
    }

    #[test]
    fn an_odd_byte_stands_alone() {
        let mut out = Vec::new();
        put_hex(16, b"GET", true, &mut out);
        let expected = format!("\t0x0010:  4745 54{}GET\n", " ".repeat(34));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
