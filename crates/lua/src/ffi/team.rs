//! Several workers that run one program: a thread and a Lua state each, with queues of packets between them.
//!
//! A queue has one sender and one receiver, as a link does. Each worker changes its part of the graph at its own time, so during a change two workers
//! may both have an app at the same side of a queue. An app holds an [`Endpoint`], which moves packets only while it owns its side. The next endpoint
//! becomes the owner when the last one is closed.
//!
//! Packets that a worker frees are its own from then on; one that has many more than it has asked for puts them into the stock of the team, from which
//! others take. Packets that are left in a queue when its last endpoint is closed are freed, and go to the stock as well.

use super::core::{Core, STEP, home};
use super::layout::{Link, RawPacket};
use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Packets that a queue holds.
const CAPACITY: usize = 4096;

/// What the workers of a program share.
#[derive(Default)]
pub(crate) struct Team {
    /// By the text of a link between two workers. Endpoints are opened and closed while this is locked.
    queues: Mutex<HashMap<String, Arc<Queue>>>,
    /// Free packets, as addresses, at most `STEP` at a time.
    stock: Mutex<Vec<Vec<Free>>>,
    stop: AtomicBool,
    /// Whether native apps of any worker read metadata.
    stamps: AtomicBool,
}

/// A free packet, which belongs to whoever has it here.
struct Free(*mut RawPacket);

// SAFETY: whoever has it is the only one that does.
unsafe impl Send for Free {}

/// A ring with a sender and a receiver on two threads.
struct Queue {
    sender: Side,
    receiver: Side,
    slots: Box<[UnsafeCell<*mut RawPacket>]>,
}

/// One side of a queue, on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Side {
    /// How many packets have passed this side, counting up for ever. Its owner writes it, and the owner of the other side reads it.
    position: AtomicUsize,
    is_owned: AtomicBool,
}

// SAFETY: slots between the positions of the receiver and of the sender are the receiver's, all others the sender's; each side publishes its position
// with release and reads the other's with acquire. A side has one owner at a time, and `Side::claim` says why the next one sees all that the last did.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Side {
    /// Makes the caller the owner, unless there is one. Returns whether it has.
    ///
    /// The acquire meets the release in [`Side::release`]: all that the last owner did to slots and to its position came before. So the new owner may
    /// read that position without more, and when it publishes its own with release, the other side sees what both have done.
    fn claim(&self) -> bool {
        // A load comes first, since a failed exchange would take the cache line from the owner in each turn.
        !self.is_owned.load(Ordering::Relaxed)
            && self.is_owned.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Only its owner calls this.
    fn release(&self) {
        self.is_owned.store(false, Ordering::Release);
    }
}

/// Which side of a queue an endpoint is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Send,
    Receive,
}

/// What an app has of a queue, on its own thread.
pub(super) struct Endpoint {
    link: String,
    queue: Arc<Queue>,
    direction: Direction,
    /// Its direction, once it owns that side.
    owned: Cell<Option<Direction>>,
}

/// Packets that were freed, and what they take of an Ethernet line, as `account_free` of `core.packet` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Freed {
    packets: usize,
    bytes: u64,
    line_bits: u64,
}

impl Freed {
    fn add(&mut self, length: u16) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.line_bits += 8 * (u64::from(length.max(60)) + 24);
    }
}

impl Team {
    /// Makes the programs of all workers end their `main`.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<String, Arc<Queue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stock(&self) -> MutexGuard<'_, Vec<Vec<Free>>> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An endpoint of the queue of a link, which the first one makes.
    fn open(&self, link: &str, direction: Direction) -> Rc<Endpoint> {
        let queue = Arc::clone(self.queues().entry(link.to_owned()).or_default());
        Rc::new(Endpoint { link: link.to_owned(), queue, direction, owned: Cell::new(None) })
    }

