//! Native apps in a graph of Lua: they get their packets from the links that Lua sees, as pointers, and give them back there.

use super::core::Core;
use super::layout::{Link, RING};
use engine::host::{Host, Hosted, Turn};
use engine::{Config, OptionValue, Packet, Roles};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::time::{SystemTime, UNIX_EPOCH};

/// Packets of the pool that native apps allocate from.
const POOL: usize = 32 * 1024;
/// Packets that it is to have ready before a turn, and how many are given to it at once.
const READY: usize = 2048;

/// A native app of the graph.
pub(super) struct Native {
    name: String,
    config: Config,
    /// `None` until its links are known.
    hosted: Option<Hosted>,
    ports: [Vec<String>; 2],
    inputs: Vec<*mut Link>,
    outputs: Vec<*mut Link>,
    /// By input: bytes of packets that were put there since its last turn without going over the link. They are counted there as received.
    fed: Vec<u64>,
    /// By output: the native app that receives, and which of its inputs.
    receivers: Vec<Option<(usize, usize)>>,
}

/// What native apps of a graph share.
#[derive(Default)]
pub(super) struct Natives {
    pub(super) host: Option<Host>,
    apps: Vec<Option<Native>>,
    /// Names and reports of apps that failed in their work and have been stopped.
    failed: Vec<(String, String)>,
}

impl Native {
    /// Its name and its report, if it failed in its work.
    fn failure(&self) -> Option<(String, String)> {
        let hosted = self.hosted.as_ref().filter(|hosted| hosted.has_failed())?;
        Some((self.name.clone(), hosted.report().unwrap_or_else(|| "it failed".to_owned())))
    }
}

impl Natives {
    /// Finds the links that have a native app at both ends.
    fn find_receivers(&mut self) {
        let running = self.apps.iter().enumerate().filter_map(|(number, app)| Some((number, app.as_ref()?)));
        let inputs = |(number, app): (usize, &Native)| {
            let inputs = app.inputs.iter().enumerate().map(move |(input, &link)| (link, (number, input)));
            inputs.collect::<Vec<_>>()
        };
        let receivers: HashMap<*mut Link, (usize, usize)> = running.flat_map(inputs).collect();
        for app in self.apps.iter_mut().flatten() {
            app.receivers = app.outputs.iter().map(|link| receivers.get(link).copied()).collect();
        }
    }
}

/// The time of day.
fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

impl Core {
    /// Adds a native app, which starts when its links are known. Returns its number.
    pub(super) fn add_native(
        &mut self,
        class: &str,
        name: &str,
        options: &OptionValue,
    ) -> Result<usize, String> {
        let read = self
            .options
            .registry
            .read(class, options)
            .ok_or_else(|| format!("there is no type `{class}`"))?;
        let config = read.map_err(|error| format!("type `{class}`: {error}"))?;
        config.check().map_err(|error| format!("type `{class}`: {error}"))?;
        let name = name.to_owned();
        let app = Native {
            name,
            config,
            hosted: None,
            ports: Default::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            fed: Vec::new(),
            receivers: Vec::new(),
        };
        self.natives.apps.push(Some(app));
        Ok(self.natives.apps.len() - 1)
    }

    /// Gives a native app its links, and starts it. With other ports than before, it is stopped and started again. Returns the turns that it wants.
    pub(super) fn link_native(&mut self, index: usize, inputs: Ends, outputs: Ends) -> Result<Roles, String> {
        let mut app = self.take_native(index)?;
        if app.ports[0] != inputs.names || app.ports[1] != outputs.names {
            self.stop_app(&mut app);
        }
        (app.inputs, app.outputs) = (inputs.links, outputs.links);
        app.ports = [inputs.names, outputs.names];
        if app.hosted.is_none() {
            if self.natives.host.is_none() {
                self.natives.host =
                    Some(Host::new(POOL).map_err(|error| format!("no memory for packets: {error}"))?);
            }
            let host = self.natives.host.as_mut().expect("one was just made");
            let [inputs, outputs] =
                app.ports.each_ref().map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
            match host.start(&app.name, &app.config, &inputs, &outputs, now_ns()) {
                Ok(hosted) => {
                    app.hosted = Some(hosted);
                    if host.pool().uses_metadata() {
                        self.read_metadata();
                    }
                }
                Err(error) => {
                    self.natives.apps[index] = Some(app);
                    return Err(error.to_string());
                }
            }
        }
        let roles = app.hosted.as_ref().map_or(Roles::NONE, Hosted::roles);
        app.fed.resize(app.inputs.len(), 0);
        self.natives.apps[index] = Some(app);
        self.natives.find_receivers();
        Ok(roles)
    }

    /// Stops a native app, and forgets it.
    pub(super) fn stop_native(&mut self, index: usize) -> Result<(), String> {
        let mut app = self.take_native(index)?;
        self.stop_app(&mut app);
        self.natives.find_receivers();
        Ok(())
    }

    /// A running native app.
    pub(super) fn native(&self, index: usize) -> Option<&Hosted> {
        self.natives.apps.get(index)?.as_ref()?.hosted.as_ref()
    }

    /// Apps that failed in their work, whether they run or not.
    pub(super) fn failed_natives(&self) -> Vec<(String, String)> {
        let running = self.natives.apps.iter().flatten().filter_map(Native::failure);
        self.natives.failed.iter().cloned().chain(running).collect()
    }

