//! A list as tables, and what is asked of them.

use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::terminal::{Terminal, print};
use classify::lists::{Item, List};
use classify::set::{AddressMap, AddressSet, Limit, MacSet, PairSet, PortSet, Ranks32, Ranks128, TooLarge};
use serde_json::json;
use std::fmt::Write;
use std::io::Read;
use std::time::{Duration, Instant};

/// Everything that a list holds, ready to be asked.
pub(super) struct Ask {
    addresses: Addresses,
    ports: PortSet,
    macs: MacSet,
    pairs4: PairSet<Ranks32>,
    pairs6: PairSet<Ranks128>,
    /// The version of IP of which there are addresses.
    versions: [bool; 2],
}

enum Addresses {
    Set(AddressSet),
    Map(AddressMap, Vec<String>),
}

impl Ask {
    pub(super) fn of(list: &List) -> Result<Ask, TooLarge> {
        let limit = Limit::default();
        let addresses = if list.is_map() {
            Addresses::Map(list.map(limit)?, list.names.clone())
        } else {
            Addresses::Set(AddressSet::new(list.addresses.clone(), limit)?)
        };
        Ok(Ask {
            addresses,
            ports: PortSet::new(list.ports.iter().copied()),
            macs: MacSet::new(list.macs.iter().map(|&mac| (mac, mac)).collect(), limit)?,
            pairs4: PairSet::new(&list.pairs4, limit)?,
            pairs6: PairSet::new(&list.pairs6, limit)?,
            versions: [!list.addresses.v4.is_empty(), !list.addresses.v6.is_empty()],
        })
    }

    /// The answer for one entry: `no`, `yes` or a value; an error for a range, of which some may be in and some not.
    fn answer(&self, item: Item) -> Result<&str, &'static str> {
        let yes = |is_in| if is_in { "yes" } else { "no" };
        const ONE: &str = "one address is asked for at a time: no prefix and no range";
        Ok(match (item, &self.addresses) {
            (Item::V4(low, high), _) if low != high => return Err(ONE),
            (Item::V6(low, high), _) if low != high => return Err(ONE),
            (Item::V4(address, _), Addresses::Set(set)) => yes(set.v4.contains(address)),
            (Item::V6(address, _), Addresses::Set(set)) => yes(set.v6.contains(address)),
            (Item::V4(address, _), Addresses::Map(map, names)) => {
                map.v4.find(address).map_or("no", |value| &names[value as usize])
            }
            (Item::V6(address, _), Addresses::Map(map, names)) => {
                map.v6.find(address).map_or("no", |value| &names[value as usize])
            }
            (Item::Port(low, high), _) if low == high => yes(self.ports.contains(low)),
            (Item::Mac(mac), _) => yes(self.macs.contains(mac)),
            (Item::Pair4(low, high, first, last), _) if low == high && first == last => {
                yes(self.pairs4.contains(low, first))
            }
            (Item::Pair6(low, high, first, last), _) if low == high && first == last => {
                yes(self.pairs6.contains(low, first))
            }
            _ => return Err(ONE),
        })
    }

    pub(super) fn intervals(&self) -> usize {
        match &self.addresses {
            Addresses::Set(set) => set.v4.spans() + set.v6.spans(),
            Addresses::Map(map, _) => map.v4.pieces() + map.v6.pieces(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let addresses = match &self.addresses {
            Addresses::Set(set) => set.bytes(),
            Addresses::Map(map, _) => map.bytes(),
        };
        addresses + size_of::<[u64; 1024]>() + self.macs.bytes() + self.pairs4.bytes() + self.pairs6.bytes()
    }

    pub(super) fn isa(&self) -> &'static str {
        classify::set::Isa::best().name()
    }

    /// Nanoseconds for a random address of each version of which there are entries: the median of short runs.
    pub(super) fn nanoseconds(&self) -> [Option<f64>; 2] {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            random ^ random >> 32
        };
        let v4: Vec<u32> = (0..4096).map(|_| next() as u32).collect();
        let v6: Vec<u128> =
            (0..4096).map(|_| 1 << 125 | (u128::from(next()) << 64 | u128::from(next())) >> 3).collect();
        let (mut members, mut values) = (vec![false; 4096], vec![0; 4096]);
        let four = match &self.addresses {
            Addresses::Set(set) => median(|| set.v4.contains_each(&v4, &mut members)),
            Addresses::Map(map, _) => median(|| map.v4.find_each(&v4, &mut values)),
        };
        let six = match &self.addresses {
            Addresses::Set(set) => median(|| set.v6.contains_each(&v6, &mut members)),
            Addresses::Map(map, _) => median(|| map.v6.find_each(&v6, &mut values)),
        };
        std::hint::black_box((members, values));
        [self.versions[0].then_some(four), self.versions[1].then_some(six)]
    }
}

