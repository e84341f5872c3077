//! Common parts of apps that answer for somebody: a port to the south, where questions come from, and one to the north.
//!
//! ```text
//!           ┌───────────┐
//!   south   │ responder │   north
//! ──────────┤           ├──────────
//!  questions└───────────┘ all that is no question, both ways
//!  and answers
//! ```

use engine::shm::Counter;
use engine::{Burst, Io, Packet, Ports};
use wire::ether::{Ethernet, Mac};

/// The ports of a responder, inputs and outputs.
pub(crate) const PORTS: Ports = Ports::Named(&["south", "north"]);

const SOUTH: usize = 0;
const NORTH: usize = 1;

/// The fate of a packet from the south.
pub(crate) enum Fate<'a> {
    /// It is an answer now, and goes back.
    Answer,
    /// It goes on to the north.
    Pass,
    /// Nobody should see it.
    Drop(&'a Counter),
}

/// Whether a frame goes to a station, or to a group: a switch that does not know its station, or a device that brings in all
/// frames, may bring those for others.
#[inline]
pub(crate) fn is_for(ether: &Ethernet<'_>, mac: Mac) -> bool {
    ether.dst() == mac || ether.dst().is_multicast()
}

/// One turn. `concerns` tells quickly which packets may be questions; `answer` turns those into answers. Packets that go north keep
/// their order, questions that turn out to be none included.
pub(crate) fn turn<'a>(
    io: &mut Io<'_>,
    answered: &Counter,
    concerns: impl Fn(&[u8]) -> bool,
    answer: impl Fn(&mut Packet) -> Fate<'a>,
) {
    let [south, north] = &mut *io.outputs else { return };
    while let Some(burst) = io.inputs[SOUTH].burst_of_at_most(Burst::SIFTED) {
        // Of those that do not go north, in their order: what counts a packet that is dropped, `None` for an answer.
        let (mut drops, mut count) = ([None; Burst::SIFTED], 0);
        let others = north.sift(burst, |packet| {
            if !concerns(packet.data()) {
                return true;
            }
            match answer(packet) {
                Fate::Pass => return true,
                Fate::Answer => {}
                Fate::Drop(counter) => drops[count] = Some(counter),
            }
            count += 1;
            false
        });
        for (packet, dropped) in others.zip(drops) {
            match dropped {
                Some(counter) => io.pool.free(packet, counter),
                None => {
                    answered.add(1);
                    south.put(packet);
                }
            }
        }
    }
    while let Some(burst) = io.inputs[NORTH].burst() {
        south.send(burst);
    }
}