    /// Closes an endpoint. If it was the last one of its queue, the queue goes, and the packets in it are freed.
    fn close(&self, endpoint: Rc<Endpoint>) -> Freed {
        let mut queues = self.queues();
        let link = endpoint.link.clone();
        drop(endpoint);
        // Nobody opens or closes another endpoint meanwhile, so if there is none now, the queue is ours alone.
        let Some(queue) = queues.get_mut(&link).and_then(Arc::get_mut) else { return Freed::default() };
        let left = queue.drain();
        queues.remove(&link);
        drop(queues);
        // SAFETY: packets in a queue belong to it, and the queue was ours alone.
        unsafe { self.free(&left) }
    }

    /// Frees packets: they go to the stock.
    ///
    /// # Safety
    /// They are packets, and the caller's.
    unsafe fn free(&self, packets: &[*mut RawPacket]) -> Freed {
        let mut freed = Freed::default();
        let mut free = |&packet: &*mut RawPacket| {
            let home = home(NonNull::new(packet).expect("a packet").cast()).cast::<RawPacket>();
            // SAFETY: what the caller promises; a packet's home lies in its own chunk of memory.
            unsafe {
                freed.add((*packet).length);
                (*home.as_ptr()).length = 0;
            }
            Free(home.as_ptr())
        };
        let batches: Vec<Vec<Free>> =
            packets.chunks(STEP).map(|batch| batch.iter().map(&mut free).collect()).collect();
        self.stock().extend(batches);
        freed
    }
}

impl Default for Queue {
    fn default() -> Self {
        let slots = (0..CAPACITY).map(|_| UnsafeCell::new(std::ptr::null_mut())).collect();
        Queue { sender: Side::default(), receiver: Side::default(), slots }
    }
}

impl Queue {
    /// Moves the packets of a link into the queue; what has no room stays in the link.
    ///
    /// # Safety
    /// The link is one of this thread's engine, and the caller owns the sender's side.
    unsafe fn send(&self, link: *mut Link) {
        // SAFETY: as the caller says.
        let link = unsafe { &mut *link };
        let sent = self.sender.position.load(Ordering::Relaxed);
        let room = CAPACITY - sent.wrapping_sub(self.receiver.position.load(Ordering::Acquire));
        let count = room.min(link.waiting());
        for index in 0..count {
            // SAFETY: the slot is ours until it is published.
            unsafe { *self.slots[sent.wrapping_add(index) % CAPACITY].get() = link.take() };
        }
        self.sender.position.store(sent.wrapping_add(count), Ordering::Release);
    }

    /// Moves packets of the queue into a link, as many as have room, and at most `max`.
    ///
    /// # Safety
    /// The link is one of this thread's engine, and the caller owns the receiver's side.
    unsafe fn receive(&self, link: *mut Link, max: usize) -> usize {
        // SAFETY: as the caller says.
        let link = unsafe { &mut *link };
        let received = self.receiver.position.load(Ordering::Relaxed);
        let waiting = self.sender.position.load(Ordering::Acquire).wrapping_sub(received);
        let count = waiting.min(link.room()).min(max);
        let mut bytes = 0;
        for index in 0..count {
            // SAFETY: the slot was published, and is ours until we publish.
            let packet = unsafe { *self.slots[received.wrapping_add(index) % CAPACITY].get() };
            // SAFETY: a packet in a queue is one.
            bytes += u64::from(unsafe { (*packet).length });
            link.put(packet);
        }
        self.receiver.position.store(received.wrapping_add(count), Ordering::Release);
        link.count_sent(count, bytes);
        count
    }

    /// Takes out all packets.
    fn drain(&mut self) -> Vec<*mut RawPacket> {
        let Queue { sender, receiver, slots } = self;
        let (sent, received) = (*sender.position.get_mut(), receiver.position.get_mut());
        let from = std::mem::replace(received, sent);
        let count = sent.wrapping_sub(from);
        (0..count).map(|index| *slots[from.wrapping_add(index) % CAPACITY].get_mut()).collect()
    }
}

impl Endpoint {
    fn side(&self) -> &Side {
        match self.direction {
            Direction::Send => &self.queue.sender,
            Direction::Receive => &self.queue.receiver,
        }
    }

    /// Whether it owns this side of its queue, or does from now on.
    #[inline]
    fn owns(&self, side: Direction) -> bool {
        self.owned.get() == Some(side) || self.claim(side)
    }

