//! Packets and bytes over time.

use super::bits::set_bits;
use crate::exit::Failure;
use capture::{Batch, Precision, UtcTime};
use std::collections::BTreeMap;
use std::fmt::Write;

/// So many intervals are told apart: a capture may have a packet in each.
const INTERVALS_MAX: usize = 1 << 22;

/// What matched in each interval, by filter; those without packets are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// By the nanosecond at which an interval begins, and the filter.
    found: BTreeMap<(i64, usize), Sum>,
}

/// What came in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    /// On the wire.
    bytes: u64,
}

/// How intervals are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Tabs,
    Csv,
    Json,
}

impl Intervals {
    /// Counts the packets of a batch whose bit is set, in intervals of so many nanoseconds.
    pub(super) fn count(&mut self, filter: usize, step_ns: i64, batch: &Batch<'_>, bits: &[u64]) {
        let mut current: Option<(i64, Sum)> = None;
        for i in set_bits(bits) {
            let packet = &batch.packets()[i];
            let begin = batch.timestamp_ns(packet).div_euclid(step_ns).saturating_mul(step_ns);
            let sum = match &mut current {
                Some((at, sum)) if *at == begin => sum,
                other => {
                    if let Some((at, sum)) = other.replace((begin, Sum::default())) {
                        self.add_to((at, filter), sum);
                    }
                    &mut other.as_mut().expect("it was put there").1
                }
            };
            sum.packets += 1;
            sum.bytes += u64::from(packet.wire_len);
        }
        if let Some((at, sum)) = current {
            self.add_to((at, filter), sum);
        }
    }

    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, other: &Intervals) -> Result<(), Failure> {
        other.found.iter().for_each(|(&key, &sum)| self.add_to(key, sum));
        if self.found.len() <= INTERVALS_MAX {
            return Ok(());
        }
        Err(Failure::user(format_args!("there are packets in more than {INTERVALS_MAX} intervals"))
            .help("use a longer one: `--per-interval 1m`"))
    }

    pub(super) fn clear(&mut self) {
        self.found.clear();
    }

    fn add_to(&mut self, key: (i64, usize), sum: Sum) {
        let total = self.found.entry(key).or_default();
        total.packets += sum.packets;
        total.bytes += sum.bytes;
    }

    /// A line for each interval; with the filter where there are several.
    pub(super) fn lines(&self, form: Form, filters: &[String]) -> String {
        let mut out = String::new();
        let named = filters.len() > 1;
        if form == Form::Csv {
            out.push_str(if named { "time,packets,bytes,filter\r\n" } else { "time,packets,bytes\r\n" });
        }
        for (&(timestamp_ns, filter), &Sum { packets, bytes }) in &self.found {
            let time = UtcTime { timestamp_ns, precision: Precision::Nano };
            let filter = &filters[filter];
            // Writing to a String cannot fail.
            let _ = match form {
                Form::Tabs if named => writeln!(out, "{time}\t{packets}\t{bytes}\t{filter}"),
                Form::Tabs => writeln!(out, "{time}\t{packets}\t{bytes}"),
                Form::Csv if named => {
                    write!(out, "{time},{packets},{bytes},\"{}\"\r\n", filter.replace('"', "\"\""))
                }
                Form::Csv => write!(out, "{time},{packets},{bytes}\r\n"),
                Form::Json => {
                    let filter = serde_json::Value::from(filter.as_str());
                    writeln!(
                        out,
                        "{{\"v\":1,\"type\":\"interval\",\"time\":\"{time}\",\"filter\":{filter},\"packets\":{packets},\"bytes\":{bytes}}}"
                    )
                }
            };
        }
        out
    }
}
