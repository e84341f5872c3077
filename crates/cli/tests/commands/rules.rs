//! `sluss bench rules` and `sluss wall import`.

use crate::common::{scratch, sluss, stderr, stdout};
use std::fs;

const LIST: &str = "@10.0.0.0/8\t0.0.0.0/0\t0 : 65535\t80 : 80\t0x06/0xFF\t0x0000/0x0200\t\n\
                    @0.0.0.0/0\t192.0.2.0/24\t0 : 65535\t0 : 65535\t0x00/0x00\t0x0000/0x0000\t\n";

#[test]
fn answers_are_the_rules_of_headers_in_order() {
    let folder = scratch("bench-rules");
    let [list, headers, answers] = ["list", "headers", "answers"].map(|name| folder.join(name));
    fs::write(&list, LIST).unwrap();
    // 10.0.0.1 -> 192.0.2.1, then other ports, then other networks.
    fs::write(&headers, "167772161\t3221225985\t9\t80\t6\n167772161\t3221225985\t9\t81\t6\n1\t1\t9\t80\t6\n")
        .unwrap();
    let output = sluss(&["bench", "rules", "--json"])
        .args([&"--classbench".into(), &list, &"--headers".into(), &headers, &"--answers".into(), &answers])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&answers).unwrap(), "0\n1\n-\n");
    let text = stdout(&output);
    let keys =
        ["v", "type", "suite", "rules", "headers", "mismatches", "ns_single", "ns_batch", "build_s", "bytes"];
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    assert_eq!((&value["rules"], &value["headers"], &value["mismatches"]), (&2.into(), &3.into(), &0.into()));
}

#[test]
fn shapes_and_instruction_sets_agree_with_the_scan() {
    for isa in ["portable", "avx2", "avx512", "neon"] {
        for shape in ["notes", "sites"] {
            let output =
                sluss(&["bench", "rules", "--shape", shape, "--n", "700", "--isa", isa]).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let text = stdout(&output);
            assert!(text.contains("0 mismatches") && text.contains("a packet costs at most"), "{text}");
        }
    }
}

#[test]
fn a_line_that_is_no_rule_is_told() {
    let folder = scratch("bench-rules-wrong");
    let list = folder.join("list");
    fs::write(&list, format!("{LIST}@10.0.0.0/40 x\n")).unwrap();
    let output = sluss(&["bench", "rules", "--classbench"]).arg(&list).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("line 3: a prefix is"), "{}", stderr(&output));
    let output = sluss(&["bench", "rules"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn rules_are_imported_and_decide() {
    let folder = scratch("wall-import");
    let [rules, program] = ["rules.v4", "rules.pfm"].map(|name| folder.join(name));
    let text = "*filter\n:INPUT DROP [0:0]\n-A INPUT -p icmp -j ACCEPT\n-A INPUT -m limit --limit 1/s -j ACCEPT\nCOMMIT\n";
    fs::write(&rules, text).unwrap();
    let import = |flags: &[&str]| {
        sluss(&["wall", "import"]).arg(&rules).args(flags).arg("-o").arg(&program).output().unwrap()
    };
    let output = import(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("rules.v4:4: `-m limit` cannot be expressed"), "{}", stderr(&output));
    assert!(!program.exists(), "nothing is written");
    let output = import(&["--partial"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = sluss(&["match", "--count", "-F"]).arg(&program).arg("captures/lan.pcap").output().unwrap();
    assert!(
        stdout(&output).contains("accept\t") && stdout(&output).contains("drop\t"),
        "{}",
        stdout(&output)
    );
}
