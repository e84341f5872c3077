//! Programs of classic BPF in the place of filters, told what the kernel would tell them of a packet that a device has brought in.
//!
//! The kernel takes the outer VLAN tag out of a frame before it asks a program, which then loads the tag from beside the bytes; an app that brings the frame
//! in puts it back. So the tag is lifted out of the bytes while the program looks at them:
//!
//! ```text
//!   dst src tag type …    ──►    tag | dst src type …    ──► program ──►    dst src tag type …
//! ```
//!
//! What a program loads besides, and metadata do not say, is refused, by name.

use crate::shared::filtering::LANES;
use bpf::{Ancillary, ErrorKind, Filter, Insn, Options, Program};
use engine::{OptionError, Packet};
use std::fs::File;
use std::io::{self, Read};
use wire::LinkType;

/// What a program may load of what the kernel keeps beside a packet.
const KNOWN: [Ancillary; 6] = [
    Ancillary::Protocol,
    Ancillary::PacketType,
    Ancillary::Interface,
    Ancillary::VlanTag,
    Ancillary::VlanTagPresent,
    Ancillary::VlanProtocol,
];
/// Bytes of a program that are read at most: four times what the longest that the kernel takes has as a listing.
const TEXT_MAX: u64 = 1 << 20;
/// Where a VLAN tag is: after both addresses.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;
/// The tags that the kernel takes out: IEEE 802.1Q and 802.1ad.
const TPIDS: [u16; 2] = [0x8100, 0x88a8];
/// `ETH_P_802_3` and `ETH_P_802_2`: the protocols of frames that have a length in the place of a type.
const NOVELL: u32 = 1;
const LLC: u32 = 4;

/// A program that is ready to run.
#[derive(Debug)]
pub(crate) struct Bytecode {
    filter: Filter,
    /// Whether packets begin with an Ethernet header.
    is_ethernet: bool,
}

/// The VLAN tag of a frame, out of its bytes.
type Tag = [u8; TAG_LEN];

impl Bytecode {
    /// Makes the program ready that an option has as its text or, behind an `@`, names the file of.
    pub(crate) fn new(option: &str, text: &str, linktype: LinkType) -> Result<Self, OptionError> {
        let program = match text.strip_prefix('@') {
            Some(path) => {
                let refused = |error| OptionError::refused(option, format!("cannot read {path}: {error}"));
                bpf::read(&read(path).map_err(refused)?)
            }
            None => bpf::read(text.as_bytes()),
        };
        let program = program.map_err(|error| wrong(option, &error))?;
        let is_ethernet = linktype == LinkType::EN10MB;
        let is_known = is_ethernet || [LinkType::RAW, LinkType::IPV4, LinkType::IPV6].contains(&linktype);
        let inputs: Vec<Ancillary> =
            KNOWN.into_iter().filter(|data| is_known && loads(&program, *data)).collect();
        let filter = Filter::with_inputs(&program, &inputs, &Options::default());
        let filter = filter.map_err(|error| wrong(option, &error))?;
        // The first burst is not to wait for that.
        filter.burst_engine();
        Ok(Bytecode { filter, is_ethernet })
    }

    /// Which of at most [`LANES`] packets match: one bit each, the first packet's being the lowest. The packets are then as they were.
    pub(crate) fn select(&self, packets: &mut [Packet]) -> u64 {
        let mut tags = [None; LANES];
        if self.is_ethernet {
            packets.iter_mut().zip(&mut tags).for_each(|(packet, tag)| *tag = lift_tag(packet));
        }
        let bits = self.judge(packets, &tags);
        for (packet, tag) in packets.iter_mut().zip(&tags) {
            if let Some(tag) = tag {
                put_tag_back(packet, tag);
            }
        }
        bits
    }

