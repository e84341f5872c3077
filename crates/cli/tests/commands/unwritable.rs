//! Outputs in places where no file can be made: the error names what is in the way, and what to do about it.

use crate::common::{self, arg, code, root, run, scratch, sluss, stderr};
use std::path::Path;

fn told(folder: &Path, args: &[&str]) -> String {
    let output = sluss(args).current_dir(folder).output().unwrap();
    assert_eq!(code(&output), 3, "{args:?}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn an_output_that_cannot_be_made_is_told_with_what_to_do() {
    let folder = scratch("unwritable");
    std::fs::create_dir(folder.join("there")).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    std::os::unix::fs::symlink("away/x.pcap", folder.join("link.pcap")).unwrap();
    let capture = root().join("captures/web.pcap");
    for (out, why, help) in [
        ("none/x.pcap", "there is no folder none", "make it first: mkdir -p none"),
        ("a b/c/x.pcap", "there is no folder a b/c", "make it first: mkdir -p 'a b/c'"),
        ("there", "it names a folder", "name a file in it: there/out.pcap"),
        ("none/", "it names a folder", "name a file in it: none/out.pcap"),
        ("file/x.pcap", "file is not a folder", "name a file in a folder"),
        ("file/y/x.pcap", "file is not a folder", "name a file in a folder"),
        ("link.pcap", "there is no folder ./away", "make it first: mkdir -p ./away"),
    ] {
        let expected = format!("error: {out}: cannot write: {why}\nhelp: {help}\n");
        assert_eq!(told(&folder, &["filter", "tcp", arg(&capture), "-o", out]), expected);
    }
    let json = told(&folder, &["filter", "--json", "tcp", arg(&capture), "-o", "none/x.pcap"]);
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object["error"]["help"], "make it first: mkdir -p none");
    assert_eq!(object["file"], "none/x.pcap");
}

#[test]
fn a_folder_for_man_pages_that_is_none_is_told_with_what_to_do() {
    let folder = scratch("unwritable-man");
    std::fs::write(folder.join("file"), "").unwrap();
    let what = "error: cannot write man pages to";
    assert_eq!(
        told(&folder, &["man", "none"]),
        format!("{what} none: there is no folder none\nhelp: make it first: mkdir -p none\n")
    );
    assert_eq!(
        told(&folder, &["man", "file"]),
        format!("{what} file: file is not a folder\nhelp: name a folder\n")
    );
}

#[test]
fn a_target_in_no_folder_is_told_with_the_folder() {
    let capture = root().join("captures/web.pcap");
    let folder = scratch("unwritable-blast");
    std::fs::write(folder.join("file"), "").unwrap();
    for (to, why) in [
        ("none/x.pcap", "there is no folder none\nhelp: make it first: mkdir -p none\n"),
        ("file/x.pcap", "file is not a folder\nhelp: name a file in a folder\n"),
    ] {
        let told = told(&folder, &["blast", arg(&capture), "--to", to, "-c", "1"]);
        assert_eq!(told, format!("error: {to}: cannot write: {why}"));
    }
}

/// Root may write anywhere, but not where the kernel makes the files.
#[test]
fn a_place_where_nobody_may_write_is_told_with_another() {
    if !Path::new("/sys/kernel").is_dir() {
        return common::say("skipped: a_place_where_nobody_may_write_is_told_with_another: no /sys");
    }
    let capture = root().join("captures/web.pcap");
    for out in ["/sys/kernel/x.pcap", "x.pcap"] {
        let text = told(Path::new("/sys/kernel"), &["filter", "tcp", arg(&capture), "-o", out]);
        assert!(text.ends_with("\nhelp: name a file in a folder that you may write to\n"), "{text}");
    }
    let text = told(Path::new("/sys/kernel"), &["man", "."]);
    assert!(text.ends_with("\nhelp: name a folder that you may write to\n"), "{text}");
}

/// Where one output cannot be opened: what the others hold is kept, and what was made for this run goes.
#[test]
fn a_run_that_cannot_begin_leaves_outputs_as_they_were() {
    let folder = scratch("cannot-begin");
    let path = |name: &str| folder.join(name);
    let whole = std::fs::read(root().join("captures/mixed.pcap")).unwrap();
    std::fs::write(path("keep.pcap"), &whole).unwrap();
    std::os::unix::fs::symlink("target.pcap", path("link.pcap")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(path("fifo")).status();
    assert!(made.unwrap().success());
    let first = ["keep.pcap", "new.pcap", "link.pcap", "fifo", "/dev/null"].map(path);
    let outputs = first.iter().flat_map(|out| ["-f", "tcp", "-o", arg(out)]).collect::<Vec<_>>();
    let missing = path("none/b2.pcap");
    for last in [arg(&missing), arg(&folder), "/sys/kernel/x.pcap"] {
        let fifo = path("fifo");
        let reader = std::thread::spawn(move || std::fs::read(fifo).unwrap());
        let input: &[&str] = &["filter", "captures/mixed.pcap"];
        let output = run(&[input, &outputs, &["-f", "udp", "-o", last]].concat());
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        assert!(reader.join().unwrap().is_empty());
        assert!(std::fs::read(path("keep.pcap")).unwrap() == whole, "{last}");
        assert!(!path("new.pcap").exists() && !path("target.pcap").exists(), "{last}");
        assert!(path("link.pcap").is_symlink() && std::fs::metadata("/dev/null").unwrap().len() == 0);
    }
    // One that begins leaves nothing of what a longer file held.
    let [keep, new, link, ..] = first;
    for out in [&keep, &new, &link] {
        assert_eq!(code(&run(&["filter", "tcp", "captures/mixed.pcap", "-o", arg(out)])), 0);
    }
    let [keep, new, link] = [keep, new, link].map(|out| std::fs::read(out).unwrap());
    assert!(keep.len() < whole.len() && keep == new && keep == link);
}
