//! `sluss trace`: why one packet does or does not match.

mod clauses;
mod object;
mod program;
mod text;

use crate::args::{At, TraceArgs};
use crate::bytecode;
use crate::exit::{Failure, Outcome};
use crate::language::{self, FilterText};
use crate::plural::counted;
use crate::terminal::{Terminal, print_with};
use crate::words::{self, Known, Words, file_word};
use capture::Reader;
use object::Object;
use pflang::{TracedLoad, TracedPrimitive};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use wire::LinkType;
use wire::link::Direction;

/// The packet that is traced.
struct Wanted {
    file: PathBuf,
    data: Vec<u8>,
    wire_len: u32,
    direction: Option<Direction>,
    linktype: LinkType,
}

/// Runs the command.
pub(crate) fn run(args: &TraceArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let is_filter = |text: &str| language::is_filter(text, &args.language);
    let begins_filter = |text: &str| language::begins_filter(text, &args.language);
    let known = Known { exists: &words::exists, is_filter: &is_filter, begins_filter: &begins_filter };
    let (source, file) = request(args, known)?;
    let packet = packet(args, file)?;
    if let Some(program) = bytecode::of(&source, &args.program, packet.linktype, &args.language)? {
        return program::run(args, &source, &program, &packet);
    }
    let compiler = language::compiler(packet.linktype, &args.language, At::Interp);
    if args.is_program {
        return clauses::run(args, &source, compiler, &packet, terminal);
    }
    let wrong =
        |error: pflang::Error| language::wrong_filter(&compiler, &error, &source, &args.language, terminal);
    compiler.compile(&source).map_err(wrong)?;
    language::tell_lints(&compiler.lints(&source).map_err(wrong)?, &source, terminal);
    let trace = compiler.trace(&source, &packet.data, packet.wire_len).map_err(wrong)?;
    print_with(|out| match args.json {
        true => {
            serde_json::to_writer(&mut *out, &Object::new(args.number, &source, &packet, &trace))?;
            writeln!(out)
        }
        false => text::write(out, args.number, &source, &packet, &trace),
    })?;
    Ok(if trace.matches || args.no_fail { Outcome::Done } else { Outcome::NothingMatched })
}

/// The filter's text, and the capture.
fn request(args: &TraceArgs, known: Known<'_>) -> Result<(FilterText, PathBuf), Failure> {
    let (source, files) = filter_and_files(args, known)?;
    let command = if args.is_program { "sluss trace --match" } else { "sluss trace" };
    let files: Vec<PathBuf> = args.read.iter().cloned().chain(files.iter().map(PathBuf::from)).collect();
    match files.as_slice() {
        [file] => Ok((source, file.clone())),
        [] => {
            let is_first_word = args.filter_file.is_none() && args.program.bytecode.is_none();
            if is_first_word && args.rest.is_empty() {
                words::missing_capture("sluss trace", &args.words, known)?;
            }
            let example = words::command_with(command, &source.as_word(), &["trace.pcap".to_owned()]);
            Err(Failure::user("no capture given").help(example))
        }
        [first, ..] => {
            let example = words::command_with(command, &source.as_word(), &[file_word(first)]);
            Err(Failure::user("a packet is traced in one capture at a time").help(example))
        }
    }
}

fn filter_and_files<'a>(
    args: &'a TraceArgs,
    known: Known<'_>,
) -> Result<(FilterText, &'a [OsString]), Failure> {
    let words = args.words.as_slice();
    if let Some(path) = &args.program.bytecode {
        return Ok((language::program_from(path)?, words));
    }
    match (words, &args.filter_file) {
        (_, Some(_)) if !args.rest.is_empty() => Err(words::two_filters("-F", &args.rest)),
        (_, Some(path)) => Ok((language::text_in(path, args.is_program)?, words)),
        _ if !args.rest.is_empty() => Ok((language::text(&args.rest, args.is_program)?, words)),
        ([only], _) if args.read.is_none() && (known.exists)(only) => Err(no_filter(only)),
        ([], _) => Err(no_filter(args.read.as_deref().unwrap_or("FILE".as_ref()).as_os_str())),
        ([first, files @ ..], _) => {
            if !args.is_program {
                command_line(args).check(known)?;
            }
            Ok((language::text(std::slice::from_ref(first), args.is_program)?, files))
        }
    }
}

fn no_filter(file: &OsStr) -> Failure {
    Failure::user("no filter given").help(format_args!("sluss trace 'tcp port 80' {}", file_word(file)))
}

