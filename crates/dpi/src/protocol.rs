//! Names of protocols.
//!
//! One table holds every name that nDPI 4.2 knows, what later versions added, and what SnabbWall called them. Numbers of nDPI change from release
//! to release and stand nowhere here: a name is resolved once, at the start, by [`Protocol::named`], in any spelling that one of the versions uses.
//!
//! ```
//! use dpi::protocol::{Naming, Protocol};
//! let imap = Protocol::named("mail_imap").unwrap();
//! assert_eq!(imap, Protocol::IMAP);
//! assert_eq!((imap.name(Naming::Ndpi), imap.name(Naming::Snabbwall)), ("IMAP", "MAIL_IMAP"));
//! assert_eq!((imap.category(), imap.tier()), ("Email", 1));
//! assert_eq!(Protocol::nearest("HTPP").unwrap().name(Naming::Ndpi), "HTTP");
//! ```

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock};

mod table;

use table::ROWS;

/// Names that [`Protocol::intern`] takes beyond the table, at most.
pub const INTERNED_MAX: usize = 1024;
/// Bytes of such a name, at most.
const NAME_MAX: usize = 64;

/// A protocol, by its number in the table of names. Numbers are of this process only.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Protocol(u16);

/// Whose names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Naming {
    /// nDPI's, as its version 4.2 spells them.
    #[default]
    Ndpi,
    /// SnabbWall's: the constants of nDPI 1.8.
    Snabbwall,
}

struct Row {
    name: &'static str,
    snabb: &'static str,
    category: &'static str,
    tier: u8,
    aliases: &'static [&'static str],
}

/// Every spelling of the table, in lower case.
static NAMES: LazyLock<HashMap<String, Protocol>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    // What a row is called itself goes before what others call it.
    let spellings: [fn(&Row) -> Vec<&'static str>; 3] =
        [|row| vec![row.name], |row| vec![row.snabb], |row| row.aliases.to_vec()];
    for spelling in spellings {
        for (protocol, row) in (0..).map(Protocol).zip(ROWS) {
            for name in spelling(row) {
                names.entry(name.to_ascii_lowercase()).or_insert(protocol);
            }
        }
    }
    names
});

/// Names beyond the table, in the order of their numbers.
static INTERNED: RwLock<Vec<&'static str>> = RwLock::new(Vec::new());

impl Protocol {
    /// Its number, by which tables and metadata of packets name it. The same only within this process.
    #[inline]
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }

    /// The protocol of a number that [`Protocol::number`] gave; unknown for any other.
    #[must_use]
    pub fn from_number(number: u16) -> Protocol {
        let interned = || INTERNED.read().unwrap_or_else(PoisonError::into_inner).len();
        let is_known = usize::from(number) < ROWS.len() || usize::from(number) < ROWS.len() + interned();
        if is_known { Protocol(number) } else { Protocol::UNKNOWN }
    }

    /// The protocol with this name, or one of its aliases, in upper or lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<Protocol> {
        if name.len() > NAME_MAX {
            return None;
        }
        NAMES.get(&name.to_ascii_lowercase()).copied().or_else(|| {
            let interned = INTERNED.read().unwrap_or_else(PoisonError::into_inner);
            place(&interned, name)
        })
    }

    /// The protocol with this name; one that the table lacks is added to it until the process ends. `None` for a name that is empty, longer than 64 bytes or not
    /// printable ASCII, and when [`INTERNED_MAX`] names were added.
    pub fn intern(name: &str) -> Option<Protocol> {
        if let Some(known) = Self::named(name) {
            return Some(known);
        }
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut interned = INTERNED.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = place(&interned, name) {
            return Some(known);
        }
        if interned.len() == INTERNED_MAX {
            return None;
        }
        interned.push(Box::leak(name.into()));
        u16::try_from(ROWS.len() + interned.len() - 1).ok().map(Protocol)
    }

    /// The protocol whose name is most like this one, where any is: for `did you mean`.
    #[must_use]
    pub fn nearest(name: &str) -> Option<Protocol> {
        let name: String = name.chars().take(NAME_MAX).collect::<String>().to_ascii_lowercase();
        let limit = (name.chars().count() / 3).max(1);
        let near = NAMES.iter().map(|(known, protocol)| (strsim::levenshtein(&name, known), *protocol));
        near.filter(|(distance, _)| *distance <= limit).min().map(|(_, protocol)| protocol)
    }

    /// What it is called.
    #[must_use]
    pub fn name(self, naming: Naming) -> &'static str {
        match (self.row(), naming) {
            (Some(row), Naming::Ndpi) => row.name,
            (Some(row), Naming::Snabbwall) => row.snabb,
            (None, _) => {
                let interned = INTERNED.read().unwrap_or_else(PoisonError::into_inner);
                interned.get(usize::from(self.0) - ROWS.len()).copied().unwrap_or(ROWS[0].name)
            }
        }
    }

    /// Its other names, SnabbWall's first; what differs in upper and lower case only is not told.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        let row = self.row();
        let snabb = row.filter(|row| !row.snabb.eq_ignore_ascii_case(row.name)).map(|row| row.snabb);
        snabb.into_iter().chain(row.map_or(&[][..], |row| row.aliases).iter().copied())
    }

    /// Its category, by the name that nDPI has for it: `Web`, `VoIP`. `Unspecified` for what is beyond the table.
    #[must_use]
    pub fn category(self) -> &'static str {
        self.row().map_or(ROWS[0].category, |row| row.category)
    }

    /// Every category of the table, in order of the alphabet.
    #[must_use]
    pub fn categories() -> Vec<&'static str> {
        let mut categories: Vec<_> = ROWS.iter().map(|row| row.category).collect();
        categories.sort_unstable();
        categories.dedup();
        categories
    }

    /// Who identifies it: 1, tier 1 (and nDPI as well); 2, nDPI alone.
    #[must_use]
    pub fn tier(self) -> u8 {
        self.row().map_or(2, |row| row.tier)
    }

    /// Every protocol of the table, then what [`Protocol::intern`] added.
    pub fn all() -> impl Iterator<Item = Protocol> {
        let interned = INTERNED.read().unwrap_or_else(PoisonError::into_inner).len();
        (0..(ROWS.len() + interned) as u16).map(Protocol)
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self == Self::UNKNOWN
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.get(usize::from(self.0))
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name(Naming::Ndpi))
    }
}