/// Nanoseconds of each of 4096 in the median run.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..201)
        .map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[100].as_nanos() as f64 / 4096.0
}

/// What is no address is told up to this often.
const TOLD_MAX: usize = 20;
/// Bytes read at a time.
const READ: usize = 1 << 20;

/// Questions and answers.
pub(super) struct Asked<'a> {
    ask: &'a Ask,
    json: bool,
    terminal: &'a Terminal,
    answers: String,
    has_no: bool,
    wrong: usize,
    /// The last of what is wrong, which ends the command.
    failure: Option<Failure>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(ask: &'a Ask, json: bool, terminal: &'a Terminal) -> Self {
        Asked { ask, json, terminal, answers: String::new(), has_no: false, wrong: 0, failure: None }
    }

    /// Asks for one; `line` is where it stands in standard input.
    pub(super) fn one(&mut self, text: &str, line: Option<usize>) -> Result<(), Failure> {
        let answer = Item::parse(text).and_then(|item| self.ask.answer(item).map_err(Into::into));
        match answer {
            Ok(answer) => {
                self.has_no |= answer == "no";
                let answers = &mut self.answers;
                if self.json {
                    let object = json!({ "v": 1, "type": "set_test", "asked": text, "answer": answer });
                    let _ = writeln!(answers, "{object}");
                } else {
                    // PERF: a million of these are asked for; formatting them took three times as long.
                    answers.push_str(text);
                    answers.push('\t');
                    answers.push_str(answer);
                    answers.push('\n');
                }
            }
            Err(why) => self.refuse(text, line, &why),
        }
        if self.answers.len() > READ { self.flush() } else { Ok(()) }
    }

    fn refuse(&mut self, text: &str, line: Option<usize>, why: &str) {
        self.wrong += 1;
        if self.wrong > TOLD_MAX {
            return;
        }
        let place = line.map_or(String::new(), |line| format!("standard input, line {line}: "));
        let cut: String = text.chars().take(60).collect();
        let failure = Failure::user(format_args!("{place}`{}`: {why}", shown(&cut)));
        if let Some(earlier) = self.failure.replace(failure) {
            self.terminal.tell(&earlier.message);
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        print(&self.answers)?;
        self.answers.clear();
        Ok(())
    }

    /// Asks for each line, and answers as soon as it has come.
    pub(super) fn lines(&mut self, mut input: impl Read) -> Result<(), Failure> {
        let mut text = Vec::new();
        let mut line = 0;
        let mut is_over = false;
        while !is_over {
            let from = text.len();
            text.resize(from + READ, 0);
            let read = match input.read(&mut text[from..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(None),
                read => read.map(Some),
            };
            let read =
                read.map_err(|error| Failure::world(format_args!("cannot read standard input: {error}")))?;
            text.truncate(from + read.unwrap_or(0));
            is_over = read == Some(0);
            let whole = match text.iter().rposition(|&byte| byte == b'\n') {
                _ if is_over => text.len(),
                Some(last) => last + 1,
                None => continue,
            };
            for asked in text[..whole].split(|&byte| byte == b'\n') {
                line += 1;
                match std::str::from_utf8(asked).map(str::trim) {
                    Ok("") => {}
                    Ok(asked) => self.one(asked, Some(line))?,
                    Err(_) => {
                        self.refuse(&String::from_utf8_lossy(asked), Some(line), "this is no text in UTF-8")
                    }
                }
            }
            // What stands behind the last end of a line is none.
            line -= usize::from(text[..whole].ends_with(b"\n"));
            text.drain(..whole);
            self.flush()?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<Outcome, Failure> {
        self.flush()?;
        match self.failure.take() {
            Some(failure) if self.wrong > TOLD_MAX => {
                Err(failure.note(format_args!("{} more are no addresses", self.wrong - TOLD_MAX)))
            }
            Some(failure) => Err(failure),
            None if self.has_no => Ok(Outcome::NothingMatched),
            None => Ok(Outcome::Done),
        }
    }
}
