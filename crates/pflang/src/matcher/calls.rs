//! What a program says of packets: which handler, with which arguments.

/// What is to be called for a packet.
///
/// ```
/// use pflang::{Compiler, LinkType};
///
/// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { len > 50 => long(len - 50), otherwise => short }")?;
/// let mut values = Vec::new();
/// assert_eq!(matcher.call(&[0; 60], &mut values).map(|call| call.to_string()).as_deref(), Some("long(10)"));
/// assert_eq!(matcher.call(&[0; 40], &mut values).map(|call| call.to_string()).as_deref(), Some("short"));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Call<'m> {
    /// The name of the handler.
    pub handler: &'m str,
    /// Its number, in the order in which handlers are first named: that of [`Matcher::handlers`](super::Matcher::handlers).
    pub number: u32,
    /// What it is called with.
    pub arguments: &'m [u32],
}

/// `handler(1,2)`; without arguments the name alone.
impl std::fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.handler)?;
        let Some((first, rest)) = self.arguments.split_first() else { return Ok(()) };
        write!(f, "({first}")?;
        rest.iter().try_for_each(|argument| write!(f, ",{argument}"))?;
        f.write_str(")")
    }
}

/// What is to be called for the packets of a burst. Kept from burst to burst, so that its memory is.
///
/// ```
/// use pflang::{Calls, Compiler, LinkType, Packet};
///
/// let matcher = Compiler::new(LinkType::EN10MB).compile_match("match { len > 50 => long(len) }")?;
/// let mut calls = Calls::default();
/// matcher.call_burst(&[Packet::new(&[], 60), Packet::new(&[], 40)], &[], &mut calls);
/// let called: Vec<_> = matcher.calls(&calls).map(|call| call.map(|call| call.to_string())).collect();
/// assert_eq!(called, [Some("long(60)".to_owned()), None]);
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// By packet: the leaf that it reached, 0 for none.
    pub(super) leaves: Vec<u32>,
    /// The arguments of all, one behind the other.
    pub(super) values: Vec<u32>,
}

impl Calls {
    /// How many packets there were.
    ///
    /// ```
    /// assert_eq!(pflang::Calls::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there were none.
    ///
    /// ```
    /// assert!(pflang::Calls::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// How many packets no clause has taken.
    ///
    /// ```
    /// assert_eq!(pflang::Calls::default().unclaimed(), 0);
    /// ```
    pub fn unclaimed(&self) -> usize {
        self.leaves.iter().filter(|&&leaf| leaf == crate::ir::REJECT).count()
    }
}
