//! The functions that `core.*` calls, in the table that the boot code is given.

use super::breath::{self, Main, Settings, Step};
use super::call::{Call, Native, Returned};
use super::layout::Link;
use super::natives::Ends;
use engine::host::{Hosted, Turn};
use engine::{OptionValue, Roles};
use luajit::*;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{CStr, c_int};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::ptr::NonNull;
use std::{fs, io, ptr};

/// Makes types of native functions, and a function that puts them into a table by name.
macro_rules! functions {
    ($($name:ident = |$call:ident| $body:expr;)*) => {
        $(
            #[allow(non_camel_case_types)]
            struct $name {}
            impl Native for $name {
                fn call($call: &mut Call) -> Returned {
                    $body
                }
            }
        )*
        fn put_all(call: &mut Call) {
            $(
                call.push_native::<$name>();
                set_field(call, &format!("{}\0", stringify!($name).trim_end_matches('_')));
            )*
        }
    };
}

/// Puts the value on top of the stack into the table below it.
fn set_field(call: &mut Call, name: &str) {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).expect("a name that ends with 0");
    // SAFETY: the table is below the value.
    unsafe { lua_setfield(call.state, -2, name.as_ptr()) };
}

/// Pushes the table of native functions, with what they depend on.
pub(super) fn push_table(call: &mut Call) {
    // SAFETY: the engine lives as long as the state, and nobody changes these.
    let core = unsafe { &*call.core };
    // SAFETY: a table on the stack.
    unsafe { lua_createtable(call.state, 0, 40) };
    put_all(call);
    // SAFETY: an address, as a value.
    unsafe { lua_pushlightuserdata(call.state, call.core.cast()) };
    set_field(call, "address\0");
    call.push_text(core.shm_root.as_os_str().as_encoded_bytes());
    set_field(call, "shm_root\0");
    call.push_text(core.own_name.as_bytes());
    set_field(call, "own_name\0");
    call.push_number(core.packets_max as f64);
    set_field(call, "packets_max\0");
    // A handler for `xpcall`, which keeps the calls that led to an error.
    call.push_handler();
    set_field(call, "on_error\0");
    if let Some(sandbox) = &core.options.sandbox {
        call.push_table();
        call.push_number(sandbox.packets as f64);
        set_field(call, "packets\0");
        set_field(call, "sandbox\0");
    }
    if let Some(restarts) = core.options.restarts {
        for (seconds, name) in [(restarts.first, "restart_first\0"), (restarts.max, "restart_max\0")] {
            call.push_number(seconds.as_secs_f64());
            set_field(call, name);
        }
    }
    if let Some(member) = &core.member {
        call.push_number(member.worker as f64);
        set_field(call, "worker\0");
        call.push_number(member.workers as f64);
        set_field(call, "workers\0");
    }
    call.push_texts(core.options.arguments.iter());
    set_field(call, "arguments\0");
    let path = core.options.path.clone().unwrap_or_default();
    call.push_text(
        format!("{path}{}./?.lua;./?/init.lua", if path.is_empty() { "" } else { ";" }).as_bytes(),
    );
    set_field(call, "path\0");
    if let Some(tree) = &core.options.snabb {
        call.push_text(tree.as_os_str().as_encoded_bytes());
        set_field(call, "tree\0");
    }
}

/// The error of the system, as Lua is told it.
fn told(error: io::Error) -> String {
    error.to_string()
}

fn yes(call: &mut Call) -> Returned {
    call.push_bool(true);
    Ok(1)
}

