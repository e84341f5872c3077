//! Flows, as the worker sees them: how many packets nDPI has had of each, and when it has had enough.

use super::job::{FlowId, Job, Order, Told};
use super::settings::Settings;
use crate::ndpi::{FlowState, Found, Module};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Who takes what is said of flows, with the strings of the flow.
pub(super) type Tell<'a> = dyn FnMut(&Told, [Option<&[u8]>; 4]) + 'a;

/// All flows that the worker has been told of.
pub(super) struct Flows {
    module: Module,
    states: States,
    /// By the flow's slot: its generation, where its state is, the packets nDPI has had, and what was last said of it (app and master, and risks).
    /// Slots that no flow had are zeros, whose memory the kernel provides when it is touched.
    generations: Vec<u32>,
    places: Vec<u32>,
    packets: Vec<u32>,
    said: Vec<u32>,
    risks: Vec<u64>,
    budget_tcp: u32,
    budget_udp: u32,
    budget_other: u32,
    guess: bool,
}

// What a place says beside the number of a state.
/// There is no flow.
const NONE: u32 = 0;
/// The flow has no state yet.
const STATELESS: u32 = 1;
/// All has been said.
const DONE: u32 = 2;
/// The first that is a state.
const FIRST_STATE: u32 = 3;

impl Flows {
    pub(super) fn new(module: Module, settings: &Settings) -> Flows {
        let zeros = || vec![0; settings.flows as usize];
        Flows {
            states: States::new(module.flow_bytes(), settings.states),
            module,
            generations: zeros(),
            places: zeros(),
            packets: zeros(),
            said: zeros(),
            risks: vec![0; settings.flows as usize],
            budget_tcp: settings.budget_tcp,
            budget_udp: settings.budget_udp,
            budget_other: settings.budget_other,
            guess: settings.guess,
        }
    }

    /// Does a job. The packet is followed by zeros, as [`Module::packet`] wants it.
    pub(super) fn take(&mut self, job: Job, packet: &[u8], tell: &mut Tell<'_>) {
        let slot = job.flow.slot as usize;
        if slot >= self.places.len() || job.order == Order::Skip {
            return;
        }
        if job.order == Order::First {
            self.release(slot);
            self.generations[slot] = job.flow.generation;
            self.places[slot] = STATELESS;
            (self.packets[slot], self.said[slot], self.risks[slot]) = (0, 0, 0);
        }
        let known = self.places[slot] != NONE && self.generations[slot] == job.flow.generation;
        if !known || self.places[slot] == DONE {
            return;
        }
        match job.order {
            Order::First | Order::Next => self.packet(job, packet, tell),
            Order::GiveUp | Order::Guess => self.give_up(slot, job.order == Order::Guess, false, tell),
            Order::End => {
                self.release(slot);
                self.places[slot] = NONE;
            }
            Order::Skip => {}
        }
    }

    fn packet(&mut self, job: Job, packet: &[u8], tell: &mut Tell<'_>) {
        let slot = job.flow.slot as usize;
        let state = self.state(slot, tell);
        self.packets[slot] = self.packets[slot].saturating_add(1);
        // SAFETY: the state is this flow's alone, and all its packets are of one flow by its owner's word. In the ring, and in the tests'
        // buffers, zeros follow the packet.
        let found = unsafe { self.module.packet(state, packet, job.ms) };
        let budget = match job.transport {
            6 => self.budget_tcp,
            17 => self.budget_udp,
            _ => self.budget_other,
        };
        let enough = self.packets[slot] > budget;
        if found.app != 0 && found.more && !enough {
            // It is known what it is, and further packets may tell more of it.
            let said = u32::from(found.app) | u32::from(found.master) << 16;
            if said != self.said[slot] || found.risks != self.risks[slot] {
                (self.said[slot], self.risks[slot]) = (said, found.risks);
                self.tell(slot, Some(state), found, false, false, tell);
            }
        } else if found.app != 0 {
            self.finish(slot, state, found, false, tell);
        } else if enough {
            self.give_up(slot, self.guess, false, tell);
        }
    }

    /// The state of a flow. One that has none gets a state, of another flow if there is none left.
    fn state(&mut self, slot: usize, tell: &mut Tell<'_>) -> FlowState {
        if self.places[slot] >= FIRST_STATE {
            let state = self.places[slot] - FIRST_STATE;
            self.states.used[state as usize] = true;
            return self.states.at(state);
        }
        let state = self.states.take().unwrap_or_else(|| {
            let victim = self.states.victim();
            self.give_up(victim, self.guess, true, tell);
            self.states.take().expect("the victim's state is free")
        });
        self.states.owners[state as usize] = slot as u32;
        self.states.used[state as usize] = true;
        self.places[slot] = state + FIRST_STATE;
        self.states.at(state)
    }

