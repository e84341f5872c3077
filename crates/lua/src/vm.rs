//! A Lua state with an engine of its own.

use crate::error::Error;
use crate::ffi::{Argument, Core, State, Team};
use crate::options::{Coach, Options};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A part of a session of `sluss snsh`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lua text to run.
    Eval(String),
    /// A module to load.
    Load(String),
    /// A module whose self-test is to run.
    Test(String),
    /// A new `package.path`.
    Path(String),
    /// A flag of LuaJIT, as after its `-j`: `v`, `dump=+rs`, `off`.
    Jit(String),
}

/// A Lua state with Snabb's environment: its globals, its modules, and an engine of its own. It belongs to one thread.
///
/// With [`Options::sandbox`], what [`Vm::run_file`] and [`Vm::run_text`] run is not trusted; what other functions run, is.
pub struct Vm {
    state: State,
    /// The module that runs programs.
    runner: &'static str,
}

/// The module that runs programs, whether they are trusted or not.
fn runner(options: &Options) -> &'static str {
    if options.sandbox.is_some() { "core.sandbox" } else { "core.program" }
}

impl Vm {
    /// A state that has run nothing yet.
    ///
    /// # Errors
    /// When there is no memory, or no folder for shared memory can be made.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let state = State::new(Core::new(options)?)?;
        state.boot()?;
        Ok(Vm { state, runner: runner(options) })
    }

    /// Runs a program on several threads, each with a state and a part of the apps: see `core.team`. It ends when the program has ended in one of them.
    ///
    /// # Errors
    /// Those of [`Vm::run_file`], of whichever worker fails first.
    pub fn run_file_on_workers(
        options: &Options,
        workers: usize,
        file: &Path,
        arguments: &[String],
    ) -> Result<(), Error> {
        let team = Arc::new(Team::default());
        let work = |worker| {
            let run = || {
                let mut core = Core::new(options)?;
                core.join(&team, worker, workers);
                let state = State::new(core)?;
                state.boot()?;
                let vm = Vm { state, runner: runner(options) };
                let outcome = vm.run_file(file, arguments);
                team.stop();
                vm.state.abandon();
                outcome
            };
            let outcome = run();
            team.stop();
            outcome
        };
        std::thread::scope(|scope| {
            let work = &work;
            let name = |worker| std::thread::Builder::new().name(format!("lua {worker}"));
            let threads: Vec<_> =
                (1..=workers).map(|worker| name(worker).spawn_scoped(scope, move || work(worker))).collect();
            let mut outcome = Ok(());
            for thread in threads {
                let refused = |source| Error::System { what: "cannot start a worker".into(), source };
                let ended = thread
                    .map_err(refused)
                    .and_then(|thread| thread.join().expect("a worker does not panic"));
                outcome = outcome.and(ended);
            }
            outcome
        })
    }

    /// Runs a program: a file whose statements are the program, or a module with a function `run`, which is given the arguments.
    ///
    /// # Errors
    /// When the file cannot be read, is not Lua, or raises an error.
    pub fn run_file(&self, file: &Path, arguments: &[String]) -> Result<(), Error> {
        let unreadable = |source| Error::System { what: format!("cannot read {}", file.display()), source };
        let text = std::fs::read(file).map_err(unreadable)?;
        self.run_text(&text, &format!("@{}", file.display()), arguments)
    }

    /// Runs Lua text, as [`Vm::run_file`] does; `name` is what messages call it, after a `@` for a file or a `=`.
    ///
    /// # Errors
    /// When it is not Lua, or raises an error; when a native app failed in its work; with [`Options::restarts`] also when an app has failed.
    pub fn run_text(&self, text: &[u8], name: &str, arguments: &[String]) -> Result<(), Error> {
        let given = [text, name.as_bytes()].into_iter().chain(arguments.iter().map(String::as_bytes));
        self.call(self.runner, "run", given)?;
        match (self.state.failures(), self.state.failed_natives()) {
            (0, failed) if failed.is_empty() => Ok(()),
            (0, failed) => Err(Error::Natives(failed)),
            (failures, _) => Err(Error::Apps(failures)),
        }
    }

    /// Runs one part of a session of `sluss snsh`.
    ///
    /// # Errors
    /// When it is not Lua, or raises an error.
    pub fn shell(&self, action: &Action) -> Result<(), Error> {
        let (function, argument) = match action {
            Action::Eval(text) => ("eval", text),
            Action::Load(module) => ("load", module),
            Action::Test(module) => ("test", module),
            Action::Path(patterns) => ("path", patterns),
            Action::Jit(flag) => ("jit", flag),
        };
        self.call("core.shell", function, [argument.as_bytes()])
    }

    /// Runs the program of a name, `program.NAME.NAME`, with arguments.
    ///
    /// # Errors
    /// When there is none, or it raises an error.
    pub fn run_program(&self, name: &str, arguments: &[String]) -> Result<(), Error> {
        let given = [name].into_iter().chain(arguments.iter().map(String::as_str));
        self.call("core.shell", "program", given.map(str::as_bytes))
    }

    /// Reads lines from standard input and runs them, until it ends.
    ///
    /// # Errors
    /// When standard input or output fails; errors of lines are printed.
    pub fn prompt(&self) -> Result<(), Error> {
        self.call("core.shell", "repl", [])
    }

    /// Watches what runs from now on, for [`Vm::advise`].
    ///
    /// # Errors
    /// When the state has no memory left.
    pub fn coach(&self, coach: &Coach) -> Result<(), Error> {
        let page = coach.page.as_ref().map_or(Cow::Borrowed(""), |page| page.to_string_lossy());
        let style = if coach.json { "json" } else { "" };
        self.call("sluss.coach.command", "begin", [style.as_bytes(), page.as_bytes()])
    }

    /// Prints what the coach has found, unless the program has ended the process.
    ///
    /// # Errors
    /// When the page cannot be written.
    pub fn advise(&self) -> Result<(), Error> {
        self.call("sluss.coach.command", "finish", [])
    }

    /// Calls a function of a module with texts.
    fn call<'a>(
        &self,
        module: &str,
        function: &str,
        arguments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), Error> {
        let mut given = vec![Argument::Text(module.into()), Argument::Text(function.into())];
        given.extend(arguments.into_iter().map(|text| Argument::Text(text.into())));
        self.state.run(b"local module, name = ... require(module)[name](select(3, ...))", "=sluss", &given)
    }
}

impl std::fmt::Debug for Vm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vm")
    }
}
