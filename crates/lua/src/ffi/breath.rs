//! Breaths: in which order apps' methods are called, and the calls.
//!
//! PERF: the loop is here and not in Lua. LuaJIT would compile it together with the apps that it calls, as one trace for a graph that has many ways
//! through it: breaths of 50 idle apps then took milliseconds for seconds, and sometimes always; from here, 1.3 µs.

use super::call::Call;
use super::core::Core;
use super::layout::{Counter, Link};
use super::symbols::get_monotonic_time;
use super::turn_watch::TurnWatch;
use crate::error::Failure;
use luajit::{
    LUA_REGISTRYINDEX, Value, lua_State, lua_gettop, lua_pcall, lua_rawgeti, lua_settop, sluss_luajit_call,
};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// A call of a method.
pub(super) struct Step {
    /// The function, the app, and for a push the link.
    pub(super) values: [Value; 3],
    pub(super) link: Option<NonNull<Link>>,
    /// Where the packets are counted that the app has taken.
    pub(super) account: usize,
    /// The number of a native app, which is called without Lua.
    pub(super) native: Option<usize>,
    pub(super) name: String,
    /// What keeps the values alive.
    pub(super) references: [c_int; 3],
}

/// What a breath does.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) pulls: Vec<Step>,
    pub(super) pushes: Vec<Step>,
    pub(super) ticks: Vec<Step>,
    /// Counts the changes of the graph: a breath in which it changes ends.
    pub(super) generation: u64,
    /// Seconds between ticks, and when the next is due.
    pub(super) tick_every: f64,
    pub(super) tick_due: f64,
    /// The account of the app whose code runs, and how many packets were in use when it began to.
    running: Option<usize>,
    in_use: i64,
    /// By account: packets that the app has taken from the free ones, less those that it has freed.
    pub(super) taken: Vec<i64>,
    /// By account: the app.
    names: Vec<String>,
    /// The accounts of apps, and those of apps that are gone.
    accounts: HashMap<String, usize>,
    closed: Vec<usize>,
    /// Who watches how long a step takes.
    pub(super) watch: Option<Arc<TurnWatch>>,
    /// Breaths since counters were committed.
    uncommitted: u32,
    pub(super) pace: Pace,
}

/// Which steps of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turn {
    Pull,
    Push,
    Tick,
}

impl Plan {
    /// The account of an app, which it keeps while the graph changes.
    pub(super) fn account(&mut self, name: &str) -> usize {
        if let Some(&account) = self.accounts.get(name) {
            return account;
        }
        // The code that runs may be that of an app that it has ended.
        let closed = if self.running.is_none() { self.closed.pop() } else { None };
        let account = closed.unwrap_or_else(|| {
            self.taken.push(0);
            self.names.push(String::new());
            self.taken.len() - 1
        });
        self.taken[account] = 0;
        self.names[account] = name.to_owned();
        self.accounts.insert(name.to_owned(), account);
        account
    }

    /// Closes the accounts of apps that are gone.
    pub(super) fn keep_accounts(&mut self, is_there: impl Fn(&str) -> bool) {
        let steps = [&self.pulls, &self.pushes, &self.ticks].into_iter().flatten();
        let used: HashSet<usize> = steps.map(|step| step.account).collect();
        let closed = &mut self.closed;
        self.accounts.retain(|name, account| {
            let stays = is_there(name) || used.contains(&*account);
            if !stays {
                closed.push(*account);
            }
            stays
        });
    }

    /// Tells the watch the names of the steps.
    pub(super) fn tell_watch(&self) {
        if let Some(watch) = &self.watch {
            let names = |steps: &[Step]| steps.iter().map(|step| step.name.clone()).collect();
            watch.name([names(&self.pulls), names(&self.pushes), names(&self.ticks)]);
        }
    }

    /// The app whose code runs.
    pub(super) fn running(&self) -> Option<&str> {
        self.running.map(|account| self.names[account].as_str())
    }
}