    fn give_up(&mut self, slot: usize, guess: bool, evicted: bool, tell: &mut Tell<'_>) {
        if self.places[slot] < FIRST_STATE {
            self.tell(slot, None, Found::default(), true, evicted, tell);
            self.places[slot] = DONE;
            return;
        }
        let state = self.states.at(self.places[slot] - FIRST_STATE);
        // SAFETY: the state is this flow's, as `packet` left it.
        let found = unsafe { self.module.give_up(state, guess) };
        self.finish(slot, state, found, evicted, tell);
    }

    fn finish(&mut self, slot: usize, state: FlowState, found: Found, evicted: bool, tell: &mut Tell<'_>) {
        self.tell(slot, Some(state), found, true, evicted, tell);
        self.release(slot);
        self.places[slot] = DONE;
    }

    fn tell(
        &self,
        slot: usize,
        state: Option<FlowState>,
        found: Found,
        done: bool,
        evicted: bool,
        tell: &mut Tell<'_>,
    ) {
        // SAFETY: the state, if any, is this flow's.
        let strings = state.map_or([None; 4], |state| unsafe { self.module.strings(state) });
        let flow = FlowId { slot: slot as u32, generation: self.generations[slot] };
        tell(&Told { flow, found, packets: self.packets[slot], done, evicted }, strings);
    }

    /// Frees the state of a flow, if it has one.
    fn release(&mut self, slot: usize) {
        if self.places[slot] >= FIRST_STATE {
            let state = self.places[slot] - FIRST_STATE;
            // SAFETY: the state is this flow's, as `packet` left it; it is zeroed before it is used again.
            unsafe { self.module.free(self.states.at(state)) };
            self.states.free.push(state);
            self.places[slot] = STATELESS;
        }
    }
}

/// A fixed number of nDPI's states of flows, in memory that the kernel provides when it is touched.
///
/// Which flow loses its state to another is decided by the CLOCK algorithm: a hand goes round all states, and takes the first that was
/// not used since it last passed.
struct States {
    memory: NonNull<u8>,
    layout: Layout,
    /// Distance between states, and bytes of one.
    stride: usize,
    bytes: usize,
    free: Vec<u32>,
    /// States that were never used are those from here on.
    fresh: u32,
    count: u32,
    owners: Vec<u32>,
    used: Vec<bool>,
    hand: u32,
}

impl States {
    fn new(bytes: usize, count: u32) -> States {
        let count = count.max(1);
        let stride = bytes.next_multiple_of(64).max(64);
        // Memory of a greater alignment than the allocator's own would be zeroed, and so touched, at once.
        let layout =
            Layout::from_size_align(stride * count as usize + 64, 16).expect("states of a flow are small");
        // SAFETY: the layout is not of size 0.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { std::alloc::handle_alloc_error(layout) };
        let (owners, used) = (vec![0; count as usize], vec![false; count as usize]);
        States { memory, layout, stride, bytes, free: Vec::new(), fresh: 0, count, owners, used, hand: 0 }
    }

    fn at(&self, state: u32) -> FlowState {
        debug_assert!(state < self.count);
        let first = self.memory.align_offset(64);
        // SAFETY: a state is one of `count`, which all lie in the memory behind its first multiple of 64.
        unsafe { self.memory.add(first + state as usize * self.stride) }.cast()
    }

    /// A state of zeros that nobody has.
    fn take(&mut self) -> Option<u32> {
        if let Some(state) = self.free.pop() {
            // SAFETY: nobody has this state, and it has these bytes.
            unsafe { std::ptr::write_bytes(self.at(state).cast::<u8>().as_ptr(), 0, self.bytes) };
            return Some(state);
        }
        let state = (self.fresh < self.count).then_some(self.fresh)?;
        self.fresh += 1;
        Some(state)
    }

    /// The slot of the flow that is to lose its state. All states are taken.
    fn victim(&mut self) -> usize {
        loop {
            let state = self.hand as usize;
            self.hand = (self.hand + 1) % self.count;
            if !std::mem::take(&mut self.used[state]) {
                return self.owners[state] as usize;
            }
        }
    }
}

impl Drop for States {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { std::alloc::dealloc(self.memory.as_ptr(), self.layout) };
    }
}