fn place(interned: &[&'static str], name: &str) -> Option<Protocol> {
    let at = interned.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    u16::try_from(ROWS.len() + at).ok().map(Protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_one_protocol() {
        let mut seen = HashMap::new();
        for protocol in Protocol::all().take(ROWS.len()) {
            let own = [protocol.name(Naming::Ndpi), protocol.name(Naming::Snabbwall)];
            for name in own.into_iter().chain(protocol.aliases()) {
                let owner = seen.insert(name.to_ascii_lowercase(), protocol);
                assert!(
                    owner.is_none_or(|owner| owner == protocol),
                    "{name} is of {owner:?} and {protocol:?}"
                );
                assert_eq!(Protocol::named(name), Some(protocol));
            }
        }
    }

    #[test]
    fn names_of_versions_lead_to_one_protocol() {
        for (names, protocol) in [
            (&["SKYPE", "Skype_Teams", "skypeteams"][..], Protocol::SKYPE_TEAMS),
            (&["POSTGRES", "PostgreSQL"], Protocol::POSTGRESQL),
            (&["MPEGTS", "MPEG_TS", "MPEG-TS"], Protocol::MPEG_TS),
            (&["SSL", "TLS"], Protocol::TLS),
            (&["MAIL_SMTP", "SMTP"], Protocol::SMTP),
            (&["DCERPC", "DCE_RPC", "RPC"], Protocol::DCE_RPC),
        ] {
            names.iter().for_each(|name| assert_eq!(Protocol::named(name), Some(protocol), "{name}"));
        }
        assert_eq!(Protocol::named("nothing of the kind"), None);
        assert_eq!(Protocol::default(), Protocol::UNKNOWN);
    }

    #[test]
    fn a_name_of_a_later_version_is_added_once() {
        let later = Protocol::intern("A_Protocol-of.2031").expect("it is added");
        assert_eq!(Protocol::intern("a_protocol-OF.2031"), Some(later));
        assert_eq!(later.name(Naming::Snabbwall), "A_Protocol-of.2031");
        assert_eq!((later.category(), later.tier()), ("Unspecified", 2));
        assert!(Protocol::all().any(|protocol| protocol == later));
        assert_eq!(Protocol::intern("line\nbreak"), None);
        assert_eq!(Protocol::intern(&"x".repeat(65)), None);
    }
}
