//! A Lua state: text in, errors out.

use super::breath::{self, Turn};
use super::call::{Call, KEPT_CORE};
use super::core::Core;
use super::fence::Fence;
use super::guest::push_option;
use super::{native, symbols};
use crate::error::{Error, Failure};
use luajit::*;
use std::ffi::{CString, c_int};
use std::ptr;

/// A Lua state and its engine.
pub(crate) struct State {
    state: *mut lua_State,
    core: *mut Core,
}

/// What a chunk is given.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// The table of native functions.
    Native,
    Text(Vec<u8>),
    /// Options of an app, as a table.
    Options(engine::OptionValue),
    /// A list of texts.
    Texts(Vec<String>),
}

impl State {
    pub(crate) fn new(core: Box<Core>) -> Result<Self, Error> {
        symbols::install();
        let state = match &core.fence {
            // SAFETY: a new state.
            None => unsafe { luaL_newstate() },
            Some(fence) => fence.new_state(),
        };
        if state.is_null() {
            return Err(Error::NoState);
        }
        // SAFETY: it is new, and nobody else knows it.
        unsafe { luaL_openlibs(state) };
        Ok(State { state, core: Box::into_raw(core) })
    }

    fn call(&self) -> Call {
        Call { state: self.state, core: self.core }
    }

    /// Makes Snabb's environment: its globals, and where its modules are found.
    pub(crate) fn boot(&self) -> Result<(), Error> {
        let (text, _) = crate::modules::find("core.boot").expect("a module of this library");
        self.run(text.as_bytes(), "@sluss/core/boot.lua", &[Argument::Native])?;
        // SAFETY: the engine lives, and no Lua code runs now.
        let core = unsafe { &mut *self.core };
        let folder = core.shm_root.join(&core.own_name);
        if let Some(fence) = &mut core.fence {
            fence.close(folder)?;
        }
        Ok(())
    }

    /// Runs a chunk, which returns nothing.
    pub(crate) fn run(&self, text: &[u8], name: &str, arguments: &[Argument]) -> Result<(), Error> {
        let name = CString::new(name.replace('\0', " ")).expect("no zero is left");
        let mut call = self.call();
        // SAFETY: the stack is as high again at the end; slots for the arguments are made sure of.
        unsafe {
            let top = lua_gettop(self.state);
            lua_checkstack(self.state, arguments.len() as c_int + 20);
            call.push_handler();
            let handler = lua_gettop(self.state);
            if luaL_loadbuffer(self.state, text.as_ptr().cast(), text.len(), name.as_ptr()) != 0 {
                let message = self.top_as_text();
                lua_settop(self.state, top);
                return Err(Error::Syntax(message));
            }
            for argument in arguments {
                match argument {
                    Argument::Native => native::push_table(&mut call),
                    Argument::Text(text) => call.push_text(text),
                    Argument::Options(options) => push_option(&mut call, options),
                    Argument::Texts(texts) => call.push_texts(texts),
                }
            }
            let status = breath::protected(self.core, self.state, [arguments.len() as c_int, 0, handler]);
            let result = if status == 0 { Ok(()) } else { Err(self.raised()) };
            lua_settop(self.state, top);
            result
        }
    }

    /// Removes the engine's folder of shared memory, takes it out of its team, and keeps all else for ever: others may still have packets of it.
    pub(crate) fn abandon(self) {
        // SAFETY: the engine lives, and nobody else uses it.
        unsafe {
            (*self.core).leave();
            (*self.core).leave_team();
        }
        std::mem::forget(self);
    }

    /// How often apps have failed that were started again.
    pub(crate) fn failures(&self) -> u64 {
        // SAFETY: the engine lives, and nobody changes this.
        unsafe { (*self.core).failures }
    }

    /// Native apps that failed in their work, with their reports.
    pub(crate) fn failed_natives(&self) -> Vec<(String, String)> {
        // SAFETY: the engine lives, and no Lua code runs now.
        unsafe { (*self.core).failed_natives() }
    }

    /// The state's engine.
    pub(super) fn core(&self) -> *mut Core {
        self.core
    }

