//! A Lua app in a graph of `sluss-engine`: packets go between the links that Lua sees and those of the engine, as pointers.

use super::breath::Turn;
use super::call::Call;
use super::core::{Core, home};
use super::layout::RawPacket;
use super::ledger::Ledger;
use super::natives::Ends;
use super::state::{Argument, State};
use crate::error::Error;
use engine::shm::Counter;
use engine::{Io, Packet, Pool, Roles};
use std::ptr::NonNull;

/// Free packets that the app keeps at hand; more go back to the engine.
const SPARE: usize = 1024;

/// A Lua app and the state that it runs in.
pub(crate) struct Guest {
    state: State,
    /// The engine's counters of packets that the app has freed, and of those that found a full link.
    freed: Counter,
    link_full: Counter,
    frees: u64,
    dropped: u64,
}

/// What the app is given, and has said.
#[derive(Default)]
pub(super) struct GuestState {
    /// The pool of the worker, during a turn.
    pub(super) pool: Option<NonNull<Pool>>,
    /// Which packets it has.
    pub(super) ledger: Ledger,
    /// Whether it has sent or freed a packet that it did not have.
    pub(super) has_cheated: bool,
    pub(super) roles: [bool; 3],
    pub(super) inputs: Ends,
    pub(super) outputs: Ends,
}

// SAFETY: a Lua state, its engine and the links of both are used by whoever has the guest, one thread at a time; nothing of LuaJIT belongs to a
// thread.
unsafe impl Send for Guest {}

impl Guest {
    /// A guest in a state in which its class was loaded.
    pub(crate) fn new(state: State, freed: Counter, link_full: Counter) -> Self {
        Guest { state, freed, link_full, frees: 0, dropped: 0 }
    }

    fn core(&self) -> &Core {
        // SAFETY: the engine lives as long as the state, and no Lua code runs now.
        unsafe { &*self.state.core() }
    }

    /// The turns that the class has methods for.
    pub(crate) fn roles(&self) -> Roles {
        let [pull, push, tick] = self.core().guest.roles;
        Roles::NONE.and(Roles::PULL.when(pull)).and(Roles::PUSH.when(push)).and(Roles::TICK.when(tick))
    }

    /// Packets that are here: in links, with the app, or spare.
    pub(crate) fn held(&self) -> usize {
        self.core().packets
    }

    /// Packets of these that are spare.
    pub(crate) fn spare(&self) -> usize {
        // SAFETY: the list is mapped while the engine lives.
        unsafe { (*self.core().shared.free).free as usize }
    }

    /// Calls a function of `core.guest`, with the pool at hand.
    pub(crate) fn call(&mut self, io: &mut Io<'_>, code: &str, arguments: &[Argument]) -> Result<(), Error> {
        self.lend(io.pool);
        let done = self.state.run(code.as_bytes(), "=sluss", arguments);
        self.settle(io);
        done
    }

    /// Gives the app a turn.
    pub(crate) fn turn(&mut self, io: &mut Io<'_>, turn: Turn) -> Result<(), Error> {
        let core = self.state.core();
        // SAFETY: the engine lives, and no Lua code runs now.
        for (index, &link) in unsafe { (*core).guest.inputs.links.iter().enumerate() } {
            let Some(input) = io.inputs.get_mut(index) else { continue };
            // SAFETY: the link is memory of the engine.
            let link = unsafe { &mut *link };
            let mut room = link.room();
            while room > 0
                && let Some(burst) = input.burst_of_at_most(room)
            {
                room -= burst.len();
                for packet in burst {
                    link.count_sent(1, packet.len() as u64);
                    // SAFETY: as above.
                    unsafe { (*core).packets += 1 };
                    let address = packet.into_address();
                    let _ = address.expose_provenance();
                    // SAFETY: as above.
                    unsafe { (*core).guest.ledger.enter(address) };
                    link.put(address.as_ptr().cast());
                }
            }
        }
        self.lend(io.pool);
        let done = self.state.turn(turn);
        self.settle(io);
        done
    }

    fn lend(&mut self, pool: &mut Pool) {
        let stamps = i32::from(pool.uses_metadata());
        // SAFETY: the engine lives, and no Lua code runs now.
        unsafe {
            (*self.state.core()).guest.pool = Some(NonNull::from(pool));
            (*self.state.core()).shared.stamps = stamps;
        }
    }

