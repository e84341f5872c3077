//! `merge`: brings branches together in the order in which packets entered them.
//!
//! | inputs | any |
//! |---|---|
//! | outputs | `output` |
//! | `wait_ms` | how long a branch that brings nothing is waited for, 0 to 1000; 1 unless set |
//! | `gave_up` | counts waits that ended without what was waited for |
//! | `late` | counts packets that came after others that had been behind them |
//!
//! ```text
//!            ┌─► worker 1 ─┐
//! split ─────┼─► worker 2 ─┼───► merge          split: numbered = true
//!            └─► worker 3 ─┘
//! ```
//!
//! Each branch brings rising numbers, as links and the apps on it keep the order. So of the packets at the heads of all branches the
//! one with the least number is next, whatever was dropped on the way. If a branch is empty, nobody knows what it will bring: only the
//! number after the last one may go then. Others wait, in their links, until the branch brings something, `wait_ms` are over, or
//! a link is three quarters full: order is not worth a loss. A branch that was waited for in vain is not waited for again until it has
//! brought something. While the output has no room, packets stay in their links as well.
//!
//! It promises that packets leave in their order, unless one is longer on its branch than `wait_ms`; such packets are sent as they
//! come, and counted as `late`. Packets without a number, and copies made on a branch, are sent when they are at the head.
//! It does not order packets that were disordered on a branch itself, nor those of several numbered `split`s, one behind or
//! beside the other, whose numbers have nothing to do with each other.
//!
//! Behind an `rss`, order within flows needs no numbers: a flow has one branch, and any app that takes packets from each branch
//! in turn, such as `join`, keeps them in order.

use engine::shm::Counter;
use engine::{
    App, Class, Input, Io, NextEvent, OptionError, PortNames, Ports, Reconfigured, Roles, Setup, Timed,
};
use serde::Deserialize;

/// Options of `merge`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Merge {
    /// How long a branch is waited for.
    pub wait_ms: u64,
}

impl Default for Merge {
    fn default() -> Self {
        Merge { wait_ms: 1 }
    }
}

/// A running `merge`.
#[derive(Debug)]
pub struct Running {
    wait_ns: u64,
    /// The number after the largest that was sent.
    next: u64,
    branches: Vec<Branch>,
    /// When waiting ends.
    until_ns: Option<u64>,
    gave_up: Counter,
    late: Counter,
}

/// The state of an input.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    /// The number of the packet at its head.
    head: Option<u64>,
    /// Whether it was waited for in vain.
    is_silent: bool,
}

impl Branch {
    #[inline]
    fn look_at(&mut self, input: &Input) {
        self.head = input.peek().first().map(|packet| packet.metadata().sequence);
        self.is_silent &= self.head.is_none();
    }
}

/// Packets in a link from which on nothing is waited for.
const PRESSURE: usize = engine::link::CAPACITY / 4 * 3;

impl Class for Merge {
    const TYPE: &'static str = "merge";
    const INPUTS: Ports = Ports::Any;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        OptionError::check_range("wait_ms", self.wait_ms, 0..=1000)
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        Ok(Running {
            wait_ns: self.wait_ms * 1_000_000,
            next: 0,
            branches: Vec::new(),
            until_ns: None,
            gave_up: setup.counter("gave_up"),
            late: setup.counter("late"),
        })
    }

    fn reconfigure(
        &self,
        app: &mut Running,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.wait_ns = self.wait_ms * 1_000_000;
        Ok(Reconfigured::Kept)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        Roles::PUSH.and(Roles::METADATA).and(Roles::ROOM).and(Roles::TOGETHER)
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        self.branches = vec![Branch::default(); ports.inputs.len()];
        self.until_ns = None;
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.branches.iter_mut().zip(io.inputs.iter()).for_each(|(branch, input)| branch.look_at(input));
        while io.outputs[0].allowance() > 0
            && let Some((index, number)) = self.least()
        {
            if !self.is_next(number) && !self.give_up(io.inputs, io.now_ns) {
                return;
            }
            self.until_ns = None;
            let next = number.saturating_add(1);
            if number != 0 && next < self.next {
                self.late.add(1);
            }
            self.next = self.next.max(next);
            let input = &mut io.inputs[index];
            input.burst_of_at_most(1).into_iter().for_each(|packet| io.outputs[0].send(packet));
            self.branches[index].look_at(input);
        }
    }

    fn timed(&self) -> Option<&dyn Timed> {
        Some(self)
    }
}

impl Timed for Running {
    fn next_event(&self) -> NextEvent {
        NextEvent::at(self.until_ns)
    }
}

impl Running {
    /// The branch whose head has the least number, and that number.
    #[inline]
    fn least(&self) -> Option<(usize, u64)> {
        let heads = self.branches.iter().enumerate();
        heads
            .filter_map(|(index, branch)| Some((branch.head?, index)))
            .min()
            .map(|(number, index)| (index, number))
    }

    /// Whether nothing can come before this number, which is the least of the heads.
    #[inline]
    fn is_next(&self, number: u64) -> bool {
        number <= self.next || self.branches.iter().all(|branch| branch.head.is_some() || branch.is_silent)
    }