impl Core {
    /// The code of another app runs from now on, or with `None` that of no app. What was taken and freed until now is in the account of the one that
    /// ran. Returns that one's account, which goes on when this app's code ends: it may have been called by the other's.
    #[inline]
    pub(super) fn switch(&mut self, to: Option<usize>) -> Option<usize> {
        let in_use = self.in_use();
        let plan = &mut self.plan;
        let ran = std::mem::replace(&mut plan.running, to);
        if let Some(account) = ran {
            plan.taken[account] += in_use - plan.in_use;
        }
        plan.in_use = in_use;
        ran
    }
}

impl Turn {
    /// That of a native app.
    fn hosted(self) -> engine::host::Turn {
        match self {
            Turn::Pull => engine::host::Turn::Pull,
            Turn::Push => engine::host::Turn::Push,
            Turn::Tick => engine::host::Turn::Tick,
        }
    }
}

/// A call has raised an error, which is on top of the stack.
pub(super) struct Raised;

/// One breath.
///
/// # Safety
/// `core` is the engine of the state, which has eight free slots on its stack.
pub(super) unsafe fn breathe(core: *mut Core, state: *mut lua_State) -> Result<(), Raised> {
    // SAFETY: the engine lives while its state does. It is reached by the pointer alone, since Lua changes it too.
    unsafe {
        let now = get_monotonic_time();
        (*core).shared.now = now;
        (*core).shared.running = 1;
        let outer = (*core).plan.running;
        let result = turns(core, state, now);
        (*core).switch(outer);
        if let Some(watch) = &(*core).plan.watch {
            watch.leave();
        }
        (*core).shared.running = 0;
        if !(*core).released_links.is_empty() {
            (*core).reuse_links();
        }
        if (*core).member.is_some() {
            (*core).give_stock();
        }
        (*(*core).shared.breaths).count += 1;
        (*core).plan.uncommitted += 1;
        if (*core).plan.uncommitted >= 100 {
            (*core).plan.uncommitted = 0;
            (*core).commit();
        }
        result
    }
}

/// # Safety
/// As for [`breathe`].
unsafe fn turns(core: *mut Core, state: *mut lua_State, now: f64) -> Result<(), Raised> {
    // SAFETY: as in `breathe`.
    unsafe {
        let generation = (*core).plan.generation;
        let top = lua_gettop(state);
        Call { state, core }.push_handler();
        run(core, state, Turn::Pull, generation)?;
        run(core, state, Turn::Push, generation)?;
        let plan = &raw mut (*core).plan;
        if !(*plan).ticks.is_empty() && now > (*plan).tick_due {
            (*plan).tick_due = now + (*plan).tick_every;
            run(core, state, Turn::Tick, generation)?;
        }
        lua_settop(state, top);
        Ok(())
    }
}

/// One turn outside of a breath.
///
/// # Safety
/// As for [`breathe`].
pub(super) unsafe fn turn(core: *mut Core, state: *mut lua_State, turn: Turn) -> Result<(), Raised> {
    // SAFETY: as in `breathe`.
    unsafe {
        (*core).shared.now = get_monotonic_time();
        (*core).shared.running = 1;
        Call { state, core }.push_handler();
        let outer = (*core).plan.running;
        let done = run(core, state, turn, (*core).plan.generation);
        (*core).switch(outer);
        (*core).shared.running = 0;
        done
    }
}