    /// Asks the program about packets whose tags are lifted.
    fn judge(&self, packets: &[Packet], tags: &[Option<Tag>; LANES]) -> u64 {
        let mut lanes = [bpf::Packet::EMPTY; LANES];
        let mut rows = [0; LANES * KNOWN.len()];
        let inputs = self.filter.inputs();
        let mut places = rows.iter_mut();
        let mut interface = (0, 0);
        for ((lane, packet), tag) in lanes.iter_mut().zip(packets).zip(tags) {
            let tag_len = if tag.is_some() { TAG_LEN } else { 0 };
            let data = &packet.data()[tag_len..];
            *lane = bpf::Packet::new(data, packet.wire_len() - tag_len as u32);
            for (input, place) in inputs.iter().zip(&mut places) {
                let tag_half = |at: usize| tag.map_or(0, |tag| u16::from_be_bytes([tag[at], tag[at + 1]]));
                *place = match input {
                    Ancillary::Protocol => self.protocol(data),
                    Ancillary::PacketType => packet.metadata().packet_type.into(),
                    Ancillary::Interface => {
                        let number = packet.metadata().interface;
                        if interface.0 != number {
                            interface = (number, engine::kernel_index(number).unwrap_or(0));
                        }
                        interface.1
                    }
                    Ancillary::VlanTag => tag_half(2).into(),
                    Ancillary::VlanTagPresent => tag.is_some().into(),
                    Ancillary::VlanProtocol => tag_half(0).into(),
                    // Of the others the program asks for none.
                    _ => 0,
                };
            }
        }
        let mut bits = [0];
        let count = packets.len();
        self.filter.match_burst_with(&lanes[..count], &rows[..count * inputs.len()], &mut bits);
        bits[0]
    }

    /// The protocol that the kernel finds in a frame without its outer tag, or a bare packet.
    fn protocol(&self, data: &[u8]) -> u32 {
        if !self.is_ethernet {
            return match data.first().map(|first| first >> 4) {
                Some(4) => 0x0800,
                Some(6) => 0x86dd,
                _ => 0,
            };
        }
        match half(data, TAG_AT) {
            Some(kind) if kind >= 0x600 => kind.into(),
            Some(_) if half(data, TAG_AT + 2) == Some(0xffff) => NOVELL,
            Some(_) => LLC,
            None => 0,
        }
    }
}

/// Lifts the outer tag out, in front of the addresses, if the kernel has taken it out of this frame or would, had it come by a device.
fn lift_tag(packet: &mut Packet) -> Option<Tag> {
    if packet.metadata().inline_tag != 0 {
        return None;
    }
    let data = packet.data_mut();
    let tag: Tag = *data.get(TAG_AT..TAG_AT + TAG_LEN + 2)?.first_chunk()?;
    let is_taken_out = TPIDS.contains(&u16::from_be_bytes([tag[0], tag[1]]));
    is_taken_out.then(|| {
        data.copy_within(..TAG_AT, TAG_LEN);
        tag
    })
}

fn put_tag_back(packet: &mut Packet, tag: &Tag) {
    let data = packet.data_mut();
    data.copy_within(TAG_LEN..TAG_LEN + TAG_AT, 0);
    data[TAG_AT..TAG_AT + TAG_LEN].copy_from_slice(tag);
}

/// Whether a program loads something that stands at no offset of a packet.
fn loads(program: &Program, data: Ancillary) -> bool {
    // Of whatever size: the kernel makes no difference.
    let is_absolute = |insn: &Insn| insn.code & !0x18 == 0x20;
    program.insns().iter().any(|insn| is_absolute(insn) && insn.k == data.offset())
}

fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(TEXT_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The error about a program.
fn wrong(option: &str, error: &bpf::Error) -> OptionError {
    let wrong = OptionError::new(option, format!("the program is refused: {error}"));
    let help = match error.kind() {
        ErrorKind::Ancillary(_) => {
            let known = KNOWN.map(|data| data.to_string()).join(", ");
            Some(format!(
                "of what the kernel keeps beside a packet, these are known here, on Ethernet and of IP packets: {known}"
            ))
        }
        _ => error.help().map(str::to_owned),
    };
    match help {
        Some(help) => wrong.with_detail(help),
        None => wrong,
    }
}
