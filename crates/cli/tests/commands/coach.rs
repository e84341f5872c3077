//! `sluss run --coach`: programs with one fault each, and programs without any.

use crate::common::{arg, code, root, run, scratch, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

/// A program with one fault, on the line that ends with `-- here`, and what the coach advises, done.
struct Fault {
    kind: String,
    before: String,
    after: String,
}

/// Those of `tests/coach`, whose names begin with the kind, and longer ones.
fn faults() -> Vec<Fault> {
    let folder = root().join("crates/cli/tests/coach");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, after) = text.split_once("-- instead\n").unwrap();
        let kind = file.file_stem().unwrap().to_str().unwrap().split('-').next().unwrap().to_owned();
        Fault { kind, before: before.to_owned(), after: after.to_owned() }
    };
    files.map(read).chain([too_long(), live(), unroll()]).collect()
}

fn each(count: usize, text: &dyn Fn(usize) -> String) -> Vec<String> {
    (0..count).map(text).collect()
}

/// A loop of 1500 steps, and thirty loops of fifty.
fn too_long() -> Fault {
    let head = "local t, x = {}, 0 for i = 1, 64 do t[i] = i end\n";
    let steps = each(1500, &|k| format!("x = x * 3 + t[(i + {k}) % 64 + 1] if x > 1e9 then x = x - 1e9 end"));
    let before = format!("{head}for i = 1, 3e4 do {} end -- here", steps.join(" "));
    let loops = steps.chunks(50).map(|steps| format!("for i = 1, 3e4 do {} end\n", steps.join(" ")));
    Fault { kind: "too_long".into(), before, after: head.to_owned() + &loops.collect::<String>() }
}

/// A loop of 44 locals, all of which are there at its exits, and one without.
fn live() -> Fault {
    let head = "local b, sum = require('ffi').new('uint8_t[64]'), 1000\nfor i = 0, 63 do b[i] = (i * 37) % 64 end\n\
        for i = 1, 6e7 do -- here\n";
    let names = each(44, &|k| format!("v{k}")).join(", ");
    let values = each(44, &|k| format!("b[(i + {k}) % 64]")).join(", ");
    let uses = each(4, &|k| format!("if v{k} > 200 then sum = sum + v{k} end")).join(" ");
    let sums = each(3, &|k| {
        let all = (k..44).step_by(3).map(|j| format!("v{j}")).collect::<Vec<_>>().join(" + ");
        format!("if sum < {k} then sum = sum + {all} end")
    });
    let once = each(4, &|k| format!("if b[(i + {k}) % 64] > 200 then sum = sum + b[(i + {k}) % 64] end"));
    let before = format!("{head}local {names} = {values} {uses} {}\nend", sums.join(" "));
    Fault { kind: "live".into(), before, after: format!("{head}{}\nend", once.join(" ")) }
}

/// Twenty functions that call each other in a ring by tail calls, and the loop that this is.
fn unroll() -> Fault {
    let names = each(20, &|k| format!("f{k}")).join(", ");
    let calls = each(19, &|k| {
        format!("f{k} = function (n, left) n = n + left % {} return f{}(n, left) end", k + 2, k + 1)
    });
    let before = format!(
        "local {names}\n{} f19 = function (n, left) if left == 0 then return n end return f0(n, left - 1) end -- here\n\
         local sum = 0\nfor i = 1, 2e3 do sum = sum + f0(0, 1000) end",
        calls.join(" ")
    );
    let steps = each(19, &|k| format!("n = n + left % {}", k + 2)).join(" ");
    let after = format!(
        "local sum = 0\nfor i = 1, 1e4 do\nlocal n = 0\nfor left = 1000, 0, -1 do {steps} end\nsum = sum + n\nend"
    );
    Fault { kind: "unroll".into(), before, after }
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
    for Fault { kind, before, .. } in faults() {
        let (findings, whole) = findings(&program(&kind, &before));
        let line = before.lines().position(|line| line.ends_with("-- here")).unwrap() + 1;
        let found = findings.iter().find(|finding| finding["kind"] == kind && finding["line"] == line);
        let found = found.unwrap_or_else(|| panic!("no {kind} in line {line}: {findings:?} {whole}"));
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

/// What is advised, done: the coach has nothing more to say.
#[test]
fn advice_that_is_followed_helps() {
    for Fault { kind, after, .. } in faults() {
        let (findings, whole) = findings(&program(&format!("{kind}-after"), &after));
        assert!(findings.is_empty(), "{kind}: {findings:?} {whole}");
        let compiled = whole["shares"]["compiled"].as_f64();
        assert!(compiled.is_none_or(|share| share > 0.8), "{kind}: {whole}");
    }
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

/// A program whose fault is the struct of a call.
fn of_struct_by_value(name: &str, end: &str) -> PathBuf {
    let fault = faults().into_iter().find(|fault| fault.kind == "struct_by_value").unwrap();
    program(name, &(fault.before + end))
}

#[test]
fn the_page_has_the_source_and_what_was_found() {
    let file = of_struct_by_value("page", "");
    let page = file.with_file_name("page.html");
    let output = run(&["run", "--coach", "--html", arg(&page), arg(&file)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("ffi.C.div(i, 7).rem") && html.contains("returns a struct by value"), "{html}");
}

#[test]
fn what_ends_by_itself_or_fails_is_advised_as_well() {
    let ends = of_struct_by_value("ends", "main.exit(7)");
    let output = run(&["run", "--coach", arg(&ends)]);
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert!(stdout(&output).contains("returns a struct by value"), "{}", stdout(&output));
    let fails = of_struct_by_value("fails", "error('no more')");
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
fn each_kind_has_a_section_in_the_book_and_a_program() {
    let advice = std::fs::read_to_string(root().join("crates/lua/modules/sluss/coach/advice.lua")).unwrap();
    let book = std::fs::read_to_string(root().join("docs/book/src/explanation/coach.md")).unwrap();
    let kinds: Vec<&str> = advice
        .lines()
        .filter_map(|line| line.strip_prefix("   ")?.strip_suffix(" = {"))
        .filter(|name| !name.starts_with(' '))
        .collect();
    assert!(kinds.len() > 15, "{kinds:?}");
    let faults = faults();
    for kind in kinds {
        assert!(book.contains(&format!("### {}\n", kind.replace('_', " "))), "{kind}");
        assert!(faults.iter().any(|fault| fault.kind == kind), "no program has the fault {kind}");
    }
}