functions! {
    // Modules

    module = |call| {
        let name = call.text(1, "a module's name")?;
        let (text, file) = crate::modules::find(&name).ok_or("no such module")?;
        call.push_text(text.as_bytes());
        call.push_text(file.as_bytes());
        Ok(2)
    };

    // Files

    readdir = |call| {
        let folder = call.text(1, "a folder")?;
        let entries = fs::read_dir(folder).map_err(told)?;
        let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name().into_encoded_bytes())).collect();
        names.sort();
        call.push_texts(names);
        Ok(1)
    };
    readlink = |call| {
        let target = fs::read_link(call.text(1, "a path")?).map_err(told)?;
        call.push_text(target.as_os_str().as_encoded_bytes());
        Ok(1)
    };
    symlink_ = |call| {
        symlink(call.text(1, "a path")?, call.text(2, "a path")?).map_err(told)?;
        yes(call)
    };
    mkdirs = |call| {
        fs::create_dir_all(call.text(1, "a path")?).map_err(told)?;
        yes(call)
    };
    exists = |call| {
        let exists = Path::new(&call.text(1, "a path")?).exists();
        call.push_bool(exists);
        Ok(1)
    };
    // Which file it is, whatever its name: a text. Nothing if there is none, or no file.
    file_id = |call| {
        let file = fs::metadata(call.text(1, "a path")?);
        let Some(file) = file.ok().filter(fs::Metadata::is_file) else { return Ok(0) };
        call.push_text(format!("{}:{}", file.dev(), file.ino()).as_bytes());
        Ok(1)
    };
    // A file, a symbolic link, or a folder with all that is in it.
    remove = |call| {
        let path = call.text(1, "a path")?;
        let path = Path::new(path.trim_end_matches('/'));
        let is_folder = fs::symlink_metadata(path).map_err(told)?.is_dir();
        if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map_err(told)?;
        yes(call)
    };

    // Processes

    getpid = |call| {
        call.push_number(f64::from(std::process::id()));
        Ok(1)
    };
    geteuid = |call| {
        call.push_number(f64::from(rustix::process::geteuid().as_raw()));
        Ok(1)
    };
    alive = |call| {
        let pid = call.number(1).and_then(|pid| rustix::process::Pid::from_raw(pid as i32)).ok_or("no process id")?;
        let is_alive = rustix::process::test_kill_process(pid).is_ok();
        call.push_bool(is_alive);
        Ok(1)
    };
    kill = |call| {
        let pid = call.number(1).and_then(|pid| rustix::process::Pid::from_raw(pid as i32)).ok_or("no process id")?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).map_err(|error| error.to_string())?;
        yes(call)
    };
    // Whether a child has ended, and with which code, or signal.
    wait = |call| {
        let pid = call.number(1).and_then(|pid| rustix::process::Pid::from_raw(pid as i32)).ok_or("no process id")?;
        match rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG) {
            Ok(Some((_, status))) => {
                call.push_bool(true);
                let code = status.exit_status().or(status.terminating_signal()).unwrap_or_default();
                call.push_number(f64::from(code));
                Ok(2)
            }
            _ => {
                call.push_bool(false);
                Ok(1)
            }
        }
    };
    // Starts a process of this program that runs Lua code, and ends with this one.
    spawn = |call| {
        let name = call.text(1, "a worker's name")?;
        let code = call.bytes(2).ok_or("the code is not a text")?;
        let code = std::ffi::OsString::from(String::from_utf8(code).map_err(|_| "the code is not UTF-8")?);
        // SAFETY: the engine lives, and nobody changes these.
        let core = unsafe { &*call.core };
        let group = core.shm_root.join(&core.own_name).join("group");
        let mut command = Command::new(std::env::current_exe().map_err(told)?);
        command.arg0(format!("[snabb worker '{name}' for {}]", std::process::id())).arg("snsh");
        command.env("SNABB_PROGRAM_LUACODE", code).env("SNABB_SHM_ROOT", &core.shm_root).env("SLUSS_GROUP", group);
        if let Some(tree) = &core.options.snabb {
            command.env("SLUSS_SNABB", tree);
        }
        // SAFETY: prctl may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::HUP))?;
                Ok(())
            });
        }
        let child = command.spawn().map_err(told)?;
        call.push_number(f64::from(child.id()));
        Ok(1)
    };
    execv = |call| {
        let path = call.text(1, "a path")?;
        let mut arguments = Vec::new();
        // SAFETY: the table is at index 2; each value is dropped again.
        unsafe {
            let count = lua_objlen(call.state, 2);
            for index in 1..=count as c_int {
                lua_rawgeti(call.state, 2, index);
                arguments.push(call.text(-1, "an argument")?);
                lua_settop(call.state, -2);
            }
        }
        let mut command = Command::new(path);
        if let Some((first, rest)) = arguments.split_first() {
            command.arg0(first).args(rest);
        }
        Err(told(command.exec()))
    };
    // Ends the process.
    exit = |call| {
        let code = call.number(1).unwrap_or_default() as i32;
        // SAFETY: the engine lives; the process ends before Lua runs again.
        unsafe { (*call.core).leave() };
        std::process::exit(code)
    };
    strerror = |call| {
        let error = io::Error::from_raw_os_error(call.number(1).unwrap_or_default() as i32);
        call.push_text(error.to_string().as_bytes());
        Ok(1)
    };

    // Native apps

    app_types = |call| {
        // SAFETY: the engine lives; nobody else uses it in this call.
        let names: Vec<String> =
            unsafe { (*call.core).options.registry.classes() }.map(|class| class.name.to_string()).collect();
        call.push_texts(names);
        Ok(1)
    };
    // Takes a type and a table of options. Returns a number.
    app_new = |call| {
        let class = call.text(1, "a type")?;
        let options = match option_value(call, 2, 0)? {
            OptionValue::List(items) if items.is_empty() => OptionValue::Table(BTreeMap::new()),
            options => options,
        };
        // SAFETY: as above.
        let core = unsafe { &mut *call.core };
        let name = core.plan.running().unwrap_or(&class).to_owned();
        let number = core.add_native(&class, &name, &options)?;
        call.push_number(number as f64);
        Ok(1)
    };
    // Takes a number, names of inputs, their links, names of outputs, their links. Returns whether it pulls, pushes, ticks.
    app_link = |call| {
        let number = number_of(call)?;
        let (inputs, outputs) = (ends(call, 2)?, ends(call, 4)?);
        // SAFETY: as above.
        let roles = unsafe { (*call.core).link_native(number, inputs, outputs)? };
        for role in [Roles::PULL, Roles::PUSH, Roles::TICK] {
            call.push_bool(roles.has(role));
        }
        Ok(3)
    };
    app_turn = |call| {
        let number = number_of(call)?;
        let turn = match &*call.text(2, "a turn")? {
            "pull" => Turn::Pull,
            "push" => Turn::Push,
            _ => Turn::Tick,
        };
        // SAFETY: as above.
        unsafe { (*call.core).run_native(number, turn)? };
        yes(call)
    };
    app_stop = |call| {
        let number = number_of(call)?;
        // SAFETY: as above.
        unsafe { (*call.core).stop_native(number)? };
        yes(call)
    };
    app_counters = |call| {
        let number = number_of(call)?;
        // SAFETY: as above.
        let counters = unsafe { (*call.core).native(number).map(Hosted::counters).unwrap_or_default() };
        // SAFETY: a table, and a field of it at a time.
        unsafe { lua_createtable(call.state, 0, counters.len() as c_int) };
        for (name, _, value) in counters {
            call.push_text(name.as_bytes());
            call.push_number(value as f64);
            // SAFETY: as above.
            unsafe { lua_rawset(call.state, -3) };
        }
        Ok(1)
    };
    app_report = |call| {
        let number = number_of(call)?;
        // SAFETY: as above.
        match unsafe { (*call.core).native(number).and_then(Hosted::report) } {
            Some(text) => call.push_text(text.as_bytes()),
            None => call.push_nil(),
        }
        Ok(1)
    };

    // The one app of a graph outside

    guest_roles = |call| {
        // SAFETY: whatever is there; the engine lives, and nobody else uses it in this call.
        unsafe { (*call.core).guest.roles = [1, 2, 3].map(|index| lua_toboolean(call.state, index) != 0) };
        Ok(0)
    };
    guest_links = |call| {
        let (inputs, outputs) = (ends(call, 1)?, ends(call, 3)?);
        // SAFETY: as above.
        unsafe { ((*call.core).guest.inputs, (*call.core).guest.outputs) = (inputs, outputs) };
        Ok(0)
    };

    // Sandboxes

    // Takes the folder of a program and the name of a module. Returns the text and the name of the file, or nothing.
    sandbox_module = |call| {
        let (folder, name) = (call.text(1, "a folder")?, call.text(2, "a module")?);
        match module_beside(Path::new(&folder), &name) {
            Some((text, file)) => {
                call.push_text(&text);
                call.push_text(file.as_bytes());
                Ok(2)
            }
            None => Ok(0),
        }
    };
    // Takes `read` or `write`, and a path. Returns whether the program may do so.
    sandbox_allows = |call| {
        let (use_, path) = (call.text(1, "a use")?, call.text(2, "a path")?);
        // SAFETY: the engine lives, and nobody changes these.
        let sandbox = unsafe { (*call.core).options.sandbox.as_ref() };
        let allowed = sandbox.map(|sandbox| if use_ == "read" { &sandbox.read } else { &sandbox.write });
        let place = place_of(Path::new(&path));
        let is_it = |other: &std::path::PathBuf| place.is_some() && place_of(other) == place;
        call.push_bool(allowed.is_some_and(|allowed| allowed.iter().any(is_it)));
        Ok(1)
    };

    // Breaths

    // Says which app's code runs next, or with nil that none does. Returns which one's ran, as `current`.
    enter = |call| {
        let name = call.text(1, "").ok();
        push_running(call);
        // SAFETY: the engine lives; nobody else uses it in this call.
        let core = unsafe { &mut *call.core };
        let account = name.map(|name| core.plan.account(&name));
        core.switch(account);
        Ok(1)
    };
    // The app whose code runs.
    current = |call| {
        push_running(call);
        Ok(1)
    };
    // Takes lists of {function, app, link or false, name}: who pulls, who pushes, who ticks.
    plan = |call| {
        let lists = [take_steps(call, 1)?, take_steps(call, 2)?, take_steps(call, 3)?];
        // SAFETY: the engine lives; nobody else uses it in this call.
        let plan = unsafe { &mut (*call.core).plan };
        let [pulls, pushes, ticks] = lists;
        let old = [
            std::mem::replace(&mut plan.pulls, pulls),
            std::mem::replace(&mut plan.pushes, pushes),
            std::mem::replace(&mut plan.ticks, ticks),
        ];
        plan.generation += 1;
        plan.tell_watch();
        // A breath goes on with none of these after a change.
        for reference in old.into_iter().flatten().flat_map(|step| step.references) {
            call.forget(reference);
        }
        Ok(0)
    };
    set_tick = |call| {
        let hz = call.number(1).unwrap_or(1000.0);
        // SAFETY: the engine lives; nobody else uses it in this call.
        let plan = unsafe { &mut (*call.core).plan };
        plan.tick_every = if hz > 0.0 { 1.0 / hz } else { f64::INFINITY };
        plan.tick_due = if hz > 0.0 { super::symbols::get_monotonic_time() + plan.tick_every } else { f64::INFINITY };
        Ok(0)
    };
    breathe = |call| {
        // SAFETY: the engine is that of the state; Lua gives a function 20 slots.
        match suspended(call, |call| unsafe { breath::breathe(call.core, call.state) }) {
            Ok(()) => Ok(0),
            Err(_) => failed(call),
        }
    };
    // Sleeps between two breaths. Takes the table of settings.
    pace = |call| {
        // SAFETY: the engine lives; nobody else uses it in this call.
        suspended(call, |call| unsafe { breath::rest(call.core, settings(call), None) });
        Ok(0)
    };
    // Breathes until it is over; see `engine.main`. Takes the table of settings, a function or nil, a time or nil, a function or nil.
    main_ = |call| {
        let is_function = |call: &Call, index| call.kind(index) == LUA_TFUNCTION;
        let done = is_function(call, 2).then(|| call.keep(2));
        let timers = is_function(call, 4).then(|| call.keep(4));
        let main = Main { done, deadline: call.number(3), timers };
        let state = call.state;
        let read = || settings(&Call { state, core: ptr::null_mut() });
        // SAFETY: as above; the settings are read without metamethods that raise.
        let outcome = suspended(call, |call| unsafe { breath::main(call.core, state, &main, read) });
        for reference in [done, timers].into_iter().flatten() {
            call.forget(reference);
        }
        match outcome {
            Ok(end) => {
                call.push_bool(false);
                call.push_bool(end == breath::End::Deadline);
                Ok(2)
            }
            Err(_) => failed(call),
        }
    };

    // Apps that fail

    // The app whose method raised the last error, and the calls that led there; or nothing.
    failed_app = |call| {
        // SAFETY: the engine lives, and nobody changes this.
        let failure = unsafe { (*call.core).failure.as_ref() };
        let Some((app, traceback)) = failure.and_then(|failure| Some((failure.app.clone()?, failure.traceback.clone()))) else {
            return Ok(0);
        };
        call.push_text(app.as_bytes());
        call.push_text(traceback.as_bytes());
        Ok(2)
    };
    // The error that is raised next says that the program's text is not Lua.
    not_lua = |call| {
        // SAFETY: the engine lives; nobody else uses it in this call.
        unsafe { (*call.core).is_not_lua = true };
        Ok(0)
    };
    // The last error was told, and the program goes on.
    failure_told = |call| {
        // SAFETY: the engine lives; nobody else uses it in this call.
        let core = unsafe { &mut *call.core };
        core.failure = None;
        core.failures += 1;
        Ok(0)
    };
    // How many packets are in links, or with apps.
    in_use = |call| {
        // SAFETY: the engine lives, and nobody changes this.
        let count = unsafe { (*call.core).in_use() };
        call.push_number(count as f64);
        Ok(1)
    };
    // Takes an app, and perhaps a number to begin with anew. Returns how many packets it has taken from the free ones, less those it has freed.
    taken = |call| {
        let name = call.text(1, "an app")?;
        let set = call.number(2);
        // SAFETY: as above.
        let plan = unsafe { &mut (*call.core).plan };
        let account = plan.account(&name);
        let before = plan.taken[account];
        if let Some(number) = set {
            plan.taken[account] = number as i64;
        }
        call.push_number(before as f64);
        Ok(1)
    };
    // Takes a list of the apps that there are: the accounts of others are closed.
    keep_accounts = |call| {
        let mut names = HashSet::new();
        // SAFETY: a table at index 1; each value is taken off the stack again.
        unsafe {
            for index in 1..=lua_objlen(call.state, 1) as c_int {
                lua_rawgeti(call.state, 1, index);
                names.insert(call.text(-1, "an app's name")?);
                lua_settop(call.state, -2);
            }
        }
        // SAFETY: the engine lives; nobody else uses it in this call.
        let plan = unsafe { &mut (*call.core).plan };
        plan.keep_accounts(|name| names.contains(name));
        Ok(0)
    };
}

