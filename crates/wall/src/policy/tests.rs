use super::*;

fn policy(text: &str) -> Policy {
    Policy::read(text, Path::new("")).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problem(text: &str) -> (String, String, String) {
    let problems = Policy::read(text, Path::new("")).expect_err(text);
    let first = &problems[0];
    (first.code.clone(), first.message.clone(), text[first.span.clone()].to_owned())
}

#[test]
fn rules_that_are_too_large_are_refused() {
    let many = "tcp and limit 1/s => accept\n".repeat(3000);
    let list: Vec<String> = (0..3000).map(|port| format!("app HTTP and port {port}")).collect();
    for rules in [many, list.join(" or ") + " => accept"] {
        let text = format!("rules = '''\n{rules}\n'''");
        let problems = Policy::read(&text, Path::new("")).expect_err("too large");
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        let expected = format!("these rules are too large: their program needs more than {NODES_MAX} nodes");
        assert!(problem.code == "WP002" && problem.message.starts_with(&expected), "{problem:?}");
        assert!(problem.help.is_some() && rules.contains(&text[problem.span.clone()]), "{problem:?}");
    }
    // A set has few nodes, however many members it has.
    let ports: Vec<String> = (0..3000).map(|port| (2 * port).to_string()).collect();
    policy(&format!("rules = 'app HTTP and port in {{{}}} => accept'", ports.join(", ")));
    // A block asks once what its rules have in common.
    policy(&format!("rules = '''\ntcp => {{\n{}}}\n'''", "limit 1/s => accept\n".repeat(2000)));
}

#[test]
fn rules_are_compiled_once_for_ethernet() {
    let policy = policy("rules = 'app HTTP and limit 1/s => accept'");
    let [first, second] = [(); 2].map(|()| policy.compile(LinkType::EN10MB).unwrap().build_ms);
    assert_eq!(first, second);
    assert!(policy.compile(LinkType::RAW).is_ok());
}

#[test]
fn words_of_the_wall_become_numbers() {
    let policy = policy(
        "rules = '''
            in lan and app HTTP => accept(mark 7, log)  -- the web
            sni *.example.com or sni {a.org, b.org} => reject
            src host in @bad and port in {80, 443} => drop
            state {new, invalid} and from responder => { limit 10/m burst 3 => accept; otherwise => drop }
            not (confidence payload) and flow_count >= 9 => drop
            otherwise => accept
        '''
        sets.bad = ['10.0.0.0/8', '2001:db8::/32']",
    );
    let rules = policy.rules();
    assert_eq!(rules.len(), 7);
    assert_eq!((rules[0].mark, rules[0].log, rules[0].line), (Some(7), true, 2));
    assert_eq!(&policy.text()[rules[1].span.clone()], "sni *.example.com or sni {a.org, b.org} => reject");
    assert_eq!(rules[3].limits, [0]);
    assert!(policy.compile(LinkType::EN10MB).is_ok() && policy.compile(LinkType::RAW).is_ok());
    assert_eq!(policy.warnings(), []);
}

#[test]
fn errors_are_told_where_they_stand() {
    for (rules, code, at) in [
        ("tcp prot 80 => drop", "PF003", "prot"),
        ("app HTPP => drop", "WP009", "HTPP"),
        ("in lan and tcp and sni a..b => drop", "WP009", "a..b"),
        ("tcp => dorp", "WP007", "dorp"),
        ("tcp => drop(lgo)", "WP008", "lgo"),
        ("tcp => drop(mark 3)", "WP008", "mark 3"),
        ("host in @bad => drop", "WP010", "bad"),
        ("sni in @bad => drop", "WP010", "bad"),
        ("state odd => drop", "WP009", "odd"),
        ("limit 3/x => drop", "WP012", "3/x"),
        ("not limit 3/s => drop", "WP012", "limit 3/s"),
        ("not (tcp or limit 3/s) => drop", "WP012", "limit 3/s"),
        ("not (tcp and not limit 3/s) and host nowhere.example => drop", "PF005", "host nowhere.example"),
        ("tcp and app HTTP and ( udp => drop", "WP006", "=>"),
        ("tcp => { udp => drop", "WP006", ""),
        ("=> drop", "WP006", "=>"),
        ("category Vehicles => drop", "WP009", "Vehicles"),
        ("from nobody => drop", "WP009", "nobody"),
        ("app HTTP and tcp port 99999 => drop", "PF007", "tcp port 99999"),
    ] {
        let text = format!("# a comment\nrules = '''\n  {rules}\n'''\n");
        let (found, message, place) = problem(&text);
        assert_eq!((found.as_str(), place.as_str()), (code, at), "{rules}: {message}");
    }
}

#[test]
fn keys_and_values_are_checked() {
    for (text, code, at) in [
        ("rules = ''\nmood = 'x'", "WP003", "mood"),
        ("rules = ''\nmode = 'x'", "WP005", "'x'"),
        ("rules = 1", "WP004", "1"),
        ("mode = 'monitor'", "WP006", ""),
        ("rules = '", "WP001", ""),
        ("rules = ''\n[flows]\nmax = 0", "WP005", "0"),
        ("rules = ''\n[sets]\na = 'no/such/file'", "WP011", "'no/such/file'"),
        ("rules = ''\n[apps.x]\nhosts = ['300.1.1.1']", "WP005", "'300.1.1.1'"),
        ("rules = ''\n[apps.x]\n", "WP005", ""),
        ("rules = ''\n[[test]]\nexpect = { accept = 1 }", "WP013", ""),
        ("rules = 'sni @a => drop'\nsets.a = ['a b']", "WP011", "['a b']"),
    ] {
        let (found, message, place) = problem(text);
        assert_eq!(found, code, "{text}: {message}");
        assert!(at.is_empty() || place == at, "{text}: {place}");
    }
}

#[test]
fn what_is_odd_is_told() {
    let policy = policy(
        "rules = '''\nip => accept\nip proto 6 => drop\notherwise => drop\n'''\n[sets]\nx = ['a.org']\n",
    );
    let warnings = policy.warnings();
    let codes: Vec<&str> = warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["WP101", "WP102"]);
    assert_eq!(&policy.text()[warnings[0].span.clone()], "ip proto 6 => drop");
    assert!(warnings.iter().all(|warning| warning.is_warning));
}

#[test]
fn rules_that_others_shadow_are_told() {
    for (rules, told) in [
        ("tcp => accept\ntcp dst port 23 => drop", &["tcp dst port 23 => drop"][..]),
        ("tcp dst port 443 => accept\ntcp dst port 443 => drop", &["tcp dst port 443 => drop"]),
        ("udp => accept\ntcp and udp => drop", &["tcp and udp => drop", "udp"]),
        ("tcp => { udp => drop }", &["udp => drop"]),
        ("tcp dst port 23 => drop\ntcp => accept", &[]),
        ("app HTTP => accept\ntcp => accept\nudp => drop", &[]),
        ("in lan and tcp => accept\nin lan and tcp port 80 => drop", &["in lan and tcp port 80 => drop"]),
        ("in lan and tcp => accept\nin wan and tcp port 80 => drop", &[]),
    ] {
        let policy = policy(&format!("rules = '''\n{rules}\n'''"));
        let warnings = policy.warnings();
        let places: Vec<&str> = warnings.iter().map(|found| &policy.text()[found.span.clone()]).collect();
        assert_eq!(places, told, "{rules}");
    }
}

/// They are not asked about ARP, LLDP and the like unless the policy says so.
#[test]
fn rules_about_packets_without_ip_are_told() {
    for (rules, told) in [
        ("arp => drop", &["arp => drop"][..]),
        ("ether proto 0x88cc => drop\ntcp => accept", &["ether proto 0x88cc => drop"]),
        ("arp or stp => { otherwise => drop }", &["arp or stp"]),
        ("arp => drop\narp => reject", &["arp => drop", "arp => reject"]),
        ("arp or tcp => drop", &[]),
        ("ether host 02:00:00:00:00:01 => drop\nvlan => accept\nmpls => drop\npppoes => drop", &[]),
        ("ether[0] & 1 = 1 => drop\nhost 10.0.0.1 => drop\notherwise => accept", &[]),
        ("link proto 0x0800 => drop", &[]),
    ] {
        for (setting, is_told) in [("", true), ("not_ip = 'drop'", true), ("not_ip = 'rules'", false)] {
            let policy = policy(&format!("{setting}\nrules = '''\n{rules}\n'''"));
            let warnings: Vec<_> = policy
                .warnings()
                .into_iter()
                .filter(|found| found.code == "WP103" || told.is_empty())
                .collect();
            let places: Vec<&str> = warnings.iter().map(|found| &policy.text()[found.span.clone()]).collect();
            // What no packet reaches at all is told as that.
            let expected = if rules.contains("reject") { &told[..1] } else { told };
            assert_eq!(places, if is_told { expected } else { &[] }, "{setting} {rules}");
        }
    }
}

#[test]
fn applications_of_ones_own_are_told_by_what_they_are_given() {
    let policy = policy(
        "rules = 'app backup => accept'
        [apps.Backup]
        sni = 'backup.example'
        hosts = ['10.0.0.1', '10.1.0.0/16']
        ports = ['tcp 873', 'udp 5000-5010', '99']
        payload = ['@RSYNCD|3a 20|', 'x']",
    );
    assert!(policy.compile(LinkType::EN10MB).is_ok(), "{}", policy.program());
    let payloads: Vec<_> = policy.payloads().flatten().cloned().collect();
    assert_eq!(payloads, [b"@RSYNCD: ".to_vec(), b"x".to_vec()]);
}

/// What the fuzz target does, on words in no order.
#[test]
fn nonsense_is_refused_where_it_stands() {
    let words = [
        "app",
        "HTTP",
        "sni",
        "*.a.org",
        "in",
        "@a",
        "{",
        "}",
        "(",
        ")",
        "not",
        "and",
        "or",
        "=>",
        "drop",
        "accept",
        "log",
        "mark 7",
        "state",
        "new",
        "limit",
        "1/s",
        "burst",
        "from",
        "initiator",
        "tcp",
        "port",
        "80",
        ",",
        ";",
        "--",
        "\n",
        "otherwise",
        "\"",
        "é",
        "own",
        "flow_count",
        ">",
        "3",
        "[",
        "]",
        "tcp => drop",
        "ip[0] & 1 = 1 => accept",
    ];
    let mut state = 1_u64;
    let mut next = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for _ in 0..3000 {
        let text: String = (0..next(16)).map(|_| format!("{} ", words[next(words.len())])).collect();
        fuzz(&text);
    }
}

/// The page about the file says what each key is.
#[test]
fn the_reference_has_every_key_and_code() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src");
    let page = std::fs::read_to_string(book.join("reference/policy.md")).unwrap();
    for key in settings::keys() {
        assert!(
            page.contains(&format!("`{key}`")) || page.contains(&format!("[{key}")) || key.contains(' '),
            "{key}"
        );
    }
    let diagnostics = std::fs::read_to_string(book.join("diagnostics.md")).unwrap();
    for code in Code::ALL {
        let begin = format!("\n## {code}: ");
        let section = diagnostics.split(&begin).nth(1).unwrap_or_else(|| panic!("{code} has no section"));
        let section = section.split("\n## ").next().unwrap();
        let Some(example) = section.split("```policy\n").nth(1).and_then(|rest| rest.split("```").next())
        else {
            assert_eq!(*code, Code::Limit, "{code} has no example");
            continue;
        };
        let problems = match Policy::read(example, Path::new("")) {
            Ok(policy) => policy.warnings(),
            Err(problems) => problems,
        };
        assert!(problems.iter().any(|problem| problem.code == code.to_string()), "{code}: {problems:?}");
    }
}

#[test]
fn what_other_firewalls_ask_is_translated() {
    for (rule, help) in [
        ("ct state established => accept", "write `state`, as in `state established`"),
        ("tcp and ctstate new => drop", "write `state`, as in `state established`"),
        ("iif lan => accept", "write `in`, as in `in lan`"),
        ("meta iifname \"lan\" => accept", "write `in`, as in `in lan`"),
        ("oifname \"wan\" => drop", "write `out`, as in `out wan`"),
        ("limit rate 10/second => accept", "leave `rate` out, as in `limit 10/s`"),
        ("tcp state new => accept", "`state` begins a test of its own: put `and` before it"),
    ] {
        let problems = Policy::read(&format!("rules = '''\n{rule}\n'''\n"), Path::new("")).unwrap_err();
        assert_eq!(problems[0].help.as_deref(), Some(help), "{rule}: {problems:?}");
    }
}

#[test]
fn a_word_of_the_wall_is_suggested() {
    for (rule, word) in
        [("ap HTTP => drop", "app"), ("catgory VoIP => drop", "category"), ("stat new => drop", "state")]
    {
        let text = format!("rules = '''\n{rule}\n'''\n");
        let problems = Policy::read(&text, Path::new("")).unwrap_err();
        assert_eq!(problems[0].help.as_deref(), Some(&format!("did you mean `{word}`?")[..]), "{problems:?}");
    }
}

#[test]
fn changes_of_sets_are_made_to_what_was_read() {
    use classify::lists::{Change, Item};
    let folder = std::env::temp_dir().join(format!("sluss-policy-sets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("known.txt"), "192.0.2.1\n").unwrap();
    let text = "rules = 'src host in @known => drop'\nsets.known = 'known.txt'\n";
    let first = Policy::read(text, &folder).unwrap();
    // Neither the file nor its folder is needed any more.
    std::fs::remove_dir_all(&folder).unwrap();
    let mut lists = ChangedLists::default();
    let add = vec![Item::parse("192.0.2.7").unwrap()];
    lists.put("known", &Change { add, until: Some(60), ..Change::default() }).unwrap();
    let second = first.changed(&lists).unwrap();
    assert_eq!(second.sets().collect::<Vec<_>>(), [("known", 2)]);
    assert!(lists.expire(60));
    let third = second.changed(&lists).unwrap();
    assert_eq!(third.sets().collect::<Vec<_>>(), [("known", 1)]);
    assert_eq!(third.text(), text);
}
