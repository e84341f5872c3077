//! Options that name a kind of VLAN tag.

use serde::{Deserialize, Deserializer, de};
use wire::ether::ethertype;

/// Which kind of tag: the EtherType it is announced by.
///
/// A graph writes `"dot1q"` or `0x8100`, `"dot1ad"` or `0x88a8`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tpid {
    /// IEEE 802.1Q: 0x8100.
    #[default]
    Dot1q,
    /// IEEE 802.1ad, the outer of two tags: 0x88a8.
    Dot1ad,
}

impl Tpid {
    /// The EtherType.
    pub fn ethertype(self) -> u16 {
        match self {
            Tpid::Dot1q => ethertype::VLAN,
            Tpid::Dot1ad => ethertype::QINQ,
        }
    }
}

impl<'de> Deserialize<'de> for Tpid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Tpid;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("0x8100, 0x88a8, \"dot1q\" or \"dot1ad\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Tpid, E> {
                match u16::try_from(number) {
                    Ok(ethertype::VLAN) => Ok(Tpid::Dot1q),
                    Ok(ethertype::QINQ) => Ok(Tpid::Dot1ad),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                }
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Tpid, E> {
                match name {
                    "dot1q" => Ok(Tpid::Dot1q),
                    "dot1ad" => Ok(Tpid::Dot1ad),
                    _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Tpid;
    use crate::testing::read;
    use crate::{VlanMux, VlanTag};

    #[test]
    fn numbers_and_names() {
        for (text, tpid) in [
            ("0x8100", Tpid::Dot1q),
            ("0x88a8", Tpid::Dot1ad),
            ("'dot1q'", Tpid::Dot1q),
            ("'dot1ad'", Tpid::Dot1ad),
        ] {
            let options: VlanMux = read(&format!("tpid = {text}")).unwrap();
            assert_eq!(options.tpid, tpid);
        }
        let options: VlanTag = read("tag = 7\nencapsulation = 'dot1ad'").unwrap();
        assert_eq!(options.tpid, Tpid::Dot1ad);
    }

    #[test]
    fn other_tags_are_refused() {
        for text in ["0x9100", "-1", "65536", "'isl'", "1.5"] {
            let error = read::<VlanMux>(&format!("tpid = {text}")).unwrap_err().to_string();
            assert!(error.contains("expected 0x8100, 0x88a8, \"dot1q\" or \"dot1ad\""), "{text}: {error}");
        }
    }
}
