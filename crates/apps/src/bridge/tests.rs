//! Frames between hosts at several ports.

use super::{Bridge, Running};
use crate::testing::read;
use engine::{App, Class, Io, OptionError, PortNames, Ports, Reconfigured, Setup};
use testkit::rig::Rig;

const PORTS: [&str; 3] = ["a", "b", "c"];
const BROADCAST: [u8; 6] = [0xff; 6];
const SECOND: u64 = 1_000_000_000;

fn host(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

fn frame(dst: [u8; 6], src: [u8; 6]) -> Vec<u8> {
    [&dst[..], &src, &[0x88, 0xb5], &[0; 46]].concat()
}

/// Sends a frame in at a port and returns the ports it comes out of.
fn ways(rig: &mut Rig, port: &str, dst: [u8; 6], src: [u8; 6]) -> Vec<&'static str> {
    rig.send(port, frame(dst, src));
    rig.breathe();
    let mut ways = Vec::new();
    for port in PORTS {
        let out = rig.take(port);
        assert!(out.iter().all(|packet| *packet == frame(dst, src)));
        ways.extend(out.iter().map(|_| port));
    }
    ways
}

#[test]
fn unknown_hosts_are_looked_for_and_known_ones_reached() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    assert_eq!(ways(&mut rig, "a", host(2), host(1)), ["b", "c"]);
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"]);
    assert_eq!(ways(&mut rig, "a", host(2), host(1)), ["b"]);
    assert_eq!(ways(&mut rig, "c", BROADCAST, host(3)), ["a", "b"]);
    assert_eq!(ways(&mut rig, "b", [0x33, 0x33, 0, 0, 0, 1], host(2)), ["a", "c"]);
    assert_eq!((rig.counter("learned"), rig.counter("unicast"), rig.counter("flooded")), (3, 2, 3));
    assert_eq!(rig.report().apps["app"].text.as_deref(), Some("3 hosts"));
}

#[test]
fn nothing_goes_back_where_it_came_from() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    ways(&mut rig, "a", BROADCAST, host(1));
    ways(&mut rig, "a", BROADCAST, host(2));
    assert!(ways(&mut rig, "a", host(1), host(2)).is_empty());
    assert!(ways(&mut rig, "a", host(1), host(1)).is_empty());
    assert_eq!(rig.counter("same_port"), 2);
}

#[test]
fn hosts_that_move_are_found_at_their_new_port() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    ways(&mut rig, "a", BROADCAST, host(1));
    ways(&mut rig, "c", BROADCAST, host(1));
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["c"]);
    assert_eq!(ways(&mut rig, "a", host(1), host(3)), ["c"]);
    assert_eq!((rig.counter("moved"), rig.counter("learned")), (1, 3));
}

#[test]
fn silent_hosts_are_forgotten() {
    let mut rig = Rig::new(Bridge { timeout_s: 10, ..Bridge::default() }, &PORTS, &PORTS);
    ways(&mut rig, "a", BROADCAST, host(1));
    rig.advance(10 * SECOND);
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"]);
    rig.advance(1);
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a", "c"]);
}

#[test]
fn groups_do_not_send() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    assert!(ways(&mut rig, "a", host(1), BROADCAST).is_empty());
    assert_eq!(ways(&mut rig, "b", BROADCAST, host(2)), ["a", "c"]);
    for group in [BROADCAST, [1, 0, 0x5e, 0, 0, 1], [0x33, 0x33, 0, 0, 0, 1]] {
        assert!(ways(&mut rig, "a", host(1), group).is_empty());
        assert!(ways(&mut rig, "a", BROADCAST, group).is_empty());
    }
    assert_eq!((rig.counter("learned"), rig.counter("bad_source")), (1, 7));
}

#[test]
fn nobody_is_at_address_zero() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    for _ in 0..2 {
        assert_eq!(ways(&mut rig, "a", BROADCAST, [0; 6]), ["b", "c"]);
    }
    assert_eq!(ways(&mut rig, "b", [0; 6], host(2)), ["a", "c"]);
    assert_eq!((rig.counter("learned"), rig.counter("moved")), (1, 0));
}

