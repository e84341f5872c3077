//! Flags of tcpdump that commands do not have: fingers type them, and a word about what there is instead helps.

/// What `-j` means, where its value is not a number.
pub(super) const JOBS: &str = "`-j` is the number of threads; tcpdump's is the type of timestamps, and those of a capture are what they are";

/// Flags that ask for more of each packet than lines here show.
pub(super) const MORE: [char; 2] = ['e', 'v'];

/// Those that have a value, there or in `sluss filter`: what follows in the same word is it, or the next word.
pub(super) const WITH_VALUE: &[u8] = b"BCEFGMQTVWZcfijmorswyz";

/// Whether a flag without a value says how packets are printed. Those beside the ones of [`MORE`] change nothing here, and much there:
/// without `-n` names are looked up.
pub(super) fn is_of_printing(letter: u8) -> bool {
    MORE.contains(&char::from(letter)) || b"nNtSKxXA".contains(&letter)
}

/// What a command has in place of a flag, as it was typed: `-s`, `-vv`, `-i`.
pub(super) fn instead_of(command: &str, flag: &str) -> Option<&'static str> {
    let mut letters = flag.strip_prefix('-')?.chars();
    let letter = letters.next().filter(|letter| letters.all(|other| other == *letter))?;
    match (command, letter) {
        ("filter", _) => in_filter(letter),
        ("compile", 'd') => {
            Some("code is printed anyway; `--stage` says which: `--stage asm`, `--stage bytes`")
        }
        ("explain", 'd') => Some("`sluss compile` prints code; its `--stage` says which: `--stage asm`"),
        ("compile", 'O') => Some("`--stage graph` prints what was not optimised"),
        _ => None,
    }
}

/// Whether a flag, once or repeated, asks for more of each packet than lines here show.
pub(super) fn prints_more(flag: &str) -> bool {
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let first = letters.chars().next().filter(|first| MORE.contains(first));
    first.is_some_and(|first| letters.chars().all(|letter| letter == first))
}

fn in_filter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'I' => "no device is set to monitor mode; `iw dev DEVICE set type monitor` does that",
        'J' | 'L' => {
            "times are the kernel's, and each device has one link type, which is told when it is captured from"
        }
        'z' => "no command is run for a file that is complete",
        'E' | 'M' => "nothing is decrypted, and no signature is verified",
        'T' => "packets are shown as what their headers and ports say",
        'H' | 'R' | 'b' | 'u' => {
            "a packet is one line, without such details; `-w - | tcpdump -r -` shows all"
        }
        'V' => "name all captures: `sluss filter FILTER FILE…`",
        'e' => "lines show addresses of frames only where there is no IP, and tcpdump all",
        'v' => "a packet is one line; `sluss trace` shows more of one, tcpdump of all",
        't' => "each line begins with the time in UTC; `--json` has it as `time`",
        'd' => "`sluss compile` prints code, and each stage before it",
        'O' => "`sluss compile --stage graph` prints what was not optimised",
        'y' => "each packet has the link type of its capture",
        'S' => "sequence numbers are absolute; leave it out",
        'K' => "no checksums are verified; leave it out",
        'N' => "no names are looked up; leave it out",
        'Z' => "no privileges are needed to read a capture, and none are given up; leave it out",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{instead_of, prints_more};

    #[test]
    fn flags_are_known_once_and_repeated() {
        let filter = |flag| instead_of("filter", flag);
        assert_eq!(filter("-tttt"), filter("-t"));
        assert!(filter("-z").is_some() && filter("-i").is_none());
        assert_eq!(["--interface", "-", "i", "-is", "-k"].map(filter), [None; 5]);
        assert_eq!(
            ["-X", "-vvv", "-", "--", "v", "-ev", "-n"].map(prints_more),
            [false, true, false, false, false, false, false]
        );
        assert!(instead_of("compile", "-dd").is_some_and(|words| words.contains("`--stage`")));
        assert_eq!([instead_of("compile", "-i"), instead_of("trace", "-d")], [None; 2]);
    }
}
