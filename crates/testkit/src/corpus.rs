//! Real packets: captures of the repository, and others where somebody has put them.
//!
//! The reader here is a second, smaller one beside the `capture` crate's, on purpose: what tests compare should not
//! pass through the code that other tests are about. It reads classic pcap files of this machine's byte order or the
//! other, and nothing else.

use crate::linktype::LinkType;
use crate::packet::Packet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The packets of one file.
#[derive(Debug)]
pub struct Capture {
    /// Where it lies.
    pub path: PathBuf,
    /// What its packets begin with.
    pub linktype: LinkType,
    /// The packets.
    pub packets: Vec<Packet>,
}

/// All classic pcap files of the repository's `captures/` and of the folder that `SLUSS_SHARED` names (or `../shared`
/// beside the repository), in the order of their paths; says aloud what is absent.
pub fn captures() -> Vec<Capture> {
    let (root, shared) = (root(), shared());
    let folders =
        [root.join("captures"), shared.join("captures/linktypes"), shared.join("captures/snabbwall")];
    folders.iter().flat_map(|folder| in_folder(folder)).collect()
}

/// The path of a capture that somebody has put beside the repository, as `snabbwall/BITTORRENT.pcap`, if it is there.
pub fn path(name: &str) -> Option<PathBuf> {
    let path = shared().join("captures").join(name);
    path.exists().then_some(path)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn shared() -> PathBuf {
    env::var_os("SLUSS_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

fn in_folder(folder: &Path) -> Vec<Capture> {
    let Ok(entries) = fs::read_dir(folder) else {
        crate::say(format_args!(
            "SKIPPED: no captures in {} (set SLUSS_SHARED to use others)",
            folder.display()
        ));
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| parse(&fs::read(&path).ok()?, path)).collect()
}

/// Reads a classic pcap file as far as it is whole.
fn parse(file: &[u8], path: PathBuf) -> Option<Capture> {
    let magic: [u8; 4] = file.get(..4)?.try_into().ok()?;
    let big = match u32::from_be_bytes(magic) {
        0xa1b2_c3d4 | 0xa1b2_3c4d => true,
        0xd4c3_b2a1 | 0x4d3c_b2a1 => false,
        _ => return None,
    };
    let word = |at: usize| -> Option<u32> {
        let bytes: [u8; 4] = file.get(at..at + 4)?.try_into().ok()?;
        Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let linktype = LinkType::new(word(20)? & 0x0fff_ffff).canonical();
    let (mut packets, mut at) = (Vec::new(), 24);
    while let (Some(captured), Some(wire_len)) = (word(at + 8), word(at + 12)) {
        let Some(bytes) = file.get(at + 16..at + 16 + captured as usize) else { break };
        packets.push(Packet { bytes: bytes.to_vec(), wire_len });
        at += 16 + captured as usize;
    }
    Some(Capture { path, linktype, packets })
}