    /// Whether to wait no longer for the branches that are empty.
    #[cold]
    fn give_up(&mut self, inputs: &[Input], now_ns: u64) -> bool {
        let until_ns = *self.until_ns.get_or_insert(now_ns.saturating_add(self.wait_ns));
        if now_ns < until_ns && inputs.iter().all(|input| input.waiting() < PRESSURE) {
            return false;
        }
        self.gave_up.add(1);
        self.branches.iter_mut().for_each(|branch| branch.is_silent = branch.head.is_none());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Merge;
    use engine::{Class, Metadata};
    use testkit::rig::Rig;

    const MS: u64 = 1_000_000;

    fn rig() -> Rig {
        Rig::new(Merge::default(), &["a", "b", "c"], &["output"])
    }

    fn send(rig: &mut Rig, branch: &str, numbers: impl IntoIterator<Item = u8>) {
        for number in numbers {
            let metadata = Metadata { sequence: number.into(), ..Metadata::default() };
            rig.send_with(branch, [number], metadata);
        }
    }

    fn numbers(rig: &mut Rig) -> Vec<u8> {
        rig.take("output").concat()
    }

    #[test]
    fn branches_meet_in_order() {
        let mut rig = rig();
        send(&mut rig, "a", [1, 4, 7, 10]);
        send(&mut rig, "b", [2, 5, 8, 11]);
        send(&mut rig, "c", [3, 6, 9, 12]);
        rig.breathe();
        assert_eq!(numbers(&mut rig), (1..=12).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_branch_has_dropped_is_not_waited_for() {
        let mut rig = rig();
        send(&mut rig, "a", [1, 7, 10]);
        send(&mut rig, "b", [2, 5, 12]);
        send(&mut rig, "c", [6, 9, 13]);
        rig.breathe();
        assert_eq!(numbers(&mut rig), [1, 2, 5, 6, 7, 9, 10], "11 may be on its way to a");
        rig.advance(MS);
        assert_eq!(numbers(&mut rig), [12, 13]);
        assert_eq!((rig.counter("gave_up"), rig.counter("late")), (1, 0));
    }

    #[test]
    fn a_slow_branch_is_waited_for() {
        let mut rig = rig();
        send(&mut rig, "a", [1, 4]);
        send(&mut rig, "c", [3, 6]);
        rig.breathe();
        assert_eq!(numbers(&mut rig), []);
        send(&mut rig, "b", [2, 5]);
        rig.advance(MS / 2);
        assert_eq!(numbers(&mut rig), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn but_not_for_ever_and_not_again() {
        let mut rig = rig();
        send(&mut rig, "a", [1, 4]);
        send(&mut rig, "c", [3, 6]);
        rig.breathe();
        rig.advance(MS);
        assert_eq!(numbers(&mut rig), [1, 3, 4]);
        rig.advance(MS);
        assert_eq!(numbers(&mut rig), [6], "a is waited for as well");
        send(&mut rig, "a", [7]);
        send(&mut rig, "c", [9]);
        rig.breathe();
        assert_eq!(numbers(&mut rig), [7], "a is awake, b silent, and c behind a");
        send(&mut rig, "b", [2, 8]);
        rig.breathe();
        assert_eq!(numbers(&mut rig), [2, 8, 9]);
        assert_eq!(rig.counter("late"), 1);
    }

    #[test]
    fn nothing_is_lost_while_it_waits() {
        let mut rig = Rig::new(Merge { wait_ms: 1000 }, &["a", "b"], &["output"]);
        for number in 0..5000_u64 {
            let metadata = Metadata { sequence: 10 + 2 * number, ..Metadata::default() };
            rig.send_with("a", number.to_be_bytes(), metadata);
        }
        (0..20).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 5000);
        assert_eq!(rig.report().drops.get("link_full"), None);
    }

    #[test]
    fn what_has_waited_leaves_as_there_is_room() {
        let mut rig = Rig::new(Merge { wait_ms: 1000 }, &["a", "b", "c"], &["output"]);
        let mut send = |branch, number: u64| {
            let metadata = Metadata { sequence: number, ..Metadata::default() };
            rig.send_with(branch, number.to_be_bytes(), metadata);
        };
        // Less than what ends a wait in each, and together more than a link takes.
        (0..700).for_each(|number| {
            send("a", 10 + 2 * number);
            send("b", 11 + 2 * number);
        });
        (0..10).for_each(|_| rig.breathe());
        assert_eq!(rig.take("output").len(), 0);
        rig.advance(1000 * MS);
        (0..3).for_each(|_| rig.breathe());
        let numbers = (10..1410).map(|number: u64| number.to_be_bytes().to_vec());
        assert!(rig.take("output").into_iter().eq(numbers), "{:?}", rig.report().drops);
        assert_eq!(rig.report().drops.get("link_full"), None);
    }

    #[test]
    fn packets_without_numbers_pass() {
        let mut rig = rig();
        rig.send("a", b"x");
        rig.send("b", b"y");
        rig.breathe();
        assert_eq!(rig.take("output"), [b"x", b"y"]);
        assert_eq!(rig.counter("late"), 0);
    }

    #[test]
    fn waits_are_checked() {
        let error = Merge { wait_ms: 1001 }.check().unwrap_err();
        assert_eq!(error.to_string(), "`wait_ms`: 1001 is not between 0 and 1000");
    }
}