fn command_line(args: &TraceArgs) -> Words<'_> {
    let mut flags = Vec::new();
    if args.number != 1 {
        flags.push(format!("-n {}", args.number));
    }
    flags.extend(words::switches(&[(args.json, "--json"), (args.no_fail, "--no-fail")]));
    flags.extend(words::language_flags(&args.language));
    Words { command: "sluss trace", words: &args.words, read: args.read.as_slice(), flags }
}

fn packet(args: &TraceArgs, file: PathBuf) -> Result<Wanted, Failure> {
    let reader = if file.as_os_str() == "-" { Reader::stdin() } else { Reader::open(&file) };
    let mut reader = reader.map_err(|error| Failure::capture(&error))?;
    let mut count = 0;
    while let Some(packet) = reader.next_packet().map_err(|error| Failure::capture(&error))? {
        count += 1;
        if count == args.number {
            let (data, wire_len, linktype) = (packet.data.to_vec(), packet.wire_len, packet.linktype);
            let direction = packet.direction;
            return Ok(Wanted {
                file,
                data,
                wire_len,
                direction,
                linktype: reader.format().as_read_here(linktype),
            });
        }
    }
    Err(Failure::user(format!(
        "{} has {}; there is no number {}",
        file.display(),
        counted(count, "packet"),
        args.number
    )))
}

fn verdict(primitive: &TracedPrimitive) -> &'static str {
    match primitive.holds {
        _ if !primitive.is_asked => "not asked",
        Some(true) => "yes",
        Some(false) => "no",
        None => "rejected",
    }
}

fn bytes_of(load: TracedLoad, data: &[u8]) -> &[u8] {
    let start = usize::try_from(load.offset).unwrap_or(usize::MAX);
    data.get(start..start.saturating_add(load.size as usize)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn told(line: &[&str]) -> Result<(String, PathBuf), String> {
        let cli = Cli::parse_from(["sluss", "trace"].iter().chain(line));
        let Command::Trace(args) = cli.command else { panic!("not a trace command") };
        let exists = |word: &OsStr| word == "-" || word.to_string_lossy().ends_with(".pcap");
        let is_filter = |text: &str| ["tcp", "tcp port 80"].contains(&text);
        request(&args, Known { exists: &exists, is_filter: &is_filter, begins_filter: &|_| false })
            .map(|(filter, file)| (filter.to_string(), file))
            .map_err(|failure| failure.message.to_string())
    }

    #[test]
    fn one_filter_and_one_capture() {
        let expected = Ok(("tcp port 80".to_owned(), PathBuf::from("a.pcap")));
        for line in [
            &["tcp port 80", "a.pcap", "-n", "5"][..],
            &["-r", "a.pcap", "tcp port 80"],
            &["tcp port 80", "-r", "a.pcap"],
            &["a.pcap", "--", "tcp", "port", "80"],
            &["-r", "a.pcap", "--", "tcp", "port", "80"],
        ] {
            assert_eq!(told(line), expected, "{line:?}");
        }
        assert_eq!(told(&["tcp", "-"]), Ok(("tcp".to_owned(), PathBuf::from("-"))));
    }

    #[test]
    fn mistakes_show_the_command_that_was_meant() {
        for (line, expected) in [
            (
                &["tcp", "port", "80", "a.pcap", "-n", "5"][..],
                "error: `port` is not a capture: a filter of several words is one quoted argument\nhelp: sluss trace 'tcp port 80' a.pcap -n 5",
            ),
            (
                &["a.pcap", "tcp", "--json", "--no-fail"],
                "error: `tcp` is not a capture: the filter stands before the captures\nhelp: sluss trace 'tcp' a.pcap --json --no-fail",
            ),
            (
                &["-r", "a.pcap", "host", "it's", "--dialect", "modern"],
                "error: `it's` is not a capture: a filter of several words is one quoted argument\nhelp: sluss trace 'host it'\\''s' -r a.pcap --dialect modern",
            ),
            (&["tcp"], "error: no capture given\nhelp: sluss trace 'tcp' trace.pcap"),
            (&["a.pcap"], "error: no filter given\nhelp: sluss trace 'tcp port 80' a.pcap"),
            (&[], "error: no filter given\nhelp: sluss trace 'tcp port 80' FILE"),
            (
                &["tcp", "a.pcap", "b.pcap"],
                "error: a packet is traced in one capture at a time\nhelp: sluss trace 'tcp' a.pcap",
            ),
        ] {
            assert_eq!(told(line), Err(expected.to_owned()), "{line:?}");
        }
    }
}
