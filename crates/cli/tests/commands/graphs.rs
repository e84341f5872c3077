//! What is said about graphs that are wrong, word for word, and that graphs that should be right are.
//!
//! `testdata/golden/graphs.txt` holds graphs and what `sluss run --check` says of each. `BLESS=1 cargo test -p sluss
//! --test commands graphs` writes what it says now.

use crate::common::{self, arg, code, root, scratch, sluss, stderr, stdout};
use std::fs;
use std::path::Path;

/// What stands before a graph, and between a graph and what is said of it.
const GRAPH: &str = "--- ";
const SAID: &str = "=>";

/// What `--check` says of a text, as a file of that name in a folder of its own.
fn said(folder: &Path, text: &str) -> (i32, String) {
    fs::write(folder.join("graph.toml"), text).unwrap();
    let output = sluss(&["run", "--check", "graph.toml"]).current_dir(folder).output().unwrap();
    (code(&output), stderr(&output) + &stdout(&output))
}

/// The cases of the golden file: title and graph.
fn cases(golden: &str) -> Vec<(String, String)> {
    let mut cases: Vec<(String, String)> = Vec::new();
    let mut in_graph = false;
    for line in golden.lines() {
        if let Some(title) = line.strip_prefix(GRAPH) {
            cases.push((title.to_owned(), String::new()));
            in_graph = true;
        } else if line == SAID {
            in_graph = false;
        } else if let (true, Some((_, graph))) = (in_graph, cases.last_mut()) {
            graph.push_str(line);
            graph.push('\n');
        }
    }
    cases
}

#[test]
fn what_is_said_of_wrong_graphs() {
    let path = root().join("testdata/golden/graphs.txt");
    let golden = fs::read_to_string(&path).unwrap();
    let folder = scratch("golden-graphs");
    let now: String = cases(&golden)
        .iter()
        .map(|(title, graph)| {
            let (code, said) = said(&folder, graph);
            format!("{GRAPH}{title}\n{graph}{SAID}\nexit code {code}\n{said}\n")
        })
        .collect();
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, now).unwrap();
        return;
    }
    let same = golden.lines().zip(now.lines()).take_while(|(old, new)| old == new).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    assert!(golden == now, "line {}:\n  - {}\n  + {}", same + 1, line(&golden), line(&now));
}

/// Each section about a graph code in the book shows a graph that produces it.
#[test]
fn the_book_explains_every_code() {
    let page = fs::read_to_string(root().join("docs/book/src/diagnostics.md")).unwrap();
    let folder = scratch("book-graphs");
    // A graph that is too large does not fit a page; before a graph is started the system refuses nothing, and no capture is opened;
    // and no app that there is panics.
    let without_example = ["GR002", "GR019", "GR021", "GR022"];
    for code in graphfile::GraphCode::ALL.iter().map(ToString::to_string) {
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("{code}:")));
        let section = section.unwrap_or_else(|| panic!("{code} has no section"));
        let example = section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        match example {
            Some(example) => {
                let (_, said) = said(&folder, example);
                assert!(said.contains(&format!("[{code}]")), "{code}:\n{said}");
            }
            None => assert!(without_example.contains(&code.as_str()), "{code} has no example"),
        }
    }
}

#[test]
fn examples_are_right() {
    let mut examples = 0;
    for entry in fs::read_dir(root().join("examples")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let output = common::run(&["run", "--check", arg(&path)]);
            assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{}", path.display());
            examples += 1;
        }
    }
    assert!(examples >= 4, "only {examples} examples");
}

