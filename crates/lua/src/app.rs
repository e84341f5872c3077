//! The type `lua`: an app of a graph that is written in Lua.
//!
//! ```toml
//! [app.counter]
//! type = "lua"
//! file = "counter.lua"
//! class = "Counter"
//! args = { every = 10 }
//! ```
//!
//! Each app has a Lua state of its own, so that it can run on any worker. An error that it raises stops it, as a panic does a native app: it is started
//! again after a while, in a new state.

use crate::error::Error;
use crate::ffi::{Argument, Core, Guest, State, Turn};
use crate::options::{Options, Sandbox};
use engine::{
    App, Class, Io, OptionError, OptionValue, Passage, PortNames, Ports, Registry, Roles, Setup, drops,
};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The classes of this crate.
pub fn registry() -> Registry {
    Registry::new().with::<LuaApp>()
}

/// An app in Lua, which a graph names by its file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaApp {
    /// The file.
    pub file: PathBuf,
    /// The name of the class in it; without one, the file returns the class.
    #[serde(default)]
    pub class: String,
    /// What its `new` is given.
    #[serde(default = "no_args")]
    pub args: OptionValue,
    /// Whether the code is not trusted, and confined.
    #[serde(default)]
    pub sandbox: bool,
    /// Memory for its values then, in millions of bytes.
    #[serde(default = "usual_memory_mb")]
    pub sandbox_memory_mb: u32,
    /// CPU time of a turn then.
    #[serde(default = "usual_turn_ms")]
    pub sandbox_turn_ms: u32,
}

fn usual_memory_mb() -> u32 {
    64
}

fn usual_turn_ms() -> u32 {
    1000
}

fn no_args() -> OptionValue {
    OptionValue::Table(BTreeMap::new())
}

/// A running Lua app.
pub struct Running {
    guest: Guest,
    name: String,
    args: OptionValue,
    /// Ports that it is still to be told of.
    ports: Option<[Vec<String>; 2]>,
}

impl LuaApp {
    fn text(&self) -> Result<Vec<u8>, OptionError> {
        std::fs::read(&self.file)
            .map_err(|error| OptionError::new("file", format!("{}: {error}", self.file.display())))
    }
}

impl Class for LuaApp {
    const TYPE: &'static str = "lua";
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    const PASSAGE: Passage = Passage::MayEnd;
    type App = Running;

    fn check(&self) -> Result<(), OptionError> {
        for (name, value) in
            [("sandbox_memory_mb", self.sandbox_memory_mb), ("sandbox_turn_ms", self.sandbox_turn_ms)]
        {
            if value == 0 {
                return Err(OptionError::new(name, "it is 0".to_owned()));
            }
        }
        self.text().map(drop)
    }

    fn needs_packets(&self) -> usize {
        2048
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Running, OptionError> {
        let text = self.text()?;
        let wrong = |error: Error| OptionError::new("file", error.to_string());
        let sandbox = self.sandbox.then(|| Sandbox {
            memory_bytes: self.sandbox_memory_mb as usize * 1_000_000,
            turn: Duration::from_millis(self.sandbox_turn_ms.into()),
            packets: 4096,
            ..Sandbox::default()
        });
        let options = Options { registry: Registry::new(), sandbox, ..Options::default() };
        let state = State::new(Core::new(&options).map_err(wrong)?).map_err(wrong)?;
        state.boot().map_err(wrong)?;
        let folder = self.file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let beside = folder.map_or_else(String::new, |folder| format!("{}/?.lua;", folder.display()));
        let words = [self.file.display().to_string(), self.class.clone(), beside];
        let mut given = vec![Argument::Text(text)];
        given.extend(words.into_iter().map(|word| Argument::Text(word.into_bytes())));
        state.run(b"require('core.guest').load(...)", "=sluss", &given).map_err(wrong)?;
        let args = [Argument::Options(self.args.clone())];
        state
            .run(b"require('core.guest').check(...)", "=sluss", &args)
            .map_err(|error| OptionError::new("args", error.to_string()))?;
        let guest = Guest::new(state, setup.consumed("freed"), setup.drops(drops::LINK_FULL));
        Ok(Running { guest, name: setup.name.to_owned(), args: self.args.clone(), ports: None })
    }
}

impl Running {
    /// Tells the app of ports that have changed, then gives it a turn.
    fn run(&mut self, io: &mut Io<'_>, turn: Turn) {
        let done = self.relink(io).and_then(|()| self.guest.turn(io, turn));
        if let Err(error) = done {
            let traceback =
                if let Error::Raised(failure) = &error { failure.traceback.clone() } else { String::new() };
            let message =
                if let Error::Raised(failure) = error { failure.message } else { error.to_string() };
            // The engine stops an app that panics, and tells why.
            panic!("{message}\n{traceback}");
        }
        assert!(
            !self.guest.has_cheated(),
            "it has sent or freed a packet that it did not have: SNABB_DEBUG=1 tells where"
        );
    }

    fn relink(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        let Some([inputs, outputs]) = self.ports.take() else { return Ok(()) };
        let given = [
            Argument::Text(self.name.clone().into_bytes()),
            Argument::Options(self.args.clone()),
            Argument::Texts(inputs),
            Argument::Texts(outputs),
        ];
        self.guest.call(io, "require('core.guest').link(...)", &given)
    }
}

impl App for Running {
    fn roles(&self) -> Roles {
        self.guest.roles()
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        self.run(io, Turn::Pull);
    }

    fn push(&mut self, io: &mut Io<'_>) {
        self.run(io, Turn::Push);
    }

    fn tick(&mut self, io: &mut Io<'_>) {
        self.run(io, Turn::Tick);
    }

    fn link(&mut self, ports: &PortNames<'_>) {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        self.ports = Some([names(&ports.inputs), names(&ports.outputs)]);
    }

    fn stop(&mut self, io: &mut Io<'_>) {
        if let Err(error) = self.guest.stop(io) {
            panic!("{error}");
        }
    }

    fn held(&self) -> usize {
        self.guest.held()
    }

    fn spare(&self) -> usize {
        self.guest.spare()
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lua app {}", self.name)
    }
}
