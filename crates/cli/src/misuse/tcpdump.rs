//! Flags of tcpdump that `sluss filter` does not have: fingers type them, and a word about what there is instead helps.

/// What there is in place of a flag, as it was typed: `-s`, `-vv`, `-i`.
pub(super) fn instead_of(flag: &str) -> Option<&'static str> {
    let mut letters = flag.strip_prefix('-')?.chars();
    let letter = letters.next().filter(|letter| letters.all(|other| other == *letter))?;
    Some(match letter {
        'i' | 'D' | 'I' | 'L' | 'p' | 'B' | 'Q' => {
            "captures are read here; `sluss run` reads from a network device, with the app `af_packet`"
        }
        's' => "packets are written as long as they are; `sluss run` cuts them, with the app `truncate`",
        'C' | 'W' | 'G' => "each filter writes one file, which is not rotated",
        'V' => "name all captures: `sluss filter FILTER FILE…`",
        'X' | 'x' | 'A' => {
            "no bytes are printed; `sluss trace` shows those that a filter reads, and `-w - | tcpdump -r - -X` prints all"
        }
        'e' => "lines show addresses of frames only where there is no IP; `-w - | tcpdump -r - -e` shows all",
        'v' => "a packet is one line; `sluss trace` shows more of one",
        't' => "each line begins with the time in UTC; `--json` has it as `time`",
        'd' => "`sluss compile` prints code, and each stage before it",
        'O' => "`sluss compile --stage graph` prints what was not optimised",
        'y' => "each packet has the link type of its capture",
        'S' => "sequence numbers are absolute; leave it out",
        'K' => "no checksums are verified; leave it out",
        'l' | 'U' => "what a pipe brings is passed on at once; leave it out",
        'N' => "no names are looked up; leave it out",
        'Z' => "no privileges are needed to read a capture, and none are given up; leave it out",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::instead_of;

    #[test]
    fn flags_are_known_once_and_repeated() {
        assert_eq!(instead_of("-tttt"), instead_of("-t"));
        assert!(instead_of("-i").is_some_and(|words| words.contains("`af_packet`")));
        assert_eq!(["--interface", "-", "i", "-is", "-k"].map(instead_of), [None; 5]);
    }
}
