//! What the data plane and the warm process say to each other over their socket.

use std::time::Duration;

/// What the data plane wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Kill the worker.
    Kill,
    /// Start a worker that begins with this job.
    Start { tail: u32 },
    /// End.
    Leave,
}

impl Command {
    pub(super) const BYTES: usize = 5;

    pub(super) fn write(self) -> [u8; Command::BYTES] {
        let (kind, tail) = match self {
            Command::Kill => (1, 0),
            Command::Start { tail } => (2, tail),
            Command::Leave => (0, 0),
        };
        let [a, b, c, d] = u32::to_le_bytes(tail);
        [kind, a, b, c, d]
    }

    pub(super) fn read([kind, a, b, c, d]: [u8; Command::BYTES]) -> Command {
        match kind {
            1 => Command::Kill,
            2 => Command::Start { tail: u32::from_le_bytes([a, b, c, d]) },
            _ => Command::Leave,
        }
    }
}

/// What the warm process has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// nDPI cannot be used, and why.
    Failed(String),
    /// nDPI is loaded: its version, its protocols with their categories, and all categories, in the order of their ids.
    Ready { revision: String, protocols: Vec<(String, String)>, categories: Vec<String> },
    /// A worker has started.
    Started { pid: u32 },
    /// A worker has ended, on command or not: its status, as wait(2) has it, and the processor time it has used.
    Ended { killed: bool, status: i32, cpu: Duration },
}

/// The longest message that is read.
const BYTES_MAX: usize = 1 << 20;

impl Message {
    /// The message behind its length.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut body = Vec::new();
        match self {
            Message::Failed(why) => {
                body.push(0);
                body.extend(why.as_bytes());
            }
            Message::Ready { revision, protocols, categories } => {
                body.push(1);
                let protocols = protocols.iter().map(|(name, category)| format!("{name}\0{category}"));
                let lists =
                    [revision.clone(), protocols.collect::<Vec<_>>().join("\0"), categories.join("\0")];
                body.extend(lists.join("\u{1}").as_bytes());
            }
            Message::Started { pid } => {
                body.push(2);
                body.extend(pid.to_le_bytes());
            }
            Message::Ended { killed, status, cpu } => {
                body.push(3);
                body.push((*killed).into());
                body.extend(status.to_le_bytes());
                body.extend((cpu.as_micros() as u64).to_le_bytes());
            }
        }
        let mut message = (body.len() as u32).to_le_bytes().to_vec();
        message.append(&mut body);
        message
    }

    /// Takes a message from the front of what has come. `Ok(None)`: it has not all come yet. `Err`: it is none.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Result<Option<Message>, ()> {
        let Some(&length) = bytes.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(length) as usize;
        if length > BYTES_MAX {
            return Err(());
        }
        if bytes.len() < 4 + length {
            return Ok(None);
        }
        let message: Vec<u8> = bytes.drain(..4 + length).skip(4).collect();
        let (kind, body) = message.split_first().ok_or(())?;
        match (kind, body) {
            (0, why) => Ok(Some(Message::Failed(String::from_utf8_lossy(why).into_owned()))),
            (1, lists) => ready(&String::from_utf8_lossy(lists)).map(Some).ok_or(()),
            (2, &[a, b, c, d]) => Ok(Some(Message::Started { pid: u32::from_le_bytes([a, b, c, d]) })),
            (3, &[killed, ref rest @ ..]) => {
                let (status, cpu) = rest.split_first_chunk::<4>().ok_or(())?;
                let micros = u64::from_le_bytes(cpu.try_into().map_err(|_| ())?);
                let (status, cpu) = (i32::from_le_bytes(*status), Duration::from_micros(micros));
                Ok(Some(Message::Ended { killed: killed != 0, status, cpu }))
            }
            _ => Err(()),
        }
    }
}

fn ready(lists: &str) -> Option<Message> {
    let mut lists = lists.split('\u{1}');
    let revision = lists.next()?.to_string();
    let words: Vec<&str> = lists.next()?.split('\0').collect();
    let protocols =
        words.as_chunks::<2>().0.iter().map(|[name, category]| (name.to_string(), category.to_string()));
    let categories = lists.next()?.split('\0').map(String::from).collect();
    Some(Message::Ready { revision, protocols: protocols.collect(), categories })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_in_any_pieces() {
        let protocols =
            vec![("Unknown".to_string(), "Unspecified".to_string()), ("HTTP".into(), "Web".into())];
        let messages = [
            Message::Failed("no library".into()),
            Message::Ready {
                revision: "4.2.0".into(),
                protocols,
                categories: vec!["Unspecified".into(), "Media".into()],
            },
            Message::Started { pid: 7 },
            Message::Ended { killed: false, status: 11, cpu: Duration::from_micros(123_456_789) },
        ];
        let mut bytes = Vec::new();
        let mut read = Vec::new();
        for byte in messages.iter().flat_map(Message::write) {
            bytes.push(byte);
            read.extend(Message::take(&mut bytes).unwrap());
        }
        assert_eq!(read, messages);
        assert!(bytes.is_empty());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        assert_eq!(Message::take(&mut vec![1, 0, 0, 0, 9]), Err(()));
        assert_eq!(Message::take(&mut vec![0, 0, 0, 0]), Err(()));
        assert_eq!(Message::take(&mut vec![255, 255, 255, 255]), Err(()));
    }

    #[test]
    fn commands_are_read_as_they_were_written() {
        for command in [Command::Kill, Command::Start { tail: u32::MAX - 1 }, Command::Leave] {
            assert_eq!(Command::read(command.write()), command);
        }
    }
}
