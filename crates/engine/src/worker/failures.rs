//! Apps that panic, stop or change on their worker, and the packets that they leave.

use super::Worker;
use super::task::{ChangeFailure, LastWords, Outlook, Task};
use crate::app::{Breath, Reconfigured};
use crate::config::Config;
use crate::option::OptionError;
use crate::pool::{Orphans, Whose};

impl Worker {
    /// Takes down apps that failed when they were asked something, and starts those that have been down for long enough.
    pub(super) fn look_after_apps(&mut self, now_ns: u64) {
        self.hear_complaints(Outlook::GoesOn);
        if self.any_down {
            for task in &mut self.tasks {
                task.tell_of_return(self.breaths);
                task.restart_if_due(now_ns, self.breaths);
            }
            self.any_down = self.tasks.iter().any(Task::is_looked_after);
        }
    }

    /// Takes down apps that failed when they were asked something. Returns whether there were any.
    pub(crate) fn hear_complaints(&mut self, outlook: Outlook) -> bool {
        let mut any = false;
        for task in 0..self.tasks.len() {
            if let Some(complaint) = self.tasks[task].take_complaint() {
                self.app_panicked(task, complaint, outlook);
                any = true;
            }
        }
        any
    }

    pub(super) fn app_panicked(&mut self, task: usize, why: String, outlook: Outlook) {
        // The app's own packets are dropped with it, on its account.
        Orphans::enter(task as u32);
        self.tasks[task].panicked(why, outlook);
        Orphans::leave();
        self.any_down = true;
        self.sweep(
            |owner, count| {
                if owner.is_down() { owner.lost_in_panic(count) } else { owner.discarded(count) }
            },
        );
    }

    /// Takes home what was dropped, and has it counted by the app that dropped it.
    #[cold]
    pub(crate) fn sweep(&mut self, count: impl Fn(&Task, u64)) {
        let Worker { tasks, pool, gauges, .. } = self;
        Orphans::sweep(pool.engine(), |whose, packet| {
            match whose {
                Whose::App(task) => match tasks.get(task as usize) {
                    Some(task) => count(task, 1),
                    None => gauges.without_app.add(1),
                },
                Whose::Nobody => gauges.without_app.add(1),
                Whose::Counted => {}
            }
            pool.put_back(packet);
        });
    }

    /// Stops an app that was taken off: it may still send what it holds, and what it then drops is counted.
    /// Returns what it had to report at last.
    pub(crate) fn stop(&mut self, task: &mut Task) -> Option<LastWords> {
        Orphans::leave();
        let (now_ns, burst) = (self.clock.now_ns(), self.pace.burst);
        let report = task.stop(&mut Breath { pool: &mut self.pool, now_ns, burst });
        self.take_home(|whose| {
            if whose != Whose::Counted {
                task.lost_in_stop(1);
            }
        });
        report
    }

    /// Gives other options to an app that was taken off. If it panics, it is down.
    pub(crate) fn reconfigure(
        &mut self,
        task: &mut Task,
        config: &Config,
    ) -> Result<Reconfigured, OptionError> {
        let why = match task.reconfigure(config, self.clock.now_ns()) {
            Ok(done) => return Ok(done),
            Err(ChangeFailure::Refused(error)) => return Err(error),
            Err(ChangeFailure::Panicked(panic)) => panic.message(),
        };
        Orphans::leave();
        task.panicked(why.clone(), Outlook::GoesOn);
        self.take_home(|whose| {
            if whose != Whose::Counted {
                task.lost_in_panic(1);
            }
        });
        Err(OptionError::failed("take on other options", why))
    }

    /// Takes home what was dropped while apps are taken off.
    fn take_home(&mut self, count: impl Fn(Whose)) {
        Orphans::sweep(self.pool.engine(), |whose, packet| {
            count(whose);
            self.pool.put_back(packet);
        });
    }
}
