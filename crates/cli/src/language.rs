//! From command line to compiler: where the filter's text comes from, and what it depends on.

use crate::args::{At, DialectName, LanguageArgs, TextArgs};
use crate::blame::Blame;
use crate::decider::Decider;
use crate::exit::{Failure, kept};
use crate::json::value_of;
use crate::message::Message;
use crate::terminal::Terminal;
use crate::words::{quoted, shell_word};
use apps::SystemNames;
use bpf::{Format, Program};
use pflang::{Backend, Code, Compiler, Diagnostic, Dialect, NoExec, Unknown};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::LinkType;

/// So much of a filter file is read: a device has no end, and the compiler refuses more than 64 MiB.
const FILTER_FILE_MAX: u64 = 64 << 20;

/// The text of a filter, and where it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilterText {
    text: String,
    /// The file that holds it, if one does.
    file: Option<PathBuf>,
    /// Whether that is the file of a pfmatch program.
    is_match: bool,
    /// The program of BPF that it is the listing of.
    program: Option<Arc<Program>>,
}

impl From<String> for FilterText {
    fn from(text: String) -> Self {
        FilterText { text, ..FilterText::default() }
    }
}

impl Deref for FilterText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl FilterText {
    /// A program of BPF, and the file that it was read from.
    pub(crate) fn of_program(program: Program, file: PathBuf) -> FilterText {
        let text = String::from_utf8_lossy(&program.write(Format::Listing)).into_owned();
        FilterText { text, file: Some(file), is_match: false, program: Some(Arc::new(program)) }
    }

    /// The program, if it is one.
    pub(crate) fn program(&self) -> Option<&Arc<Program>> {
        self.program.as_ref()
    }

    /// On one line.
    pub(crate) fn shown(&self) -> String {
        if self.program.is_some() { self.as_word() } else { one_line(&self.text) }
    }

    /// As one word of a command line.
    pub(crate) fn as_word(&self) -> String {
        match &self.file {
            Some(file) if self.program.is_some() => format!("--bytecode {}", shell_word(file.as_os_str())),
            Some(file) => shell_word([OsStr::new("@"), file.as_os_str()].join(OsStr::new(""))),
            None => quoted(&self.text),
        }
    }

    /// The place of what is found in it, where that is not the command line.
    fn place(&self, found: &Diagnostic) -> Option<impl Display> {
        let before = self.text.get(..found.span.start as usize).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let what = if self.is_match { "program" } else { "filter" };
        self.file.as_ref().map(|file| format!("this is line {line} of the {what} file {}", file.display()))
    }

    /// What is told of a finding, with its place.
    fn tell(&self, message: Message, found: &Diagnostic) -> Message {
        match self.place(found) {
            Some(place) => message.with_note(&place.to_string()),
            None => message,
        }
    }
}

/// Whether this is a filter on an Ethernet. Nobody is asked for names, who might take long to answer.
pub(crate) fn is_filter(text: &str, language: &LanguageArgs) -> bool {
    let language = LanguageArgs { resolve: false, ..language.clone() };
    compiler(LinkType::EN10MB, &language, At::Interp).compile(text).is_ok()
}

/// Whether a filter may begin with this text, or go on with it.
pub(crate) fn begins_filter(text: &str, language: &LanguageArgs) -> bool {
    let language = LanguageArgs { resolve: false, ..language.clone() };
    let compiled = compiler(LinkType::EN10MB, &language, At::Interp).compile(text);
    compiled.map_or_else(|error| error.code() == Code::Unexpected, |_| true)
}

/// A compiler for one link type, as the flags have it.
pub(crate) fn compiler(linktype: LinkType, language: &LanguageArgs, at: At) -> Compiler {
    let has = |name| language.dialect.contains(&name) || language.dialect.contains(&DialectName::Modern);
    let mut dialect = Dialect::default();
    dialect.strict = language.strict;
    dialect.ipv6 = has(DialectName::Ipv6);
    dialect.scoped = has(DialectName::Scoped);
    dialect.protochain = has(DialectName::Protochain);
    dialect.tagged = language.dialect.contains(&DialectName::Tagged);
    let mut compiler = Compiler::new(linktype)
        .dialect(dialect)
        .names(Arc::new(SystemNames::new(language.resolve)))
        .backend(match at {
            At::Interp => Backend::Interpreter,
            At::Auto | At::Native => Backend::Auto,
        });
    if let Some(mask) = language.netmask {
        compiler = compiler.netmask(mask);
    }
    compiler
}

