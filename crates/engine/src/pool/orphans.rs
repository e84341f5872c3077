//! Packets that went out of scope: nobody handed them on or gave them back, so the engine does.
//!
//! Dropping a packet puts it on a list of the thread; the worker empties it every breath, and counts each packet for the
//! app that was running. A thread without a worker leaves its list to the next one that sweeps.

use super::{Packet, region};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};

thread_local! {
    static LIST: List = const { List(RefCell::new(Vec::new())) };
    /// Which app runs. Apart from the list, since what needs no cleaning up is read in one instruction.
    static WHO: Cell<u32> = const { Cell::new(NOBODY) };
    static ANY: Cell<bool> = const { Cell::new(false) };
}

/// Packets that threads have left when they ended.
static LEFT: Mutex<Vec<(u32, ManuallyDrop<Packet>)>> = Mutex::new(Vec::new());

/// No app was running.
const NOBODY: u32 = u32::MAX;
/// The packet's end has been counted already.
const COUNTED: u32 = u32::MAX - 1;

/// Whose packet was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// That of the app with this number.
    App(u32),
    /// Its end is counted already.
    Counted,
    /// No app ran on the thread.
    Nobody,
}

struct List(RefCell<Vec<(u32, ManuallyDrop<Packet>)>>);

impl Drop for List {
    fn drop(&mut self) {
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).append(self.0.get_mut());
    }
}

/// Puts a packet on the list of the thread, for the app that runs.
#[cold]
pub(crate) fn abandon(packet: Packet) {
    put(packet, None);
}

/// Puts a packet on the list of the thread; the caller has counted why.
#[cold]
pub(crate) fn abandon_counted(packet: Packet) {
    put(packet, Some(COUNTED));
}

fn put(packet: Packet, who: Option<u32>) {
    let packet = ManuallyDrop::new(packet);
    // A thread that is ending has no list any more; its packet is then lost to the pool, which notices at its end.
    let _ = LIST.try_with(|list| {
        list.0.borrow_mut().push((who.unwrap_or(WHO.get()), packet));
        ANY.set(true);
    });
}

/// The list of this thread, for the worker that runs on it.
#[derive(Debug)]
pub(crate) struct Orphans;

impl Orphans {
    /// From now on the thread runs app `who`.
    #[inline]
    pub(crate) fn enter(who: u32) {
        WHO.set(who);
    }

    /// The app that runs on the thread.
    #[inline]
    pub(crate) fn running() -> Option<u32> {
        Some(WHO.get()).filter(|&who| who != NOBODY)
    }

    /// From now on the thread runs that app again, or none.
    #[inline]
    pub(crate) fn back_to(outer: Option<u32>) {
        WHO.set(outer.unwrap_or(NOBODY));
    }

    /// No app runs any more.
    pub(crate) fn leave() {
        Self::enter(NOBODY);
    }

    /// Whether there is something to sweep.
    #[inline]
    pub(crate) fn any() -> bool {
        ANY.get()
    }

    /// Shows the packets that links have refused on this thread since the last sweep.
    pub(crate) fn refused(mut show: impl FnMut(&Packet)) {
        let is_counted = |(who, _): &&(u32, ManuallyDrop<Packet>)| *who == COUNTED;
        LIST.with(|list| list.0.borrow().iter().filter(is_counted).for_each(|(_, packet)| show(packet)));
    }

    /// Hands over packets of an engine that were abandoned on this thread, or on threads that have ended: whose they were,
    /// and the packet. Those of other engines are left for them.
    pub(crate) fn sweep(engine: u64, mut take: impl FnMut(Whose, Packet)) {
        ANY.set(false);
        let mut packets = LIST.with(|list| list.0.take());
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        packets.append(&mut left);
        let is_ours = |(_, packet): &mut (u32, ManuallyDrop<Packet>)| region::engine_of(packet) == engine;
        for (who, packet) in packets.extract_if(.., is_ours) {
            let whose = match who {
                NOBODY => Whose::Nobody,
                COUNTED => Whose::Counted,
                app => Whose::App(app),
            };
            take(whose, ManuallyDrop::into_inner(packet));
        }
        *left = packets;
    }
}
