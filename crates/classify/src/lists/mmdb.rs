//! Databases of MaxMind's format, which tell the country of an address or the autonomous system that announces it: GeoLite2-Country, GeoLite2-ASN,
//! those of DB-IP and IPinfo.
//!
//! A database is a map from addresses to country codes (`SE`) or systems (`AS3320`). Of a city, its country is the value.

use super::{Format, Item, List, joined};
use maxminddb::{PathElement, Reader, WithinOptions};
use std::net::IpAddr;
use table::interval::prefix;

/// What stands in front of the description at the end of each database.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
/// So far from the end it is looked for, by the format.
const MARKER_WITHIN: usize = 128 << 10;

/// Where countries and systems are in a record, the first that is there.
const PLACES: [&[&str]; 6] = [
    &["country", "iso_code"],
    &["registered_country", "iso_code"],
    &["autonomous_system_number"],
    &["country_code"],
    COUNTRY,
    &["asn"],
];

/// A country's code, its name, or more that is told of it.
const COUNTRY: &[&str] = &["country"];

/// Whether a file is a database.
#[must_use]
pub fn is_database(bytes: &[u8]) -> bool {
    let end = &bytes[bytes.len().saturating_sub(MARKER_WITHIN)..];
    end.windows(MARKER.len()).any(|window| window == MARKER)
}

/// The text of a set by its name: of a file as it is; of a database, and of one with a value behind it (`GeoLite2-Country.mmdb:SE`), as a list.
///
/// # Errors
/// Those of `read`, which reads a file, and of [`read_database`].
pub fn text_of(name: &str, read: impl FnOnce(&str) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    let (file, value) = split(name).map_or((name, None), |(file, value)| (file, Some(value)));
    let bytes = read(file)?;
    if value.is_none() && !is_database(&bytes) {
        return Ok(bytes);
    }
    let list = read_database(&bytes, value).map_err(|why| format!("`{file}`: {why}"))?;
    Ok(joined([list]).into_bytes())
}

/// The file that the name of a set names: a database's without the value.
#[must_use]
pub fn file_of(name: &str) -> &str {
    split(name).map_or(name, |(file, _)| file)
}

/// The file and the value that the name of a set names.
fn split(name: &str) -> Option<(&str, &str)> {
    let at = name.to_ascii_lowercase().rfind(".mmdb:")? + ".mmdb".len();
    Some((&name[..at], &name[at + 1..]))
}

/// A database as a list: a map from its addresses to their values, or the set of those that have one value.
///
/// # Errors
/// Why it cannot be read, or that no address has this value.
pub fn read_database(bytes: &[u8], value: Option<&str>) -> Result<List, String> {
    let reader = Reader::from_source(bytes).map_err(|error| format!("a damaged database: {error}"))?;
    reader.verify().map_err(|error| format!("a damaged database: {error}"))?;
    let mut list = List::new(Format::Mmdb);
    list.name = Some(reader.metadata().database_type.clone());
    let networks = reader.networks(WithinOptions::default()).map_err(|error| error.to_string())?;
    for found in networks {
        let found = found.map_err(|error| error.to_string())?;
        let network = found.network().map_err(|error| error.to_string())?;
        let Some(has) = value_of(&found) else { continue };
        let item = match network.network() {
            IpAddr::V4(address) => {
                let (low, high) = prefix(address.to_bits(), network.prefix());
                Item::V4(low, high)
            }
            IpAddr::V6(address) => {
                let (low, high) = prefix(address.to_bits(), network.prefix());
                Item::V6(low, high)
            }
        };
        match value {
            None => list.push_value(item, &has),
            Some(value) if is_same(value, &has) => list.push(item),
            Some(_) => {}
        }
    }
    let kind = list.name.clone().unwrap_or_default();
    let kind = kind.escape_debug();
    match value {
        _ if list.entries > 0 => Ok(list),
        Some(value) => Err(format!(
            "no address has the value `{}` in this database of type {kind}",
            value.escape_debug(),
        )),
        None => Err(format!("no address has a country or a system in this database of type {kind}")),
    }
}

