//! LuaJIT's C interface, and DynASM's.
//!
//! These are plain declarations: whoever calls them keeps to the [manual of Lua 5.1](https://www.lua.org/manual/5.1/manual.html#3). What is
//! missing here, such as `lua_call`, is so on purpose: a Lua error must not pass through a Rust frame that has something to drop. `lua_error` is
//! for functions that have nothing.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

/// A Lua state, or one of its coroutines.
#[repr(C)]
pub struct lua_State {
    _private: [u8; 0],
}

/// A function that Lua calls.
pub type lua_CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// What gives a state its memory: the second argument of [`lua_newstate`], a block or null, its size, the size wanted. 0 frees it.
pub type lua_Alloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void;

/// A function that is called as code runs.
pub type lua_Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut lua_Debug);

/// What is known of a function that runs.
#[repr(C)]
#[allow(missing_docs)] // They are those of the manual.
pub struct lua_Debug {
    pub event: c_int,
    pub name: *const c_char,
    pub namewhat: *const c_char,
    pub what: *const c_char,
    pub source: *const c_char,
    pub currentline: c_int,
    pub nups: c_int,
    pub linedefined: c_int,
    pub lastlinedefined: c_int,
    pub short_src: [c_char; 60],
    i_ci: c_int,
}

/// As the mask of [`lua_sethook`]: after every so many instructions.
pub const LUA_MASKCOUNT: c_int = 8;

/// The index of the registry.
pub const LUA_REGISTRYINDEX: c_int = -10000;
/// The index of the table of globals.
pub const LUA_GLOBALSINDEX: c_int = -10002;
/// As a number of results: all of them.
pub const LUA_MULTRET: c_int = -1;
/// The type `nil`.
pub const LUA_TNIL: c_int = 0;
/// The type `boolean`.
pub const LUA_TBOOLEAN: c_int = 1;
/// The type `number`.
pub const LUA_TNUMBER: c_int = 3;
/// The type `string`.
pub const LUA_TSTRING: c_int = 4;
/// The type `table`.
pub const LUA_TTABLE: c_int = 5;
/// The type `function`.
pub const LUA_TFUNCTION: c_int = 6;

