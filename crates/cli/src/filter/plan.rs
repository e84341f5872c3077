//! What a command line of `filter` asks for: which filters, over which captures, to where.

use crate::args::FilterArgs;
use crate::exit::Failure;
use crate::filter::fields::{Columns, Style};
use crate::filter::names;
use crate::filter::rotation::Rotation;
use crate::language::{self, FilterText};
use crate::plural::counted;
use crate::words::{self, Known, Words, file_word, quoted, shell_word};
use capture::NamedFormat;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Each filter with its destination.
    pub(crate) selections: Vec<Selection>,
    /// Files, folders, globs, `-`; empty only where a device is captured from.
    pub(crate) inputs: Vec<PathBuf>,
    /// When outputs go on in other files.
    pub(super) rotation: Option<Rotation>,
    /// The format that outputs shall have.
    pub(super) format: Option<NamedFormat>,
}

impl Plan {
    /// One whose outputs are a file each.
    pub(crate) fn new(selections: Vec<Selection>, inputs: Vec<PathBuf>) -> Plan {
        Plan { selections, inputs, rotation: None, format: None }
    }
}

/// One filter and where its packets go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The text of the filter, or the name of a handler of a program.
    pub(crate) filter: FilterText,
    /// Where what matches goes.
    pub(crate) output: Output,
}

/// Where packets go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nowhere: they are counted.
    Count,
    /// To this file as a capture; `-` is standard output.
    Capture(PathBuf),
    /// To standard output, one line a packet.
    Lines,
    /// To standard output, a line for every packet, with what a program calls for it.
    Calls,
    /// To standard output, fields of each packet.
    Fields(Columns),
    /// To standard output, one JSON object a packet.
    Json,
}

impl Output {
    /// The file, or `-`, that a capture goes to.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Output::Capture(path) => Some(path),
            _ => None,
        }
    }

    /// Whether text about packets goes to standard output.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Output::Lines | Output::Calls | Output::Fields(_) | Output::Json)
    }
}

/// Makes sense of the arguments.
pub(crate) fn plan(args: &FilterArgs, known: Known<'_>) -> Result<Plan, Failure> {
    let (filters, inputs) = match &args.live.interface {
        Some(device) => (live_filters(args, device, known)?, Vec::new()),
        None => filters_and_inputs(args, known)?,
    };
    let outputs = outputs(args, &filters)?;
    let mut selections: Vec<Selection> =
        filters.into_iter().zip(outputs).map(|(filter, output)| Selection { filter, output }).collect();
    if args.live.print && !args.output.is_empty() {
        let [only] = selections.as_slice() else {
            return Err(Failure::user("`--print` is for one filter and one output").help("leave it out"));
        };
        let printed = Selection { filter: only.filter.clone(), output: Output::Lines };
        selections.push(printed);
    }
    let rotation = rotation(args, &selections)?;
    let format = args.files.format.map(NamedFormat::from);
    selections.iter().filter_map(|to| to.output.path()).try_for_each(|path| names::refuse(path, format))?;
    Ok(Plan { selections, inputs, rotation, format })
}

/// The filters of a capture from a device: all words are one, as with tcpdump.
fn live_filters(args: &FilterArgs, device: &str, known: Known<'_>) -> Result<Vec<FilterText>, Failure> {
    if device.is_empty() {
        return Err(
            Failure::user("`-i` names no device").help("`sluss filter -D` lists those that there are")
        );
    }
    refuse_two_ways(args)?;
    let file = args.words.iter().find(|word| (known.exists)(word) && words::is_called_capture(word));
    if let Some(file) = file {
        return Err(Failure::user(format_args!(
            "`{}` is a capture, and packets come from {device}",
            file.display()
        ))
        .help("leave out `-i`, or the capture; what is captured is written by `-w`"));
    }
    if let Some(path) = &args.program.bytecode {
        return Ok(vec![language::program_from(path)?]);
    }
    let is_given = !args.filter.is_empty() || args.filter_file.is_some() || !args.rest.is_empty();
    if is_given && !args.words.is_empty() {
        return Err(words::two_filters(if args.filter_file.is_some() { "-F" } else { "-f" }, &args.words));
    }
    if !args.filter.is_empty() {
        let text = |word: &OsString| language::filter_text(std::slice::from_ref(word));
        return args.filter.iter().map(text).collect();
    }
    if let Some(path) = &args.filter_file {
        return Ok(vec![language::text_in(path, false)?]);
    }
    let words = if args.rest.is_empty() { &args.words } else { &args.rest };
    if words.is_empty() {
        return Ok(vec![FilterText::default()]);
    }
    Ok(vec![language::filter_text(words)?])
}

