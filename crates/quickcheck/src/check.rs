//! The run: subject by subject, every engine against the reference, until time, pairs or agreement end.

use crate::answer::Answer;
use crate::c;
use crate::engines::{Engines, REFERENCE};
use crate::linktype::LinkType;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::smaller;
use crate::subject::Subject;
use pflang::{Compiler, Names, NoNames};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Of so many subjects one is compiled by `cc` as well: the first of a run, so that one seed is enough to repeat it.
const C_SAMPLE: u64 = 8;
/// Functions in C that are compiled together.
const C_FUNCTIONS: usize = 64;
/// How long a failing pair is made smaller.
const SHRINK_FOR: Duration = Duration::from_secs(15);

/// What is run.
///
/// ```
/// let mut settings = quickcheck::Settings::new(1);
/// settings.pairs = Some(100_000);
/// assert_eq!(settings.seed, 1);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The same seed gives the same filters, programs and packets, whichever engines there are.
    pub seed: u64,
    /// For how long.
    pub time: Option<Duration>,
    /// Until so many pairs have been answered, over all engines.
    pub pairs: Option<u64>,
    /// The link type; without it half are of Ethernet, the others of all that there are.
    pub linktype: Option<LinkType>,
    /// Other engines: a name, and a command for `sh`.
    pub commands: Vec<(String, String)>,
    /// What names of hosts, services and so on stand for.
    pub names: Arc<dyn Names + Send + Sync>,
    /// Whether filters are also compiled by `cc`, if there is one.
    pub with_c: bool,
}

impl Settings {
    /// One subject, all engines of this machine.
    pub fn new(seed: u64) -> Settings {
        Settings {
            seed,
            time: None,
            pairs: None,
            linktype: None,
            commands: Vec::new(),
            names: Arc::new(NoNames),
            with_c: true,
        }
    }

    fn compiler(&self, linktype: LinkType) -> Compiler {
        Compiler::new(linktype).names(Arc::clone(&self.names))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// What one engine did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its name.
    pub engine: String,
    /// Pairs that it answered.
    pub answered: u64,
    /// Pairs that are outside of what it knows.
    pub outside: u64,
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Filters and programs that were compared.
    pub filters: u64,
    /// Programs among them, made apart.
    pub programs: u64,
    /// Texts that are no filter, which were drawn from the grammar.
    pub refused: u64,
    /// The engines; the first is the reference.
    pub tallies: Vec<Tally>,
    /// The first disagreement, made small.
    pub failure: Option<Failure>,
}

impl Report {
    /// Pairs that were answered, over all engines.
    pub fn pairs(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.answered).sum()
    }
}

/// A disagreement.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed whose first subject it is.
    pub seed: u64,
    /// The engine that does not agree with the reference.
    pub engine: String,
    /// The filter or program as it was drawn.
    pub drawn: String,
    /// The smallest filter or program.
    pub subject: Subject,
    /// The smallest packet.
    pub packet: Packet,
    /// What each engine says of these, where it knows them.
    pub answers: Vec<(String, Answer)>,
}

/// Compares until the time is over, so many pairs have been answered, or engines disagree; at least one subject.
///
/// # Errors
/// Where the system does not run the C compiler or what it made.
pub fn check(settings: &Settings) -> io::Result<Report> {
    let mut run = Run::new(settings);
    let begin = Instant::now();
    for number in 0.. {
        run.subject(settings.seed.wrapping_add(number), number % C_SAMPLE == 0);
        if run.for_c.len() >= C_FUNCTIONS {
            run.compile_c()?;
        }
        let is_over = settings.time.is_some_and(|time| begin.elapsed() >= time);
        let is_enough = settings.pairs.is_some_and(|pairs| run.report.pairs() >= pairs);
        let is_one = settings.time.is_none() && settings.pairs.is_none();
        if run.report.failure.is_some() || is_over || is_enough || is_one {
            break;
        }
    }
    run.compile_c()?;
    Ok(run.report)
}

/// A subject that waits for the C compiler.
struct ForC {
    seed: u64,
    subject: Subject,
    packets: Vec<Packet>,
    expected: Vec<Option<Answer>>,
}

struct Run<'s> {
    settings: &'s Settings,
    engines: Engines,
    report: Report,
    for_c: Vec<ForC>,
}

impl<'s> Run<'s> {
    fn new(settings: &'s Settings) -> Self {
        let engines = Engines::present(&settings.commands, settings.with_c);
        let tallies = engines.names().map(|name| Tally { engine: name.to_owned(), ..Tally::default() });
        let report = Report { tallies: tallies.collect(), ..Report::default() };
        Run { settings, engines, report, for_c: Vec::new() }
    }