/// The filter of a command that takes nothing else.
pub(crate) fn given(args: &TextArgs) -> Result<FilterText, Failure> {
    if let Some(path) = &args.program.bytecode {
        return program_from(path);
    }
    let path = args.filter_file.as_deref();
    path.map_or_else(|| text(&args.words, args.is_program), |path| text_in(path, args.is_program))
}

/// Several words are one filter; `@FILE` holds it.
pub(crate) fn filter_text(words: &[OsString]) -> Result<FilterText, Failure> {
    text(words, false)
}

/// The same, of a pfmatch program if it is one.
pub(crate) fn text(words: &[OsString], is_match: bool) -> Result<FilterText, Failure> {
    if let [word] = words
        && let Some(path) = word.as_bytes().strip_prefix(b"@")
    {
        return text_in(Path::new(OsStr::from_bytes(path)), is_match);
    }
    let not_text =
        |word: &OsStr| Failure::user(format!("the filter is not UTF-8 text: `{}`", word.display()));
    let words: Result<Vec<&str>, Failure> =
        words.iter().map(|word| word.to_str().ok_or_else(|| not_text(word))).collect();
    Ok(words?.join(" ").into())
}

/// The text in a file: of a filter without the comments in it, or of a pfmatch program, which has comments of its own.
pub(crate) fn text_in(path: &Path, is_match: bool) -> Result<FilterText, Failure> {
    let what = if is_match { "program" } else { "filter" };
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILTER_FILE_MAX + 1).read_to_end(&mut bytes));
    let name = path.display();
    read.map_err(|error| {
        Failure::world(format!("cannot read the {what} file {name}: {error}")).if_missing(path, &error)
    })?;
    if !is_match {
        blank_comments(&mut bytes);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::user(format!("the {what} file {name} is not UTF-8 text: byte {at}")).help(format_args!(
            "behind `-F` or `@` stands the name of a file that holds a {what}; a capture stands behind that"
        ))
    })?;
    Ok(FilterText { text, file: Some(path.to_owned()), is_match, program: None })
}

/// So much of a program of BPF is read: as many instructions as are taken have less, in any format.
const PROGRAM_MAX: u64 = 64 << 20;

/// A program of BPF, from a file or from standard input.
pub(crate) fn program_from(path: &Path) -> Result<FilterText, Failure> {
    let mut bytes = Vec::new();
    let name = path.display();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().lock().take(PROGRAM_MAX).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(PROGRAM_MAX).read_to_end(&mut bytes)),
    };
    read.map_err(|error| {
        Failure::world(format!("cannot read the program {name}: {error}")).if_missing(path, &error)
    })?;
    let program = bpf::read(&bytes).map_err(|error| {
        let failure = Failure::user(format_args!("the program {name}: {error}"));
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    })?;
    Ok(FilterText::of_program(program, path.to_owned()))
}

/// Puts blanks in the place of comments, from `#` to the end of the line, as tcpdump does: what is told of the rest has its place.
fn blank_comments(text: &mut [u8]) {
    for line in text.split_mut(|&byte| byte == b'\n') {
        if let Some(start) = line.iter().position(|&byte| byte == b'#') {
            line[start..].fill(b' ');
        }
    }
}

/// Takes a filter for running, telling lints and a fall-back to the interpreter.
pub(crate) fn accept(
    compiler: &Compiler,
    decider: Decider,
    source: &FilterText,
    at: At,
    quiet: bool,
    terminal: &Terminal,
) -> Result<Decider, Failure> {
    if !quiet {
        // What it compiles to, it has lints of.
        let lints = match decider {
            Decider::Filter(_) => compiler.lints(source),
            Decider::Bytecode(_) | Decider::InKernel(_) => Ok(Vec::new()),
            Decider::Program(_) => compiler.lints_of_match(source),
        };
        tell_lints(&lints.unwrap_or_default(), source, terminal);
    }
    tell_fallback(decider.fallback_reason(), at, quiet, terminal)?;
    Ok(decider)
}

