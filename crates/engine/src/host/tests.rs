use super::*;
use crate::app::{App, Class, Io, Ports};
use crate::config::Config;

/// Sends every other packet on, and lets go of the rest; with one of 13 bytes, it panics.
#[derive(Clone, Debug, PartialEq)]
struct Half;

impl Class for Half {
    const TYPE: &'static str = "half";
    const OUTPUTS: Ports = Ports::Named(&["output", "spare"]);
    type App = Half;

    fn start(&self, _: &mut Setup<'_>) -> Result<Half, OptionError> {
        Ok(Half)
    }
}

impl App for Half {
    fn push(&mut self, io: &mut Io<'_>) {
        while let Some(burst) = io.inputs[0].burst() {
            for (index, packet) in burst.enumerate() {
                assert!(packet.len() != 13, "an unlucky packet");
                if index % 2 == 0 {
                    io.outputs[0].put(packet);
                }
            }
        }
    }
}

fn taken(hosted: &mut Hosted, host: &mut Host) -> Vec<usize> {
    let mut lens = Vec::new();
    while let Some(burst) = hosted.take(0) {
        for packet in burst {
            lens.push(packet.len());
            host.pool().take_back(packet);
        }
    }
    hosted.taken(0);
    lens
}

#[test]
fn a_hosted_app_passes_packets_on_and_what_it_lets_go_of_comes_back() {
    let mut host = Host::new(64).expect("memory");
    let mut half = host.start("half", &Config::new(Half), &["input"], &["output"], 0).expect("it starts");
    assert_eq!((half.roles(), half.room(0)), (Roles::PUSH, 1024));
    for len in 1..=6 {
        let packet = host.pool().packet(&vec![0; len]).expect("a packet");
        half.put(0, packet);
    }
    half.turn(&mut host, Turn::Push, 0, 64).expect("no panic");
    assert_eq!(taken(&mut half, &mut host), [1, 3, 5]);
    assert_eq!(half.counters().iter().find(|(name, ..)| name == drops::DISCARDED).map(|row| row.2), Some(3));
    assert_eq!(host.pool().available(), 64);
}

#[test]
fn a_panic_is_told_and_loses_no_packet() {
    let mut host = Host::new(64).expect("memory");
    let mut half = host.start("half", &Config::new(Half), &["input"], &["output"], 0).expect("it starts");
    let packet = host.pool().packet(&[0; 13]).expect("a packet");
    half.put(0, packet);
    assert_eq!(half.turn(&mut host, Turn::Push, 0, 64).expect_err("a panic"), "an unlucky packet");
    drop(half);
    assert_eq!(host.pool().available(), 64);
}

#[test]
fn a_port_that_the_class_does_not_have_is_refused() {
    let mut host = Host::new(64).expect("memory");
    let error = host.start("half", &Config::new(Half), &["input"], &["other"], 0).expect_err("no such port");
    assert!(error.to_string().contains("no port `other`"), "{error}");
}
