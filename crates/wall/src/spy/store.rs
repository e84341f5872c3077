//! What flows say of themselves, in bounded memory; and the words that verdicts are told by, by number.

use dpi::Details;

/// Bytes of strings that are kept, at most.
const BYTES_MAX: usize = 64 << 20;
/// What a place costs besides its strings.
const PLACE_BYTES: usize = 64;

/// Details of flows.
#[derive(Debug, Default)]
pub(super) struct Store {
    places: Vec<Option<Box<Details>>>,
    free: Vec<u32>,
    bytes: usize,
    /// Details that there was no room for.
    pub(super) full: u64,
}

fn bytes(details: &Details) -> usize {
    let Details { sni, alpn, ja4 } = details;
    PLACE_BYTES + [sni, alpn, ja4].into_iter().flatten().map(|text| text.len()).sum::<usize>()
}

impl Store {
    /// The place of details; `None` if they say nothing, or there is no room.
    pub(super) fn put(&mut self, details: Details) -> Option<u32> {
        if details == Details::default() {
            return None;
        }
        let bytes = bytes(&details);
        if self.bytes + bytes > BYTES_MAX {
            self.full += 1;
            return None;
        }
        self.bytes += bytes;
        let details = Some(Box::new(details));
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = details;
            return Some(place);
        }
        self.places.push(details);
        Some(self.places.len() as u32 - 1)
    }

    /// What is to be kept for each place, in their order; 0 for one that is free.
    pub(super) fn each(&self, mut of: impl FnMut(&Details) -> u32) -> Vec<u32> {
        self.places.iter().map(|place| place.as_deref().map_or(0, &mut of)).collect()
    }

    pub(super) fn get(&self, place: u32) -> Option<&Details> {
        self.places.get(place as usize)?.as_deref()
    }

    pub(super) fn take(&mut self, place: u32) -> Option<Box<Details>> {
        let details = self.places.get_mut(place as usize)?.take()?;
        self.bytes -= bytes(&details);
        self.free.push(place);
        Some(details)
    }
}

/// Words of evidence, which are few, by number.
#[derive(Debug)]
pub(super) struct Words(Vec<&'static str>);

impl Default for Words {
    fn default() -> Self {
        Words(vec![""])
    }
}

impl Words {
    pub(super) fn number(&mut self, word: &'static str) -> u8 {
        let known = self.0.iter().position(|known| *known == word);
        let at = known.unwrap_or_else(|| {
            if self.0.len() <= usize::from(u8::MAX) {
                self.0.push(word);
            }
            self.0.len() - 1
        });
        at as u8
    }

    pub(super) fn word(&self, number: u8) -> &'static str {
        self.0.get(usize::from(number)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(len: usize) -> Details {
        Details { sni: Some("x".repeat(len).into()), ..Details::default() }
    }

    #[test]
    fn memory_is_bounded_and_given_back() {
        let mut store = Store::default();
        assert_eq!(store.put(Details::default()), None);
        let first = store.put(details(BYTES_MAX - PLACE_BYTES)).unwrap();
        assert_eq!((store.put(details(1)), store.full), (None, 1));
        assert!(store.take(first).is_some() && store.take(first).is_none() && store.take(9).is_none());
        assert_eq!(store.put(details(1)), Some(first));
        assert_eq!(store.get(first), Some(&details(1)));
    }

    #[test]
    fn words_have_numbers() {
        let mut words = Words::default();
        assert_eq!((words.number(""), words.number("a"), words.number("b"), words.number("a")), (0, 1, 2, 1));
        assert_eq!((words.word(2), words.word(200)), ("b", ""));
    }
}