/// Tells that the interpreter runs a filter, or refuses that.
pub(crate) fn tell_fallback(
    reason: Option<&NoExec>,
    at: At,
    quiet: bool,
    terminal: &Terminal,
) -> Result<(), Failure> {
    match (reason, at) {
        (Some(reason), At::Native) => Err(Failure::world(format!(
            "no machine code: {reason}; without `--at native` the interpreter runs"
        ))),
        (Some(reason), At::Auto) if !quiet => {
            terminal.tell(&Message::note(format_args!("the interpreter runs this filter: {reason}")));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What may surprise in a filter.
pub(crate) fn tell_lints(lints: &[Diagnostic], source: &FilterText, terminal: &Terminal) {
    for lint in lints {
        let text = lint.render(source, terminal.colour_stderr.into());
        let message = Message::found(text, about(source, "warning", &lint.to_json()));
        terminal.tell(&source.tell(message, lint));
    }
}

/// A filter that does not compile. Where a flag would help, it is named: the compiler knows no command line.
pub(crate) fn wrong_filter(
    compiler: &Compiler,
    error: &pflang::Error,
    source: &FilterText,
    language: &LanguageArgs,
    terminal: &Terminal,
) -> Failure {
    let mut error = compiler.help(error);
    if let Some(flag) = flag_for(&error.diagnostic, language) {
        let help = error.diagnostic.help.take();
        error.diagnostic.help = Some(help.map_or_else(|| flag.to_owned(), |help| format!("{help}; {flag}")));
    }
    let blame = blame(error.code());
    if blame == Blame::Internal {
        // The text may have come from a file or a graph, and the error cuts what it shows of it.
        let kept = kept(&format!("{error}\nlanguage: {language:?}\nfilter: {}", error.source));
        let help = error.diagnostic.help.take();
        error.diagnostic.help = Some(help.map_or_else(|| kept.clone(), |help| format!("{help}; {kept}")));
    }
    let object = about(&error.source, "error", &error.diagnostic.to_json());
    let message = Message::found(error.render(terminal.colour_stderr.into()), object);
    Failure { message: source.tell(message, &error.diagnostic), blame }
}

/// Whose fault it is that a filter does not compile.
fn blame(code: Code) -> Blame {
    match code {
        Code::SetFile => Blame::World,
        Code::Internal => Blame::Internal,
        _ => Blame::User,
    }
}

/// The flag that makes a filter compile, in words that follow the compiler's own.
fn flag_for(found: &Diagnostic, language: &LanguageArgs) -> Option<&'static str> {
    match found.code {
        Code::Netmask => Some("the flag is `--netmask 255.255.255.0`"),
        Code::Strict => Some("for that, leave `--strict` out"),
        // Networks, services and protocols have no resolver, and what was meant otherwise is no name.
        Code::UnknownName if found.unknown == Some(Unknown::Host) && !language.resolve => {
            Some("with `--resolve`, the system's resolver is asked")
        }
        _ => None,
    }
}

/// An error or a warning, and the filter it is about.
fn about(filter: &str, kind: &str, finding: &str) -> Value {
    let mut object = json!({ "v": 1, "type": kind, "filter": filter });
    object[kind] = value_of(finding);
    object
}

/// A filter's text on one line. Nothing else in a filter that compiles moves the cursor of a terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    /// No filter is known that breaks an invariant of the compiler: one that is refused stands for it.
    #[test]
    fn an_invariant_of_the_compiler_that_breaks_is_kept_for_a_report() {
        let cli = Cli::try_parse_from(["sluss", "compile", "tcp"]).expect("it parses");
        let crate::args::Command::Compile(args) = &cli.command else { panic!("another command") };
        let (language, terminal) = (&args.text.language, Terminal::new(cli.color, false));
        let compiler = Compiler::new(LinkType::EN10MB);
        let mut error = compiler.compile("tcp prot 80").expect_err("no filter");
        error.diagnostic.code = Code::Internal;
        error.diagnostic.help = Some("please report this filter".into());
        let failure = wrong_filter(&compiler, &error, &"tcp prot 80".to_owned().into(), language, &terminal);
        assert_eq!(failure.blame, Blame::Internal);
        let text = failure.message.to_string();
        let told = "help: please report this filter; what is needed to reproduce it is in ";
        let path = text.split_once(told).map(|(_, path)| path.trim()).expect("where it is");
        let report = std::fs::read_to_string(path).expect("a report");
        std::fs::remove_file(path).expect("it is there");
        assert!(report.contains("PF015") && report.contains("filter: tcp prot 80"), "{report}");
        assert!(report.contains("strict: false"), "the language: {report}");
    }
}