/// Calls the methods of one turn, with the handler of errors on top of the stack. The caller switches back to the app that ran before.
///
/// # Safety
/// As for [`breathe`].
unsafe fn run(core: *mut Core, state: *mut lua_State, turn: Turn, generation: u64) -> Result<(), Raised> {
    // SAFETY: steps are copied before each call, in which Lua may change the plan; then its generation is another, and none is looked at again.
    unsafe {
        let handler = lua_gettop(state);
        let mut index = 0;
        loop {
            let plan = &raw const (*core).plan;
            if (*plan).generation != generation {
                return Ok(());
            }
            let steps = match turn {
                Turn::Pull => &raw const (*plan).pulls,
                Turn::Push => &raw const (*plan).pushes,
                Turn::Tick => &raw const (*plan).ticks,
            };
            let Some(&Step { values, link, native, account, .. }) = (&(*steps)).get(index) else {
                return Ok(());
            };
            // What native apps take and free is in no account.
            (*core).switch(native.is_none().then_some(account));
            if let Some(watch) = &(*plan).watch {
                watch.enter((*(*core).shared.breaths).count, turn, index);
            }
            if let Some(native) = native {
                if let Err(why) = (*core).run_native(native, turn.hosted()) {
                    let name = (&(*steps))[index].name.clone();
                    luajit::lua_pushlstring(state, why.as_ptr().cast(), why.len());
                    (*core).failure =
                        Some(Failure { message: why, app: Some(name), traceback: String::new() });
                    return Err(Raised);
                }
                index += 1;
                continue;
            }
            let count = 2 + c_int::from(link.is_some());
            let name = &raw const (&(*steps))[index].name;
            let call = || sluss_luajit_call(state, values.as_ptr(), count, handler);
            let status = fenced(core, state, &*name, call);
            if status != 0 {
                let name = (&(*steps))
                    .get(index)
                    .filter(|_| (*plan).generation == generation)
                    .map(|step| step.name.clone());
                (*core).failure.get_or_insert_default().app = name;
                return Err(Raised);
            }
            if let Some(link) = link {
                let link = link.as_ptr();
                // PERF: an emptied ring begins again at its first slot, so that few of its lines are in use.
                if (*link).waiting() == 0 {
                    (*link).read = 0;
                    (*link).write = 0;
                }
            }
            index += 1;
        }
    }
}

/// `lua_pcall` with a number of arguments, of results, and a handler of errors: a turn of its own in a sandboxed state.
///
/// # Safety
/// As for `lua_pcall`.
pub(super) unsafe fn protected(
    core: *mut Core,
    state: *mut lua_State,
    [arguments, results, handler]: [c_int; 3],
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { fenced(core, state, "", || lua_pcall(state, arguments, results, handler)) }
}

/// A protected call, as a turn of its own in a sandboxed state.
///
/// # Safety
/// The engine lives; the name is read before Lua code runs.
#[inline]
unsafe fn fenced(core: *mut Core, state: *mut lua_State, name: &str, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the fence is there as long as the engine.
    let Some(fence) = (unsafe { &(*core).fence }) else { return call() };
    let outer = fence.begin(state, name);
    let status = call();
    fence.end(state, outer);
    status
}

/// How `main` runs: the values that Lua gives, and how it sleeps.
pub(super) struct Main {
    /// A reference to the function that says whether it is over.
    pub(super) done: Option<c_int>,
    /// When it is over, on the monotonic clock.
    pub(super) deadline: Option<f64>,
    /// A reference to the function that runs timers.
    pub(super) timers: Option<c_int>,
}

/// What the program has set in `engine`, looked at from time to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) busywait: bool,
    /// Breaths a second, unless it breathes as often as there is something to do.
    pub(super) hz: Option<f64>,
    pub(super) max_sleep_us: f64,
}

/// Sleeping between breaths: so long that there are `Hz` breaths a second; or longer and longer while nothing is freed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next_breath: f64,
    frees: u64,
    freed_at: f64,
    pub(super) sleep_us: f64,
}

impl Pace {
    /// Rests until the next breath is due, or no longer than to this time.
    fn rest(&mut self, settings: Settings, now: f64, frees: u64, until: Option<f64>) {
        if let Some(hz) = settings.hz {
            if self.next_breath == 0.0 {
                self.next_breath = now;
            }
            let sleep = until.map_or(self.next_breath, |until| self.next_breath.min(until)) - now;
            if sleep > 1e-6 {
                // A sleep may be longer than a number of seconds can say.
                std::thread::sleep(Duration::try_from_secs_f64(sleep).unwrap_or(Duration::MAX));
            }
            self.next_breath = (self.next_breath + 1.0 / hz).max(now);
        } else if frees != self.frees {
            self.sleep_us = (self.sleep_us / 2.0).floor();
            self.frees = frees;
            self.freed_at = now;
        } else if now - self.freed_at > 1e-6 {
            self.sleep_us = (self.sleep_us + 1.0).min(settings.max_sleep_us);
            std::thread::sleep(Duration::from_secs_f64(self.sleep_us / 1e6));
        }
    }
}

