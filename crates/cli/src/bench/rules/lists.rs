//! Which rules and headers are measured.

use crate::args::{RulesBenchArgs, RulesShape};
use crate::exit::Failure;
use classify::rules::classbench::LineError;
use classify::rules::{Key, Rule, classbench, generate, points};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Headers that are made where none are given.
const HEADERS: usize = 200_000;
/// Bytes that a file may unpack to.
const FILE_MAX: u64 = 4 << 30;

/// What is measured.
pub(super) struct Bed {
    /// What the list is called.
    pub(super) name: String,
    pub(super) rules: Vec<Rule<u32>>,
    pub(super) headers: Vec<Key<u32>>,
}

impl Bed {
    pub(super) fn new(args: &RulesBenchArgs) -> Result<Bed, Failure> {
        let (name, rules) = match (&args.classbench, args.shape) {
            (Some(path), _) => (path.display().to_string(), read(path, classbench::rules)?),
            (None, Some(RulesShape::Notes)) => {
                (format!("notes, {} addresses", args.n), generate::notes(args.n))
            }
            (None, Some(RulesShape::Sites)) => {
                (format!("sites, {} rules", args.n), generate::rules(args.n, 1))
            }
            (None, None) => {
                return Err(Failure::user(
                    "name a file of rules with `--classbench`, or a list with `--shape`",
                ));
            }
        };
        let headers = match (&args.headers, args.shape) {
            (Some(path), _) => read(path, classbench::headers)?,
            (None, Some(RulesShape::Notes)) => generate::notes_headers(4).take(HEADERS).collect(),
            (None, _) => mixed_headers(&rules),
        };
        if headers.is_empty() {
            return Err(Failure::user("there are no headers to look up"));
        }
        Ok(Bed { name, rules, headers })
    }
}

/// Half random points of random rules, half random headers, in turn.
fn mixed_headers(rules: &[Rule<u32>]) -> Vec<Key<u32>> {
    let mut points = points(rules, 1);
    let random = generate::random_headers(2).take(HEADERS / 2);
    random.flat_map(|random| [points.next().unwrap_or(random), random]).collect()
}

/// A file of rules or of headers, compressed by gzip or not.
fn read<T>(path: &Path, parse: fn(&str) -> Result<Vec<T>, LineError>) -> Result<Vec<T>, Failure> {
    let name = path.display();
    let text = text(path).map_err(|error| {
        Failure::world(format!("cannot read {name}: {error}"))
            .if_missing(path, &error)
            .about_file(&path.to_string_lossy())
    })?;
    parse(&text).map_err(|error| Failure::user(format_args!("{name}: {error}")))
}

fn text(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic)?;
    let is_gzip = magic == [0x1f, 0x8b];
    let whole = std::io::Cursor::new(magic).chain(file);
    let mut text = String::new();
    if is_gzip {
        flate2::read::MultiGzDecoder::new(whole).take(FILE_MAX).read_to_string(&mut text)?;
    } else {
        whole.take(FILE_MAX).read_to_string(&mut text)?;
    }
    Ok(text)
}
