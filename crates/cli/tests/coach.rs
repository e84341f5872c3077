//! `sluss run --coach`: programs with one fault each, and programs without any.

mod common;

use common::{arg, code, root, run, scratch, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

/// A program whose faulty line ends with `-- here`, and the kind of the fault.
const FAULTS: [(&str, &str); 11] = [
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
    for (kind, text) in FAULTS {
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
