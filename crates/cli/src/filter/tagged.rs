//! Where nothing matches since all packets have a tag: how to look behind it, by words or by the dialect `tagged`.

use super::plan::Plan;
use super::run::Totals;
use crate::args::{DialectName, FilterArgs, LanguageArgs};
use crate::inputs;
use crate::language;
use crate::message::Message;
use capture::{Input, Reader};
use wire::LinkType;
use wire::layers::{LayerKind, Layers};

/// So many packets are looked at, and so many bytes of them.
const LOOK_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 << 20;
/// So many tags are looked behind.
const TAGS_MAX: usize = 8;

/// Words of the language that look behind tags.
const WORDS: [&str; 5] = ["vlan", "mpls", "pppoes", "pppoed", "link"];

/// What to tell where no packet has matched and all that were looked at have a tag behind which the filter matches; files are read once more,
/// as far as that.
pub(super) fn hint(plan: &Plan, args: &FilterArgs, totals: &Totals) -> Option<Message> {
    let [selection] = plan.selections.as_slice() else { return None };
    let is_asked = !args.quiet && totals.matched == [0] && totals.packets > 0 && totals.is_complete();
    let filter = &selection.filter;
    let has_word =
        |filter: &str| filter.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word));
    let looks_behind = args.language.dialect.contains(&DialectName::Tagged);
    if !is_asked || looks_behind || filter.is_empty() || filter.program().is_some() || has_word(filter) {
        return None;
    }
    let mut look = Look::default();
    for input in inputs::expand(&plan.inputs).ok()?.inputs {
        let path = match &input {
            Input::File(path) if path.is_file() => path,
            _ => return None,
        };
        look.read(&mut Reader::open(path).ok()?)?;
    }
    let (linktype, kinds) = look.first?;
    let prefix: String = kinds.iter().filter_map(word).map(|word| format!("{word} and ")).collect();
    let behind = if filter.contains(' ') {
        format!("{prefix}({})", filter.trim())
    } else {
        format!("{prefix}{}", filter.trim())
    };
    let matches = |filter: &str, language: &LanguageArgs| {
        let compiled = language::compiler(linktype, language, args.at).compile(filter);
        compiled.is_ok_and(|compiled| {
            look.packets.iter().any(|(packet, len)| compiled.matches_captured(packet, *len))
        })
    };
    let mut tagged = args.language.clone();
    tagged.dialect.push(DialectName::Tagged);
    let so_does = if matches(filter, &tagged) { "; so does `--dialect tagged`" } else { "" };
    let tags = match kinds.first()? {
        LayerKind::Vlan => "a VLAN tag",
        LayerKind::Mpls => "an MPLS label",
        _ => "a PPPoE header",
    };
    matches(&behind, &args.language).then(|| {
        Message::note(format_args!(
            "nothing matches, and all packets have {tags}: `{behind}` looks behind it, and matches{so_does}"
        ))
    })
}

fn word(kind: &LayerKind) -> Option<&'static str> {
    match kind {
        LayerKind::Vlan => Some("vlan"),
        LayerKind::Mpls => Some("mpls"),
        LayerKind::Pppoe => Some("pppoes"),
        _ => None,
    }
}

/// What was looked at.
#[derive(Default)]
struct Look {
    /// The link type, and the tags of the first packet.
    first: Option<(LinkType, Vec<LayerKind>)>,
    packets: Vec<(Box<[u8]>, u32)>,
    bytes: usize,
}

impl Look {
    /// Looks at the packets of a capture; nothing where one has no tag, or another link type.
    fn read(&mut self, reader: &mut Reader) -> Option<()> {
        while self.packets.len() < LOOK_MAX
            && self.bytes < BYTES_MAX
            && let Ok(Some(packet)) = reader.next_packet()
        {
            let layers = Layers::of(packet.linktype, packet.data);
            let behind_link =
                layers.iter().map(|layer| layer.kind).skip_while(|kind| *kind == LayerKind::Link);
            let tags: Vec<LayerKind> =
                behind_link.take_while(|kind| word(kind).is_some()).take(TAGS_MAX).collect();
            if tags.is_empty() {
                return None;
            }
            let (linktype, _) = self.first.get_or_insert((packet.linktype, tags));
            if *linktype != packet.linktype {
                return None;
            }
            self.bytes += packet.data.len();
            self.packets.push((packet.data.into(), packet.wire_len));
        }
        Some(())
    }
}