/// Whether a value is the one that is asked for: countries in either case, systems with or without `AS`.
fn is_same(asked: &str, has: &str) -> bool {
    asked.eq_ignore_ascii_case(has) || has.strip_prefix("AS").is_some_and(|number| number == asked)
}

/// The value of a record. The database is sound: an error says that what is there is of another kind.
fn value_of(found: &maxminddb::LookupResult<'_, &[u8]>) -> Option<String> {
    PLACES.iter().find_map(|place| {
        let path: Vec<PathElement<'_>> = place.iter().map(|key| PathElement::Key(key)).collect();
        if *place == ["autonomous_system_number"] {
            let number = found.decode_path::<u32>(&path).ok().flatten()?;
            return Some(format!("AS{number}"));
        }
        let text = found.decode_path::<String>(&path).ok().flatten()?;
        let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        (is_code || *place != COUNTRY).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small database of IPv4 prefixes in the format's own words: a binary tree of records of 24 bits, the data, and the description.
    struct Database {
        /// Nodes: for each bit a node, nothing (`None`), or an offset in the data.
        nodes: Vec<[Record; 2]>,
        data: Vec<u8>,
    }

    #[derive(Clone, Copy)]
    enum Record {
        None,
        Node(usize),
        Data(usize),
    }

    fn text(text: &str) -> Vec<u8> {
        assert!(text.len() < 29);
        [&[0x40 | text.len() as u8], text.as_bytes()].concat()
    }

    fn number(value: u32) -> Vec<u8> {
        [&[0xc4][..], &value.to_be_bytes()].concat()
    }

    fn short(value: u16) -> Vec<u8> {
        [&[0xa2][..], &value.to_be_bytes()].concat()
    }

    fn long(value: u64) -> Vec<u8> {
        [&[8, 2][..], &value.to_be_bytes()].concat()
    }

    fn map(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![0xe0 | pairs.len() as u8];
        pairs.iter().for_each(|(key, value)| {
            bytes.extend(text(key));
            bytes.extend(value);
        });
        bytes
    }

    impl Database {
        fn new() -> Self {
            Database { nodes: vec![[Record::None; 2]], data: Vec::new() }
        }

        fn add(mut self, address: [u8; 4], len: u8, record: &[u8]) -> Self {
            let address = u32::from_be_bytes(address);
            let at = self.data.len();
            self.data.extend(record);
            let mut node = 0;
            for bit in 0..len {
                let side = (address >> (31 - bit) & 1) as usize;
                if bit + 1 == len {
                    self.nodes[node][side] = Record::Data(at);
                } else if let Record::Node(next) = self.nodes[node][side] {
                    node = next;
                } else {
                    self.nodes.push([Record::None; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[node][side] = Record::Node(next);
                    node = next;
                }
            }
            self
        }

        fn bytes(&self, kind: &str) -> Vec<u8> {
            let count = self.nodes.len();
            let mut bytes = Vec::new();
            for record in self.nodes.iter().flatten() {
                let value = match *record {
                    Record::None => count,
                    Record::Node(node) => node,
                    Record::Data(offset) => count + 16 + offset,
                };
                bytes.extend(&(value as u32).to_be_bytes()[1..]);
            }
            bytes.extend([0; 16]);
            bytes.extend(&self.data);
            bytes.extend(MARKER);
            bytes.extend(map(&[
                ("binary_format_major_version", short(2)),
                ("binary_format_minor_version", short(0)),
                ("build_epoch", long(1_700_000_000)),
                ("database_type", text(kind)),
                ("description", map(&[("en", text("made for a test"))])),
                ("ip_version", short(4)),
                ("languages", vec![0, 4]),
                ("node_count", number(count as u32)),
                ("record_size", short(24)),
            ]));
            bytes
        }
    }

    fn country(code: &str) -> Vec<u8> {
        map(&[("country", map(&[("iso_code", text(code))]))])
    }

    fn countries() -> Vec<u8> {
        let database = Database::new()
            .add([192, 0, 2, 0], 24, &country("SE"))
            .add([198, 51, 100, 0], 24, &country("NO"))
            .add([203, 0, 113, 128], 25, &country("SE"));
        database.bytes("Test-Country")
    }

    #[test]
    fn a_database_is_a_map_and_a_set_for_each_value() {
        let bytes = countries();
        assert!(is_database(&bytes) && !is_database(b"10.0.0.0/8\n"));
        let map = read_database(&bytes, None).unwrap();
        assert_eq!((map.entries, &map.names[..]), (3, &["SE".to_owned(), "NO".to_owned()][..]));
        let sweden = read_database(&bytes, Some("se")).unwrap();
        assert_eq!(super::super::joined([sweden]), "192.0.2.0/24\n203.0.113.128/25\n");
        let error = read_database(&bytes, Some("DK")).unwrap_err();
        assert_eq!(error, "no address has the value `DK` in this database of type Test-Country");
    }

    #[test]
    fn countries_are_found_as_publishers_write_them() {
        let short = map(&[("country", text("SE")), ("country_name", text("Sweden"))]);
        let named =
            map(&[("asn", text("AS64500")), ("country", text("Sweden")), ("country_code", text("SE"))]);
        let more = map(&[("country", map(&[("name", text("Sweden"))])), ("country_code", text("SE"))]);
        for record in [&short, &named, &more] {
            let bytes = Database::new().add([192, 0, 2, 0], 24, record).bytes("Test");
            assert_eq!(read_database(&bytes, None).unwrap().names, ["SE"]);
            assert_eq!(read_database(&bytes, Some("SE")).unwrap().entries, 1);
        }
        let system = map(&[("asn", text("AS64500")), ("country", text("Sweden"))]);
        let bytes = Database::new().add([192, 0, 2, 0], 24, &system).bytes("Test");
        assert_eq!(read_database(&bytes, None).unwrap().names, ["AS64500"]);
        let other = map(&[("country", text("Sweden"))]);
        let bytes = Database::new().add([192, 0, 2, 0], 24, &other).bytes("Test");
        let error = read_database(&bytes, None).unwrap_err();
        assert_eq!(error, "no address has a country or a system in this database of type Test");
    }

    #[test]
    fn systems_are_found_with_and_without_their_letters() {
        let record = map(&[("autonomous_system_number", number(64_500))]);
        let bytes = Database::new().add([192, 0, 2, 0], 24, &record).bytes("Test-ASN");
        for name in ["AS64500", "64500", "as64500"] {
            assert_eq!(read_database(&bytes, Some(name)).unwrap().entries, 1, "{name}");
        }
    }

    #[test]
    fn damaged_databases_are_told() {
        let bytes = countries();
        for cut in 0..bytes.len() {
            let _ = read_database(&bytes[..cut], None);
            let mut damaged = bytes.clone();
            for value in [0, 0x7f, 0xff] {
                damaged[cut] = value;
                let _ = read_database(&damaged, None);
            }
        }
        assert!(read_database(&bytes[..40], None).unwrap_err().starts_with("a damaged database: "));
    }

    #[test]
    fn names_are_split_behind_the_ending() {
        assert_eq!(split("/db/GeoLite2-Country.mmdb:SE"), Some(("/db/GeoLite2-Country.mmdb", "SE")));
        assert_eq!(split("GeoLite2-ASN.MMDB:AS3320"), Some(("GeoLite2-ASN.MMDB", "AS3320")));
        assert_eq!((split("list.txt"), split("x.mmdb"), split("a:b.txt")), (None, None, None));
    }
}
