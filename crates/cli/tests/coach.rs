//! `sluss run --coach`: programs with one fault each, and programs without any.

mod common;

use common::{arg, code, root, run, scratch, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

/// A program whose faulty line ends with `-- here`, and the kind of the fault.
const FAULTS: [(&str, &str); 13] = [
    (
        "struct_by_value",
        "local ffi = require('ffi')
        ffi.cdef[[ typedef struct { int quot, rem; } div_t; div_t div(int a, int b); ]]
        local function rem(i)
           return ffi.C.div(i, 7).rem -- here
        end
        local sum = 0
        for i = 1, 3e6 do sum = sum + rem(i) end",
    ),
    (
        "initializer",
        "local ffi = require('ffi')
        ffi.cdef[[ struct foo { uint8_t a[4]; }; ]]
        local foo, sum = ffi.typeof('struct foo'), 0
        for i = 1, 3e6 do
           local one = ffi.new(foo, {{1, 2, 3, 4}}) -- here
           sum = sum + one.a[1]
        end",
    ),
    (
        "variable_length",
        "local ffi = require('ffi')
        local sum = 0
        for i = 1, 3e6 do
           sum = sum + ffi.sizeof(ffi.new('uint8_t[?]', 16 + i % 2)) -- here
        end",
    ),
    (
        "closure",
        "local sum = 0
        for i = 1, 8e6 do
           local f = function () return i end -- here
           sum = sum + f()
        end",
    ),
    (
        "builtin",
        "local t, sum = {}, 0
        for i = 1, 8e6 do
           t[i % 10 + 1] = i
           sum = sum + table.maxn(t) -- here
        end",
    ),
    (
        "cast",
        "local ffi = require('ffi')
        local bytes, sum = ffi.new('uint8_t[64]'), 0
        local kept
        for i = 1, 3e7 do
           local word = ffi.cast('uint32_t *', bytes + i % 8) -- here
           kept = word
           sum = sum + word[0]
        end",
    ),
    (
        "escape",
        "local ffi = require('ffi')
        ffi.cdef[[ struct point { double x, y; }; ]]
        local point, kept, sum = ffi.typeof('struct point'), {}, 0
        for i = 1, 2e7 do
           local p = point(i, i); kept[i % 10 + 1] = p -- here
        end",
    ),
    (
        "table",
        "local kept = {}
        for i = 1, 2e7 do
           kept[i % 100 + 1] = { i, i + 1 } -- here
        end",
    ),
    (
        "globals",
        "local sum = 0
        for i = 1, 2e8 do
           sum = sum + bit.band(i, 255) + bit.rshift(i, 3) -- here
        end",
    ),
    (
        "restarts",
        "local ffi = require('ffi')
        local bytes, sum = ffi.new('uint8_t[4096]'), 0
        for i = 0, 4095 do bytes[i] = (i * 2654435761) % 256 end
        local function class(b)
           if b < 16 then return 1 elseif b < 32 then return 2 elseif b < 48 then return 3 elseif b < 64 then return 4
           elseif b < 80 then return 5 elseif b < 96 then return 6 elseif b < 112 then return 7 elseif b < 128 then return 8
           elseif b < 144 then return 9 elseif b < 160 then return 10 elseif b < 176 then return 11 end
           return 12
        end
        for round = 1, 3e4 do
           for i = 0, 4095 do -- here
              sum = sum + class(bytes[i])
           end
        end",
    ),
    (
        "vararg",
        "local function add(a, b, c) return (a or 0) + (b or 0) + (c or 0) end
        local function many(...)
           local sum = 0
           for i = 1, 3e7 do
              sum = sum + add(...) -- here
           end
           return sum
        end
        many(1, 2, 3)",
    ),
    // The trace ends before the call.
    (
        "builtin",
        "local n = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
        local function first(a) return a end
        local sum = 0
        for i = 1, 1e7 do
           sum = sum + first(unpack(n, 1, i % 10 + 1)) -- here
        end",
    ),
    (
        "conversion",
        "local ffi = require('ffi')
        local bytes, sum = ffi.new('uint8_t[4096]'), 0
        for round = 1, 4e4 do
           for i = 0, 4095 do
              local j = i / 2 -- here
              j = j - j % 1
              sum = sum + bytes[j]
           end
        end",
    ),
];

/// Programs that are long, which are put together.
fn long_faults() -> [(&'static str, String); 2] {
    let each = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<Vec<_>>();
    let steps = each(1500, &|k| format!("x = x * 3 + t[(i + {k}) % 64 + 1] if x > 1e9 then x = x - 1e9 end"));
    let too_long = format!(
        "local t, x = {{}}, 0 for i = 1, 64 do t[i] = i end\nfor i = 1, 3e4 do {} end -- here",
        steps.join(" ")
    );
    let names = each(44, &|k| format!("v{k}")).join(", ");
    let values = each(44, &|k| format!("b[(i + {k}) % 64]")).join(", ");
    let uses = each(4, &|k| format!("if v{k} > 200 then sum = sum + v{k} end")).join(" ");
    let sums = each(3, &|k| {
        let all = (k..44).step_by(3).map(|j| format!("v{j}")).collect::<Vec<_>>().join(" + ");
        format!("if sum < {k} then sum = sum + {all} end")
    });
    let live = format!(
        "local b, sum = require('ffi').new('uint8_t[64]'), 1000\nfor i = 0, 63 do b[i] = (i * 37) % 64 end\n\
         for i = 1, 6e7 do -- here\nlocal {names} = {values} {uses} {}\nend",
        sums.join(" ")
    );
    [("too_long", too_long), ("live", live)]
}

/// Shapes that LuaJIT once gave up, and compiles today: short loops in loops, and recursion.
const COMPILED_TODAY: [&str; 3] = [
    "local n, sum = { 1, 1, 2, 1, 1, 3, 1, 0 }, 0
    for i = 1, 1e8 do
       for j = 1, n[i % 8 + 1] do sum = sum + j end
    end",
    "local list, sum = {}, 0
    for i = 1, 8 do list[i] = { v = i } end
    list[2].next = { v = 3 }
    for i = 1, 1e8 do
       local at = list[i % 8 + 1]
       while at do sum = sum + at.v at = at.next end
    end",
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
    fib(38)",
];

/// The first story of the article, which LuaJIT compiles today, and a loop with nothing to mend.
const FAULTLESS: [&str; 2] = [
    "local ffi = require('ffi')
    ffi.cdef[[ struct foo { uint8_t a[4]; }; ]]
    for round = 1, 5 do
       for i = 1, 2e8 do local foo = ffi.new('struct foo') end
    end",
    "local words, sum = require('ffi').new('uint32_t[1024]'), 0
    for round = 1, 1e6 do
       for i = 0, 1023 do sum = sum + words[i] end
    end",
];

fn program(name: &str, text: &str) -> PathBuf {
    let file = scratch(&format!("coach-{name}")).join("program.lua");
    std::fs::write(&file, text).unwrap();
    file
}

/// The findings, and the object about the whole.
fn findings(file: &std::path::Path) -> (Vec<Value>, Value) {
    let output = run(&["run", "--coach", "--json", arg(file)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut objects: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = objects.pop().unwrap();
    assert_eq!((&whole["type"], &whole["findings"]), (&"coach".into(), &objects.len().into()));
    (objects, whole)
}

#[test]
fn each_fault_is_found_where_it_is() {
    let long = long_faults();
    let long = long.iter().map(|(kind, text)| (*kind, text.as_str()));
    for (kind, text) in FAULTS.into_iter().chain(long) {
        let (findings, whole) = findings(&program(kind, text));
        let line = text.lines().position(|line| line.ends_with("-- here")).unwrap() + 1;
        let found = findings.iter().find(|finding| finding["kind"] == kind);
        let found = found.unwrap_or_else(|| panic!("no {kind}: {findings:?} {whole}"));
        assert_eq!(found["line"], line, "{found}");
        assert!(found["share"].as_f64().unwrap() >= 0.02, "{found}");
    }
}

#[test]
fn a_program_without_a_fault_is_told_so() {
    for (number, text) in FAULTLESS.iter().enumerate() {
        let file = program(&format!("none-{number}"), text);
        let (findings, whole) = findings(&file);
        assert!(findings.is_empty(), "{findings:?} {whole}");
        let told = stdout(&run(&["run", "--coach", arg(&file)]));
        assert!(told.contains("coach: no finding: ") || told.contains("coach: too short"), "{told}");
    }
}

/// What is advised, done: the coach has nothing more to say, and what was interpreted is compiled.
#[test]
fn advice_that_is_followed_helps() {
    let before = FAULTS[0].1;
    let after = "local ffi = require('ffi')
        ffi.cdef[[ typedef struct { int quot, rem; } div_t; div_t div(int a, int b); ]]
        local div = require('sluss.ffi').byref(ffi.C.div)
        local result, sum = ffi.new('div_t'), 0
        for i = 1, 1e8 do
           div(i, 7, result)
           sum = sum + result.rem
        end";
    let compiled = |whole: &Value| whole["shares"]["compiled"].as_f64().unwrap();
    let ((_, before), (left, after)) =
        (findings(&program("before", before)), findings(&program("after", after)));
    assert!(
        left.is_empty() && compiled(&before) < 0.3 && compiled(&after) > 0.8,
        "{left:?} {before} {after}"
    );
}

#[test]
fn what_luajit_compiles_today_is_no_finding() {
    for text in COMPILED_TODAY {
        let (findings, whole) = findings(&program("today", text));
        let is_said = |kind: &str| findings.iter().any(|finding| finding["kind"] == kind);
        assert!(!is_said("loop") && !is_said("unroll"), "{findings:?}");
        assert!(whole["shares"]["compiled"].as_f64().unwrap() > 0.8, "{whole}");
    }
}

/// Each reason that LuaJIT has for giving up leads to a kind that there is.
#[test]
fn every_reason_has_a_kind() {
    let text = "local advice, vmdef = require('sluss.coach.advice'), require('jit.vmdef')
        for _, reason in pairs(vmdef.traceerr) do
           local kind = advice.of_reason(reason, '')
           assert(kind == 'warm_up' or advice.kinds[kind], reason)
        end
        for reason, kind in pairs {
           ['loop unroll limit reached'] = 'unroll', ['call unroll limit reached'] = 'unroll', ['blacklisted'] = 'loop',
           ['inner loop in root trace'] = 'loop', ['leaving loop in root trace'] = 'loop', ['trace too long'] = 'too_long', ['too many snapshots'] = 'too_long',
           ['NYI: bytecode VARG'] = 'vararg', ['NYI: bytecode FNEW'] = 'closure', ['too many spill slots'] = 'live', ['retry recording'] = 'warm_up',
        } do assert(advice.of_reason(reason) == kind, reason) end";
    let output = run(&["snsh", "-e", text]);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
}

#[test]
fn the_page_has_the_source_and_what_was_found() {
    let file = program("page", FAULTS[0].1);
    let page = file.with_file_name("page.html");
    let output = run(&["run", "--coach", "--html", arg(&page), arg(&file)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("ffi.C.div(i, 7).rem") && html.contains("returns a struct by value"), "{html}");
}

#[test]
fn what_ends_by_itself_or_fails_is_advised_as_well() {
    let ends = program("ends", &format!("{}\nmain.exit(7)", FAULTS[0].1));
    let output = run(&["run", "--coach", arg(&ends)]);
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert!(stdout(&output).contains("returns a struct by value"), "{}", stdout(&output));
    let fails = program("fails", &format!("{}\nerror('no more')", FAULTS[0].1));
    let output = run(&["run", "--coach", arg(&fails)]);
    assert!(stderr(&output).contains("no more"), "{}", stderr(&output));
    assert!(stdout(&output).contains("returns a struct by value"), "{}", stdout(&output));
    let output = run(&["run", "--coach", "--html", "/nonexistent/page.html", arg(&fails)]);
    assert_eq!((code(&output), stdout(&output)), (3, String::new()), "refused before it runs");
    assert!(stderr(&output).contains("/nonexistent/page.html: No such file"), "{}", stderr(&output));
    let output = run(&["run", "--coach", "examples/tee.toml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("for programs in Lua"), "{}", stderr(&output));
}

#[test]
fn the_book_has_a_section_for_each_kind() {
    let advice = std::fs::read_to_string(root().join("crates/lua/modules/sluss/coach/advice.lua")).unwrap();
    let book = std::fs::read_to_string(root().join("docs/book/src/explanation/coach.md")).unwrap();
    let kinds: Vec<&str> = advice
        .lines()
        .filter_map(|line| line.strip_prefix("   ")?.strip_suffix(" = {"))
        .filter(|name| !name.starts_with(' '))
        .collect();
    assert!(kinds.len() > 15, "{kinds:?}");
    for kind in kinds {
        assert!(book.contains(&format!("### {}\n", kind.replace('_', " "))), "{kind}");
    }
}