/// Pushes the name of the app whose code runs, or nil.
fn push_running(call: &mut Call) {
    // SAFETY: the engine lives, and nobody changes this.
    match unsafe { (*call.core).plan.running().map(str::to_owned) } {
        Some(name) => call.push_text(name.as_bytes()),
        None => call.push_nil(),
    }
}

/// Where a file is, whether it is there or not, without links to others.
fn place_of(path: &Path) -> Option<std::path::PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return Some(place);
    }
    // A link to nothing would be followed.
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

/// The text of a module in a folder, and its file. Links do not lead out of the folder.
fn module_beside(folder: &Path, name: &str) -> Option<(Vec<u8>, String)> {
    const BYTES_MAX: u64 = 16 << 20;
    let root = folder.canonicalize().ok()?;
    let stem = name.replace('.', "/");
    [format!("{stem}.lua"), format!("{stem}/init.lua")].into_iter().find_map(|file| {
        let place = root.join(&file).canonicalize().ok().filter(|place| place.starts_with(&root))?;
        let is_small = place.metadata().is_ok_and(|file| file.is_file() && file.len() <= BYTES_MAX);
        let text = is_small.then(|| fs::read(&place).ok()).flatten()?;
        let shown = if folder == Path::new(".") { file } else { folder.join(file).display().to_string() };
        Some((text, shown))
    })
}