/// When outputs go on in other files.
fn rotation(args: &FilterArgs, selections: &[Selection]) -> Result<Option<Rotation>, Failure> {
    let live = &args.live;
    let (bytes, seconds, files) = (live.file_size, live.rotate_seconds, live.file_count);
    let split = &args.files;
    let part = split
        .split_bytes
        .map(Rotation::Bytes)
        .or(split.split_packets.map(Rotation::Packets))
        .or(split.split_seconds.map(|span| Rotation::Nanoseconds(span.as_nanos() as i64)));
    if bytes.is_none() && seconds.is_none() && part.is_none() {
        let alone = Failure::user("`-W` is a number of files, and nothing begins another one");
        return if files.is_some() { Err(alone.help("-C or -G does: -C 100 -W 10")) } else { Ok(None) };
    }
    let is_stdout = |selection: &Selection| selection.output.path().is_some_and(super::places::is_stdout);
    if selections.iter().any(is_stdout) {
        return Err(Failure::user("standard output is one file, and others cannot follow it")
            .help("write to a file: `-w out.pcap`"));
    }
    Ok(Some(part.unwrap_or(Rotation::Tcpdump { bytes, seconds, files })))
}

fn filters_and_inputs(
    args: &FilterArgs,
    known: Known<'_>,
) -> Result<(Vec<FilterText>, Vec<PathBuf>), Failure> {
    let (filters, files) = filters_and_files(args, known)?;
    let mut inputs = args.read.clone();
    inputs.extend(files.iter().map(PathBuf::from));
    if inputs.is_empty() {
        let is_first_word = args.filter_file.is_none() && args.program.bytecode.is_none();
        if args.filter.is_empty() && is_first_word && args.rest.is_empty() {
            words::missing_capture("sluss filter", &args.words, known)?;
        }
        if is_stdin_empty() {
            return Err(no_capture(args, &filters));
        }
        inputs.push("-".into());
    }
    Ok((filters, inputs))
}

/// The filters, wherever they stand, and which of the words are files.
fn filters_and_files<'a>(
    args: &'a FilterArgs,
    known: Known<'_>,
) -> Result<(Vec<FilterText>, &'a [OsString]), Failure> {
    let text = |word: &OsString| language::filter_text(std::slice::from_ref(word));
    let words = args.words.as_slice();
    refuse_two_ways(args)?;
    if let Some(path) = &args.program.bytecode {
        return Ok((vec![language::program_from(path)?], words));
    }
    if !args.filter.is_empty() {
        let filters: Result<Vec<FilterText>, Failure> = args.filter.iter().map(text).collect();
        return Ok((filters?, words));
    }
    if let Some(path) = &args.filter_file {
        return Ok((vec![language::text_in(path, false)?], words));
    }
    if !args.rest.is_empty() {
        refuse_captures_as_filter(args, known)?;
        return Ok((vec![language::filter_text(&args.rest)?], words));
    }
    match words {
        [] => Ok((vec![FilterText::default()], words)),
        [only] if args.read.is_empty() && (known.exists)(only) => Ok((vec![FilterText::default()], words)),
        [first, files @ ..] => {
            command_line(args).check(known)?;
            Ok((vec![text(first)?], files))
        }
    }
}

/// Whether nobody has put anything on standard input: it is a terminal, or /dev/null.
pub(crate) fn is_stdin_empty() -> bool {
    let number = |path: &str| std::fs::metadata(path).ok().map(|metadata| metadata.rdev());
    std::io::stdin().is_terminal()
        || number("/dev/stdin").is_some_and(|rdev| rdev != 0 && number("/dev/null") == Some(rdev))
}

/// Nothing to read, and a terminal or /dev/null in the place of a pipe.
fn no_capture(args: &FilterArgs, filters: &[FilterText]) -> Failure {
    let words = || args.rest.iter().map(shell_word).collect::<Vec<_>>().join(" ");
    let command = match (args.filter.as_slice(), &args.filter_file, filters.first()) {
        ([_, _, ..], ..) => "sluss filter trace.pcap -f FILTER -o OUT -f FILTER -o OUT".to_owned(),
        ([only], ..) if only.as_encoded_bytes().starts_with(b"-") => {
            format!("sluss filter trace.pcap -f={}", quoted(only))
        }
        ([only], ..) => format!("sluss filter trace.pcap -f {}", quoted(only)),
        (_, Some(path), _) => format!("sluss filter trace.pcap -F {}", file_word(path)),
        _ if args.program.bytecode.is_some() => {
            format!(
                "sluss filter {} trace.pcap",
                filters.first().map_or_else(String::new, FilterText::as_word)
            )
        }
        _ if !args.rest.is_empty() => format!("sluss filter trace.pcap -- {}", words()),
        (_, _, Some(filter)) if !filter.is_empty() => format!("sluss filter {} trace.pcap", filter.as_word()),
        _ => "sluss filter 'tcp port 80' trace.pcap".to_owned(),
    };
    Failure::user("no capture given").help(format_args!("name one, `{command}`, or pipe one in"))
}