#[test]
fn frames_for_bridges_stay() {
    let mut rig = Rig::new(Bridge::default(), &PORTS, &PORTS);
    assert!(ways(&mut rig, "a", [0x01, 0x80, 0xc2, 0, 0, 0x0e], host(1)).is_empty());
    assert_eq!(ways(&mut rig, "a", [0x01, 0x80, 0xc2, 0, 0, 0x10], host(1)), ["b", "c"]);
    assert_eq!(rig.counter("link_local"), 1);
}

#[test]
fn floods_have_a_limit() {
    let mut rig = Rig::new(Bridge { flood_limit: Some(100), ..Bridge::default() }, &PORTS, &PORTS);
    (0..50).for_each(|_| rig.send("a", frame(BROADCAST, host(1))));
    rig.breathe();
    assert_eq!((rig.take("b").len(), rig.take("c").len(), rig.counter("flood_limit")), (10, 10, 40));
    rig.advance(SECOND / 20);
    (0..50).for_each(|_| rig.send("a", frame(BROADCAST, host(1))));
    rig.breathe();
    assert_eq!((rig.take("b").len(), rig.take("c").len()), (5, 5));
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"], "what is not flooded has no limit");
}

#[test]
fn split_horizon_groups_do_not_talk_among_themselves() {
    let options = Bridge { split_horizon: vec![vec!["a".to_owned(), "b".to_owned()]], ..Bridge::default() };
    let mut rig = Rig::new(options, &PORTS, &PORTS);
    assert_eq!(ways(&mut rig, "a", BROADCAST, host(1)), ["c"]);
    assert_eq!(ways(&mut rig, "c", BROADCAST, host(3)), ["a", "b"]);
    assert!(ways(&mut rig, "b", host(1), host(2)).is_empty());
    assert_eq!(ways(&mut rig, "c", host(1), host(3)), ["a"]);
    assert_eq!(rig.counter("same_port"), 1);
    rig.reconfigure(Bridge::default());
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"], "hosts are remembered");
}

/// A bridge where host 1 is at port `a`.
fn with_static_host() -> Bridge {
    read("timeout_s = 10\nmax_hosts = 16\nstatic.'02:00:00:00:00:01' = 'a'").unwrap()
}

#[test]
fn static_hosts_are_known_and_stay() {
    let mut rig = Rig::new(with_static_host(), &PORTS, &PORTS);
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"], "it has never sent anything");
    assert_eq!(ways(&mut rig, "a", host(2), host(1)), ["b"]);
    rig.advance(100 * SECOND);
    assert_eq!(ways(&mut rig, "b", host(1), host(3)), ["a"], "silence does not matter");
    assert!(ways(&mut rig, "a", host(1), host(4)).is_empty());
    assert_eq!((rig.counter("same_port"), rig.counter("flooded")), (1, 0));
    // Hosts in numbers that fill the table many times over.
    for number in 0..10_000_u16 {
        let [high, low] = number.to_be_bytes();
        rig.send("c", frame(BROADCAST, [2, 0, 0, 1, high, low]));
        if number % 500 == 0 {
            rig.breathe();
        }
    }
    rig.breathe();
    PORTS.iter().for_each(|port| drop(rig.take(port)));
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"]);
}

#[test]
fn nobody_sends_in_the_name_of_a_static_host() {
    let mut rig = Rig::new(with_static_host(), &PORTS, &PORTS);
    for _ in 0..2 {
        assert!(ways(&mut rig, "b", BROADCAST, host(1)).is_empty());
        assert!(ways(&mut rig, "c", host(2), host(1)).is_empty());
        assert!(ways(&mut rig, "b", [0x01, 0x80, 0xc2, 0, 0, 0x0e], host(1)).is_empty());
        assert_eq!(ways(&mut rig, "a", BROADCAST, host(1)), ["b", "c"]);
        assert_eq!(ways(&mut rig, "c", host(1), host(3)), ["a"]);
        rig.advance(100 * SECOND);
    }
    let counted = ["wrong_port", "moved", "link_local", "same_port"].map(|name| rig.counter(name));
    assert_eq!(counted, [6, 0, 0, 0]);
}

