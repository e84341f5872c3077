//! What outputs are written as: which format, and which compression.
//!
//! The output keeps the format of the input. `--format` asks for another, and so does a name that ends in `.pcapng`, with or without `.gz` or `.zst`
//! after it: any capture fits into pcapng. No name makes a pcap of a pcapng input, which would lose interfaces, comments and names: only
//! `--format pcap` does, and the user is warned of such names instead. A name that ends in `.gz` or `.zst` compresses.

use crate::exit::Failure;
use crate::words::file_word;
use capture::{ByteOrder, Format, Interface, NameHint, NamedFormat, Precision, Reader, Target};
use std::path::Path;
use wire::LinkType;

/// Bytes of packets in a pcap file, where a pcapng interface states no limit.
const SNAPLEN_MAX: u32 = 262_144;

/// The packets that come first: outputs take their format.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    pub(super) format: Format,
    /// Where they were captured.
    pub(super) interface: Option<Interface>,
}

impl First {
    /// Packets of this link type, as they are read here, from this reader; or any.
    pub(super) fn of(reader: &Reader, linktype: Option<LinkType>) -> First {
        let format = reader.format();
        let batch = reader.batch();
        let is_wanted = |interface: &&Interface| {
            linktype.is_none_or(|wanted| format.as_read_here(interface.linktype) == wanted)
        };
        // That with the most digits: those of the others have room in it.
        let interface = batch.interfaces().iter().filter(is_wanted).min_by_key(|interface| {
            (interface.resolution.precision() == Precision::Micro, interface.fcs_len.is_some())
        });
        First { format, interface: interface.copied() }
    }
}

/// The format of the outputs of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputFormat {
    pub(super) first: First,
    /// What `--format` asks for.
    pub(super) asked: Option<NamedFormat>,
}

impl OutputFormat {
    /// That of an output of this name.
    pub(super) fn target(&self, path: &Path) -> Target {
        match self.asked.or(NameHint::of(path).format) {
            Some(NamedFormat::Pcapng) => Target::Pcapng,
            _ => match (Target::like(self.first.format), self.asked) {
                (Target::Pcapng, Some(NamedFormat::Pcap)) => self.pcap_of_pcapng(),
                (like, _) => like,
            },
        }
    }

    /// A pcap file for packets of pcapng.
    fn pcap_of_pcapng(&self) -> Target {
        let interface = self.first.interface;
        let of_interface = |interface: Interface| match interface.snaplen {
            0 => SNAPLEN_MAX,
            snaplen => snaplen,
        };
        Target::Pcap {
            order: ByteOrder::NATIVE,
            precision: interface.map_or(Precision::Micro, |interface| interface.resolution.precision()),
            snaplen: interface.map_or(SNAPLEN_MAX, of_interface),
            linktype: interface.map_or(LinkType::EN10MB, |interface| interface.linktype),
            link_bits: interface
                .and_then(|interface| interface.fcs_len)
                .and_then(Target::fcs_bits)
                .unwrap_or(0),
        }
    }

    /// The same of an output that has so many bytes of each packet at most.
    pub(super) fn cut_target(&self, path: &Path, cut: Option<u32>) -> Target {
        match (self.target(path), cut) {
            (Target::Pcap { order, precision, snaplen, linktype, link_bits }, Some(cut)) => {
                // 0 is no limit.
                let snaplen = if snaplen == 0 { cut } else { snaplen.min(cut) };
                Target::Pcap { order, precision, snaplen, linktype, link_bits }
            }
            (target, _) => target,
        }
    }

    /// What is written under a name that says something else: the text of a warning.
    pub(super) fn misnamed(&self, path: &Path) -> Option<String> {
        let format =
            if self.target(path) == Target::Pcapng { NamedFormat::Pcapng } else { NamedFormat::Pcap };
        NameHint::misnamed(path, format, NameHint::of(path).compression, Some("the format of the input"))
    }
}

/// Refuses a name that says what no output is: compressed in another way, or in another format than `--format` asks for.
pub(super) fn refuse(path: &Path, asked: Option<NamedFormat>) -> Result<(), Failure> {
    // What people compress with, and the programs.
    const OTHERS: [(&str, &str); 6] = [
        ("xz", "xz"),
        ("bz2", "bzip2"),
        ("lz4", "lz4"),
        ("lzma", "lzma"),
        ("br", "brotli"),
        ("z", "compress"),
    ];
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase()).unwrap_or_default();
    if let Some((_, program)) = OTHERS.iter().find(|(other, _)| ending == *other) {
        let name = path.display();
        return Err(Failure::user(format_args!(
            "{name}: outputs are compressed by gzip or zstd, not by {program}"
        ))
        .help(format_args!(
            "name it .gz or .zst, or write to a pipe: `-o - | {program} > {}`",
            file_word(path)
        )));
    }
    match (asked, NameHint::of(path).format) {
        (Some(asked), Some(named)) if asked != named => {
            let name = path.display();
            Err(Failure::user(format_args!("`--format {asked}` and the name {name} say different things"))
                .help(format_args!("leave out `--format`, or name a file that ends in .{asked}")))
        }
        _ => Ok(()),
    }
}
