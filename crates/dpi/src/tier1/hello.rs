//! The ClientHello of TLS (RFC 8446 section 4.1.2), as TLS over TCP and QUIC carry it.

use super::reader::Reader;

/// Types of extensions.
pub(super) mod extension {
    pub(in super::super) const SERVER_NAME: u16 = 0;
    pub(in super::super) const SIGNATURE_ALGORITHMS: u16 = 13;
    pub(in super::super) const ALPN: u16 = 16;
    pub(in super::super) const SUPPORTED_VERSIONS: u16 = 43;
}

/// A ClientHello.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientHello<'a> {
    /// The version that stands in front.
    pub(super) version: u16,
    /// Cipher suites, two bytes each.
    pub(super) ciphers: &'a [u8],
    /// The extensions, each with its header, as far as they are there.
    extensions: &'a [u8],
    /// Whether the extensions end where the message does.
    pub(super) is_sound: bool,
}

impl<'a> ClientHello<'a> {
    /// Parses the message behind its header, or what has come of it: up to the extensions it must be well-formed.
    pub(super) fn parse(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let version = reader.u16()?;
        let _random = reader.take(32)?;
        let session = reader.vector8()?;
        let ciphers = reader.vector16()?;
        let compressions = reader.vector8()?;
        let sound = (0x0300..=0x0304).contains(&version)
            && session.len() <= 32
            && !ciphers.is_empty()
            && ciphers.len() % 2 == 0
            && !compressions.is_empty();
        let stated = reader.u16().map_or(0, usize::from);
        let extensions = reader.rest();
        let is_sound = extensions.len() == stated && self::extensions(extensions).is_some();
        sound.then_some(ClientHello { version, ciphers, extensions, is_sound })
    }

    /// Its extensions, type and value, in their order.
    pub(super) fn extensions(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        each(self.extensions)
    }

    /// The value of an extension.
    pub(super) fn extension(&self, kind: u16) -> Option<&'a [u8]> {
        self.extensions().find(|&(other, _)| other == kind).map(|(_, value)| value)
    }

    /// The name of the server (RFC 6066 section 3).
    pub(super) fn server_name(&self) -> Option<&'a [u8]> {
        let mut list = Reader::new(Reader::new(self.extension(extension::SERVER_NAME)?).vector16()?);
        loop {
            let (kind, name) = (list.u8()?, list.vector16()?);
            if kind == 0 {
                return Some(name);
            }
        }
    }

    /// The first of the protocols that it offers inside (RFC 7301 section 3.1).
    pub(super) fn alpn(&self) -> Option<&'a [u8]> {
        Reader::new(Reader::new(self.extension(extension::ALPN)?).vector16()?).vector8()
    }

    /// The versions that it offers (RFC 8446 section 4.2.1).
    pub(super) fn versions(&self) -> Option<impl Iterator<Item = u16> + use<'a>> {
        Some(numbers(Reader::new(self.extension(extension::SUPPORTED_VERSIONS)?).vector8()?))
    }

    /// The signature algorithms that it offers (RFC 8446 section 4.2.3), in their order.
    pub(super) fn signature_algorithms(&self) -> impl Iterator<Item = u16> + use<'a> {
        let value = self.extension(extension::SIGNATURE_ALGORITHMS).unwrap_or_default();
        numbers(Reader::new(value).vector16().unwrap_or_default())
    }
}

/// Extensions, type and value; `None` if they do not end where their list does.
pub(super) fn extensions(list: &[u8]) -> Option<impl Iterator<Item = (u16, &[u8])>> {
    let len: usize = each(list).map(|(_, value)| 4 + value.len()).sum();
    (len == list.len()).then(|| each(list))
}

/// Extensions up to one that is not whole.
fn each<'a>(list: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
    let mut reader = Reader::new(list);
    std::iter::from_fn(move || Some((reader.u16()?, reader.vector16()?)))
}

/// Numbers of two bytes.
pub(super) fn numbers(list: &[u8]) -> impl Iterator<Item = u16> + use<'_> {
    list.as_chunks().0.iter().map(|&pair| u16::from_be_bytes(pair))
}