    #[cold]
    fn claim(&self, side: Direction) -> bool {
        let claimed = side == self.direction && self.side().claim();
        if claimed {
            self.owned.set(Some(side));
        }
        claimed
    }

    /// [`Queue::send`], while it owns the sender's side; otherwise nothing.
    ///
    /// # Safety
    /// The link is one of this thread's engine.
    pub(super) unsafe fn send(&self, link: *mut Link) {
        if self.owns(Direction::Send) {
            // SAFETY: as the caller says; the side is owned.
            unsafe { self.queue.send(link) };
        }
    }

    /// [`Queue::receive`], while it owns the receiver's side; otherwise nothing.
    ///
    /// # Safety
    /// The link is one of this thread's engine.
    pub(super) unsafe fn receive(&self, link: *mut Link, max: usize) -> usize {
        if !self.owns(Direction::Receive) {
            return 0;
        }
        // SAFETY: as the caller says; the side is owned.
        unsafe { self.queue.receive(link, max) }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.owned.get().is_some() {
            self.side().release();
        }
    }
}

/// A worker's place in its team.
pub(super) struct Member {
    pub(super) team: Arc<Team>,
    pub(super) worker: usize,
    pub(super) workers: usize,
    /// The endpoints that Lua knows the addresses of.
    endpoints: Vec<Rc<Endpoint>>,
}

impl Drop for Member {
    fn drop(&mut self) {
        for endpoint in self.endpoints.drain(..) {
            self.team.close(endpoint);
        }
    }
}

impl Core {
    /// Makes the engine that of a worker, the first of which is 1.
    pub(crate) fn join(&mut self, team: &Arc<Team>, worker: usize, workers: usize) {
        self.member = Some(Member { team: Arc::clone(team), worker, workers, endpoints: Vec::new() });
    }

    /// Ends the worker's part in its team: others may become owners of the sides of queues that it had.
    pub(super) fn leave_team(&mut self) {
        self.member = None;
    }

    /// An endpoint of the queue of a link, until it is closed; null without a team.
    pub(super) fn open_queue(&mut self, link: &str, direction: Direction) -> *const Endpoint {
        let Some(member) = &mut self.member else { return std::ptr::null() };
        let endpoint = member.team.open(link, direction);
        let address = Rc::as_ptr(&endpoint);
        member.endpoints.push(endpoint);
        address
    }

    /// Closes an endpoint. Returns how many packets were freed with its queue.
    pub(super) fn close_queue(&mut self, endpoint: *const Endpoint) -> usize {
        let Some(member) = &mut self.member else { return 0 };
        let index = member.endpoints.iter().position(|own| Rc::as_ptr(own) == endpoint);
        let Some(index) = index else { return 0 };
        let freed = member.team.close(member.endpoints.swap_remove(index));
        // SAFETY: the counters are memory of the engine.
        unsafe {
            (*self.shared.frees).count += freed.packets as u64;
            (*self.shared.freebytes).count += freed.bytes;
            (*self.shared.freebits).count += freed.line_bits;
        }
        freed.packets
    }

    /// Takes packets out of the team's stock. Returns how many.
    pub(super) fn take_stock(&mut self) -> usize {
        let Some(member) = &self.member else { return 0 };
        let taken = member.team.stock().pop();
        let Some(taken) = taken else { return 0 };
        // SAFETY: the list is mapped while the engine lives, and has room for all packets there are.
        let freelist = unsafe { &mut *self.shared.free };
        self.packets += taken.len();
        for Free(packet) in &taken {
            freelist.list[freelist.free as usize] = *packet;
            freelist.free += 1;
        }
        taken.len()
    }

    /// New packets must not have the metadata of others: a native app reads it.
    pub(super) fn read_metadata(&mut self) {
        self.shared.stamps = 1;
        if let Some(member) = &self.member {
            member.team.stamps.store(true, Ordering::Relaxed);
        }
    }

