//! Keys of Initial packets (RFC 9001 sections 5.2 to 5.4, RFC 9369 section 3.3), and the decryption with them.

use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::BlockCipherEncrypt;
use aes_gcm::{AeadInOut, Aes128Gcm, KeyInit};
use hkdf::Hkdf;
use sha2::Sha256;

/// Types of long headers, as version 1 numbers them.
pub(super) const INITIAL: u8 = 0;
pub(super) const EARLY: u8 = 1;
pub(super) const RETRY: u8 = 3;

/// Bytes of an authentication tag.
const TAG: usize = 16;
/// Bytes of a sample for header protection, and how far behind the packet number's begin it is.
const SAMPLE: usize = 16;
const SAMPLE_OFF: usize = 4;

/// How the Initials of a version are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
    /// Drafts 29 to 32, which were in use for long.
    Draft29,
    /// Drafts 23 to 28, and Facebook's that followed draft 27.
    Draft23,
}

impl Version {
    /// The version with this number. One that is only meant to be refused (RFC 9000 section 15) is protected as the client likes: mostly as the version that it will use.
    pub(super) fn of(number: u32) -> Option<&'static [Self]> {
        match number {
            1 | 0xff00_0021..=0xff00_0022 => Some(&[Version::V1]),
            0x6b33_43cf => Some(&[Version::V2]),
            0xff00_001d..=0xff00_0020 => Some(&[Version::Draft29]),
            0xff00_0017..=0xff00_001c | 0xface_b002 => Some(&[Version::Draft23]),
            _ if number & 0x0f0f_0f0f == 0x0a0a_0a0a => Some(&[Version::V1, Version::Draft29]),
            _ => None,
        }
    }

    /// The type of a long header, as version 1 numbers it (RFC 9369 section 3.2).
    pub(super) fn kind(self, bits: u8) -> u8 {
        if self == Version::V2 { bits.wrapping_sub(1) & 3 } else { bits }
    }

    fn salt(self) -> [u8; 20] {
        let words: [u32; 5] = match self {
            Version::V1 => [0x3876_2cf7, 0xf559_34b3, 0x4d17_9ae6, 0xa4c8_0cad, 0xccbb_7f0a],
            Version::V2 => [0x0ded_e3de, 0xf700_a6db, 0x8193_81be, 0x6e26_9dcb, 0xf9bd_2ed9],
            Version::Draft29 => [0xafbf_ec28, 0x9993_d24c, 0x9e97_86f1, 0x9c61_11e0, 0x4390_a899],
            Version::Draft23 => [0xc3ee_f712, 0xc72e_bb5a, 0x11a7_d243, 0x2bb4_6365, 0xbef9_f502],
        };
        let mut salt = [0; 20];
        for (bytes, word) in salt.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_be_bytes();
        }
        salt
    }

    /// Labels of key, vector and header protection.
    fn labels(self) -> [&'static str; 3] {
        match self {
            Version::V2 => ["quicv2 key", "quicv2 iv", "quicv2 hp"],
            _ => ["quic key", "quic iv", "quic hp"],
        }
    }
}

/// What a client's Initials are protected with.
pub(super) struct Keys {
    pub(super) key: [u8; 16],
    pub(super) iv: [u8; 12],
    pub(super) header: [u8; 16],
}

impl Keys {
    pub(super) fn client(version: Version, connection: &[u8]) -> Self {
        let (initial, _) = Hkdf::<Sha256>::extract(Some(&version.salt()), connection);
        let secret: [u8; 32] = expand(&initial, "client in");
        let [key, iv, header] = version.labels();
        Keys { key: expand(&secret, key), iv: expand(&secret, iv), header: expand(&secret, header) }
    }

    /// Decrypts a packet into `plain`; `None` if it is not authentic.
    pub(super) fn open(&self, packet: &[u8], number_off: usize, plain: &mut Vec<u8>) -> Option<()> {
        let sample = packet.get(number_off + SAMPLE_OFF..)?.first_chunk::<SAMPLE>()?;
        let mut mask = (*sample).into();
        Aes128::new(&self.header.into()).encrypt_block(&mut mask);
        plain.clear();
        plain.extend_from_slice(packet);
        plain[0] ^= mask[0] & 0x0f;
        let number_len = usize::from(plain[0] & 3) + 1;
        let mut nonce = self.iv;
        let number = plain.get_mut(number_off..number_off + number_len)?;
        for (at, byte) in number.iter_mut().enumerate() {
            *byte ^= mask[1 + at];
            nonce[12 - number_len + at] ^= *byte;
        }
        let (header, body) = plain.split_at_mut(number_off + number_len);
        let (body, tag) = body.split_at_mut(body.len().checked_sub(TAG)?);
        let tag: [u8; TAG] = (&*tag).try_into().ok()?;
        let len = body.len();
        let cipher = Aes128Gcm::new(&self.key.into());
        cipher.decrypt_inout_detached(&nonce.into(), header, body.into(), &tag.into()).ok()?;
        plain.truncate(number_off + number_len + len);
        plain.drain(..number_off + number_len);
        Some(())
    }
}

/// HKDF-Expand-Label with no context (RFC 8446 section 7.1).
fn expand<const N: usize>(secret: &[u8], label: &str) -> [u8; N] {
    let mut output = [0; N];
    let len = [0, N as u8, 6 + label.len() as u8];
    let info: [&[u8]; 4] = [&len, b"tls13 ", label.as_bytes(), &[0]];
    // Neither can fail: a secret of SHA-256's size is long enough, and no output is longer.
    if let Ok(hkdf) = Hkdf::<Sha256>::from_prk(secret) {
        let _ = hkdf.expand_multi_info(&info, &mut output);
    }
    output
}