/// Sleeps between two breaths, as long as the program wants.
///
/// # Safety
/// The engine lives, and nobody else uses it in this call.
pub(super) unsafe fn rest(core: *mut Core, settings: Settings, until: Option<f64>) {
    // SAFETY: as the caller says.
    let core = unsafe { &mut *core };
    // SAFETY: the counter is memory of the engine.
    let frees = unsafe { (*core.shared.frees).count };
    core.plan.pace.rest(settings, core.shared.now, frees, until);
    core.shared.sleep_us = core.plan.pace.sleep_us;
}

/// Why `main` has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Deadline,
    Done,
}

/// Breathes until it is over. `settings` reads what the program has set.
///
/// # Safety
/// As for [`breathe`]; `settings` leaves the stack as it is, and raises nothing.
pub(super) unsafe fn main(
    core: *mut Core,
    state: *mut lua_State,
    main: &Main,
    settings: impl Fn() -> Settings,
) -> Result<End, Raised> {
    // SAFETY: as in `breathe`.
    unsafe {
        let mut known = settings();
        let mut looked_at = 0.0;
        let mut timers_ran = 0.0;
        loop {
            breathe(core, state)?;
            let now = (*core).shared.now;
            let latency = (*core).shared.latency.cast::<Histogram>();
            if !latency.is_null() {
                (*latency).record(get_monotonic_time() - now);
            }
            // Timers have a resolution of a millisecond.
            if let Some(timers) = main.timers
                && (*core).shared.timers != 0
                && now - timers_ran >= 0.5e-3
            {
                timers_ran = now;
                let outer = (*core).switch(None);
                let done = call(core, state, timers, 0);
                (*core).switch(outer);
                done?;
            }
            if now - looked_at >= 1e-3 {
                looked_at = now;
                known = settings();
            }
            if !known.busywait {
                rest(core, known, main.deadline);
            }
            let is_stopping = (*core).member.as_ref().is_some_and(|member| member.team.is_stopping());
            if is_stopping {
                return Ok(End::Done);
            }
            if main.deadline.is_some_and(|deadline| now > deadline) {
                return Ok(End::Deadline);
            }
            if let Some(done) = main.done {
                call(core, state, done, 1)?;
                let is_done = luajit::lua_toboolean(state, -1) != 0;
                lua_settop(state, -2);
                if is_done {
                    return Ok(End::Done);
                }
            }
        }
    }
}

/// Calls a function that takes nothing; its results are on the stack.
///
/// # Safety
/// As for [`breathe`].
unsafe fn call(
    core: *mut Core,
    state: *mut lua_State,
    function: c_int,
    results: c_int,
) -> Result<(), Raised> {
    // SAFETY: as in `breathe`.
    unsafe {
        Call { state, core }.push_handler();
        let handler = lua_gettop(state);
        lua_rawgeti(state, LUA_REGISTRYINDEX, function);
        if protected(core, state, [0, results, handler]) != 0 {
            return Err(Raised);
        }
        luajit::lua_remove(state, handler);
        Ok(())
    }
}

/// The struct of `core.histogram`.
#[repr(C)]
struct Histogram {
    minimum: f64,
    growth: f64,
    total: Counter,
    buckets: [u64; 509],
}

impl Histogram {
    fn record(&mut self, seconds: f64) {
        let bucket =
            if seconds > 0.0 { ((seconds / self.minimum).ln() / self.growth).floor() + 1.0 } else { 0.0 };
        self.total.count += 1;
        self.buckets[bucket.clamp(0.0, 508.0) as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_apps_that_are_gone_are_used_again() {
        let mut plan = Plan::default();
        for round in 0..1000 {
            let kept = plan.account("kept");
            plan.taken[kept] += 1;
            let account = plan.account(&format!("app{round}"));
            assert_eq!(plan.taken[account], 0);
            plan.taken[account] = 7;
            plan.keep_accounts(|name| name == "kept");
        }
        assert_eq!((plan.accounts.len(), plan.taken.len(), plan.taken[0]), (1, 2, 1000));
    }
}