#[test]
fn hosts_become_static_and_learned_again() {
    let learning = Bridge { timeout_s: 10, max_hosts: 16, ..Bridge::default() };
    let mut rig = Rig::new(learning.clone(), &PORTS, &PORTS);
    assert_eq!(ways(&mut rig, "c", BROADCAST, host(1)), ["a", "b"]);
    rig.reconfigure(with_static_host());
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"], "whatever was learned before");
    assert!(ways(&mut rig, "c", BROADCAST, host(1)).is_empty());
    rig.reconfigure(Bridge { max_hosts: 32, ..with_static_host() });
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["a"], "in another table");
    rig.reconfigure(learning);
    assert_eq!(ways(&mut rig, "c", BROADCAST, host(1)), ["a", "b"]);
    assert_eq!(ways(&mut rig, "b", host(1), host(2)), ["c"]);
}

#[test]
fn static_hosts_heed_split_horizons() {
    let options = Bridge { split_horizon: vec![vec!["a".to_owned(), "b".to_owned()]], ..with_static_host() };
    let mut rig = Rig::new(options, &PORTS, &PORTS);
    assert!(ways(&mut rig, "b", host(1), host(2)).is_empty());
    assert_eq!(ways(&mut rig, "c", host(1), host(3)), ["a"]);
    let mut rig = Rig::new(with_static_host(), &["a", "b"], &["b"]);
    rig.send("b", frame(host(1), host(2)));
    rig.breathe();
    assert_eq!(rig.counter("unlinked"), 1, "its port has no output");
}

#[test]
fn short_packets_and_lonely_ports() {
    let mut rig = Rig::new(Bridge::default(), &["a"], &["a"]);
    rig.send("a", []);
    rig.send("a", [0xff; 13]);
    rig.send("a", frame(BROADCAST, host(1)));
    rig.breathe();
    assert!(rig.take("a").is_empty());
    assert_eq!((rig.counter("too_short"), rig.counter("unlinked")), (2, 1));
}

#[test]
fn ports_may_work_in_one_direction_only() {
    let mut rig = Rig::new(Bridge::default(), &["a", "b"], &["b", "c"]);
    rig.send("a", frame(BROADCAST, host(1)));
    rig.send("b", frame(host(1), host(2)));
    rig.breathe();
    assert_eq!((rig.take("b").len(), rig.take("c").len()), (1, 1));
    assert_eq!(rig.counter("unlinked"), 1, "`a` has no output, and never had");
}

/// A bridge that is told of fewer ports than its rig has: those from `lost_inputs` and `lost_outputs` on are gone.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Relinked {
    bridge: Bridge,
    lost_inputs: usize,
    lost_outputs: usize,
}

struct RunningRelinked(Running, Relinked);

impl Class for Relinked {
    const TYPE: &'static str = "relinked";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = RunningRelinked;

    fn start(&self, setup: &mut Setup<'_>) -> Result<RunningRelinked, OptionError> {
        Ok(RunningRelinked(self.bridge.start(setup)?, self.clone()))
    }

    /// Links change after the options.
    fn reconfigure(
        &self,
        app: &mut RunningRelinked,
        _: &Self,
        _: &mut Setup<'_>,
    ) -> Result<Reconfigured, OptionError> {
        app.1 = self.clone();
        Ok(Reconfigured::Kept)
    }
}

impl App for RunningRelinked {
    fn link(&mut self, linked: &PortNames<'_>) {
        let mut linked = PortNames { inputs: linked.inputs.clone(), outputs: linked.outputs.clone() };
        linked.inputs.truncate(self.1.lost_inputs);
        linked.outputs.truncate(self.1.lost_outputs);
        self.0.link(&linked);
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.0.push(io);
    }
}

fn relinked(bridge: &Bridge, lost_inputs: usize, lost_outputs: usize) -> Relinked {
    Relinked { bridge: bridge.clone(), lost_inputs, lost_outputs }
}

