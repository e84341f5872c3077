//! What flows say of themselves, in bounded memory; and the words that verdicts are told by, by number.

use dpi::Details;

/// Bytes of strings that are kept, at most.
const BYTES_MAX: usize = 64 << 20;
/// What a place costs besides its strings.
const PLACE_BYTES: usize = 64;

/// Details of flows.
#[derive(Debug)]
pub(super) struct Store {
    places: Vec<Place>,
    free: Vec<u32>,
    bytes: usize,
    bytes_max: usize,
    /// Details that there was no room for.
    pub(super) full: u64,
}

#[derive(Debug)]
enum Place {
    Free,
    /// Of a flow whose details there was no room for.
    Blank,
    Of(Box<Details>),
}

impl Default for Store {
    fn default() -> Store {
        Store::new(BYTES_MAX)
    }
}

fn bytes(details: &Details) -> usize {
    let Details { sni, alpn, ja4 } = details;
    PLACE_BYTES + [sni, alpn, ja4].into_iter().flatten().map(|text| text.len()).sum::<usize>()
}

impl Store {
    /// Room for so many bytes.
    pub(super) fn new(bytes_max: usize) -> Store {
        Store { places: Vec::new(), free: Vec::new(), bytes: 0, bytes_max, full: 0 }
    }

    /// The place of details; `None` if they say nothing. Where there is no room, they have a place without them if that is needed.
    pub(super) fn put(&mut self, details: Details, is_needed: bool) -> Option<u32> {
        if details == Details::default() {
            return None;
        }
        let bytes = bytes(&details);
        let place = if self.bytes + bytes <= self.bytes_max {
            self.bytes += bytes;
            Place::Of(Box::new(details))
        } else {
            self.full += 1;
            if !is_needed {
                return None;
            }
            Place::Blank
        };
        if let Some(at) = self.free.pop() {
            self.places[at as usize] = place;
            return Some(at);
        }
        self.places.push(place);
        Some(self.places.len() as u32 - 1)
    }

    /// What is to be kept for each place, in their order; 0 for one without details.
    pub(super) fn each(&self, mut of: impl FnMut(&Details) -> u32) -> Vec<u32> {
        let of = |place: &Place| match place {
            Place::Of(details) => of(details),
            Place::Free | Place::Blank => 0,
        };
        self.places.iter().map(of).collect()
    }

    pub(super) fn get(&self, place: u32) -> Option<&Details> {
        match self.places.get(place as usize)? {
            Place::Of(details) => Some(details),
            Place::Free | Place::Blank => None,
        }
    }

    /// Frees a place, and says which details it had.
    pub(super) fn take(&mut self, place: u32) -> Option<Box<Details>> {
        let taken = std::mem::replace(self.places.get_mut(place as usize)?, Place::Free);
        if !matches!(taken, Place::Free) {
            self.free.push(place);
        }
        let Place::Of(details) = taken else { return None };
        self.bytes -= bytes(&details);
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
        let mut store = Store::new(1000);
        assert_eq!(store.put(Details::default(), true), None);
        let first = store.put(details(1000 - PLACE_BYTES), true).unwrap();
        assert_eq!((store.put(details(1), false), store.full), (None, 1));
        assert!(store.take(first).is_some() && store.take(first).is_none() && store.take(9).is_none());
        assert_eq!(store.put(details(1), false), Some(first));
        assert_eq!(store.get(first), Some(&details(1)));
    }

    #[test]
    fn a_place_that_is_needed_is_there_without_room() {
        let mut store = Store::new(0);
        let [first, second] = [1, 2].map(|len| store.put(details(len), true).unwrap());
        assert!(first != second && store.get(first).is_none() && store.full == 2);
        assert_eq!((store.take(first), store.take(first), store.each(|_| 7)), (None, None, vec![0, 0]));
        assert_eq!((store.put(details(3), true), store.put(details(3), false)), (Some(first), None));
        assert_eq!(store.put(details(3), true), Some(2), "each place is free once");
    }

    #[test]
    fn words_have_numbers() {
        let mut words = Words::default();
        assert_eq!((words.number(""), words.number("a"), words.number("b"), words.number("a")), (0, 1, 2, 1));
        assert_eq!((words.word(2), words.word(200)), ("b", ""));
    }
}