    /// Sends on what the app has sent, counts what it has freed, and gives back what is spare.
    fn settle(&mut self, io: &mut Io<'_>) {
        // SAFETY: the engine lives, and no Lua code runs now.
        let core = unsafe { &mut *self.state.core() };
        core.guest.pool = None;
        let mut dropped = 0;
        for index in 0..core.guest.outputs.links.len() {
            // SAFETY: the link is memory of the engine.
            let link = unsafe { &mut *core.guest.outputs.links[index] };
            dropped += link.counters.txdrop.count as u64;
            let Some(output) = io.outputs.get_mut(index) else { continue };
            while link.waiting() > 0 {
                let address = link.take();
                if let Some(mut packet) = core.give_up(address) {
                    io.pool.complete(&mut packet);
                    output.put(packet);
                }
            }
            (link.read, link.write) = (0, 0);
        }
        // SAFETY: the counter is memory of the engine.
        let frees = unsafe { (*core.shared.frees).count };
        let mut freed = frees - self.frees;
        let mut full = dropped - self.dropped;
        (self.frees, self.dropped) = (frees, dropped);
        // SAFETY: the list is mapped while the engine lives; what is on it belongs to nobody else.
        let freelist = unsafe { &mut *core.shared.free };
        while freed > 0 || freelist.free as usize > SPARE {
            let packet = if freelist.free > 0 {
                freelist.free -= 1;
                let Some(packet) = core.give_up(freelist.list[freelist.free as usize]) else {
                    freed = freed.saturating_sub(1);
                    continue;
                };
                Some(packet)
            } else {
                // What was freed is in use again: as if the app had kept it, and freed another.
                io.pool.allocate()
            };
            match packet {
                Some(packet) if freed > 0 => {
                    freed -= 1;
                    let counter = if full > 0 { &self.link_full } else { &self.freed };
                    full = full.saturating_sub(1);
                    io.pool.free(packet, counter);
                }
                Some(packet) => io.pool.take_back(packet),
                // The pool is exhausted: these are counted later.
                None => {
                    self.frees -= freed;
                    self.dropped -= full;
                    break;
                }
            }
        }
    }

    /// Ends the app: what it has goes out of scope, for the engine to count.
    pub(crate) fn stop(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        let done = self.call(io, "require('core.guest').stop()", &[]);
        // SAFETY: the engine lives, and no Lua code runs now.
        let core = unsafe { &mut *self.state.core() };
        // SAFETY: the list is mapped while the engine lives; what is on it belongs to nobody else.
        let freelist = unsafe { &mut *core.shared.free };
        while freelist.free > 0 {
            freelist.free -= 1;
            if let Some(packet) = core.give_up(freelist.list[freelist.free as usize]) {
                io.pool.take_back(packet);
            }
        }
        self.abandon();
        done
    }

    /// Whether the app has sent or freed a packet that it did not have, since this was asked last.
    pub(crate) fn has_cheated(&mut self) -> bool {
        // SAFETY: the engine lives, and no Lua code runs now.
        std::mem::take(unsafe { &mut (*self.state.core()).guest.has_cheated })
    }

    /// Lets go of all packets that the app has, wherever they are.
    fn abandon(&mut self) {
        // SAFETY: the engine lives, and no Lua code runs now.
        let core = unsafe { &mut *self.state.core() };
        for chunk in core.guest.ledger.drain() {
            let packet =
                home(NonNull::new(std::ptr::with_exposed_provenance_mut(chunk.get())).expect("an address"));
            core.packets -= 1;
            // SAFETY: the app had this packet, and nobody else has it; it is made empty, at its place.
            drop(unsafe {
                packet.cast::<RawPacket>().as_mut().length = 0;
                Packet::from_address(packet)
            });
        }
        let guest = &core.guest;
        for &link in guest.inputs.links.iter().chain(&guest.outputs.links) {
            // SAFETY: the link is memory of the engine.
            unsafe { ((*link).read, (*link).write) = (0, 0) };
        }
        // SAFETY: as above.
        unsafe { (*core.shared.free).free = 0 };
    }
}

/// When the app has failed.
impl Drop for Guest {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Core {
    /// A packet that the app gives away, unless it does not have it.
    fn give_up(&mut self, address: *mut RawPacket) -> Option<Packet> {
        let address = NonNull::new(address)?.cast();
        if !self.guest.ledger.leave(address) {
            self.guest.has_cheated = true;
            return None;
        }
        self.packets -= 1;
        // SAFETY: the app had it, and does not have it any more.
        Some(unsafe { Packet::from_address(address) })
    }
}

/// Pushes an option as a Lua value.
pub(super) fn push_option(call: &mut Call, value: &engine::OptionValue) {
    use engine::OptionValue as Value;
    match value {
        Value::Bool(value) => call.push_bool(*value),
        Value::Integer(value) => call.push_number(*value as f64),
        Value::Float(value) => call.push_number(*value),
        Value::Text(text) => call.push_text(text.as_bytes()),
        Value::List(items) => {
            call.push_table();
            for (index, item) in (1..).zip(items) {
                push_option(call, item);
                call.set_item(index);
            }
        }
        Value::Table(fields) => {
            call.push_table();
            for (name, value) in fields {
                call.push_text(name.as_bytes());
                push_option(call, value);
                call.set_pair();
            }
        }
    }
}
