//! Link types: what options become for those of the packets that come. Compiled for one at first, for another when its first packet comes.
//!
//! A packet says its link type in its metadata. Where a graph keeps none, nothing but Ethernet frames is in it: who brings in others asks
//! for metadata. What is for the packets that came last is at hand, so that a burst of the same link type costs a look at each packet's
//! metadata and nothing else.

use engine::shm::Counter;
use engine::{Burst, OptionError, Packet, Pool};
use wire::LinkType;

/// Link types that an app compiles for at most: each takes a worker's time once, and memory.
const KINDS_MAX: usize = 4;

/// The compiled options for the link type that an app begins with.
pub(crate) fn compile<C: Compile>(options: &C, linktype: Option<&str>) -> Result<C::Output, OptionError> {
    options.compile(first(linktype)?)
}

/// The link type that the option `linktype` names, else Ethernet.
fn first(linktype: Option<&str>) -> Result<LinkType, OptionError> {
    let parse = |name: &str| name.parse().map_err(|error| OptionError::new("linktype", error));
    linktype.map_or(Ok(LinkType::EN10MB), parse)
}

/// Options that mean something on frames of one link type.
pub(crate) trait Compile {
    /// The options, compiled for it.
    type Output;

    fn compile(&self, linktype: LinkType) -> Result<Self::Output, OptionError>;

    /// Whether what they became may ask for more than a packet's bytes, such as how long it was on the wire.
    fn reads_metadata(output: &Self::Output) -> bool;
}

/// The options, compiled for each link type that came.
#[derive(Debug)]
pub(crate) struct Compiled<C: Compile> {
    options: C,
    /// The only link type, if one was named.
    only: Option<LinkType>,
    /// For the packets that came last.
    current: C::Output,
    /// Their link type, as metadata has it.
    number: u16,
    /// For packets of others; `None` where the options mean nothing.
    others: Vec<(u16, Option<C::Output>)>,
    /// Counts packets for which there is nothing.
    wrong: Counter,
    /// Why there is nothing for the first of them.
    why: Option<String>,
}

impl<C: Compile> Compiled<C> {
    /// For packets of the link type that is named, or of any. `prepared` is what [`compile`] has made of the options before, if that is
    /// there. `wrong` counts packets of others, and of those for which the options do not compile.
    pub(crate) fn new(
        options: C,
        linktype: Option<&str>,
        prepared: Option<C::Output>,
        wrong: Counter,
    ) -> Result<Self, OptionError> {
        let first = first(linktype)?;
        let current = prepared.map_or_else(|| options.compile(first), Ok)?;
        let only = linktype.map(|_| first);
        Ok(Compiled {
            options,
            only,
            current,
            number: number_of(first),
            others: Vec::new(),
            wrong,
            why: None,
        })
    }

    /// Whether the graph has to keep metadata, as what is asked for is in it. Told by what packets begin with at first: where others
    /// come, metadata is kept anyway.
    pub(crate) fn uses_metadata(&self) -> bool {
        let others = self.others.iter().filter_map(|(_, output)| output.as_ref());
        others.chain([&self.current]).any(C::reads_metadata)
    }

    /// The compiled options for the packets that [`Compiled::next`] or [`Compiled::split`] gave last.
    #[inline]
    pub(crate) fn current(&self) -> &C::Output {
        &self.current
    }

    /// Takes packets of one link type from the front of a burst: all, as a rule. Before them, frees those for which there is nothing.
    #[inline]
    pub(crate) fn next<'b>(&mut self, burst: &mut Burst<'b>, pool: &mut Pool) -> Option<Burst<'b>> {
        loop {
            let (packets, is_wrong) = self.split(burst, pool.uses_metadata())?;
            if !is_wrong {
                return Some(packets);
            }
            pool.free_burst(packets, &self.wrong);
        }
    }

    /// Takes packets of one link type from the front of a burst, and says whether there is nothing for them.
    #[inline]
    pub(crate) fn split<'b>(&mut self, burst: &mut Burst<'b>, metadata: bool) -> Option<(Burst<'b>, bool)> {
        let count = burst.len();
        if count == 0 {
            return None;
        }
        let is_other = |packet: &Packet| packet.metadata().linktype != self.number;
        if metadata && burst.iter().fold(false, |any, packet| any | is_other(packet)) {
            return self.split_mixed(burst);
        }
        Some((burst.split_front(count), false))
    }

    #[cold]
    fn split_mixed<'b>(&mut self, burst: &mut Burst<'b>) -> Option<(Burst<'b>, bool)> {
        let number = burst.first()?.metadata().linktype;
        let count = burst.iter().take_while(|packet| packet.metadata().linktype == number).count();
        let is_wrong = !self.turn_to(number);
        Some((burst.split_front(count), is_wrong))
    }

    /// Puts what is for a link type at hand. Returns whether there is anything.
    fn turn_to(&mut self, number: u16) -> bool {
        if number == self.number {
            return true;
        }
        let known = self.others.iter().position(|(other, _)| *other == number);
        let Some(place) = known.or_else(|| self.add(number)) else { return false };
        let (other, Some(output)) = &mut self.others[place] else { return false };
        std::mem::swap(other, &mut self.number);
        std::mem::swap(output, &mut self.current);
        true
    }

    /// Compiles for one link type more, if there may be one. Returns its place.
    fn add(&mut self, number: u16) -> Option<usize> {
        let linktype = LinkType::new(number.into());
        if self.others.len() + 1 == KINDS_MAX {
            let why = || format!("{linktype} would be one link type more than the {KINDS_MAX} there may be");
            self.why.get_or_insert_with(why);
            return None;
        }
        let output = self.compile(linktype).map_err(|why| self.why.get_or_insert(why).clone());
        self.others.push((number, output.ok()));
        Some(self.others.len() - 1)
    }

    fn compile(&self, linktype: LinkType) -> Result<C::Output, String> {
        match self.only {
            Some(only) => Err(format!(
                "not of link type {only}; with `linktype = \"{linktype}\"`, those of {linktype} are filtered"
            )),
            None => {
                self.options.compile(linktype).map_err(|error| format!("on link type {linktype}, {error}"))
            }
        }
    }

    /// Counts packets for which there is nothing, and which are not freed here.
    pub(crate) fn count_wrong(&self, packets: &[Packet]) {
        self.wrong.add(packets.len() as u64);
    }

    /// The words about packets for which nothing is compiled; `fate` says what happened to so many.
    pub(crate) fn report(&self, fate: impl FnOnce(u64) -> String) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(format!("{}: {why}", fate(self.wrong.get())))
    }
}

/// As metadata has it, with this in place of numbers that are too large.
fn number_of(linktype: LinkType) -> u16 {
    u16::try_from(linktype.value()).unwrap_or(u16::MAX)
}