    /// Gives the apps of the plan a turn.
    pub(super) fn turn(&self, turn: Turn) -> Result<(), Error> {
        // SAFETY: the engine is that of the state, and the stack is empty but for what is on it here.
        unsafe {
            lua_checkstack(self.state, 20);
            let top = lua_gettop(self.state);
            let done = breath::turn(self.core, self.state, turn);
            let result = done.map_err(|_| self.raised());
            lua_settop(self.state, top);
            result
        }
    }

    /// The error on top of the stack, with what its handler has seen.
    fn raised(&self) -> Error {
        let message = self.top_as_text();
        // SAFETY: the engine lives, and nobody else uses it now.
        let core = unsafe { &mut *self.core };
        let seen = core.failure.take().unwrap_or_default();
        if std::mem::take(&mut core.is_not_lua) {
            return Error::Syntax(message);
        }
        let message = match &core.fence {
            // Of this LuaJIT tells no place.
            Some(fence) if message == "not enough memory" => {
                format!("not enough memory: the sandbox gives it {} bytes", fence.limits().memory_bytes)
            }
            _ => message,
        };
        Error::Raised(Failure { message, ..seen })
    }

    fn top_as_text(&self) -> String {
        // SAFETY: there is a value on top, and the engine lives.
        unsafe { value_as_text(self.state, (*self.core).fence.is_none()) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state is ours, and closed before its engine goes, whose memory it uses.
        unsafe {
            lua_close(self.state);
            drop(Box::from_raw(self.core));
        }
    }
}

/// The value on top of the stack, as people read it. Code that is not trusted has no say in that: it would run outside of its limits.
///
/// # Safety
/// There is one.
unsafe fn value_as_text(state: *mut lua_State, is_trusted: bool) -> String {
    let call = Call { state, core: ptr::null_mut() };
    match call.kind(-1) {
        LUA_TSTRING => String::from_utf8_lossy(&call.bytes(-1).unwrap_or_default()).into_owned(),
        LUA_TNUMBER => call.number(-1).unwrap_or_default().to_string(),
        LUA_TNIL => "nil".into(),
        _ if !is_trusted => "an error that is no text".into(),
        // SAFETY: `tostring` is there; a value that cannot be shown leaves a message instead.
        _ => unsafe {
            let top = lua_gettop(state);
            lua_getfield(state, LUA_GLOBALSINDEX, c"tostring".as_ptr());
            lua_pushvalue(state, top);
            let text = match lua_pcall(state, 1, 1, 0) {
                0 => String::from_utf8_lossy(&call.bytes(-1).unwrap_or_default()).into_owned(),
                _ => "an error that cannot be shown".into(),
            };
            lua_settop(state, top);
            text
        },
    }
}

/// A traceback without the calls in which this library runs a program, and `error` itself: the program's own ones remain.
fn without_own_frames(traceback: &str) -> String {
    let is_own = |line: &&str| {
        let call = line.trim_start();
        call.starts_with("sluss/core/")
            || call.starts_with("sluss:1:")
            || ["[C]: in function 'error'", "[C]: in function 'protected_call'"].contains(&call)
    };
    let lines: Vec<&str> = traceback.lines().filter(|line| !is_own(line)).collect();
    // The first line is a title.
    if lines.len() > 1 { lines.join("\n") } else { String::new() }
}

/// The handler of errors: keeps the calls that led there, unless that of a caller is at work. Returns the error as it is.
///
/// # Safety
/// LuaJIT calls it, as a closure that keeps the engine's address.
pub(super) unsafe extern "C-unwind" fn on_error(state: *mut lua_State) -> c_int {
    // SAFETY: the closure keeps the engine's address; the error is the only value on the stack.
    unsafe {
        let core = lua_touserdata(state, KEPT_CORE).cast::<Core>();
        let was_enforced = (*core).fence.as_ref().map(Fence::permit);
        let message = value_as_text(state, was_enforced.is_none());
        let is_known = (*core).failure.as_ref().is_some_and(|failure| failure.message == message);
        if !is_known {
            luaL_traceback(state, state, ptr::null(), 1);
            let traceback = without_own_frames(&value_as_text(state, true));
            lua_settop(state, -2);
            let app = (*core).plan.running().map(str::to_owned);
            (*core).failure = Some(Failure { message, app, traceback });
        }
        if let (Some(fence), Some(was_enforced)) = (&(*core).fence, was_enforced) {
            fence.forbid(was_enforced);
        }
        1
    }
}
