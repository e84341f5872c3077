//! What has changed in a packet.

/// Bytes of a packet that an app has changed, put in or taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceChange {
    /// Where in the packet, as it was before.
    pub offset: usize,
    /// What was there; nothing where bytes were put in.
    pub before: Vec<u8>,
    /// What is there now; nothing where bytes were taken out.
    pub after: Vec<u8>,
}

/// The differences of two packets. In those of one length, byte for byte; else what lies between the bytes that are the same at both ends.
pub(super) fn changes(before: &[u8], after: &[u8]) -> Vec<TraceChange> {
    if before.len() == after.len() {
        return in_place(before, after);
    }
    let same = |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
    let shorter = before.len().min(after.len());
    // Headers are put in front: where bytes could be new at either end, they are there.
    let back = same(&mut before.iter().rev().zip(after.iter().rev()));
    let front = same(&mut before.iter().zip(after)).min(shorter - back);
    let middle = |bytes: &[u8]| bytes[front..bytes.len() - back].to_vec();
    vec![TraceChange { offset: front, before: middle(before), after: middle(after) }]
}

fn in_place(before: &[u8], after: &[u8]) -> Vec<TraceChange> {
    let mut changes: Vec<TraceChange> = Vec::new();
    for (offset, (&was, &is)) in before.iter().zip(after).enumerate().filter(|(_, (was, is))| was != is) {
        match changes.last_mut().filter(|last| last.offset + last.before.len() == offset) {
            Some(last) => {
                last.before.push(was);
                last.after.push(is);
            }
            None => changes.push(TraceChange { offset, before: vec![was], after: vec![is] }),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn what_has_changed_is_found_wherever_it_is() {
        let told = |before: &str, after: &str| -> Vec<(usize, String, String)> {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let changes = changes(before.as_bytes(), after.as_bytes());
            changes.iter().map(|one| (one.offset, text(&one.before), text(&one.after))).collect()
        };
        let change = |offset, before: &str, after: &str| (offset, before.to_owned(), after.to_owned());
        assert_eq!(told("payload", "payload"), []);
        assert_eq!(told("payload", "pAYload"), [change(1, "ay", "AY")]);
        assert_eq!(told("payload", "Payloa!"), [change(0, "p", "P"), change(6, "d", "!")]);
        assert_eq!(told("payload", "header payload"), [change(0, "", "header ")]);
        assert_eq!(told("header payload", "payload"), [change(0, "header ", "")]);
        assert_eq!(told("payload", "pay"), [change(3, "load", "")]);
        assert_eq!(told("aaaa", "aa"), [change(0, "aa", "")]);
        assert_eq!(told("mac type data", "mac tag type dat"), [change(5, "ype data", "ag type dat")]);
        assert_eq!(told("", "x"), [change(0, "", "x")]);
    }
}