/// Does what is no part of the turn that calls it.
fn suspended<T>(call: &mut Call, work: impl FnOnce(&mut Call) -> T) -> T {
    // SAFETY: the fence is there as long as the engine.
    let fence = unsafe { (*call.core).fence.as_ref() };
    let outer = fence.map(|fence| fence.suspend(call.state));
    let done = work(call);
    if let (Some(fence), Some(outer)) = (fence, outer) {
        fence.resume(outer);
    }
    done
}

/// Returns the error on top of the stack, after `true`.
fn failed(call: &mut Call) -> Returned {
    call.push_bool(true);
    // SAFETY: the error is below.
    unsafe { lua_insert(call.state, -2) };
    Ok(2)
}

/// What the program has set in the table at index 1.
fn settings(call: &Call) -> Settings {
    let field = |name: &CStr| {
        // SAFETY: a table at index 1, read without metamethods; the value is taken off the stack below.
        unsafe {
            Call { state: call.state, core: call.core }.push_text(name.to_bytes());
            lua_rawget(call.state, 1);
        }
    };
    let pop = || {
        // SAFETY: what `field` has pushed.
        unsafe { lua_settop(call.state, -2) }
    };
    field(c"busywait");
    // SAFETY: a value is on top.
    let busywait = unsafe { lua_toboolean(call.state, -1) } != 0;
    pop();
    field(c"Hz");
    let hz = call.number(-1).filter(|&hz| hz > 0.0);
    pop();
    field(c"maxsleep");
    let max_sleep_us = call.number(-1).unwrap_or(100.0);
    pop();
    Settings { busywait, hz, max_sleep_us }
}

