//! `sluss compile --to c`: a filter as a function in C, and the program of the book that asks it.

use crate::common::{self, arg, code, root, run, scratch, stderr, stdout};
use std::process::Command;

#[test]
fn a_filter_is_written_as_a_function_in_c() {
    let printed = run(&["compile", "--to", "c", "--name", "is_web", "tcp port 80"]);
    assert_eq!(code(&printed), 0, "{}", stderr(&printed));
    let text = stdout(&printed);
    assert!(text.starts_with("/*\n * tcp port 80\n"), "{text}");
    assert!(
        text.contains("\nint is_web(const uint8_t *data, size_t captured, uint32_t wire_len)\n{\n"),
        "{text}"
    );
    assert!(!text.contains("main"), "{text}");

    // Into a file, and as JSON.
    let folder = scratch("to-c");
    let file = folder.join("web.c");
    let written = run(&["compile", "--to=c", "--name=is_web", "-o", arg(&file), "tcp", "port", "80"]);
    assert_eq!((code(&written), stdout(&written).as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let json = stdout(&run(&["compile", "--json", "--to", "c", "tcp port 80"]));
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&object["to"], &object["name"]), (&"c".into(), &"filter".into()));
    assert!(object["stage"].is_null() && object["text"].as_str().unwrap().contains("int filter(const"));

    // What is wrong is said, and nothing is written.
    for (words, why) in [
        (&["--to", "c", "--name", "tcp-80", "ip"][..], "`tcp_80` would do"),
        (&["--to", "c", "--stage", "asm", "ip"], "--stage"),
        (&["--name", "f", "ip"], "--to"),
        (&["--to", "fortran", "ip"], "fortran"),
        (&["--to", "c", "tcp prot 80"], "prot"),
    ] {
        let refused = run(&[&["compile"], words].concat());
        assert_eq!((code(&refused), stdout(&refused).as_str()), (2, ""), "{words:?}");
        assert!(stderr(&refused).contains(why), "{words:?}: {}", stderr(&refused));
    }
    let nowhere = folder.join("no/such/folder/web.c");
    let refused = run(&["compile", "--to", "c", "-o", arg(&nowhere), "ip"]);
    assert_eq!(code(&refused), 3, "{}", stderr(&refused));
}

/// The program of the book's page asks the function of that page.
#[test]
fn a_program_in_c_asks_the_function() {
    let page = std::fs::read_to_string(root().join("docs/book/src/how-to/use-in-c.md")).unwrap();
    let (_, behind) = page.split_once("```c\n").unwrap();
    let folder = scratch("in-c");
    let (function, program) = (folder.join("arp_or_dhcp.c"), folder.join("ask.c"));
    std::fs::write(&program, behind.split("```").next().unwrap()).unwrap();
    let written = run(&[
        "compile",
        "--to",
        "c",
        "--name",
        "arp_or_dhcp",
        "-o",
        arg(&function),
        "arp or udp dst port 67",
    ]);
    assert_eq!(code(&written), 0);
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-o"])
        .args([folder.join("ask"), program, function])
        .output();
    let Ok(compiled) = compiled else {
        return common::say("SKIPPED: a program in C: there is no C compiler `cc`");
    };
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    assert_eq!(stdout(&Command::new(folder.join("ask")).output().unwrap()), "matches\n");
}