#[allow(missing_docs)] // They are those of the manual.
unsafe extern "C-unwind" {
    pub fn luaL_newstate() -> *mut lua_State;
    pub fn lua_newstate(allocate: lua_Alloc, with: *mut c_void) -> *mut lua_State;
    pub fn lua_sethook(state: *mut lua_State, hook: Option<lua_Hook>, mask: c_int, count: c_int) -> c_int;
    pub fn lua_getinfo(state: *mut lua_State, what: *const c_char, of: *mut lua_Debug) -> c_int;
    pub fn luaL_where(state: *mut lua_State, level: c_int);
    pub fn lua_concat(state: *mut lua_State, values: c_int);
    pub fn lua_error(state: *mut lua_State) -> c_int;
    pub fn luaL_openlibs(state: *mut lua_State);
    pub fn lua_close(state: *mut lua_State);
    pub fn luaL_loadbuffer(
        state: *mut lua_State,
        text: *const c_char,
        len: usize,
        name: *const c_char,
    ) -> c_int;
    pub fn lua_pcall(state: *mut lua_State, arguments: c_int, results: c_int, handler: c_int) -> c_int;
    pub fn lua_gettop(state: *mut lua_State) -> c_int;
    pub fn lua_settop(state: *mut lua_State, index: c_int);
    pub fn lua_checkstack(state: *mut lua_State, slots: c_int) -> c_int;
    pub fn lua_pushvalue(state: *mut lua_State, index: c_int);
    pub fn lua_remove(state: *mut lua_State, index: c_int);
    pub fn lua_insert(state: *mut lua_State, index: c_int);
    pub fn lua_type(state: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_toboolean(state: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_tonumber(state: *mut lua_State, index: c_int) -> f64;
    pub fn lua_tolstring(state: *mut lua_State, index: c_int, len: *mut usize) -> *const c_char;
    pub fn lua_objlen(state: *mut lua_State, index: c_int) -> usize;
    pub fn lua_topointer(state: *mut lua_State, index: c_int) -> *const c_void;
    pub fn lua_pushnil(state: *mut lua_State);
    pub fn lua_pushboolean(state: *mut lua_State, value: c_int);
    pub fn lua_pushnumber(state: *mut lua_State, value: f64);
    pub fn lua_pushlstring(state: *mut lua_State, text: *const c_char, len: usize);
    pub fn lua_pushlightuserdata(state: *mut lua_State, pointer: *mut c_void);
    pub fn lua_pushcclosure(state: *mut lua_State, function: lua_CFunction, upvalues: c_int);
    pub fn lua_touserdata(state: *mut lua_State, index: c_int) -> *mut c_void;
    pub fn lua_createtable(state: *mut lua_State, array: c_int, hash: c_int);
    pub fn lua_getfield(state: *mut lua_State, index: c_int, name: *const c_char);
    pub fn lua_setfield(state: *mut lua_State, index: c_int, name: *const c_char);
    pub fn lua_rawget(state: *mut lua_State, index: c_int);
    pub fn lua_rawset(state: *mut lua_State, index: c_int);
    pub fn lua_rawgeti(state: *mut lua_State, index: c_int, n: c_int);
    pub fn lua_rawseti(state: *mut lua_State, index: c_int, n: c_int);
    pub fn lua_next(state: *mut lua_State, index: c_int) -> c_int;
    pub fn luaL_ref(state: *mut lua_State, index: c_int) -> c_int;
    pub fn luaL_unref(state: *mut lua_State, index: c_int, reference: c_int);
    pub fn luaL_traceback(state: *mut lua_State, of: *mut lua_State, message: *const c_char, level: c_int);
    pub fn lua_gc(state: *mut lua_State, what: c_int, data: c_int) -> c_int;
}

/// The bits of a value. They are the value as long as something that Lua knows of refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Value(u64);

#[allow(missing_docs)] // They are told of in `call.c`.
unsafe extern "C-unwind" {
    pub fn sluss_luajit_value(state: *mut lua_State) -> Value;
    pub fn sluss_luajit_push(state: *mut lua_State, value: Value);
    pub fn sluss_luajit_call(
        state: *mut lua_State,
        values: *const Value,
        count: c_int,
        handler: c_int,
    ) -> c_int;
}

/// As the `what` of [`lua_gc`]: a full collection.
pub const LUA_GCCOLLECT: c_int = 2;
/// As the `what` of [`lua_gc`]: how many KiB are in use.
pub const LUA_GCCOUNT: c_int = 3;

/// What finds a C symbol by its name, for [`symbol_resolver`].
pub type Resolver = unsafe extern "C" fn(name: *const c_char) -> *mut c_void;

unsafe extern "C" {
    static mut sluss_luajit_symbol: Option<Resolver>;
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn dasm_init(state: *mut c_void, sections: c_int);
    fn dasm_free(state: *mut c_void);
    fn dasm_setupglobal(state: *mut c_void, globals: *mut *mut c_void, count: u32);
    fn dasm_growpc(state: *mut c_void, count: u32);
    fn dasm_setup(state: *mut c_void, actions: *const c_void);
    fn dasm_put(state: *mut c_void, start: c_int, ...);
    fn dasm_link(state: *mut c_void, size: *mut usize) -> c_int;
    fn dasm_encode(state: *mut c_void, buffer: *mut c_void) -> c_int;
    fn dasm_getpclabel(state: *mut c_void, label: u32) -> c_int;
    fn dasm_checkstep(state: *mut c_void, section: c_int) -> c_int;
    static mut DASM_EXTERN_FUNC: *mut c_void;
}

/// Sets the function that `ffi.C` asks for symbols that the process does not export; of the whole process.
///
/// # Safety
/// It returns null, or the address of something that has the type which Lua code declares for the name. No other thread uses LuaJIT
/// while it is set for the first time.
pub unsafe fn symbol_resolver(resolver: Resolver) {
    // SAFETY: the caller says that nobody reads it now.
    unsafe { sluss_luajit_symbol = Some(resolver) }
}

/// The address of a function of DynASM's encoder, or null: what a Lua binding of DynASM declares.
pub fn dynasm_symbol(name: &[u8]) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    {
        match name {
            b"dasm_init" => dasm_init as *mut c_void,
            b"dasm_free" => dasm_free as *mut c_void,
            b"dasm_setupglobal" => dasm_setupglobal as *mut c_void,
            b"dasm_growpc" => dasm_growpc as *mut c_void,
            b"dasm_setup" => dasm_setup as *mut c_void,
            b"dasm_put" => dasm_put as *mut c_void,
            b"dasm_link" => dasm_link as *mut c_void,
            b"dasm_encode" => dasm_encode as *mut c_void,
            b"dasm_getpclabel" => dasm_getpclabel as *mut c_void,
            b"dasm_checkstep" => dasm_checkstep as *mut c_void,
            b"DASM_EXTERN_FUNC" => (&raw mut DASM_EXTERN_FUNC).cast(),
            _ => std::ptr::null_mut(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = name;
        std::ptr::null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a chunk returns, as text.
    fn run(text: &str) -> String {
        // SAFETY: a state of our own; the stack holds one value after the call, which is text or an error's message.
        unsafe {
            let state = luaL_newstate();
            luaL_openlibs(state);
            luaL_loadbuffer(state, text.as_ptr().cast(), text.len(), c"=test".as_ptr());
            lua_pcall(state, 0, 1, 0);
            let mut len = 0;
            let bytes = lua_tolstring(state, -1, &mut len).cast::<u8>();
            let result = String::from_utf8_lossy(std::slice::from_raw_parts(bytes, len)).into_owned();
            lua_close(state);
            result
        }
    }

    #[test]
    fn tables_have_the_same_order_in_every_state() {
        let text = "local t = {} for i = 1, 500 do t['key' .. i * 7] = i end
                    local all = {} for k in pairs(t) do all[#all + 1] = k end return table.concat(all, ' ')";
        let first = run(text);
        assert!(first.contains("key3500"));
        (0..20).for_each(|_| assert_eq!(run(text), first));
    }

    #[test]
    fn lua_5_2_compatibility_is_on() {
        let text = "local n = 0 for _ in pairs(setmetatable({}, {__pairs = function() return next, {1, 2}, nil end})) do n = n + 1 end
                    return tostring(n)";
        assert_eq!(run(text), "2");
    }

    #[test]
    fn errors_carry_their_place() {
        assert_eq!(run("error('no')"), "test:1: no");
    }
}
