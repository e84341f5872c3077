//! Where warnings about filters are told.

use crate::common::{run, stderr, stdout};

#[test]
fn compile_warns_of_what_surprises() {
    let surprising = "not vlan and udp";
    for stage in ["ast", "optimised"] {
        let compiled = run(&["compile", "--stage", stage, surprising]);
        assert!(stderr(&compiled).starts_with("warning[PF101]"), "{}", stderr(&compiled));
        assert!(!stdout(&compiled).contains("PF101"));
        let compiled = run(&["compile", "--json", "--stage", stage, surprising]);
        let json: serde_json::Value = serde_json::from_str(&stdout(&compiled)).unwrap();
        assert_eq!((&json["lints"][0]["code"], stderr(&compiled)), (&"PF101".into(), String::new()));
    }
    assert_eq!(stderr(&run(&["compile", "tcp port 80"])), "");
}