/// Words after `--` beside another filter would be lost.
fn refuse_two_ways(args: &FilterArgs) -> Result<(), Failure> {
    let flag = if args.filter_file.is_some() { "-F" } else { "-f" };
    if args.rest.is_empty() || args.filter.is_empty() && args.filter_file.is_none() {
        return Ok(());
    }
    Err(words::two_filters(flag, &args.rest))
}

/// The filter before `--`, and captures behind it.
fn refuse_captures_as_filter(args: &FilterArgs, known: Known<'_>) -> Result<(), Failure> {
    let is_filter = |word: &&OsString| !(known.exists)(word) && word.to_str().is_some_and(known.is_filter);
    let are_captures = args.rest.iter().all(|word| (known.exists)(word));
    let Some(filter) = args.words.iter().find(is_filter).filter(|_| are_captures) else { return Ok(()) };
    let captures = args.words.iter().filter(|&word| word != filter).chain(&args.rest).map(file_word);
    let mut parts: Vec<String> = captures.collect();
    parts.extend(command_line(args).flags);
    let command = format!("sluss filter {} -- {}", parts.join(" "), shell_word(filter));
    Err(Failure::user(format_args!("`{}` is not a capture: the filter stands behind `--`", filter.display()))
        .help(command))
}

/// The words, and what the result depends on beside filter and captures.
fn command_line(args: &FilterArgs) -> Words<'_> {
    let to = output_flag(args);
    let mut flags: Vec<String> = args.output.iter().map(|file| format!("{to} {}", file_word(file))).collect();
    flags.extend(args.max_count.map(|max| format!("-c {max}")));
    flags.extend(words::switches(&[
        (args.lines, "--lines"),
        (args.number, "--number"),
        (args.count, "--count"),
        (args.json, "--json"),
        (args.csv, "--csv"),
        (args.quiet, "-q"),
        (args.no_fail, "--no-fail"),
    ]));
    flags.extend((!args.fields.is_empty()).then(|| format!("--fields {}", args.fields.join(","))));
    flags.extend(words::language_flags(&args.language));
    Words { command: "sluss filter", words: &args.words, read: &args.read, flags }
}

/// Who reads with tcpdump's -r writes with its -w.
fn output_flag(args: &FilterArgs) -> &'static str {
    if args.read.is_empty() { "-o" } else { "-w" }
}

fn outputs(args: &FilterArgs, filters: &[FilterText]) -> Result<Vec<Output>, Failure> {
    if args.per_file || args.files_with_matches || args.per_interval.is_some() {
        return Ok(filters.iter().map(|_| Output::Count).collect());
    }
    if args.count {
        if !args.output.is_empty() {
            return Err(Failure::user(format_args!(
                "`--count` and `{}` exclude each other: a count is one number, and nothing is written",
                output_flag(args)
            ))
            .help(
                "leave one of them out; on a terminal, and with --json, a summary says how many were written",
            ));
        }
        return Ok(filters.iter().map(|_| Output::Count).collect());
    }
    if !args.output.is_empty() {
        if args.output.len() != filters.len() {
            return Err(Failure::user(format!(
                "{} but {}: each filter needs a place of its own",
                counted(filters.len() as u64, "filter"),
                counted(args.output.len() as u64, "output")
            ))
            .help("sluss filter FILE -f arp -o arp.pcap -f 'port 53' -o dns.pcap"));
        }
        return Ok(args.output.iter().cloned().map(Output::Capture).collect());
    }
    match filters.len() {
        1 if !args.fields.is_empty() => Ok(vec![Output::Fields(Columns::named(&args.fields, style(args))?)]),
        1 if args.csv => Ok(vec![Output::Fields(Columns::of_csv())]),
        1 if args.json => Ok(vec![Output::Json]),
        1 => Ok(vec![Output::Lines]),
        _ => Err(Failure::user("several filters need a -o each, or --count")
            .help("sluss filter FILE -f arp -o arp.pcap -f 'port 53' -o dns.pcap")),
    }
}

