use super::*;

fn error(text: &str) -> String {
    Rules::read(text).unwrap_err().to_string()
}

/// What becomes of a frame of 60 zeroes in a flow of `count` packets.
fn judge(rules: &str, protocol: Protocol, count: u32) -> Action {
    let mut compiled = Rules::read(rules).unwrap().compile(LinkType::EN10MB);
    compiled.judge(&Judged { packet: &[0; 60], wire_len: 60, protocol, flow_count: count })
}

#[test]
fn a_protocol_falls_under_its_rule_and_others_under_the_default() {
    let rules = "{ HTTP = 'reject', ['dns'] = \"drop\" }";
    for (protocol, action) in
        [(Protocol::HTTP, Action::Reject), (Protocol::DNS, Action::Drop), (Protocol::SSH, Action::Accept)]
    {
        assert_eq!(judge(rules, protocol, 1), action);
    }
    assert_eq!(judge("{ default = 'drop' }", Protocol::UNKNOWN, 1), Action::Drop);
    assert_eq!(judge("{}", Protocol::UNKNOWN, 1), Action::Accept, "as SnabbWall has it");
}

#[test]
fn a_program_counts_the_packets_of_the_flow() {
    let rules = "{ RTP = [[match { flow_count >= 69 => accept; otherwise => drop }]], default = 'reject' }";
    assert_eq!(judge(rules, Protocol::RTP, 68), Action::Drop);
    assert_eq!(judge(rules, Protocol::RTP, 69), Action::Accept);
    assert_eq!(judge(rules, Protocol::HTTP, 69), Action::Reject);
    assert_eq!(judge("{ default = 'match { tcp => accept }' }", Protocol::RTP, 1), Action::Drop, "no clause");
    assert_eq!(judge("{ default = 'match { len = 60 => reject }' }", Protocol::RTP, 1), Action::Reject);
}

#[test]
fn a_program_that_means_nothing_on_a_link_type_drops() {
    let rules = Rules::read("{ default = 'match { vlan 5 => accept, otherwise => accept }' }").unwrap();
    let mut compiled = rules.compile(LinkType::RAW);
    let judged = Judged { packet: &[], wire_len: 0, protocol: Protocol::UNKNOWN, flow_count: 1 };
    assert_eq!(compiled.judge(&judged), Action::Drop);
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_to_do() {
    for (text, message) in [
        (
            "{ HTTP = 'deny' }",
            "1:10: `deny` is no action (write \"accept\", \"drop\", \"reject\", or [[match { … }]])",
        ),
        (
            "{\n  HTTP = 'drop',\n  http = 'drop' }",
            "3:3: `http` has two rules (leave one of them out; names of one protocol are one name)",
        ),
        (
            "{ default = 'drop', default = 'drop' }",
            "1:21: `default` has two rules (leave one of them out; a packet falls under one default)",
        ),
        ("{ HTPP = 'drop' }", "1:3: no protocol is called `HTPP` (did you mean `HTTP`?)"),
        (
            "{ Zxqwzxqwzxqw = 'drop' }",
            "1:3: no protocol is called `Zxqwzxqwzxqw` (`sluss wall protocols` lists them)",
        ),
        (
            "{ RTP = [[match { tcp => forward }]] }",
            "1:9: `forward` is none of the actions that a program can call (these are accept, drop and reject)",
        ),
        (
            "{ RTP = [[match { tcp => drop(1) }]] }",
            "1:9: the actions take no arguments (write `accept`, not `accept(…)`)",
        ),
        (
            "{ RTP = [[match (mark) { mark = 1 => drop }]] }",
            "1:9: the program has an input `mark`, of which nobody knows a number (flow_count is there without being named in front)",
        ),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
    let told = Rules::read("{ -- rules\n  RTP = [[match { tcp prot 80 => drop }]] }").unwrap_err();
    assert_eq!((told.place, &*told.line), ((2, 23), "  RTP = [[match { tcp prot 80 => drop }]] }"));
    assert!(told.message.starts_with("unknown word `prot`"), "{told}");
    assert!(Rules::read(&" ".repeat(TEXT_MAX + 1)).is_err());
}

#[test]
fn nothing_is_executed() {
    assert!(error("os.execute('true')").starts_with("1:1: expected `{`"));
    assert!(error("{ HTTP = os.getenv('x') }").contains("not `os`"));
}

#[test]
fn damaged_rules_are_read_or_refused_with_a_place_in_the_text() {
    let whole = "return { HTTP = 'reject', [ \"dns\" ] = \"dr\\111p\", --[[x]]\n RTP = [=[match { flow_count >= 69 => accept; \
                 otherwise => drop }]=]; default = [[accept]] }";
    let signs = ["", "'", "\"", "[[", "]]", "{", "}", "=", "\\", "--", "\n", "match", "\u{e4}", "999"];
    for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
        for (sign, left_out) in signs.iter().flat_map(|sign| [(sign, 0), (sign, 1), (sign, 9)]) {
            let rest = &whole[(at + left_out).min(whole.len())..];
            let text = format!("{}{sign}{rest}", &whole[..at]);
            if let Err(error) = Rules::read(&text) {
                let lines = text.matches('\n').count() + 1;
                assert!((1..=lines).contains(&error.place.0) && error.place.1 >= 1, "{error}");
                assert!(error.span.start <= text.len() && error.span.end <= text.len(), "{text}: {error}");
            }
        }
    }
}
