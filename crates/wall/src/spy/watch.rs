//! What is done with each packet while its flow is at hand. What needs more than the flow itself waits until all packets of the burst have been counted.

use super::identify::is_silent;
use super::look::{Look, Phase};
use super::{Sight, Sighting, Tag, tag, without_flow};
use flow::table::Slot;
use flow::{Decoded, Key, NoFlow, Packet, Seen, Watcher};
use wire::ip::protocol as ip;

/// Who owns a spy, and may keep a number with each direction of a flow ([`Spy::keep`](super::Spy::keep)). Packets are named by their place in the burst.
pub(crate) trait Owner {
    /// Whether a packet is looked at. `kept` is the number of its direction of its flow; 0 if there is none or the flow is not looked up yet. What the packet says is handed
    /// over as well where there is a number. It is asked once for each packet, before anything is changed.
    fn admits(&mut self, at: usize, kept: u16, decoded: Option<&Decoded>) -> bool;

    /// Whether a packet is dealt with by the number that is kept; else it gets a tag, and the owner calls [`Spy::keep`](super::Spy::keep) with it before the next burst. Of a
    /// packet of a flow, it is handed over what that says, and whether it counts (see [`flow::Seen::counts`]).
    fn knows(&mut self, at: usize, kept: u16, seen: Option<(&Decoded, bool)>) -> bool;

    /// Packets that were not admitted, and their bytes on the wire.
    fn refused(&self) -> (u64, u64);
}

/// All packets get tags.
pub(super) struct NoOwner;

impl Owner for NoOwner {
    #[inline(always)]
    fn admits(&mut self, _: usize, _: u16, _: Option<&Decoded>) -> bool {
        true
    }

    #[inline(always)]
    fn knows(&mut self, _: usize, _: u16, _: Option<(&Decoded, bool)>) -> bool {
        false
    }

    fn refused(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// What packets of a burst are looked at with.
pub(super) struct Watch<'a, 'p, O> {
    pub(super) owner: &'a mut O,
    pub(super) packets: &'a [Packet<'p>],
    /// The number of the first of these packets in the burst.
    pub(super) first: usize,
    pub(super) tags: &'a mut [Tag],
    pub(super) names: &'a [u32],
    pub(super) waits: bool,
    /// The number of the last flow.
    pub(super) numbers: &'a mut u32,
    pub(super) unsettled: &'a mut Vec<Sight>,
    pub(super) quotes: &'a mut Vec<(usize, Key)>,
    /// Where outcomes are told: the slots of flows.
    pub(super) slots: Option<&'a mut Vec<Option<Slot>>>,
}

impl<O: Owner> Watcher<Look> for Watch<'_, '_, O> {
    #[inline(always)]
    fn admits(&mut self, number: usize, flow: Option<(&Look, &Decoded)>) -> bool {
        match flow {
            Some((look, decoded)) => {
                self.owner.admits(self.first + number, look.kept(decoded.direction), Some(decoded))
            }
            None => self.owner.admits(self.first + number, 0, None),
        }
    }

    #[inline(always)]
    fn seen(&mut self, number: usize, seen: Seen<'_, Look>) {
        let at = self.first + number;
        let Seen { slot, is_new, is_full, counts, reopens, packets, decoded, flow } = seen;
        if let Some(slots) = &mut self.slots {
            slots.push(Some(slot));
        }
        let begins = flow.begins_with(decoded);
        let look = &mut flow.value;
        if is_new {
            *self.numbers = self.numbers.wrapping_add(1);
            *look = Look::new(*self.numbers, decoded.direction);
            if reopens.is_some() {
                // Its first packet answers the SYN of the other end.
                *look = Look::new(*self.numbers, decoded.direction.reverse());
                look.set_start(decoded.tcp.ack);
            }
        }
        if begins {
            // Where its stream begins.
            look.set_start(decoded.tcp.seq.wrapping_add(1));
        }
        let direction = decoded.direction;
        let is_settled = look.phase() == Phase::Settled;
        let is_looked_into = !is_settled && (self.waits || !is_silent(look, decoded));
        // What is kept with a flow that is silent is for packets that say nothing.
        let kept = if is_looked_into { 0 } else { look.kept(direction) };
        if self.owner.knows(at, kept, Some((decoded, counts))) {
            return look.note_kept(direction);
        }
        look.question_kept();
        let payload = decoded.payload();
        let payload = (payload.start as u32, payload.end as u32);
        let outer = decoded.outer;
        let is_reopened = reopens.is_some();
        let sight = Some(Sighting { slot, direction, is_new, is_reopened, is_full, counts, outer, payload });
        self.tags[at] = Tag { packets, sight, related: reopens, ..tag(look, self.names) };
        if matches!(decoded.protocol(), ip::ICMP | ip::ICMPV6)
            && let Some((key, quoted)) = decoded.quoted(self.packets[number].frame)
            // An error goes to who has sent what it quotes.
            && decoded.key.dst(direction).ip() == key.src(quoted).ip()
        {
            self.quotes.push((at, key));
        }
        if is_looked_into {
            look.set_pending();
            self.unsettled.push(Sight { at, slot, decoded: *decoded });
        }
    }

    fn without_flow(&mut self, number: usize, why: NoFlow) {
        let at = self.first + number;
        if let Some(slots) = &mut self.slots {
            slots.push(None);
        }
        self.owner.knows(at, 0, None);
        self.tags[at] = without_flow(why);
    }
}