fn style(args: &FilterArgs) -> Style {
    match (args.json, args.csv) {
        (true, _) => Style::Json,
        (_, true) => Style::Csv,
        _ => Style::Tabs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn plan_of(line: &[&str]) -> Result<Plan, Failure> {
        let cli = Cli::parse_from(["sluss", "filter"].iter().chain(line));
        let Command::Filter(args) = cli.command else { panic!("not a filter command") };
        let exists = |word: &std::ffi::OsStr| word.to_string_lossy().ends_with(".pcap");
        let is_filter = |text: &str| ["tcp", "arp", "ip host a", "tcp port 80"].contains(&text);
        let begins_filter = |text: &str| ["and", "arp", "port"].contains(&text);
        plan(&args, Known { exists: &exists, is_filter: &is_filter, begins_filter: &begins_filter })
    }

    fn selection(filter: &str, output: Output) -> Selection {
        Selection { filter: filter.to_owned().into(), output }
    }

    #[test]
    fn filter_then_files() {
        let plan = plan_of(&["tcp port 80", "a.pcap", "b.pcap", "--count"]).unwrap();
        assert_eq!(plan.inputs, [Path::new("a.pcap"), Path::new("b.pcap")]);
        assert_eq!(plan.selections, [selection("tcp port 80", Output::Count)]);
    }

    #[test]
    fn tcpdump_habits() {
        let plan = plan_of(&["-r", "a.pcap", "-w", "o.pcap", "arp"]).unwrap();
        assert_eq!(plan.inputs, [Path::new("a.pcap")]);
        assert_eq!(plan.selections, [selection("arp", Output::Capture("o.pcap".into()))]);
    }

    #[test]
    fn words_after_two_dashes() {
        let plan = plan_of(&["--count", "a.pcap", "--", "tcp", "port", "80"]).unwrap();
        assert_eq!(plan.inputs, [Path::new("a.pcap")]);
        assert_eq!(plan.selections, [selection("tcp port 80", Output::Count)]);
    }

    #[test]
    fn captures_after_two_dashes_are_told_where_they_stand() {
        for (line, help) in [
            (&["--count", "tcp", "--", "a.pcap"][..], "a.pcap --count -- tcp"),
            (&["b.pcap", "tcp port 80", "--", "a.pcap"], "b.pcap a.pcap -- 'tcp port 80'"),
        ] {
            let told = plan_of(line).unwrap_err().message.to_string();
            assert!(told.contains("the filter stands behind `--`"), "{told}");
            assert!(told.ends_with(&format!("\nhelp: sluss filter {help}")), "{told}");
        }
        assert_eq!(plan_of(&["none", "--count", "--", "tcp"]).unwrap().inputs, [Path::new("none")]);
    }

    #[test]
    fn several_filters_need_several_outputs() {
        let plan = plan_of(&["a.pcap", "-f", "arp", "-o", "x", "-f", "ip", "-o", "y"]).unwrap();
        assert_eq!(plan.selections.len(), 2);
        // The filter has no flag of its own here.
        let failure = plan_of(&["tcp", "a.pcap", "-o", "x", "-w", "y"]).unwrap_err();
        let told = "error: 1 filter but 2 outputs: each filter needs a place of its own\n";
        assert!(failure.message.to_string().starts_with(told), "{}", failure.message);
        assert!(plan_of(&["a.pcap", "-f", "arp", "-o", "x", "-f", "ip"]).is_err());
    }

    #[test]
    fn unquoted_words_show_the_quoting() {
        let failure = plan_of(&["tcp", "port", "80", "a.pcap"]).unwrap_err();
        assert!(
            failure.message.to_string().contains("sluss filter 'tcp port 80' a.pcap"),
            "{}",
            failure.message
        );
        let failure = plan_of(&["-r", "a.pcap", "host", "it's"]).unwrap_err();
        assert!(
            failure.message.to_string().contains(r"sluss filter 'host it'\''s' -r a.pcap"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_missing_capture_is_no_word_of_the_filter() {
        for name in ["missing.cap", "a.dump", "a.PCAPNG", "b.zst", "x.pcap0", "folder/a", "missing"] {
            let plan = plan_of(&["--count", "tcp", name]).unwrap();
            assert_eq!(
                (&plan.selections[0].filter[..], &plan.inputs[..]),
                ("tcp", &[PathBuf::from(name)][..])
            );
            assert_eq!(plan_of(&["tcp", name, "a.pcap"]).unwrap().inputs.len(), 2, "{name}");
        }
        let failure = plan_of(&["tcp", "port", "80", "missing.cap"]).unwrap_err();
        assert!(
            failure.message.to_string().ends_with("help: sluss filter 'tcp port 80' missing.cap"),
            "{}",
            failure.message
        );
        // What makes a filter of it, or no filter of both, or cannot be a name.
        for words in [["ip", "host a"], ["host", "a"], ["tcp", "prot 80"]] {
            assert!(plan_of(&words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn words_behind_a_capture_are_of_the_filter() {
        for (line, word, help) in [
            (&["tcp", "a.pcap", "port", "80", "-o", "o"][..], "port", "'tcp port 80' a.pcap -o o"),
            (
                &["tcp", "a.pcap", "port", "80", "gone", "--count"],
                "port",
                "'tcp port 80 gone' a.pcap --count",
            ),
            (&["tcp", "a.pcap", "port", "80", "x/y", "b.cap"], "port", "'tcp port 80' a.pcap x/y b.cap"),
            (&["ip", "a.pcap", "host", "a", "b.pcap"], "host", "'ip host a' a.pcap b.pcap"),
            (&["tcp", "a.pcap", "arp"], "arp", "'tcp arp' a.pcap"),
            (&["tcp", "arp", "a.pcap"], "arp", "'tcp arp' a.pcap"),
            (&["a.pcap", "b.pcap", "tcp", "port", "80"], "tcp", "'tcp port 80' a.pcap b.pcap"),
            (&["tcp", "-r", "a.pcap", "b.pcap", "and", "x.y"], "and", "'tcp and x.y' -r a.pcap b.pcap"),
        ] {
            let told = plan_of(line).unwrap_err().message.to_string();
            let rule = "a filter of several words is one quoted argument";
            assert_eq!(told, format!("error: `{word}` is not a capture: {rule}\nhelp: sluss filter {help}"));
        }
        // What may be a file that is missing.
        for line in [
            ["tcp", "a.pcap", "gone"],
            ["tcp", "a.pcap", "arp.cap"],
            ["tcp", "a.pcap", "./arp"],
            ["tcp", "a.pcap", "80"],
        ] {
            assert_eq!(plan_of(&line).unwrap().inputs.len(), 2, "{line:?}");
        }
    }

    #[test]
    fn a_filter_is_given_in_one_way() {
        for flag in ["-f", "-F"] {
            let failure =
                plan_of(&["--count", "a.pcap", flag, "arp", "--", "tcp", "port", "80"]).unwrap_err();
            let told = failure.message.to_string();
            assert!(told.contains(flag) && told.contains("`tcp port 80` after `--`"), "{told}");
        }
    }

    #[test]
    fn a_suggestion_has_all_that_was_given() {
        for (line, told) in [
            (
                &["a.pcap", "tcp port 80"][..],
                "error: `tcp port 80` is not a capture: the filter stands before the captures\nhelp: sluss filter 'tcp port 80' a.pcap",
            ),
            (
                &["a.pcap", "tcp", "port", "80"],
                "error: `tcp` is not a capture: a filter of several words is one quoted argument\nhelp: sluss filter 'tcp port 80' a.pcap",
            ),
            (
                &["-r", "a.pcap", "-w", "o.pcap", "tcp", "port", "80"],
                "error: `port` is not a capture: a filter of several words is one quoted argument\nhelp: sluss filter 'tcp port 80' -r a.pcap -w o.pcap",
            ),
            (
                &["--count", "-c5", "--dialect=ipv6,scoped", "tcp", "port", "80", "my *.pcap", "b.pcap"],
                "error: `port` is not a capture: a filter of several words is one quoted argument\nhelp: sluss filter 'tcp port 80' 'my *.pcap' b.pcap -c 5 --count --dialect ipv6 --dialect scoped",
            ),
            (
                &["-o", "o", "tcp", "port", "80"],
                "error: `port` is not a capture: a filter of several words is one quoted argument\nhelp: sluss filter 'tcp port 80' FILE -o o",
            ),
        ] {
            assert_eq!(plan_of(line).unwrap_err().message.to_string(), told, "{line:?}");
        }
    }

    #[test]
    fn a_capture_alone_is_all_of_it() {
        let plan = plan_of(&["a.pcap", "--count"]).unwrap();
        assert_eq!(plan.selections, [selection("", Output::Count)]);
    }
}
