//! What is said of command lines that cannot be: what is wrong, why, and what to type instead.

use crate::common::{arg, code, root, run, scratch, sluss, stderr};

fn told(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
    assert!(output.stdout.is_empty(), "{args:?}");
    stderr(&output)
}

#[test]
fn flags_that_exclude_each_other_are_told_with_why() {
    for (args, what, help) in [
        (&["filter", "--count", "tcp", "x", "-w", "y"][..], "`--count` and `-o` exclude", "a summary says"),
        (
            &["filter", "--count", "--lines", "tcp"],
            "`--count` and `--lines` exclude",
            "leave one of them out",
        ),
        (&["filter", "-#", "--count", "tcp"], "`-#` and `--count` exclude", "leave one of them out"),
        (
            &["filter", "--lines", "tcp", "x", "-w", "y"],
            "`--lines` and `-w` exclude",
            "`sluss filter --lines OUT`",
        ),
        (&["filter", "-f", "tcp", "-F", "x"], "`-f` and `-F` exclude", "`-f @FILE`"),
        (&["explain", "-F", "x", "tcp"], "`-F` and `FILTER` exclude", "leave one of them out"),
        (
            &["trace", "-F", "README.md", "x", "--", "tcp"],
            "two filters: -F gives one",
            "leave one of them out",
        ),
        (&["run", "--check", "--svg", "x"], "`--check` and `--svg` exclude", "leave out --check"),
        (&["run", "--dot", "--svg", "x"], "`--dot` and `--svg` exclude", "leave one of them out"),
        (
            &["wall", "run", "a.toml", "--inline", "w0", "w1", "--fail-open"],
            "`--inline` and `--fail-open` exclude",
            "leave one of them out",
        ),
        (
            &["wall", "run", "a.toml", "captures/web.pcap", "--fail-open"],
            "`CAPTURE` and `--fail-open` exclude",
            "leave one of them out",
        ),
        (
            &["wall", "run", "a.toml", "captures/web.pcap", "--tap", "w0"],
            "`CAPTURE` and `--tap` exclude",
            "leave one of them out",
        ),
        (
            &["blast", "x", "--synth", "--to", "null"],
            "`CAPTURE` and `--synth` exclude",
            "leave one of them out",
        ),
        (
            &["blast", "x", "--vlan", "1", "--to", "null"],
            "`CAPTURE` and `--vlan` exclude",
            "`--synth` in place",
        ),
        (
            &["blast", "--synth", "--loop", "1", "--to", "null"],
            "`--loop` exclude",
            "`--count` or `--duration`",
        ),
        (&["filter", "-c", "1", "--max-count", "2", "tcp"], "`--max-count` is given more than once", "once"),
    ] {
        let text = told(args);
        let (message, rest) = text.split_once("\nhelp: ").unwrap_or_else(|| panic!("{args:?}: {text}"));
        assert!(message.starts_with("error: ") && message.contains(what), "{args:?}: {text}");
        assert!(rest.contains(help) && rest.lines().count() == 1, "{args:?}: {text}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_told_with_what_there_is() {
    for (args, expected) in [
        (&["compile"][..], "error: no filter given\nhelp: `sluss compile 'tcp port 80'`\n"),
        (&["man"], "error: no folder given\nhelp: `sluss man .` writes man pages into this one\n"),
        (&["completions"], "error: no SHELL given\nhelp: one of bash, elvish, fish, powershell, zsh\n"),
        (&["filter", "tcp", "-o"], "error: `-o` has no value\nhelp: write `-o OUT`\n"),
        (&["explain", "-y"], "error: `-y` has no value\nhelp: write `-y LINKTYPE`\n"),
        (&["man", ""], "error: FOLDER is empty\nhelp: `sluss man -h` shows how it is used\n"),
        (
            &["filter", "--foo"],
            "error: `--foo` is no flag of `sluss filter`\nhelp: `sluss help filter` lists the flags\n",
        ),
        (
            &["bench", "engin"],
            "error: `engin` is no command of `sluss bench`\nhelp: did you mean `sluss bench engine`?\n",
        ),
        (
            &["ps", "x"],
            "error: `x` is one word too many for `sluss ps`\nhelp: `sluss ps -h` shows how it is used\n",
        ),
        (
            &["filter", "--count=5"],
            "error: `--count` takes no value, and was given `5`\nhelp: leave the value out\n",
        ),
        (
            &["wall", "run", "a.toml", "--inline", "w0"],
            "error: `--inline` takes 2 values, and was given 1\nhelp: write `--inline eth0 eth1`\n",
        ),
        (
            &["wall", "run", "a.toml", "captures/web.pcap", "--control", "/tmp/x"],
            "error: `--control` is for a wall that runs\nhelp: add `--inline IN OUT` or `--nfqueue N` in place of captures\n",
        ),
        (
            &["wall", "run", "a.toml", "captures/web.pcap", "-D", "3s"],
            "error: `-D` is for a wall that runs\nhelp: add `--inline IN OUT` or `--nfqueue N` in place of captures\n",
        ),
        (&["top", "--color", "red"], "error: --color: there is no `red`\nhelp: one of auto, always, never\n"),
    ] {
        assert_eq!(told(args), expected, "{args:?}");
    }
    assert!(told(&["blast"]).contains("`--to tap:NAME`"));
    assert!(told(&["blast", "--size", "60", "--to", "null"]).contains("`--synth` is missing"));
    // As an object, too.
    let json = told(&["top", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(object["error"]["help"], "`sluss top --once --json`");
}

#[test]
fn a_flag_in_front_of_its_command_is_told_where_it_stands() {
    for (args, flag, moved) in [
        (&["--json", "filter", "tcp", "captures/web.pcap"][..], "--json", "sluss filter --json"),
        (&["--lines", "filter", "tcp", "captures/web.pcap"], "--lines", "sluss filter --lines"),
        (&["--count", "filter", "tcp", "captures/web.pcap"], "--count", "sluss filter --count"),
        (&["-c", "5", "filter", "tcp", "captures/web.pcap"], "-c", "sluss filter -c 5"),
        (&["-w", "a b", "filter", "tcp", "captures/web.pcap"], "-w", "sluss filter -w 'a b'"),
        (&["--workers", "2", "run", "examples/policy.toml"], "--workers", "sluss run --workers 2"),
        (&["--workers=2", "run", "examples/policy.toml"], "--workers", "sluss run --workers"),
    ] {
        let text = told(args);
        let name = moved.split(" -").next().unwrap_or_default();
        let expected = format!("`{flag}` is a flag of `{name}`, and stands in front of it");
        assert!(text.contains(&expected), "{args:?}: {text}");
        assert!(text.contains(&format!("`{moved} …`")), "{args:?}: {text}");
    }
    assert!(told(&["--foo", "filter", "tcp"]).contains("`--foo` is no flag of `sluss filter`"));
}

#[test]
fn a_capture_from_a_device_is_answered_with_the_command() {
    for (args, command) in [
        (
            &["-w", "out.pcap", "tcp"][..],
            "packets of captures are selected by `sluss filter 'tcp' FILE -o out.pcap`, those of a device, as root, by \
             `sluss filter -i eth0 -w out.pcap tcp`",
        ),
        (&["-ni", "lo", "udp", "and", "port", "53"], "as root, by `sluss filter -ni lo udp and port 53`"),
        (&["-i", "any", "-w", "a b.pcap", "-c", "5"], "`sluss filter -i any -w 'a b.pcap' -c 5`"),
        (&["-pni", "lo", "-s0", "-w", "o.pcap"], "`sluss filter -pni lo -s0 -w o.pcap`"),
        (&["-nni", "lo", "-vX", "udp"], "`sluss filter -w - -i lo udp | tcpdump -r - -nn -vX`"),
        (
            &["filter", "-i", "lo", "-v", "host it's"],
            r"`sluss filter -w - -i lo 'host it'\''s' | tcpdump -r - -v`",
        ),
    ] {
        let text = told(args);
        assert!(text.contains(command), "{args:?}: {text}");
    }
    // What is read is no device.
    let text = told(&["-i", "eth0", "-r", "captures/web.pcap"]);
    assert!(!text.contains("as root"), "{text}");
}

#[test]
fn what_begins_with_a_dash_and_is_no_flag_is_told_how_to_be_written() {
    let folder = scratch("dashed");
    for name in ["-x.pcap", "=x"] {
        std::fs::copy(root().join("captures/web.pcap"), folder.join(name)).unwrap();
    }
    let in_folder = |args: &[&str]| sluss(args).current_dir(&folder).output().unwrap();
    for (args, help) in [
        (&["filter", "--count", "tcp", "-x.pcap"][..], "the file is written `./-x.pcap`"),
        (&["trace", "tcp", "-x.pcap"], "the file is written `./-x.pcap`"),
        (&["filter", "--count", "-r", "-x.pcap", "tcp"], "the value of `-r` is written `-r=-x.pcap`"),
        (&["filter", "tcp", "=x", "--output", "-y"], "the value of `--output` is written `--output=-y`"),
        (&["filter", "-f", "-1 = 2", "=x"], "the value of `-f` is written `-f='-1 = 2'`"),
        (&["explain", "-1 = 2"], "a filter that begins so stands behind `--`: `sluss explain -- '-1 = 2'`"),
        (
            &["filter", "-1 = 2", "=x"],
            "a filter that begins so stands behind `--`: `sluss filter FILE -- '-1 = 2'`",
        ),
        (&["compile", "-1", "=", "2"], "a filter that begins so stands behind `--`: `sluss compile -- -1 …`"),
    ] {
        let output = in_folder(args);
        let text = stderr(&output);
        assert_eq!(code(&output), 2, "{args:?}: {text}");
        assert!(
            text.contains("` is taken for a flag\n") && text.ends_with(&format!("help: {help}\n")),
            "{args:?}: {text}"
        );
    }
    // So it is read, and so a command is proposed.
    for args in [&["filter", "--count", "tcp", "./-x.pcap"][..], &["filter", "--count", "-r=-x.pcap", "tcp"]]
    {
        assert_eq!(code(&in_folder(args)), 0, "{args:?}");
    }
    let proposed = |args: &[&str]| stderr(&in_folder(args)).lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        proposed(&["filter", "--count", "-r-x.pcap", "tcp", "port", "80"]),
        "help: sluss filter 'tcp port 80' -r ./-x.pcap --count"
    );
    assert_eq!(proposed(&["trace", "tcp", "port", "80", "=x"]), "help: sluss trace 'tcp port 80' '=x'");
    assert_eq!(proposed(&["trace", "--", "-1", "=", "2"]), "help: sluss trace trace.pcap -- '-1 = 2'");
}

#[test]
fn what_is_in_the_wrong_place_is_told_with_what_stands_there() {
    let folder = "name one capture; `sluss filter` reads all of a folder";
    for (args, exit, help) in [
        (&["trace", "tcp", "captures"][..], 3, folder),
        (&["blast", "captures", "--to", "null", "--count", "1"], 3, folder),
        (&["bench", "engine", "--net", "filter", "--runs", "1", "--pcap", "captures"], 3, folder),
        (&["run", "captures"], 3, "name the file of one graph"),
        (&["filter", "-F", "captures/web.pcap", "captures/web.pcap"], 2, "a file that holds a filter"),
        (
            &["filter", "-f", "tcp", "-f", "arp", "captures/web.pcap"],
            2,
            "sluss filter FILE -f arp -o arp.pcap",
        ),
        // Standard input is /dev/null.
        (&["filter", "--count", "tcp"], 2, "name one, `sluss filter 'tcp' trace.pcap`"),
        (&["filter", "-f", "-1 = 2"], 2, "`-f='-1 = 2'`"),
    ] {
        let output = run(args);
        let text = stderr(&output);
        assert_eq!((code(&output), text.lines().count()), (exit, 2), "{args:?}: {text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.contains(help)), "{args:?}: {text}");
    }
    assert_eq!(code(&run(&["filter", "--count", "tcp", "-"])), 5, "what was named is read");
}

#[test]
fn words_of_a_filter_behind_a_capture_are_told_with_the_quoting() {
    let out = scratch("words-behind").join("out.pcap");
    let capture = "captures/web.pcap";
    for (words, quoted) in [
        (&["tcp", capture, "port", "80"][..], "'tcp port 80'"),
        (&["tcp", capture, "and", "port", "80"], "'tcp and port 80'"),
        (&["tcp", capture, "and", "host", "192.0.2.1"], "'tcp and host 192.0.2.1'"),
        (&["tcp", capture, "and", "tcp[13]", "=", "2"], "'tcp and tcp[13] = 2'"),
        (&["tcp", capture, "arp"], "'tcp arp'"),
        (&["tcp", "arp", capture], "'tcp arp'"),
    ] {
        std::fs::write(&out, "precious").unwrap();
        let text = told(&[&["filter", "-o", arg(&out)][..], words].concat());
        let help = format!("help: sluss filter {quoted} {capture} -o {}\n", arg(&out));
        assert!(text.contains("one quoted argument\n") && text.ends_with(&help), "{text}");
        assert_eq!(std::fs::read(&out).unwrap(), b"precious");
        assert!(
            told(&[&["trace"][..], words].concat()).contains(&format!("sluss trace {quoted} {capture}\n"))
        );
    }
    for missing in ["absent", "absent.cap", "absent.dat", "./arp", "80"] {
        let output = run(&["filter", "--count", "tcp", capture, missing]);
        assert_eq!(code(&output), 5, "{missing}: {}", stderr(&output));
        assert_eq!(code(&run(&["filter", "--count", "tcp", missing, capture])), 5, "{missing}");
    }
}

#[test]
fn a_capture_that_is_not_there_is_not_called_a_filter() {
    let near = "did you mean `captures/web.pcap`? ";
    for (args, near) in [
        (&["filter", "nosuch.pcap", "--count"][..], ""),
        (&["filter", "captures/wbe.pcap"], near),
        (&["trace", "captures/wbe.pcap", "-n", "5"], near),
    ] {
        let help =
            format!("{near}a filter stands in front of a capture: `sluss {} 'tcp port 80' FILE`", args[0]);
        let expected =
            format!("error: `{}` does not exist, and is taken for the filter\nhelp: {help}\n", args[1]);
        assert_eq!(told(args), expected);
    }
    assert!(told(&["filter", "tcp"]).starts_with("error: no capture given\n"));
}

#[test]
fn what_tcpdump_prints_of_a_packet_is_told_with_the_pipe_to_it() {
    let last = |args: &[&str]| told(args).lines().last().unwrap_or_default().to_owned();
    for (args, command) in [
        (
            &["filter", "-v", "-r", "captures/web.pcap", "port", "80"][..],
            "'port 80' captures/web.pcap -o - | tcpdump -r - -v",
        ),
        (&["filter", "-vvv", "captures/web.pcap"], "captures/web.pcap -o - | tcpdump -r - -vvv"),
        (&["filter", "-e", "captures/web.pcap", "-c", "2"], "captures/web.pcap -o - -c 2 | tcpdump -r - -e"),
        (
            &["filter", "-v", "captures/web.pcap", "--", "-1", "=", "2"],
            "captures/web.pcap -o - -- '-1 = 2' | tcpdump -r - -v",
        ),
        // A lone `-` is no such flag.
        (&["filter", "tcp", "-", "-v"], "'tcp' - -o - | tcpdump -r - -v"),
        (&["filter", "-r", "-", "-v", "tcp"], "'tcp' - -o - | tcpdump -r - -v"),
        // With what cannot go that way.
        (&["filter", "-v", "--count", "captures/web.pcap"], "FILTER FILE -o - | tcpdump -r - -v"),
        (&["filter", "-v", "tcp", "captures/web.pcap", "-w", "x"], "FILTER FILE -o - | tcpdump -r - -v"),
        // Without the command.
        (&["-e", "-r", "captures/web.pcap", "tcp"], "'tcp' captures/web.pcap -o - | tcpdump -r - -e"),
        (&["-r", "captures/web.pcap", "-e", "-XX", "-n"], "captures/web.pcap -o - | tcpdump -r - -e -XX -n"),
        // In front of the command, and in one word with others.
        (&["-v", "filter", "tcp", "captures/web.pcap"], "'tcp' captures/web.pcap -o - | tcpdump -r - -v"),
        (&["filter", "-nv", "captures/web.pcap"], "captures/web.pcap -o - | tcpdump -r - -nv"),
        (&["filter", "-nnvXr", "captures/web.pcap"], "captures/web.pcap -o - | tcpdump -r - -nnvX"),
        (&["-nnvr", "captures/web.pcap", "tcp"], "'tcp' captures/web.pcap -o - | tcpdump -r - -nnv"),
        (&["-vr", "captures/web.pcap", "-s", "96"], "captures/web.pcap -o - | tcpdump -r - -v"),
        // Behind a flag of all commands.
        (
            &["--color", "never", "filter", "-v", "tcp", "captures/web.pcap"],
            "'tcp' captures/web.pcap -o - | tcpdump -r - -v",
        ),
    ] {
        let text = last(args);
        assert!(text.ends_with(&format!(": `sluss filter {command}`")), "{args:?}: {text}");
    }
    let text = last(&["--color", "never", "filter", "-S", "tcp", "captures/web.pcap"]);
    assert!(text.ends_with("; without it: `sluss filter 'tcp' captures/web.pcap`"), "{text}");
}

#[test]
fn a_flag_of_tcpdump_that_nothing_here_does_is_named() {
    for (args, told) in [
        (&["-r", "captures/web.pcap", "-z", "gzip", "tcp"][..], "`-z` has no counterpart: no command is run"),
        (&["-i", "eth0", "-nz", "gzip", "-w", "x.pcap"], "`-z` has no counterpart: no command is run"),
    ] {
        let text = self::told(args);
        assert!(text.contains(&format!("\nhelp: {told}")), "{args:?}: {text}");
    }
}

#[test]
fn commands_of_other_tools_lead_to_ours() {
    for (word, ours) in [
        ("capture", "`sluss filter -i eth0 tcp`"),
        ("dump", "`sluss filter --lines FILTER FILE`"),
        ("list", "`sluss ps`"),
        ("check", "`sluss run --check GRAPH`"),
        ("replay", "`sluss blast trace.pcap --to eth0`"),
    ] {
        let text = told(&[word]);
        assert!(
            text.starts_with(&format!("error: `{word}` is no command\nhelp: ")) && text.contains(ours),
            "{text}"
        );
    }
}

#[test]
fn colours_hold_for_help_and_wrong_flags_too() {
    let has_colours = |args: &[&str]| {
        let output = run(args);
        [output.stdout, output.stderr].concat().contains(&b'\x1b')
    };
    for args in [&["filter", "-h"][..], &["filter", "--foo"], &["filter", "--count", "tcp", "none.pcap"]] {
        for flag in [&["--color", "always"][..], &["--color=always"]] {
            assert!(has_colours(&[args, flag].concat()), "{args:?} {flag:?}");
        }
        assert!(!has_colours(&[args, &["--color", "never"]].concat()) && !has_colours(args), "{args:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_told_with_what_is() {
    let graph = scratch("missing-of-graph").join("net.toml");
    let text = "links = [\"in.output -> out.input\"]\n[app.in]\ntype = \"pcap_reader\"\npath = \"captures/wbe.pcap\"\n\
                [app.out]\ntype = \"sink\"\n";
    std::fs::write(&graph, text).unwrap();
    for (args, help) in [
        (&["filter", "--count", "tcp", "captures/wbe.pcap0"][..], ""),
        (&["filter", "--count", "tcp", "captures/mixd.pcap"], "did you mean `captures/mixed.pcap`?"),
        (&["filter", "--count", "tcp", "captures/dns.pcap"], "did you mean `captures/dns.pcap.zst`?"),
        (&["trace", "tcp", "captures/Mixed.pcap"], "did you mean `captures/mixed.pcap`?"),
        (&["filter", "--count", "tcp", "capture/web.pcap"], "there is no folder capture"),
        (&["filter", "tcp", "captures/web.pcap/x.pcap", "--count"], "captures/web.pcap is not a folder"),
        (&["blast", "captures/wbe.pcap", "--to", "null"], "did you mean `captures/web.pcap`?"),
        (&["blast", "capture/web.pcap", "--to", "null"], "there is no folder capture"),
        (&["run", arg(&graph), "--check"], "did you mean `captures/web.pcap`?"),
        (&["run", arg(&graph)], "did you mean `captures/web.pcap`?"),
        (&["run", "examples/polcy.toml"], "did you mean `examples/policy.toml`?"),
        (&["filter", "-F", "README", "captures/web.pcap"], "did you mean `README.md`?"),
    ] {
        let output = run(args);
        let text = stderr(&output);
        assert_eq!(code(&output), if args.contains(&"--check") { 0 } else { 3 }, "{args:?}: {text}");
        let expected = if help.is_empty() { String::new() } else { format!("help: {help}") };
        let told = text.lines().find(|line| line.starts_with("help: ")).unwrap_or_default();
        assert_eq!(told, expected, "{args:?}: {text}");
    }
}