#[test]
fn hosts_of_a_port_that_is_gone_are_looked_for() {
    let bridge = Bridge { split_horizon: vec![vec!["b".to_owned(), "c".to_owned()]], ..Bridge::default() };
    for bridge in [&Bridge::default(), &bridge] {
        let mut rig = Rig::new(relinked(bridge, 3, 3), &PORTS, &PORTS);
        ways(&mut rig, "c", BROADCAST, host(3));
        for inputs in [3, 2] {
            rig.reconfigure(relinked(bridge, inputs, 2));
            assert_eq!(ways(&mut rig, "a", host(3), host(4)), ["b"]);
            assert_eq!(ways(&mut rig, "b", host(3), host(2)), ["a"], "whatever group `c` was in");
        }
        assert_eq!((rig.counter("unlinked"), rig.counter("same_port")), (0, 0));
        // It is back, and the host was not forgotten.
        rig.reconfigure(relinked(bridge, 3, 3));
        assert_eq!(ways(&mut rig, "a", host(3), host(4)), ["c"]);
        // It has gone again, and the host has moved.
        rig.reconfigure(relinked(bridge, 3, 2));
        ways(&mut rig, "b", BROADCAST, host(3));
        assert_eq!(ways(&mut rig, "a", host(3), host(4)), ["b"]);
    }
}

#[test]
fn a_port_that_is_gone_keeps_its_static_hosts_and_its_own_traffic() {
    let bridge: Bridge = read("static.'02:00:00:00:00:03' = 'c'").unwrap();
    let mut rig = Rig::new(relinked(&bridge, 3, 3), &PORTS, &PORTS);
    ways(&mut rig, "c", BROADCAST, host(1));
    rig.reconfigure(relinked(&bridge, 3, 2));
    assert!(ways(&mut rig, "a", host(3), host(4)).is_empty());
    assert!(ways(&mut rig, "c", host(1), host(5)).is_empty(), "it still comes from there");
    assert_eq!((rig.counter("unlinked"), rig.counter("same_port")), (1, 1));
}

#[test]
fn an_exhausted_pool_costs_copies_only() {
    let mut rig = Rig::with(Bridge::default(), &PORTS, &PORTS, 6);
    (0..5).for_each(|_| rig.send("a", frame(BROADCAST, host(1))));
    rig.breathe();
    assert_eq!((rig.take("b").len(), rig.take("c").len(), rig.counter("no_packet")), (1, 5, 4));
}

#[test]
fn options_are_checked() {
    for (options, error) in [
        ("max_hosts = 15", "`max_hosts`: 15 is not between 16 and 1048576"),
        ("timeout_s = 0", "`timeout_s`: 0 is not between 1 and 1000000"),
        ("flood_limit = 0", "`flood_limit`: 0 is not between 1 and 1000000000"),
        (
            "split_horizon = [['a', 'b'], ['b']]",
            "`split_horizon`: port `b` is named twice; it can be in one group only",
        ),
        (
            "static.'03:00:00:00:00:01' = 'a'",
            "`static`: 03:00:00:00:00:01 is the address of a group, not of one host",
        ),
        ("static.'00:00:00:00:00:00' = 'a'", "`static`: 00:00:00:00:00:00 is nobody's address"),
    ] {
        assert_eq!(read::<Bridge>(options).unwrap().check().unwrap_err().to_string(), error);
    }
    let options: Bridge = read("split_horizon = [['a', 'x']]").unwrap();
    let linked = PortNames { inputs: vec!["a"], outputs: vec!["b"] };
    let error = options.check_ports(&linked).unwrap_err().to_string();
    assert_eq!(error, "`split_horizon`: no link comes from or leads to port `x`");
    let options: Bridge = read("static = { '02:00:00:00:00:01' = 'b', '02:00:00:00:00:02' = 'x' }").unwrap();
    let error = options.check_ports(&linked).unwrap_err().to_string();
    assert_eq!(error, "`static`: no link comes from or leads to port `x`, where 02:00:00:00:00:02 is to be");
    for (options, part) in [
        ("static.'02:00:00:00:00' = 'a'", "`02:00:00:00:00`: "),
        ("static.'02:00:00:00:00:0a' = 5", "expected a string"),
        (
            "static = { '02:00:00:00:00:0a' = 'a', '02:00:00:00:00:0A' = 'b' }",
            "`02:00:00:00:00:0a` stands here twice, once written otherwise",
        ),
    ] {
        let error = read::<Bridge>(options).unwrap_err().to_string();
        assert!(error.contains(part), "{options}: {error}");
    }
}