    /// Puts packets into the team's stock, if there are many more free ones here than this engine has asked for.
    pub(super) fn give_stock(&mut self) {
        let Some(member) = &self.member else { return };
        // Packets go to the native apps of other workers as well.
        self.shared.stamps |= i32::from(member.team.stamps.load(Ordering::Relaxed));
        // SAFETY: as above.
        let freelist = unsafe { &mut *self.shared.free };
        while freelist.free as usize >= self.packets.max(STEP) + STEP {
            let from = freelist.free as usize - STEP;
            let given = freelist.list[from..from + STEP].iter().map(|&packet| Free(packet)).collect();
            freelist.free -= STEP as i32;
            self.packets = self.packets.saturating_sub(STEP);
            member.team.stock().push(given);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::RING;
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    const CHUNK: usize = 512;

    /// Packets as the engine lays them out: a chunk of memory each, of 60 bytes, from which their number can be told.
    struct Packets {
        memory: *mut u8,
        count: usize,
    }

    // SAFETY: in these tests each packet is used by the one thread that has its address.
    unsafe impl Sync for Packets {}

    impl Packets {
        fn layout(count: usize) -> Layout {
            Layout::from_size_align(count * CHUNK, CHUNK).expect("a layout")
        }

        fn new(count: usize) -> Self {
            // SAFETY: the layout is not empty.
            let packets = Packets { memory: unsafe { alloc_zeroed(Self::layout(count)) }, count };
            assert!(!packets.memory.is_null());
            for number in 0..count {
                // SAFETY: nobody else knows of it.
                unsafe { (*packets.at(number)).length = 60 };
            }
            packets
        }

        fn at(&self, number: usize) -> *mut RawPacket {
            let chunk = NonNull::new(self.memory.wrapping_add(number * CHUNK)).expect("an address");
            home(chunk).as_ptr().cast()
        }

        fn number(&self, packet: *mut RawPacket) -> usize {
            (packet.addr() - self.memory.addr()) / CHUNK
        }
    }

    impl Drop for Packets {
        fn drop(&mut self) {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(self.memory, Self::layout(self.count)) };
        }
    }

    fn link() -> Box<Link> {
        // SAFETY: all zeros are a link.
        Box::new(unsafe { std::mem::zeroed() })
    }

    fn send(endpoint: &Endpoint, link: &mut Link, packets: &mut Vec<*mut RawPacket>) {
        while link.room() > 0
            && let Some(packet) = packets.pop()
        {
            link.put(packet);
        }
        // SAFETY: the link is this thread's.
        unsafe { endpoint.send(link) };
    }

    fn receive(endpoint: &Endpoint, link: &mut Link, packets: &mut Vec<*mut RawPacket>) -> usize {
        // SAFETY: the link is this thread's.
        let count = unsafe { endpoint.receive(link, RING) };
        take_all(link, packets);
        count
    }

    fn take_all(link: &mut Link, packets: &mut Vec<*mut RawPacket>) {
        while link.waiting() > 0 {
            packets.push(link.take());
        }
    }

    #[test]
    fn a_queue_keeps_the_order_between_two_threads() {
        const COUNT: usize = 5000;
        let (team, packets) = (&Team::default(), &Packets::new(COUNT));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let endpoint = team.open("a.o -> b.i", Direction::Send);
                let mut left: Vec<_> = (0..COUNT).rev().map(|number| packets.at(number)).collect();
                let mut link = link();
                while !left.is_empty() || link.waiting() > 0 {
                    send(&endpoint, &mut link, &mut left);
                    std::thread::yield_now();
                }
            });
            let endpoint = team.open("a.o -> b.i", Direction::Receive);
            let (mut link, mut seen) = (link(), Vec::new());
            while seen.len() < COUNT {
                receive(&endpoint, &mut link, &mut seen);
                std::thread::yield_now();
            }
            assert!(seen.iter().map(|&packet| packets.number(packet)).eq(0..COUNT));
        });
    }

    #[test]
    fn a_side_moves_packets_for_its_owner_only() {
        let (team, packets) = (Team::default(), Packets::new(3));
        let (mut link, mut seen) = (link(), Vec::new());
        let [first, second] = [(); 2].map(|()| team.open("a.o -> b.i", Direction::Send));
        let [reader, other_reader] = [(); 2].map(|()| team.open("a.o -> b.i", Direction::Receive));
        send(&first, &mut link, &mut vec![packets.at(0)]);
        send(&second, &mut link, &mut vec![packets.at(1)]);
        assert_eq!(link.waiting(), 1, "another one owns the sender's side");
        assert_eq!(team.close(first), Freed::default());
        send(&second, &mut link, &mut Vec::new());
        assert_eq!(link.waiting(), 0);
        // An endpoint is not taken for one of the other side.
        assert_eq!(receive(&second, &mut link, &mut seen), 0);
        assert_eq!(receive(&reader, &mut link, &mut seen), 2);
        send(&second, &mut link, &mut vec![packets.at(2)]);
        assert_eq!(receive(&other_reader, &mut link, &mut seen), 0);
        team.close(reader);
        assert_eq!(receive(&other_reader, &mut link, &mut seen), 1);
        assert!(seen.iter().map(|&packet| packets.number(packet)).eq(0..3));
    }

    #[test]
    fn packets_left_in_a_queue_are_freed_with_its_last_endpoint() {
        const COUNT: usize = STEP + 500;
        let (team, packets) = (Team::default(), Packets::new(COUNT));
        let mut waiting: Vec<_> = (0..COUNT).map(|number| packets.at(number)).collect();
        let (mut link, mut seen) = (link(), Vec::new());
        let sender = team.open("a.o -> b.i", Direction::Send);
        let receiver = team.open("a.o -> b.i", Direction::Receive);
        while !waiting.is_empty() || link.waiting() > 0 {
            send(&sender, &mut link, &mut waiting);
        }
        assert_eq!(team.close(sender), Freed::default());
        assert_eq!(receive(&receiver, &mut link, &mut seen), RING - 1);
        let left = COUNT - (RING - 1);
        let freed = Freed { packets: left, bytes: 60 * left as u64, line_bits: 8 * 84 * left as u64 };
        assert_eq!(team.close(receiver), freed);
        assert!(team.queues().is_empty());
        let mut all: Vec<_> = seen.iter().map(|&packet| packets.number(packet)).collect();
        all.extend(team.stock().iter().flatten().map(|&Free(packet)| packets.number(packet)));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..COUNT));
        let receiver = team.open("a.o -> b.i", Direction::Receive);
        assert_eq!(receive(&receiver, &mut link, &mut seen), 0, "a link of the same text begins empty");
    }

    /// Two threads that change sides all the time, each when it comes to it.
    #[test]
    fn each_packet_is_received_once_while_workers_change_sides() {
        const COUNT: usize = 4000;
        const ROUNDS: usize = 2000;
        let (team, packets) = (&Team::default(), &Packets::new(COUNT));
        let work = |worker: usize| {
            let half = COUNT / 2;
            let mut own: Vec<_> =
                (worker * half..(worker + 1) * half).map(|number| packets.at(number)).collect();
            let mut link = link();
            for round in 0..ROUNDS {
                let sends = round % 2 == worker;
                let direction = if sends { Direction::Send } else { Direction::Receive };
                let endpoint = team.open("a.o -> b.i", direction);
                for _ in 0..3 {
                    if sends {
                        let kept = own.len().saturating_sub(64);
                        send(&endpoint, &mut link, &mut own.split_off(kept));
                    } else {
                        receive(&endpoint, &mut link, &mut own);
                    }
                    std::thread::yield_now();
                }
                take_all(&mut link, &mut own);
                team.close(endpoint);
                let stocked = team.stock().pop();
                own.extend(stocked.into_iter().flatten().map(|Free(packet)| packet));
            }
            own.into_iter().map(|packet| packets.number(packet)).collect::<Vec<_>>()
        };
        let mut all = std::thread::scope(|scope| {
            let work = &work;
            let other = scope.spawn(move || work(1));
            let mut all = work(0);
            all.extend(other.join().expect("it ends"));
            all
        });
        all.extend(team.stock().iter().flatten().map(|&Free(packet)| packets.number(packet)));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..COUNT), "a packet is there twice, or is gone");
    }
}