/// The number of a native app, at index 1.
fn number_of(call: &Call) -> Result<usize, String> {
    call.number(1).map(|number| number as usize).ok_or_else(|| "no native app".into())
}

/// Names of ports at an index, and their links at the next.
fn ends(call: &mut Call, index: c_int) -> Result<Ends, String> {
    let mut ends = Ends::default();
    // SAFETY: two tables of the same length; each value is taken off the stack again.
    unsafe {
        for item in 1..=lua_objlen(call.state, index) as c_int {
            lua_rawgeti(call.state, index, item);
            ends.names.push(call.text(-1, "a port")?);
            lua_rawgeti(call.state, index + 1, item);
            ends.links.push(link_at(call, -1).ok_or("a port has no link")?);
            lua_settop(call.state, -3);
        }
    }
    Ok(ends)
}

/// A Lua value as the value of an option: a table with a first item is a list.
fn option_value(call: &mut Call, index: c_int, depth: usize) -> Result<OptionValue, String> {
    const DEPTH_MAX: usize = 16;
    if depth > DEPTH_MAX {
        return Err("options are nested too deeply".into());
    }
    match call.kind(index) {
        // SAFETY: a value at the index.
        LUA_TBOOLEAN => Ok(OptionValue::Bool(unsafe { lua_toboolean(call.state, index) } != 0)),
        LUA_TNUMBER => {
            let number = call.number(index).unwrap_or_default();
            let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
            Ok(if is_whole { OptionValue::Integer(number as i128) } else { OptionValue::Float(number) })
        }
        LUA_TSTRING => Ok(OptionValue::Text(call.text(index, "an option")?)),
        LUA_TNIL => Ok(OptionValue::Table(BTreeMap::new())),
        LUA_TTABLE => table_value(call, index, depth),
        _ => Err("an option is no text, number, boolean or table".into()),
    }
}