    /// Compares the engines on one subject.
    fn subject(&mut self, seed: u64, with_c: bool) {
        let mut rng = Rng::new(seed);
        let subject = Subject::random(&mut rng, self.settings.linktype);
        let compiler = self.settings.compiler(subject.linktype);
        let Some(reference) = self.engines.ready(REFERENCE, &subject, &compiler) else {
            self.report.refused += 1;
            return;
        };
        *(if subject.is_program() { &mut self.report.programs } else { &mut self.report.filters }) += 1;
        let packets = subject.packets(&compiler, &mut rng);
        let expected = reference(&packets);
        self.report.tallies[REFERENCE].answered += packets.len() as u64;
        let mut wrong = None;
        for number in REFERENCE + 1..self.report.tallies.len() {
            if Some(number) == self.engines.c() {
                continue;
            }
            let ready = self.engines.ready(number, &subject, &compiler);
            let answers = ready.map_or_else(|| vec![None; packets.len()], |run| run(&packets));
            let at = count(&mut self.report.tallies[number], &expected, &answers);
            if let Some(at) = at {
                wrong = Some((number, at));
                break;
            }
        }
        drop(reference);
        match wrong {
            Some((engine, at)) => self.fail(seed, engine, &subject, &packets[at]),
            None if with_c && self.engines.c().is_some() => {
                self.for_c.push(ForC { seed, subject, packets, expected });
            }
            None => {}
        }
    }

    /// Compares those that wait for the C compiler.
    fn compile_c(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.for_c);
        let Some(engine) = self.engines.c() else { return Ok(()) };
        let mut functions = Vec::new();
        let mut compiled = Vec::new();
        for it in &waiting {
            let compiler = self.settings.compiler(it.subject.linktype);
            match c::function(&compiler, &it.subject, functions.len()) {
                Some(function) => {
                    functions.push((function, &it.packets[..]));
                    compiled.push(it);
                }
                None => self.report.tallies[engine].outside += it.packets.len() as u64,
            }
        }
        if functions.is_empty() {
            return Ok(());
        }
        for (it, answers) in compiled.into_iter().zip(c::answers(&functions)?) {
            let answers: Vec<_> = answers.into_iter().map(Some).collect();
            if let Some(at) = count(&mut self.report.tallies[engine], &it.expected, &answers) {
                self.fail(it.seed, engine, &it.subject, &it.packets[at]);
                break;
            }
        }
        Ok(())
    }

    /// What an engine says of one pair.
    fn answer(&self, engine: usize, subject: &Subject, packet: &Packet) -> Option<Answer> {
        let compiler = self.settings.compiler(subject.linktype);
        let packets = std::slice::from_ref(packet);
        if Some(engine) != self.engines.c() {
            return self.engines.ready(engine, subject, &compiler)?(packets).pop()?;
        }
        let function = c::function(&compiler, subject, 0)?;
        match c::answers(&[(function, packets)]) {
            Ok(mut answers) => answers.pop()?.pop(),
            Err(error) => Some(Answer::Fails(error.to_string().into())),
        }
    }

    /// Makes the pair small on which an engine and the reference disagree.
    fn fail(&mut self, seed: u64, engine: usize, subject: &Subject, packet: &Packet) {
        if self.report.failure.is_some() {
            return;
        }
        let begin = Instant::now();
        let disagree = |text: &str, packet: &Packet| {
            let subject = subject.with(text);
            let disagree = || {
                let expected = self.answer(REFERENCE, &subject, packet)?;
                Some(self.answer(engine, &subject, packet)? != expected)
            };
            begin.elapsed() < SHRINK_FOR && disagree() == Some(true)
        };
        let (text, packet) = smaller::pair(&subject.text, packet, disagree);
        let small = subject.with(&text);
        let names: Vec<String> = self.engines.names().map(str::to_owned).collect();
        let answers = names.iter().enumerate();
        let answers = answers
            .filter_map(|(number, name)| Some((name.clone(), self.answer(number, &small, &packet)?)))
            .collect();
        self.report.failure = Some(Failure {
            seed,
            engine: names[engine].clone(),
            drawn: subject.text.clone(),
            subject: small,
            packet,
            answers,
        });
    }
}

/// Counts answers, up to the first that is not the expected one.
fn count(tally: &mut Tally, expected: &[Option<Answer>], answers: &[Option<Answer>]) -> Option<usize> {
    for (at, (expected, answer)) in expected.iter().zip(answers).enumerate() {
        match answer {
            None => tally.outside += 1,
            Some(_) => tally.answered += 1,
        }
        if answer.is_some() && answer != expected {
            return Some(at);
        }
    }
    None
}
