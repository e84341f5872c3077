//! How a worker is started, and why it may not be.

use super::memory::{JOB_HEADER_BYTES, Layout, ZEROS_BYTES};
use super::settings::Settings;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How a worker is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a job in the ring, a power of two from 256 to 128 KiB. Packets may have 96 fewer: [`Options::packet_bytes`]. With more than 16 KiB,
    /// packets reach nDPI that tell it little and have made it hang.
    pub job_bytes: u32,
    /// Jobs that fit into the ring, a power of two.
    pub jobs: u32,
    /// Slots of flows: [`FlowId::slot`](super::FlowId::slot) is below this.
    pub flows: u32,
    /// States of nDPI, which flows have until they are identified: about 700 bytes each, which are used as they are needed.
    pub states: u32,
    /// Bytes that nDPI may allocate. Where it gets no more, the worker ends.
    pub heap_bytes: u64,
    /// Packets of a flow over TCP, UDP and others that nDPI sees. With the one behind them the flow is given up.
    pub budget: [u32; 3],
    /// Whether flows that are given up are guessed from ports and addresses.
    pub guess: bool,
    /// How much less the worker counts than the data plane when both want the processor, from 0 to 19, as nice(1) has it.
    pub nice: u8,
    /// How long a worker may take for one job.
    pub stuck: Duration,
    /// The program whose `main` calls [`enter`](super::enter); by default this one.
    pub program: Option<PathBuf>,
    /// The library to load, by default that of the headers this program was built with.
    pub library: Option<String>,
    /// Faults that tests inject.
    pub faults: Faults,
}

/// Faults that tests inject. By default, none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Packets that end with `sluss: crash`, `sluss: hang`, `sluss: forge answers` or `sluss: forge counters` make the worker do so.
    pub magic_packets: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            job_bytes: 2048,
            jobs: 4096,
            flows: 1 << 20,
            states: 1 << 14,
            heap_bytes: 512 << 20,
            budget: [24; 3],
            guess: true,
            nice: 5,
            stuck: Duration::from_millis(50),
            program: None,
            library: None,
            faults: Faults::default(),
        }
    }
}

impl Options {
    /// The longest packet that can be submitted.
    pub fn packet_bytes(&self) -> usize {
        (self.job_bytes as usize).saturating_sub(JOB_HEADER_BYTES + ZEROS_BYTES)
    }

    pub(super) fn settings(&self) -> Result<Settings, WorkerError> {
        let powers = self.job_bytes.is_power_of_two() && self.jobs.is_power_of_two();
        let ranges = (256..=128 << 10).contains(&self.job_bytes) && (2..=1 << 20).contains(&self.jobs);
        if !powers || !ranges || self.flows == 0 || self.flows > 1 << 30 || self.states > 1 << 24 {
            return Err(WorkerError::Options);
        }
        let [budget_tcp, budget_udp, budget_other] = self.budget;
        Ok(Settings {
            layout: Layout { jobs: self.jobs, job_bytes: self.job_bytes, answers: self.jobs },
            flows: self.flows,
            states: self.states.max(1),
            heap: self.heap_bytes,
            budget_tcp,
            budget_udp,
            budget_other,
            guess: self.guess,
            nice: self.nice.into(),
            library: self.library.clone(),
            faults: self.faults.magic_packets,
        })
    }
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// This program was built without nDPI.
    #[error("this program was built without nDPI: {0}")]
    AbsentAtBuild(&'static str),
    /// The library cannot be used: it is not installed, or is of another version than the headers.
    #[error("{0}")]
    Ndpi(String),
    /// A number in the options is out of range.
    #[error("sizes of the worker are powers of two within their limits, and numbers are not 0")]
    Options,
    /// A process or shared memory could not be had.
    #[error("the worker for nDPI could not be started: {0}")]
    Start(#[source] io::Error),
    /// The system does not let the worker give up what it does not need: it has no seccomp, or not for this processor.
    #[error("the worker for nDPI could not enter its sandbox (seccomp)")]
    Sandbox,
    /// The process did not answer: its `main` does not call [`enter`](super::enter), or it was killed.
    #[error("the worker for nDPI did not answer")]
    NoAnswer,
}
