//! Sets that a policy names: addresses, prefixes, ranges and ports, which the compiler takes in, and domains.
//!
//! This is the one place where sets are read and kept. Those of addresses and ports become a part of the program (`in {@NAME}` of the language of
//! filters); those of domains are asked once for each name that a flow gives.

use super::names::{DomainSet, domain};
use super::problem::{Code, Problem};
use super::settings::SetSource;
use classify::lists::{ChangedLists, text_of};
use pflang::Names;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Bytes of a file at most.
const FILE_MAX: u64 = 256 << 20;

/// The texts of the sets of a policy, one member a line.
#[derive(Debug, Default)]
pub(super) struct Sets {
    pub(super) texts: BTreeMap<String, String>,
    /// Those that have changed since, as they were read.
    as_read: BTreeMap<String, String>,
}

impl Sets {
    /// Reads the sets. Files are named from the folder of the policy; if it runs, they are as they were when it was read.
    pub(super) fn read(
        sources: &BTreeMap<String, (Range<usize>, SetSource)>,
        folder: &Path,
        lists: &ChangedLists,
        running: Option<&Sets>,
    ) -> Result<Sets, Vec<Problem>> {
        let (mut sets, mut problems) = (Sets::default(), Vec::new());
        for (name, (span, source)) in sources {
            match source {
                SetSource::Members(members) => {
                    sets.texts.insert(name.clone(), members.join("\n"));
                }
                SetSource::File(path) => match running
                    .and_then(|running| running.as_read(name))
                    .map_or_else(|| text(&folder.join(path)), |text| Ok(text.to_owned()))
                {
                    Ok(text) => {
                        sets.texts.insert(name.clone(), text);
                    }
                    Err(why) => {
                        let message = format!(
                            "the file of the set `{}` cannot be read: {why}",
                            wire::in_one_line(name)
                        );
                        let problem = Problem::new(Code::SetFile, span.clone(), message);
                        problems.push(problem.help("files of sets are named from the folder of the policy"));
                    }
                },
            }
        }
        for (name, text) in &mut sets.texts {
            match lists.applied(name, text) {
                Ok(Some(changed)) => {
                    sets.as_read.insert(name.clone(), std::mem::replace(text, changed));
                }
                Ok(None) => {}
                Err(why) => {
                    let message = format!("the set `{}` cannot be changed: {why}", wire::in_one_line(name));
                    problems.push(Problem::new(Code::SetFile, sources[name].0.clone(), message));
                }
            }
        }
        if problems.is_empty() { Ok(sets) } else { Err(problems) }
    }

    /// A set as it was read.
    fn as_read(&self, name: &str) -> Option<&str> {
        self.as_read.get(name).or_else(|| self.texts.get(name)).map(String::as_str)
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.texts.values().chain(self.as_read.values()).map(String::len).sum()
    }

    /// The members of a set as domains.
    pub(super) fn domains(&self, name: &str, span: &Range<usize>) -> Result<DomainSet, Problem> {
        let mut domains = DomainSet::default();
        let text = self.texts.get(name).map_or("", String::as_str);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            match domain(line.strip_prefix("*.").unwrap_or(line)) {
                Some(domain) => domains.add(domain),
                None => {
                    let message = format!(
                        "line {number} of the set `{}` is no domain: `{}`",
                        wire::in_one_line(name),
                        wire::in_one_line(line)
                    );
                    return Err(Problem::new(Code::SetFile, span.clone(), message)
                        .label("a rule with `sni` names it"));
                }
            }
        }
        Ok(domains)
    }
}

/// The text of a file, or of a database.
fn text(path: &Path) -> Result<String, String> {
    let bytes = text_of(&path.to_string_lossy(), |path| read(Path::new(path)))?;
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!("it has more than {FILE_MAX} bytes"));
    }
    Ok(bytes)
}

impl Names for Sets {
    fn set_file(&self, path: &str) -> Result<String, String> {
        self.texts.get(path).cloned().ok_or_else(|| format!("there is no set `{path}`"))
    }
}