    fn take_native(&mut self, index: usize) -> Result<Native, String> {
        self.natives
            .apps
            .get_mut(index)
            .and_then(Option::take)
            .ok_or_else(|| "there is no such native app".into())
    }

    fn stop_app(&mut self, app: &mut Native) {
        if app.hosted.is_some() {
            // What it sends at last is received if its links are still there.
            let _ = self.run_app(app, Turn::Stop);
            self.natives.failed.extend(app.failure());
            app.hosted = None;
        }
    }

    /// Gives a native app a turn.
    pub(super) fn run_native(&mut self, index: usize, turn: Turn) -> Result<(), String> {
        let mut app = self.take_native(index)?;
        let done = self.run_app(&mut app, turn);
        if done.is_err() {
            app.hosted = None;
        }
        self.natives.apps[index] = Some(app);
        done
    }

    fn run_app(&mut self, app: &mut Native, turn: Turn) -> Result<(), String> {
        let Some(hosted) = &mut app.hosted else { return Err("it does not run".into()) };
        let Natives { host, apps, .. } = &mut self.natives;
        let Some(host) = host else { return Err("it has no host".into()) };
        if host.pool().available() < READY {
            // SAFETY: the list is mapped while the engine lives; what is on it belongs to nobody else.
            let freelist = unsafe { &mut *self.shared.free };
            for _ in 0..READY.min(freelist.free as usize) {
                freelist.free -= 1;
                let address =
                    NonNull::new(freelist.list[freelist.free as usize]).expect("a packet on the list");
                // SAFETY: as above: it is taken off the list.
                host.pool().take_back(unsafe { Packet::from_address(address.cast()) });
                self.packets = self.packets.saturating_sub(1);
            }
        }
        let now_ns = now_ns();
        host.set_time(now_ns);
        let freed = host.pool().freed();
        let mut bytes = 0;
        for (index, &link) in app.inputs.iter().enumerate() {
            // SAFETY: the link is memory of the engine, and part of the graph.
            let (packets, delivered) = unsafe { deliver(&mut *link, hosted, host, index) };
            self.packets = self.packets.saturating_sub(packets);
            bytes += (delivered + std::mem::take(&mut app.fed[index])) as i64;
        }
        let burst = (RING / 10) as u32;
        let done = hosted.turn(host, turn, now_ns, burst);
        for (index, &link) in app.outputs.iter().enumerate() {
            let receiver = app.receivers.get(index).copied().flatten();
            let receiver = receiver.and_then(|(app, input)| Some((apps[app].as_mut()?, input)));
            // SAFETY: as above.
            let link = unsafe { &mut *link };
            let (packets, collected) = collect(link, hosted, host, index, receiver);
            self.packets += packets;
            bytes -= collected as i64;
        }
        let freed = host.pool().freed() - freed;
        // SAFETY: the counters are memory of the engine.
        unsafe {
            (*self.shared.frees).count += freed;
            if freed > 0 {
                let bytes = bytes.max(0) as u64;
                (*self.shared.freebytes).count += bytes;
                // As in `core.packet`, but for the bytes of all together.
                (*self.shared.freebits).count += (bytes.max(60 * freed) + 24 * freed) * 8;
            }
        }
        done
    }
}

/// Links by the names of their ports.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) names: Vec<String>,
    pub(super) links: Vec<*mut Link>,
}

/// Moves the packets of a link into an input, as many as have room. Returns their number and bytes.
///
/// # Safety
/// The packets of the link belong to it.
unsafe fn deliver(link: &mut Link, hosted: &mut Hosted, host: &mut Host, input: usize) -> (usize, u64) {
    let count = link.waiting().min(hosted.room(input));
    let mut bytes = 0;
    for _ in 0..count {
        let packet = link.take();
        // SAFETY: a packet in a link is one, and the link gives it up.
        let mut packet = unsafe {
            bytes += u64::from((*packet).length);
            Packet::from_address(NonNull::new_unchecked(packet).cast())
        };
        host.pool().complete(&mut packet);
        hosted.put(input, packet);
    }
    (count, bytes)
}

/// Moves what an output was sent into a link; what has no room there is dropped and counted. Returns how many packets were put there, and
/// the bytes of all that were sent.
///
/// PERF: what goes to another native app is handed to it as a burst, past the link, as long as nothing waits there.
fn collect(
    link: &mut Link,
    hosted: &mut Hosted,
    host: &mut Host,
    output: usize,
    mut receiver: Option<(&mut Native, usize)>,
) -> (usize, u64) {
    let (mut linked, mut passed, mut bytes) = (0, 0, 0);
    while let Some(mut burst) = hosted.take(output) {
        if let Some((native, input)) = &mut receiver
            && let Some(next) = &mut native.hosted
            && link.waiting() == 0
        {
            let part = burst.split_front(next.room(*input));
            let count = part.len();
            let sent = next.feed(*input, part);
            native.fed[*input] += sent;
            passed += count;
            bytes += sent;
        }
        for packet in burst {
            let len = packet.len() as u64;
            if link.room() == 0 {
                link.counters.txdrop.count += 1.0;
                host.pool().free(packet, &engine::shm::Counter::hidden());
            } else {
                link.put(packet.into_address().as_ptr().cast());
                linked += 1;
                bytes += len;
            }
        }
    }
    hosted.taken(output);
    link.count_sent(passed + linked, bytes);
    (linked, bytes)
}
