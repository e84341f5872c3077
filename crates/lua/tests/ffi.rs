//! `sluss.ffi.byref`: wrappers of C functions that return structs, against LuaJIT's own calls of these functions.

use lua::{Options, Vm};
use std::process::Command;
use testkit::files::Scratch;

/// Structs that come back in every way that the calling convention has, and arguments in registers and on the stack.
const FUNCTIONS: &str = r"
#include <stdint.h>
typedef struct { uint16_t master, app; } pair_t;
pair_t seven(void *a, void *b, const uint8_t *p, unsigned short n, uint64_t t, void *s, void *d) {
    pair_t r = { (uint16_t)((uintptr_t)a + n), (uint16_t)(t + 3 * (uintptr_t)d + p[0] + (uintptr_t)b + (uintptr_t)s) };
    return r;
}
typedef struct { double x; long n; } mixed_t;
mixed_t mixed(int a, double d, float f, long b) { mixed_t r = { d * 2 + f, a + b }; return r; }
mixed_t nine(double a, double b, double c, double d, double e, double f, double g, double h, double i, int z) {
    mixed_t r = { a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9, z };
    return r;
}
typedef struct { float x, y, z; } vector_t;
vector_t vector(float a, float b, float c) { vector_t r = { a + 1, b + 2, c + 3 }; return r; }
typedef struct { long a, b, c; } large_t;
large_t large(long a, long b, long c, long d, long e, long f, long g) { large_t r = { a + g, b + f, c * d - e }; return r; }
typedef struct { uint8_t a[5]; } five_t;
five_t five(int x) { five_t r = {{ x, x + 1, x + 2, x + 3, x + 4 }}; return r; }
typedef struct __attribute__((packed)) { uint8_t a; uint32_t b; } packed_t;
packed_t packed(int x) { packed_t r = { x, x * 1000 }; return r; }
typedef struct { unsigned a : 3; unsigned b : 13; short c; } bits_t;
bits_t bits(int x) { bits_t r = { x, x * 5, x * 7 }; return r; }
typedef struct { union { double d; uint64_t u; } v; char t; } either_t;
either_t either(uint64_t x, _Bool flag) { either_t r = { .v.u = x, .t = flag }; return r; }
";

const PROGRAM: &str = r##"
local ffi, byref = require("ffi"), require("sluss.ffi").byref
ffi.cdef[[
typedef struct { uint16_t master, app; } pair_t;
pair_t seven(void *a, void *b, const uint8_t *p, unsigned short n, uint64_t t, void *s, void *d);
typedef struct { double x; long n; } mixed_t;
mixed_t mixed(int a, double d, float f, long b);
mixed_t nine(double a, double b, double c, double d, double e, double f, double g, double h, double i, int z);
typedef struct { float x, y, z; } vector_t;
vector_t vector(float a, float b, float c);
typedef struct { long a, b, c; } large_t;
large_t large(long a, long b, long c, long d, long e, long f, long g);
typedef struct { uint8_t a[5]; } five_t;
five_t five(int x);
typedef struct __attribute__((packed)) { uint8_t a; uint32_t b; } packed_t;
packed_t packed(int x);
typedef struct { unsigned a : 3; unsigned b : 13; short c; } bits_t;
bits_t bits(int x);
typedef struct { union { double d; uint64_t u; } v; char t; } either_t;
either_t either(uint64_t x, bool flag);
int number(pair_t p);
int sum(int n, ...);
]]
local lib = ffi.load(...)
local function bytes (value) return ffi.string(ffi.cast("const char *", value), ffi.sizeof(value)) end

-- What stands behind a result stays as it is.
local function check (name, ctype, ...)
   local wrapper = byref(lib[name])
   local results = ffi.new(ctype.."[2]")
   ffi.fill(results, ffi.sizeof(results), 0xaa)
   local beyond = bytes(results[1])
   local given = { n = select("#", ...), ... }
   given[given.n + 1] = results
   for round = 1, 200 do wrapper(unpack(given, 1, given.n + 1)) end
   local expected = ffi.new(ctype, lib[name](...))
   assert(bytes(results[0]) == bytes(expected), name)
   assert(bytes(results[1]) == beyond, name.." writes too much")
end

local function pointer (number) return ffi.cast("void *", number) end
check("seven", "pair_t", pointer(5), pointer(6), ffi.new("uint8_t[1]", 42), 1400, 77ULL, pointer(8), pointer(9))
check("mixed", "mixed_t", 3, 2.5, 1.25, 9)
check("nine", "mixed_t", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
check("vector", "vector_t", 1, 2, 3)
check("large", "large_t", 1, 2, 3, 4, 5, 6, 7)
check("five", "five_t", 200)
check("packed", "packed_t", 7)
check("bits", "bits_t", 3)
check("either", "either_t", 0x123456789abcdefULL, true)

-- A text goes where a pointer to characters does.
local wrapper = byref(ffi.cast("five_t (*)(const char *)", lib.five))
wrapper("text", ffi.new("five_t"))

for what, why in pairs {
   [3] = "expected a C function", [ffi.new("int")] = "expected a C function",
   [function () end] = "expected a C function",
} do
   local ok, message = pcall(byref, what)
   assert(not ok and message:find(why, 1, true), message)
end
for cast, why in pairs {
   ["int (*)(int)"] = "returns no struct", ["five_t (*)(pair_t)"] = "argument 1 is passed by value",
   ["five_t (*)(int, ...)"] = "any number of arguments", ["five_t (*)(long double)"] = "long double",
} do
   local ok, message = pcall(byref, ffi.cast(cast, lib.five))
   assert(not ok and message:find(why, 1, true), message)
end
"##;

#[test]
fn wrappers_return_what_functions_do() {
    let scratch = Scratch::new();
    let source = scratch.file("functions.c", FUNCTIONS.as_bytes());
    let library = scratch.folder().join("functions.so");
    let built = Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).output();
    let Ok(built) = built else { return testkit::say("SKIPPED: there is no C compiler `cc`") };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let options = Options { shm_root: Some(scratch.folder().into()), ..Options::default() };
    let vm = Vm::new(&options).expect("a state");
    vm.run_text(PROGRAM.as_bytes(), "=byref", &[library.display().to_string()])
        .unwrap_or_else(|e| panic!("{e}"));
}
