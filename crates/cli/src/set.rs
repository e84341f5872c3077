//! `sluss set`: lists of addresses, ports and pairs.

mod ask;
pub(crate) mod change;

use crate::args::{SetArgs, SetBuildArgs, SetFileArgs, SetTestArgs};
use crate::exit::{Failure, Outcome};
use crate::plural::counted;
use crate::terminal::{Terminal, print};
use crate::unwritable;
use ask::{Ask, Asked};
use change::Direction;
use classify::lists::{List, is_database, joined, read, read_database};
use classify::set::TooLarge;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub(crate) fn run(args: &SetArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    match args {
        SetArgs::Build(args) => build(args),
        SetArgs::Add(args) => change::run(&args.change, args.timeout, Direction::Add),
        SetArgs::Del(args) => change::run(args, None, Direction::Delete),
        SetArgs::Check(args) => check(args),
        SetArgs::Test(args) => test(args, terminal),
        SetArgs::Stats(args) => stats(args),
    }
}

/// A list from a file.
fn list(path: &Path, name: Option<&str>) -> Result<List, Failure> {
    let shown = path.to_string_lossy();
    let mut text = Vec::new();
    let bytes = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|error| {
        Failure::world(format_args!("cannot read {shown}: {error}"))
            .if_missing(path, &error)
            .about_file(&shown)
    })?;
    if is_database(&bytes) {
        let read = read_database(&bytes, name);
        return read.map_err(|why| Failure::user(format_args!("{shown}: {why}")).about_file(&shown));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|&byte| byte == b'\n').count();
        Failure::user(format_args!("{shown}: line {line} is no text in UTF-8")).about_file(&shown)
    })?;
    read(&text, name).map_err(|problem| {
        let failure = Failure::user(format_args!("{shown}: {problem}")).about_file(&shown);
        match &problem.help {
            // The flag that says it.
            Some(help) if help == "say which one" => failure.help("say which one with `--name SET`"),
            Some(help) => failure.help(help),
            None => failure,
        }
    })
}

fn too_large(path: &Path, error: TooLarge) -> Failure {
    Failure::user(format_args!("{}: {error}", path.display()))
}

fn build(args: &SetBuildArgs) -> Result<Outcome, Failure> {
    let lists = args.files.iter().map(|file| list(file, args.name.as_deref()));
    let text = joined(lists.collect::<Result<Vec<_>, _>>()?);
    match &args.output {
        Some(path) => std::fs::write(path, text).map_err(|error| unwritable::capture(path, &error))?,
        None => print(&text)?,
    }
    Ok(Outcome::Done)
}

/// What there is of each kind, in words.
fn contents(list: &List) -> String {
    let kinds = [
        (list.addresses.v4.len(), "IPv4 interval"),
        (list.addresses.v6.len(), "IPv6 interval"),
        (list.ports.len(), "port"),
        (list.macs.len(), "MAC address"),
        (list.pairs4.len() + list.pairs6.len(), "address-port pair"),
        (list.names.len(), "value"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    kinds.map(|&(count, what)| counted(count as u64, what)).collect::<Vec<_>>().join(", ")
}

fn object(kind: &str, list: &List) -> Value {
    json!({
        "v": 1,
        "type": kind,
        "format": list.format.to_string(),
        "name": list.name,
        "entries": list.entries,
        "ipv4": list.addresses.v4.len(),
        "ipv6": list.addresses.v6.len(),
        "ports": list.ports.len(),
        "macs": list.macs.len(),
        "pairs": list.pairs4.len() + list.pairs6.len(),
        "values": list.names.len(),
    })
}

fn check(args: &SetFileArgs) -> Result<Outcome, Failure> {
    let list = list(&args.file, args.name.as_deref())?;
    let entries = counted(list.entries as u64, "entry").replace("entrys", "entries");
    print(&if args.json {
        format!("{}\n", object("set_check", &list))
    } else {
        let name = list.name.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
        let contents = contents(&list);
        let of = if contents.is_empty() { String::new() } else { format!(": {contents}") };
        format!("{}{name}, {entries}{of}\n", list.format)
    })?;
    Ok(Outcome::Done)
}

fn test(args: &SetTestArgs, terminal: &Terminal) -> Result<Outcome, Failure> {
    let ask =
        Ask::of(&list(&args.file, args.name.as_deref())?).map_err(|error| too_large(&args.file, error))?;
    let mut asked = Asked::new(&ask, args.json, terminal);
    for address in &args.addresses {
        if address == "-" {
            asked.lines(std::io::stdin().lock())?;
        } else {
            asked.one(address, None)?;
        }
    }
    asked.end()
}

fn stats(args: &SetFileArgs) -> Result<Outcome, Failure> {
    let begin = Instant::now();
    let list = list(&args.file, args.name.as_deref())?;
    let read_s = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let ask = Ask::of(&list).map_err(|error| too_large(&args.file, error))?;
    let build_s = begin.elapsed().as_secs_f64();
    let ns = ask.nanoseconds();
    print(&if args.json {
        let mut object = object("set_stats", &list);
        object["intervals"] = ask.intervals().into();
        object["bytes"] = ask.bytes().into();
        object["read_s"] = read_s.into();
        object["build_s"] = build_s.into();
        object["ns_ipv4"] = ns[0].into();
        object["ns_ipv6"] = ns[1].into();
        object["isa"] = ask.isa().into();
        format!("{object}\n")
    } else {
        let asked = |ns: Option<f64>, what| ns.map(|ns| format!("{ns:.1} ns for a random {what} address"));
        let asked: Vec<String> = [asked(ns[0], "IPv4"), asked(ns[1], "IPv6")].into_iter().flatten().collect();
        let asked = if asked.is_empty() { "no addresses".into() } else { asked.join(", ") };
        format!(
            "entries    {} ({}): {}\nintervals  {} when joined\nmemory     {} bytes\ntime       {:.3} s to read, {:.3} s to build\n\
             asked      {asked}, by {}\n",
            list.entries,
            list.format,
            contents(&list),
            ask.intervals(),
            ask.bytes(),
            read_s,
            build_s,
            ask.isa()
        )
    })?;
    Ok(Outcome::Done)
}
