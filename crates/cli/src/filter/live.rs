//! `sluss filter -i`: packets of a device in the place of captures.

use super::kernel;
use super::plan::{Output, Plan};
use super::prefiltered::Prefiltered;
use super::run::{How, Totals, run_live};
use super::select::Filters;
use crate::args::FilterArgs;
use crate::decider::Decider;
use crate::escape::shown;
use crate::exit::{Failure, Outcome};
use crate::message::Message;
use crate::plural::{self, counted};
use crate::reader::print_until_signal;
use crate::terminal::Terminal;
use crate::values::Loss;
use io::live::{ANY, BUFFER_LEN, Counts, Device, Options, Refused, SNAPLEN_MAX, Step, Way};
use serde_json::json;
use std::io::ErrorKind;
use std::sync::Arc;

/// Where a filter runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    /// There is none.
    Nowhere,
    /// In the kernel, in so many instructions; and here for packets that the kernel sees otherwise.
    Kernel(usize),
    /// In the kernel, in so many instructions.
    KernelAlone(usize),
    /// Here alone, for this reason.
    Here(String),
}

/// What a capture from a device has come to.
pub(super) struct Captured {
    device: String,
    counts: Arc<Counts>,
    place: Where,
}

/// Prints the devices that there are.
pub(super) fn list() -> Result<Outcome, Failure> {
    let table = std::fs::read_to_string("/proc/net/dev")
        .map_err(|error| Failure::world(format_args!("cannot read /proc/net/dev: {error}")))?;
    let names = table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    let mut out = String::new();
    for (number, name) in (1..).zip(names.chain([ANY])) {
        let state = if name == ANY { "all of them".to_owned() } else { state_of(name) };
        let state = if state.is_empty() { state } else { format!(" [{state}]") };
        out.push_str(&format!("{number}.{}{state}\n", shown(name)));
    }
    print_until_signal(&out)?;
    Ok(Outcome::Done)
}

/// What a device is, as far as the system tells.
fn state_of(device: &str) -> String {
    let flags = std::fs::read_to_string(format!("/sys/class/net/{device}/flags")).unwrap_or_default();
    let flags = flags.trim().strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let flags = flags.unwrap_or(0);
    let words = [(0x1, "Up"), (0x40, "Running"), (0x8, "Loopback")];
    words.into_iter().filter(|(bit, _)| flags & bit != 0).map(|(_, word)| word).collect::<Vec<_>>().join(", ")
}

/// Captures until a signal comes, or there are as many packets as there may be.
pub(super) fn run(
    plan: &Plan,
    args: &FilterArgs,
    filters: &Filters<'_>,
    how: How,
    terminal: &Terminal,
) -> Result<(Totals, Captured), Failure> {
    let snaplen = args.snaplen.filter(|snaplen| *snaplen > 0).unwrap_or(SNAPLEN_MAX);
    // What is asked here reads all of a packet, which is cut when it is written.
    let is_asked = plan.selections.iter().any(|selection| !selection.filter.is_empty());
    let kept = if is_asked { SNAPLEN_MAX } else { snaplen };
    let options = options(args, kept);
    let (name, is_promiscuous) = (options.device.clone(), options.promiscuous);
    let refused = |refused: Refused| failure(&name, &refused);
    let device = Device::open(options).map_err(refused)?;
    let linktype = device.linktype();
    filters.check(std::iter::once((linktype, ())))?;
    let mut place = place(plan, filters, &device, (snaplen, kept))?;
    let attached = match &place {
        (Where::Kernel(_) | Where::KernelAlone(_), program) => device.attach(program),
        _ => device.attach(&kernel::all(kept)),
    };
    if let Err(error) = attached {
        if matches!(place.0, Where::KernelAlone(_)) {
            return Err(Failure::user(format_args!("the kernel refuses the program: {error}"))
                .help("`--validate kernel` says which instruction it does not take"));
        }
        let why =
            format!("the kernel refuses it: {error}; `sysctl net.core.optmem_max` is the room that it has");
        place = (Where::Here(why), Vec::new());
        device.attach(&kernel::all(kept)).map_err(|error| refused(Refused { step: Step::Socket, error }))?;
    }
    let live = device.start().map_err(refused)?;
    let counts = live.counts();
    let live = Prefiltered::new(live);
    let reader = live.reader(&name).map_err(|error| Failure::capture(&error))?;
    if !args.quiet {
        let device = if name == ANY { "all devices".into() } else { shown(&name) };
        let promiscuous = if is_promiscuous || name == ANY { "" } else { ", for this station only" };
        terminal.tell(&Message::note(format_args!(
            "listening on {device}{promiscuous}, link type {linktype}, snap length {snaplen}; {}",
            place.0
        )));
    }
    // Without a filter, all packets match, whatever the kernel saw of them.
    let kernel = matches!(place.0, Where::Kernel(_) | Where::Nowhere).then_some(live);
    let totals = run_live(plan, filters, how, terminal, (reader, kernel))?;
    Ok((totals, Captured { device: name, counts, place: place.0 }))
}