fn table_value(call: &mut Call, index: c_int, depth: usize) -> Result<OptionValue, String> {
    // SAFETY: a table at the index; each value is taken off the stack again, and slots are made sure of.
    unsafe {
        lua_checkstack(call.state, 8);
        let len = lua_objlen(call.state, index);
        let mut list = Vec::new();
        for item in 1..=len as c_int {
            lua_rawgeti(call.state, index, item);
            let top = lua_gettop(call.state);
            list.push(option_value(call, top, depth + 1)?);
            lua_settop(call.state, top - 1);
        }
        if len > 0 {
            return Ok(OptionValue::List(list));
        }
        let mut table = BTreeMap::new();
        call.push_nil();
        while lua_next(call.state, index) != 0 {
            let top = lua_gettop(call.state);
            let name = call.text(top - 1, "the name of an option")?;
            table.insert(name, option_value(call, top, depth + 1)?);
            lua_settop(call.state, top - 1);
        }
        Ok(OptionValue::Table(table))
    }
}

/// Takes a list of steps.
fn take_steps(call: &mut Call, list: c_int) -> Result<Vec<Step>, String> {
    // SAFETY: the list is a table of tables, made by `core.app`; each is taken off the stack again.
    unsafe {
        let count = lua_objlen(call.state, list) as c_int;
        let mut steps = Vec::new();
        for index in 1..=count {
            lua_rawgeti(call.state, list, index);
            let row = lua_gettop(call.state);
            for column in 1..=5 {
                lua_rawgeti(call.state, row, column);
            }
            let kept = [1, 2, 3].map(|column| call.keep_value(row + column));
            let link = link_at(call, row + 3).and_then(NonNull::new);
            let native = call.number(row + 5).map(|number| number as usize);
            let name = call.text(row + 4, "an app's name")?;
            // SAFETY: the engine lives; nobody else uses it in this call.
            let account = (*call.core).plan.account(&name);
            let (values, references) = (kept.map(|(_, value)| value), kept.map(|(reference, _)| reference));
            steps.push(Step { values, link, account, native, name, references });
            lua_settop(call.state, row - 1);
        }
        Ok(steps)
    }
}

/// The link that a value of type `struct link &` refers to.
///
/// # Safety
/// The value is such a reference, or no C data.
unsafe fn link_at(call: &Call, index: c_int) -> Option<*mut Link> {
    /// LuaJIT's type of C data, for which the manual has no name.
    const CDATA: c_int = 10;
    if call.kind(index) != CDATA {
        return None;
    }
    // SAFETY: for C data, LuaJIT returns where its bytes are; those of a reference are an address.
    unsafe { Some(lua_topointer(call.state, index).cast::<*mut Link>().read()) }
}
