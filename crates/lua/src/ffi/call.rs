//! How Lua calls Rust: a function gets its arguments and returns values or an error. Lua sees the error as `nil` and a text.

use super::core::Core;
use super::fence::Fence;
use luajit::*;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A call of a native function.
pub(super) struct Call {
    pub(super) state: *mut lua_State,
    pub(super) core: *mut Core,
}

/// What a native function returns: the number of values that it has pushed, or what Lua is told.
pub(super) type Returned = Result<c_int, String>;

/// The index of the first value that a closure keeps.
pub(super) const KEPT_CORE: c_int = LUA_GLOBALSINDEX - 1;

/// Calls a native function for Lua.
///
/// # Safety
/// LuaJIT calls it, as a closure that keeps the engine's address.
pub(super) unsafe extern "C-unwind" fn enter<F>(state: *mut lua_State) -> c_int
where
    F: Native,
{
    // SAFETY: the closure keeps the engine's address, which lives as long as the state.
    let core = unsafe { lua_touserdata(state, KEPT_CORE) }.cast::<Core>();
    let mut call = Call { state, core };
    // SAFETY: as above; the fence is there as long as the engine.
    let fence = unsafe { (*core).fence.as_ref() };
    let was_enforced = fence.map(Fence::permit);
    let outcome = catch_unwind(AssertUnwindSafe(|| F::call(&mut call)));
    let returned = outcome.unwrap_or_else(|_| Err("the engine failed".into()));
    let count = returned.unwrap_or_else(|error| {
        call.push_nil();
        call.push_text(error.as_bytes());
        2
    });
    if let (Some(fence), Some(was_enforced)) = (fence, was_enforced) {
        fence.forbid(was_enforced);
    }
    count
}

/// A native function, as a type, so that each has an entry of its own.
pub(super) trait Native {
    fn call(call: &mut Call) -> Returned;
}

impl Call {
    /// Pushes a closure that calls a native function.
    pub(super) fn push_native<F: Native>(&mut self) {
        // SAFETY: Lua gives a function 20 free slots on its stack; here, as in all of these, few are in use.
        unsafe {
            lua_pushlightuserdata(self.state, self.core.cast::<c_void>());
            lua_pushcclosure(self.state, enter::<F>, 1);
        }
    }

    /// Pushes the handler of errors.
    pub(super) fn push_handler(&mut self) {
        // SAFETY: as above; the engine lives, and the registry keeps the handler alive.
        unsafe {
            if let Some(handler) = (*self.core).handler {
                return sluss_luajit_push(self.state, handler);
            }
            lua_pushlightuserdata(self.state, self.core.cast::<c_void>());
            lua_pushcclosure(self.state, super::state::on_error, 1);
            (*self.core).handler = Some(self.keep_value(-1).1);
        }
    }

    pub(super) fn push_nil(&mut self) {
        // SAFETY: as above.
        unsafe { lua_pushnil(self.state) }
    }

    pub(super) fn push_number(&mut self, value: f64) {
        // SAFETY: as above.
        unsafe { lua_pushnumber(self.state, value) }
    }

    pub(super) fn push_bool(&mut self, value: bool) {
        // SAFETY: as above.
        unsafe { lua_pushboolean(self.state, c_int::from(value)) }
    }

    pub(super) fn push_text(&mut self, text: &[u8]) {
        // SAFETY: as above; the text is copied.
        unsafe { lua_pushlstring(self.state, text.as_ptr().cast(), text.len()) }
    }

    /// Pushes an array of texts.
    pub(super) fn push_texts<T: AsRef<[u8]>>(&mut self, texts: impl IntoIterator<Item = T>) {
        // SAFETY: as above.
        unsafe { lua_createtable(self.state, 0, 0) };
        for (index, text) in (1..).zip(texts) {
            self.push_text(text.as_ref());
            // SAFETY: the table is below the text.
            unsafe { lua_rawseti(self.state, -2, index) };
        }
    }

    pub(super) fn push_table(&mut self) {
        // SAFETY: as above; slots are made sure of, since tables may be in tables.
        unsafe {
            lua_checkstack(self.state, 8);
            lua_createtable(self.state, 0, 0);
        }
    }

    /// Puts the value on top of the stack into the table below it, at an index.
    pub(super) fn set_item(&mut self, index: c_int) {
        // SAFETY: the table is below the value.
        unsafe { lua_rawseti(self.state, -2, index) }
    }

    /// Puts the value on top of the stack into the table two below it, at the key between them.
    pub(super) fn set_pair(&mut self) {
        // SAFETY: table, key and value are there.
        unsafe { lua_rawset(self.state, -3) }
    }

    pub(super) fn kind(&self, index: c_int) -> c_int {
        // SAFETY: any index may be asked for.
        unsafe { lua_type(self.state, index) }
    }

    pub(super) fn number(&self, index: c_int) -> Option<f64> {
        // SAFETY: as above.
        (self.kind(index) == LUA_TNUMBER).then(|| unsafe { lua_tonumber(self.state, index) })
    }

    /// The bytes of a text, which Lua keeps while it is on the stack.
    pub(super) fn bytes(&self, index: c_int) -> Option<Vec<u8>> {
        if self.kind(index) != LUA_TSTRING {
            return None;
        }
        let mut len = 0;
        // SAFETY: it is a text of that length.
        Some(unsafe {
            let text = lua_tolstring(self.state, index, &mut len);
            std::slice::from_raw_parts(text.cast::<u8>(), len).to_vec()
        })
    }

    /// The text at an index; an error names what was to be there.
    pub(super) fn text(&self, index: c_int, what: &str) -> Result<String, String> {
        let bytes = self.bytes(index).ok_or_else(|| format!("{what} is not a text"))?;
        String::from_utf8(bytes).map_err(|_| format!("{what} is not UTF-8"))
    }

    /// Keeps a value where the state's registry can find it, by number.
    pub(super) fn keep(&mut self, index: c_int) -> c_int {
        self.keep_value(index).0
    }

    /// As [`Call::keep`], with the value.
    pub(super) fn keep_value(&mut self, index: c_int) -> (c_int, Value) {
        // SAFETY: the value is pushed, and taken by the registry, which keeps it alive.
        unsafe {
            lua_pushvalue(self.state, index);
            let value = sluss_luajit_value(self.state);
            (luaL_ref(self.state, LUA_REGISTRYINDEX), value)
        }
    }

    pub(super) fn forget(&mut self, reference: c_int) {
        // SAFETY: it comes from `keep`.
        unsafe { luaL_unref(self.state, LUA_REGISTRYINDEX, reference) }
    }
}