fn options(args: &FilterArgs, snaplen: u32) -> Options {
    let live = &args.live;
    Options {
        device: live.interface.clone().unwrap_or_default(),
        promiscuous: !live.no_promiscuous_mode,
        way: live.direction.map_or(Way::Both, Way::from),
        buffer_len: live.buffer_size.map_or(BUFFER_LEN, |kib| kib << 10),
        snaplen,
    }
}

/// Where the filter runs, and the program for the kernel, if it is there. That keeps so many bytes of a packet: if it is all there is, and if the
/// filter is asked here as well.
fn place(
    plan: &Plan,
    filters: &Filters<'_>,
    device: &Device,
    (snaplen, kept): (u32, u32),
) -> Result<(Where, Vec<io::live::Instruction>), Failure> {
    let here = |why: &str| Ok((Where::Here(why.to_owned()), Vec::new()));
    let linktype = device.linktype();
    let compiled = filters.compiled(linktype).into_iter().next().flatten();
    if let Some(Decider::InKernel(program)) = &compiled {
        let program = kernel::as_written(program.insns(), snaplen);
        return Ok((Where::KernelAlone(program.len()), program));
    }
    let first = &plan.selections[0].filter;
    if plan.selections.iter().any(|selection| selection.filter != *first) {
        return here("there are several");
    }
    if first.is_empty() {
        return Ok((Where::Nowhere, Vec::new()));
    }
    if kernel::reads_tags(first) {
        return here(
            "it asks for VLAN tags, which are taken out of packets before the kernel's filter sees them",
        );
    }
    let Some(Decider::Filter(filter)) = compiled else {
        return here("it is bytecode already, and may ask for what the kernel sees otherwise");
    };
    let Ok(code) = filter.to_cbpf() else {
        return here("it is too long for the kernel, or does what BPF cannot do");
    };
    let program = if linktype == wire::LinkType::LINUX_SLL2 {
        kernel::program_of_cooked(&code, kept)
    } else {
        kernel::program(&code, kept)
    };
    match program {
        Some(program) => Ok((Where::Kernel(program.len()), program)),
        None if linktype == wire::LinkType::LINUX_SLL2 => {
            here("it reads of packets of all devices what the kernel does not say")
        }
        None => here("it is too long for the kernel"),
    }
}

impl std::fmt::Display for Where {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Where::Nowhere => f.write_str("there is no filter"),
            Where::Kernel(insns) => {
                let insns = counted(*insns as u64, "instruction");
                write!(f, "the filter runs in the kernel ({insns}), and here for packets with VLAN tags")
            }
            Where::KernelAlone(insns) => {
                write!(f, "the program runs in the kernel ({})", counted(*insns as u64, "instruction"))
            }
            Where::Here(why) => write!(f, "the filter runs here: {why}"),
        }
    }
}

impl Captured {
    /// For the summary as JSON.
    pub(super) fn object(&self) -> serde_json::Value {
        let place = match self.place {
            Where::Nowhere => "none",
            Where::Kernel(_) | Where::KernelAlone(_) => "kernel",
            Where::Here(_) => "user",
        };
        let Captured { device, counts, .. } = self;
        json!({
            "device": device,
            "filter_at": place,
            "received": counts.received(),
            "read": counts.read(),
            "kernel_drops": counts.dropped(),
            "unread": self.unread(),
        })
    }