#[test]
fn problems_are_objects_where_json_is_asked_for() {
    let folder = scratch("json-graphs");
    let graph = "links = [\"a.output -> b.input\"]\n[app.a]\ntype = \"source\"\nsize = \"x\"\n";
    fs::write(folder.join("graph.toml"), graph).unwrap();
    let output = sluss(&["run", "--check", "--json", "graph.toml"]).current_dir(&folder).output().unwrap();
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    let object: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    assert_eq!(
        (&object["v"], &object["type"], &object["graph"]),
        (&1.into(), &"error".into(), &"graph.toml".into())
    );
    let codes: Vec<&str> =
        object["errors"].as_array().unwrap().iter().filter_map(|e| e["code"].as_str()).collect();
    assert_eq!(codes, ["GR014", "GR011"]);
    let second = &object["errors"][1];
    assert_eq!((&second["app"], &second["key"], &second["line"]), (&"a".into(), &"size".into(), &4.into()));
    assert_eq!(&graph[second["span"]["start"].as_u64().unwrap() as usize..][..3], "\"x\"");
    assert_eq!(object["not_shown"], 0);
    fs::write(folder.join("graph.toml"), "[app.a]\ntype = \"source\"\n".to_owned() + &unknown_apps(130))
        .unwrap();
    let output = sluss(&["run", "--check", "--json", "graph.toml"]).current_dir(&folder).output().unwrap();
    let object: serde_json::Value = serde_json::from_str(&stderr(&output)).unwrap();
    let shown = object["errors"].as_array().unwrap().len();
    assert_eq!((shown, object["not_shown"].as_u64().unwrap() > 29), (100, true), "{}", object["not_shown"]);
}

/// Apps of a type that there is not.
fn unknown_apps(count: usize) -> String {
    (0..count).map(|i| format!("[app.none{i}]\ntype = \"none\"\n")).collect()
}

#[test]
fn files_that_are_no_text() {
    let folder = scratch("no-text");
    fs::write(folder.join("graph.toml"), b"links = [\"\xff\"]").unwrap();
    let output = sluss(&["run", "graph.toml"]).current_dir(&folder).output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("GR001") && stderr(&output).contains("byte 10"), "{}", stderr(&output));
    let output = sluss(&["run", "--json", "graph.toml"]).current_dir(&folder).output().unwrap();
    let object: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((code(&output), &object["errors"][0]["code"]), (2, &"GR001".into()));
    assert_eq!((&object["errors"][0]["line"], &object["errors"][0]["column"]), (&1.into(), &11.into()));
    assert_eq!(code(&common::run(&["run", "/nonexistent/graph.toml"])), 3);
    assert_eq!(code(&common::run(&["run", "/dev/zero"])), 2);
}

#[test]
fn graphs_are_drawn() {
    let dot = stdout(&common::run(&["run", "--dot", "examples/tee.toml"]));
    assert!(
        dot.starts_with("digraph") && dot.contains("\"copies\":\"out_plain\":e -> \"sink\":\"in_plain\":w"),
        "{dot}"
    );
    let dot = stdout(&common::run(&["run", "--dot", "examples/workers.toml"]));
    assert_eq!(dot.matches("subgraph cluster_worker_").count(), 2, "{dot}");
    let rows = "<tr><td port=\"in_input\" align=\"left\">input</td><td port=\"out_left\" align=\"right\">left</td></tr>\
        <tr><td></td><td port=\"out_right\" align=\"right\">right</td></tr>";
    assert!(dot.contains(rows), "{dot}");
    let svg = stdout(&common::run(&["run", "--svg", "examples/tee.toml"]));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!((svg.matches("<path class=").count(), svg.matches("class=\"app\"").count()), (4, 4));
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn what_is_no_graph_at_all_is_told_with_what_is() {
    let said = |args: &[&str]| {
        let output = sluss(args).output().unwrap();
        (code(&output), stderr(&output))
    };
    let (code, capture) = said(&["run", "captures/web.pcap"]);
    let told = "error[GR001]: captures/web.pcap is not UTF-8 text: byte 0 is wrong\nhelp: a graph is TOML; ";
    assert!(code == 2 && capture.starts_with(told) && capture.contains("`pcap_reader`"), "{capture}");
    let (_, json) = said(&["run", "--json", "captures/web.pcap"]);
    let object: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        object["errors"][0]["help"].as_str().is_some_and(|help| help.contains("`pcap_reader`")),
        "{json}"
    );
    let program = scratch("lua-graph").join("net.lua");
    fs::write(&program, "print('it runs')\n").unwrap();
    let (code, lua) = said(&["run", "--check", arg(&program)]);
    assert!(code == 2 && lua.starts_with("error: `--check` is for graphs of TOML"), "{lua}");
}
