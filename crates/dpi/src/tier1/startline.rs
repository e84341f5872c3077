//! The first line of a protocol of text.

/// Bytes of a first line, at most (RFC 9112 section 3 asks for 8000 at least).
const LINE_MAX: usize = 8192;

/// A first line, or what has come of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Without its end.
    pub(super) text: &'a [u8],
    /// What is behind it.
    pub(super) rest: &'a [u8],
    /// Whether its end has come.
    pub(super) whole: bool,
}

/// The three parts of a request line (RFC 9112 section 3, RFC 3261 section 7.1, RFC 7826 section 7.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a [u8],
    pub(super) target: &'a [u8],
    pub(super) version: &'a [u8],
}

impl<'a> Line<'a> {
    /// The first line of these bytes. `None` where they are no text, or the line is too long.
    pub(super) fn first(bytes: &'a [u8]) -> Option<Self> {
        let window = &bytes[..bytes.len().min(LINE_MAX)];
        let Some(end) = window.iter().position(|&byte| byte < b' ' && byte != b'\t') else {
            return (bytes.len() < LINE_MAX).then_some(Line { text: bytes, rest: &[], whole: false });
        };
        let text = &bytes[..end];
        match &bytes[end..] {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some(Line { text, rest, whole: true }),
            [b'\r'] => Some(Line { text, rest: &[], whole: false }),
            _ => None,
        }
    }

    /// As a request; the version is whatever stands last.
    pub(super) fn request(&self) -> Option<Request<'a>> {
        let space = self.text.iter().position(|&byte| byte == b' ')?;
        let (method, behind) = (&self.text[..space], &self.text[space + 1..]);
        let last = behind.iter().rposition(|&byte| byte == b' ')?;
        let (target, version) = (&behind[..last], &behind[last + 1..]);
        (self.whole && is_token(method) && !target.is_empty()).then_some(Request { method, target, version })
    }

    /// Whether it is a status line of this version: `HTTP/1.1 200 OK`. The last digit of the version is not in `version`.
    pub(super) fn is_status(&self, version: &[u8]) -> bool {
        match self.text.strip_prefix(version) {
            Some([minor, b' ', code @ ..]) => {
                minor.is_ascii_digit()
                    && code.len() >= 3
                    && code[..3].iter().all(u8::is_ascii_digit)
                    && matches!(code[0], b'1'..=b'6')
                    && code.get(3).is_none_or(|&byte| byte == b' ')
            }
            _ => false,
        }
    }

    /// Whether it begins with this, whatever the case of its letters.
    pub(super) fn begins(&self, word: &[u8]) -> bool {
        self.text.len() >= word.len() && self.text[..word.len()].eq_ignore_ascii_case(word)
    }

    /// Whether it may still begin with one of these: it does, or it has come no further than into the word.
    pub(super) fn may_begin(&self, words: &[&[u8]]) -> bool {
        words.iter().any(|word| {
            let common = word.len().min(self.text.len());
            self.text[..common].eq_ignore_ascii_case(&word[..common]) && (common == word.len() || !self.whole)
        })
    }

    /// The command that it begins with, if it is one of these, whole, and what stands behind it.
    pub(super) fn command(&self, commands: &[&[u8]]) -> bool {
        let word = self.text.split(|&byte| byte == b' ').next().unwrap_or_default();
        let ended = self.whole || word.len() < self.text.len();
        ended && commands.iter().any(|command| word.eq_ignore_ascii_case(command))
    }

    /// Whether one of the words between its spaces is this, whatever the case of its letters.
    pub(super) fn has_word(&self, is: impl Fn(&[u8]) -> bool) -> bool {
        self.text.split(|&byte| byte == b' ').any(is)
    }
}

/// RFC 9110 section 5.6.2, of a length that methods have.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    (1..=32).contains(&bytes.len())
        && bytes.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