    /// Frames that were there when the capture ended.
    fn unread(&self) -> u64 {
        self.counts.received().saturating_sub(self.counts.dropped() + self.counts.read())
    }

    /// A line for each output, and one for what the kernel says.
    pub(super) fn in_words(&self, plan: &Plan, totals: &Totals) -> String {
        let mut lines = Vec::new();
        for (selection, &matched) in plan.selections.iter().zip(&totals.matched) {
            let place = match &selection.output {
                Output::Capture(path) if path.as_os_str() != "-" => {
                    format!(" -> {}", shown(&path.to_string_lossy()))
                }
                // Printed beside a file.
                _ if plan.selections.len() > 1 && matches!(selection.output, Output::Lines) => continue,
                _ => String::new(),
            };
            lines.push(format!("{} captured{place}", counted(matched, "packet")));
        }
        let received = counted(self.counts.received(), "packet");
        let by = if matches!(self.place, Where::Kernel(_) | Where::KernelAlone(_)) {
            "let through by the filter in the kernel"
        } else {
            "received"
        };
        let dropped = self.counts.dropped();
        let unread = match self.unread() {
            0 => String::new(),
            unread => format!(", {unread} not read before the end"),
        };
        lines.push(format!("{received} {by}, {dropped} of them dropped by the kernel{unread}"));
        lines.join("\n")
    }

    /// How the command ends. To be told to end is as good an end as any other.
    pub(super) fn outcome(&self, totals: &Totals, args: &FilterArgs, terminal: &Terminal) -> Outcome {
        let (received, dropped) = (self.counts.received(), self.counts.dropped());
        let is_too_many = match args.live.max_loss {
            None => false,
            Some(Loss::Packets(most)) => dropped > most,
            Some(Loss::Percent(most)) => dropped as f64 * 100.0 > most * received as f64,
        };
        if is_too_many {
            let were = plural::choose(dropped, "was", "were");
            terminal.tell(&Message::warning(format_args!(
                "{} {were} dropped by the kernel: use a larger buffer (-B), or a filter that lets fewer packets through",
                counted(dropped, "packet")
            )));
            return Outcome::Incomplete;
        }
        match Totals::outcome(totals, args.no_fail) {
            Outcome::Interrupted(_) if args.no_fail || totals.matched.iter().any(|&matched| matched > 0) => {
                Outcome::Done
            }
            Outcome::Interrupted(_) => Outcome::NothingMatched,
            other => other,
        }
    }
}

/// What the kernel has refused.
fn failure(device: &str, Refused { step, error }: &Refused) -> Failure {
    let name = shown(device);
    match step {
        Step::Socket if error.kind() == ErrorKind::PermissionDenied => {
            Failure::world(format_args!("cannot capture from {name}: {error}"))
                .help("run it as root, or allow sluss to: `sudo setcap cap_net_raw+ep $(command -v sluss)`")
        }
        Step::Socket => Failure::world(format_args!("cannot open a packet socket: {error}")),
        Step::Device
            if error.raw_os_error() == Some(libc::ENODEV) || error.raw_os_error() == Some(libc::ENXIO) =>
        {
            Failure::world(format_args!("there is no device {name}"))
                .help("`sluss filter -D` lists those that there are; `-i any` is all of them")
        }
        Step::Device => Failure::world(format_args!("cannot use {name}: {error}")),
        Step::Hardware(hardware) => Failure::user(format_args!(
            "{name} is of type {hardware} (/sys/class/net/{name}/type), whose packets have no link type here"
        ))
        .help("`-i any` captures its packets as LINUX_SLL2"),
        Step::Promiscuous => {
            Failure::world(format_args!("{name} does not bring in frames for other stations: {error}"))
                .help("leave them out: `-p`")
        }
        Step::Ring => Failure::world(format_args!("cannot share memory with the kernel: {error}"))
            .help("a smaller buffer may do: `-B 1024`"),
    }
}
