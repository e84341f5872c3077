//! What a field says, and how that is written.

use std::fmt::{self, Write};
use std::net::IpAddr;

use crate::chars::Chars;
use crate::dns::{Labels, Part};
use crate::mac::Mac;

/// The value of a field. `Display` writes it as tshark does; what would end a line or a column is escaped as in C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'p> {
    /// A number.
    Number(u64),
    /// A number that is written in hexadecimal.
    Hex {
        /// It.
        value: u32,
        /// Digits that are written at least.
        digits: u8,
    },
    /// Yes or no: 1 or 0.
    Flag(bool),
    /// A hardware address.
    Mac(Mac),
    /// An address of IPv4 or IPv6.
    Ip(IpAddr),
    /// A text as it stands in the packet.
    Text(Text<'p>),
    /// A name of DNS.
    Name(Name<'p>),
}

/// A text as it stands in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'p>(pub &'p [u8]);

/// A name in a message of DNS, in its dotted form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'p> {
    pub(super) message: &'p [u8],
    pub(super) at: usize,
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Hex { value, digits } => write!(f, "0x{value:0width$x}", width = usize::from(*digits)),
            Value::Flag(flag) => f.write_char(if *flag { '1' } else { '0' }),
            Value::Mac(mac) => mac.fmt(f),
            Value::Ip(IpAddr::V4(ip)) => f.write_str(Chars::<15>::ipv4(*ip).as_str()),
            Value::Ip(ip) => ip.fmt(f),
            Value::Text(text) => text.fmt(f),
            Value::Name(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    '\t' => f.write_str("\\t")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    character if character.is_control() => {
                        write!(f, "\\x{:02x}", u32::from(character))?;
                    }
                    character => f.write_char(character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for part in Labels::new(self.message, self.at) {
            let Part::Label(label) = part else { break };
            if !std::mem::take(&mut is_first) {
                f.write_char('.')?;
            }
            Text(label).fmt(f)?;
        }
        if is_first { f.write_str("<Root>") } else { Ok(()) }
    }
}
