use super::{GraphCode, GraphFile};
use engine::{
    App, Class, ClassInfo, Config, Engine, Io, OptionError, OptionValue, OptionWarning, Passage, Ports,
    ReadError, Registry, Review, Roles, Settings, Setup, Step,
};
use serde::Deserialize;

/// One output, options with defaults.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Spring {
    size: usize,
    count: Option<u8>,
    pattern: String,
}

impl Default for Spring {
    fn default() -> Self {
        Spring { size: 60, count: None, pattern: String::new() }
    }
}

/// Any ports, options that must be set, tables and lists.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Hub {
    path: String,
    rate: f64,
    #[serde(default)]
    fast: bool,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    port: u16,
}

#[derive(Debug)]
struct Idle;

impl App for Idle {}

impl Class for Spring {
    const TYPE: &'static str = "spring";
    const INPUTS: Ports = Ports::NONE;
    const OUTPUTS: Ports = Ports::OUTPUT;
    type App = Idle;

    fn check(&self) -> Result<(), OptionError> {
        if self.pattern == "absent" {
            return Err(OptionError::refused("pattern", "there is no such file"));
        }
        assert_ne!(self.pattern, "panic", "no such pattern");
        if !self.pattern.is_empty() {
            return Err(OptionError::new("pattern", "this is bad").with_detail("  | pattern\n  | ^^^"));
        }
        let shortest = self.count.map_or(0, usize::from);
        let too_short = || OptionError::new("size", "is less than `count`");
        OptionError::all([
            OptionError::check_range("size", self.size, 14..=100),
            if self.size < shortest { Err(too_short()) } else { Ok(()) },
            OptionError::check_range("count", self.count.unwrap_or(1), 1..=100),
        ])
    }

    fn start(&self, _: &mut Setup<'_>) -> Result<Idle, OptionError> {
        Ok(Idle)
    }
}

impl Class for Hub {
    const TYPE: &'static str = "hub";
    const PASSAGE: Passage = Passage::MayEnd;
    const INPUTS: Ports = Ports::Any;
    const OUTPUTS: Ports = Ports::Any;
    type App = Idle;

    fn check(&self) -> Result<(), OptionError> {
        let port = |wrong| self.rules.iter().position(|rule| rule.port == wrong);
        // The second is a place that no graph has: what holds it is pointed at.
        let place = port(99).map(|i| format!("rules[{i}].port"));
        let place = place.or_else(|| port(98).map(|i| format!("rules[{i}].port.deeper")));
        place.map_or(Ok(()), |place| Err(OptionError::new(&place, "no such port")))
    }

    fn review(&self) -> Result<Review, OptionError> {
        self.check()?;
        let port = self.rules.iter().position(|rule| rule.port == 97);
        let odd = port
            .map(|i| OptionWarning::new(&format!("rules[{i}].port"), "this is odd").with_detail("  | port"));
        let absent = (self.path == "absent").then(|| OptionWarning::absent("path", "there is no such file"));
        Ok(Review::new(odd.into_iter().chain(absent)))
    }

    fn start(&self, _: &mut Setup<'_>) -> Result<Idle, OptionError> {
        Ok(Idle)
    }
}

/// A class without options, with these ports.
macro_rules! class {
    ($class:ident, $name:literal, $inputs:expr, $outputs:expr, $passage:ident) => {
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        struct $class {}

        impl Class for $class {
            const TYPE: &'static str = $name;
            const INPUTS: Ports = $inputs;
            const OUTPUTS: Ports = $outputs;
            const PASSAGE: Passage = Passage::$passage;
            type App = Idle;

            fn start(&self, _: &mut Setup<'_>) -> Result<Idle, OptionError> {
                Ok(Idle)
            }
        }
    };
}

const SIDES: Ports = Ports::Named(&["in", "out"]);
class!(Pipe, "pipe", Ports::INPUT, Ports::OUTPUT, Through);
class!(Sieve, "sieve", Ports::INPUT, Ports::Named(&["output", "rest"]), Through);
class!(Tee, "tee", Ports::Any, Ports::Any, Through);
class!(Drain, "drain", Ports::Any, Ports::NONE, Through);
class!(Tunnel, "tunnel", SIDES, SIDES, Across);
class!(Device, "device", Ports::INPUT, Ports::OUTPUT, World);

fn registry() -> Registry {
    Registry::new().with::<Spring>().with::<Hub>()
}

/// What is said of links between a spring `s`, a hub `h` and these apps.
#[track_caller]
fn check_ports(links: &[&str], apps: &[(&str, &str)], expected: &[&str]) {
    let registry = registry().with::<Pipe>().with::<Sieve>().with::<Tee>().with::<Drain>();
    let registry = registry.with::<Tunnel>().with::<Device>();
    let list: Vec<String> = links.iter().map(|link| format!("{link:?}")).collect();
    let mut text = format!("links = [{}]\n", list.join(", "));
    if links.iter().any(|link| link.contains("s.output")) {
        text.push_str("app.s.type = \"spring\"\n");
    }
    apps.iter().for_each(|(name, class)| text.push_str(&format!("app.{name}.type = {class:?}\n")));
    let told = match GraphFile::parse(&text, &registry) {
        Ok(file) => file.warnings,
        Err(errors) => errors.0,
    };
    let told: Vec<String> =
        told.iter().map(|problem| format!("{} {}", problem.code, problem.message)).collect();
    assert_eq!(told, expected, "{text}");
}

#[test]
fn packets_that_can_go_nowhere_are_warned_of() {
    let web = "GR103 output `output` of app `web` leads nowhere: what it sends is dropped";
    check_ports(&["s.output -> web.input"], &[("web", "pipe")], &[web]);
    let sieve = "GR103 no output of app `web` leads anywhere: what it sends is dropped";
    check_ports(&["s.output -> web.input"], &[("web", "sieve")], &[sieve]);
    check_ports(&["s.output -> web.a"], &[("web", "tee")], &[sieve]);
    let tunnel = "GR103 output `out` of app `t` leads nowhere: what comes to its input `in` is dropped";
    check_ports(&["s.output -> t.in", "t.in -> d.x"], &[("t", "tunnel"), ("d", "drain")], &[tunnel]);
    // Outputs that are not wanted, ends, devices.
    check_ports(&["s.output -> web.input", "web.rest -> d.x"], &[("web", "sieve"), ("d", "drain")], &[]);
    check_ports(&["s.output -> t.in", "t.out -> d.x"], &[("t", "tunnel"), ("d", "drain")], &[]);
    check_ports(&["s.output -> d.x"], &[("d", "drain")], &[]);
    check_ports(&["s.output -> lan.input"], &[("lan", "device")], &[]);
}

#[test]
fn apps_to_which_nothing_comes_are_warned_of() {
    let apps = [("web", "pipe"), ("d", "drain")];
    let nothing = "GR104 nothing comes to app `web`: no link leads to its input `input`";
    check_ports(&["s.output -> d.a", "web.output -> d.b"], &apps, &[nothing]);
    let apps = [("web", "tee"), ("d", "drain")];
    let nothing = "GR104 nothing comes to app `web`: no link leads to it";
    check_ports(&["s.output -> d.a", "web.x -> d.b"], &apps, &[nothing]);
    check_ports(&["lan.output -> d.a"], &[("lan", "device"), ("d", "drain")], &[]);
}

#[test]
fn a_graph_into_which_no_packet_comes_is_warned_of() {
    let apps = [("web", "pipe"), ("d", "drain"), ("lan", "device")];
    let none = "GR105 no app brings packets in";
    check_ports(&["web.output -> d.a"], &apps[..2], &[none]);
    check_ports(&["web.output -> lan.input"], &[apps[0], apps[2]], &[none]);
}

#[test]
fn what_an_option_warns_of_is_told_at_its_place() {
    let text = format!("links=[\"s.output -> h.b\"]\napp.s.type = \"spring\"\n[app.h]\n{HUB}")
        .replace("\"x\"", "\"absent\"");
    let file = GraphFile::parse(&(text + "[[app.h.rules]]\nport=1\n[[app.h.rules]]\nport=97\n"), &registry());
    let told: Vec<String> =
        file.unwrap().warnings.iter().map(|told| format!("{} {told} {:?}", told.code, told.detail)).collect();
    assert_eq!(
        told,
        [
            "GR106 line 5, column 8: `path` of app `h`: there is no such file None",
            "GR102 line 10, column 6: `rules[1].port` of app `h`: this is odd Some(\"  | port\")",
        ]
    );
}

#[test]
fn a_graph_runs_with_any_number_of_warnings() {
    let idle: String = (0..300).map(|i| format!("app.s{i}.type = \"spring\"\n")).collect();
    assert_eq!(GraphFile::parse(&idle, &registry()).unwrap().warnings.len(), 100);
    let errors = GraphFile::parse(&(idle + "app.t.type = \"sprong\"\n"), &registry()).unwrap_err();
    assert_eq!(errors.untold(), 0);
    assert!(errors.0.iter().any(|error| error.code == GraphCode::UnknownType), "{errors}");
}

const HUB: &str = "type = \"hub\"\npath = \"x\"\nrate = 1.5\n";

/// What is said of a text: code, place and message of each.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let told = match GraphFile::parse(text, &registry()) {
        Ok(file) => file.warnings,
        Err(errors) => errors.0,
    };
    let told: Vec<String> = told.iter().map(|told| format!("{} {told}", told.code)).collect();
    assert_eq!(told, expected, "{text}");
}

/// What is said of the options of a `spring`.
#[track_caller]
fn check_spring(options: &str, expected: &[&str]) {
    check(
        &format!("links=[\"s.output -> h.x\"]\n[app.h]\n{HUB}[app.s]\ntype=\"spring\"\n{options}"),
        expected,
    );
}

#[test]
fn a_graph_is_read() {
    let text =
        format!("links = [\"s.output -> h.x\"]\n[app.s]\ntype='spring'\nsize=64\nworker=1\n[app.h]\n{HUB}");
    let file = GraphFile::parse(&text, &registry()).unwrap();
    assert!(file.warnings.is_empty());
    let spring = file.graph.get("s").unwrap();
    assert_eq!((spring.worker, &*spring.config.class().name), (Some(1), "spring"));
    assert_eq!(spring.config, Config::new(Spring { size: 64, ..Spring::default() }));
    assert_eq!(file.graph.links().map(ToString::to_string).collect::<Vec<_>>(), ["s.output -> h.x"]);
    assert_eq!(file.graph.clone(), GraphFile::parse(&text, &registry()).unwrap().graph);
}

#[test]
fn other_ways_to_write_tables_are_the_same() {
    let text = "app = { s = { type = \"spring\" }, t = { type = \"spring\" } }";
    check(
        text,
        &[
            "GR101 line 1, column 13: app `s` has no link; add `links = [...]` above the first [app...] table",
            "GR101 line 1, column 38: app `t` has no link; add `links = [...]` above the first [app...] table",
        ],
    );
    check(
        "app.s.type = \"spring\"\nlinks = []",
        &["GR101 line 1, column 5: app `s` has no link; add `links = [...]` above the first [app...] table"],
    );
}

#[test]
fn top_level() {
    check(
        "",
        &[
            "GR018 line 1, column 1: the graph has no app; add one: a line [app.NAME], and a line type = \"...\" below it",
        ],
    );
    check(
        "links = []\n[app]",
        &[
            "GR018 line 2, column 1: the graph has no app; add one: a line [app.NAME], and a line type = \"...\" below it",
        ],
    );
    check(
        "app = {}",
        &[
            "GR018 line 1, column 7: the graph has no app; add one: a line [app.NAME], and a line type = \"...\" below it",
        ],
    );
    check(
        "link = []\n[apps.s]\ntype = \"spring\"",
        &[
            "GR003 line 1, column 1: unknown key `link`; did you mean `links`?",
            "GR003 line 2, column 2: unknown key `apps`; did you mean `app`?",
        ],
    );
    check(
        "links = \"a.b -> c.d\"\napp = 5",
        &[
            "GR005 line 1, column 9: `links` must be a list; write links = [\"a.output -> b.input\"]",
            "GR005 line 2, column 7: `app` must be a table for each app; write [app.NAME]",
        ],
    );
    check(
        "[app]\ntype = \"spring\"",
        &["GR005 line 2, column 1: an app must be a table; write [app.NAME], and `type` in a line below it"],
    );
}

#[test]
fn syntax() {
    check(
        "links = [\n\"a.b -> c.d\"\n[app.a]\ntype = \n",
        &[
            "GR001 line 3, column 1: this is not TOML: missing comma between array elements, expected `,`; is a list without its `]` above?",
        ],
    );
    check(
        "links =\n\"a.b -> c.d\",\n# more\n\"c.d -> e.f\"\n\"e.f -> g.h\",\n]\n[app.a]\ntype = \"spring\"",
        &[
            "GR001 line 1, column 8: this is not TOML: string values must be quoted, expected literal string; is this a list without its `[`?",
        ],
    );
    check(
        "links = []\n[app.a]\ntype = broken\n'x' y",
        &[
            "GR001 line 3, column 8: this is not TOML: string values must be quoted, expected literal string",
            "GR001 line 4, column 5: this is not TOML: key with no value, expected `=`",
        ],
    );
    check(
        "links = []\n[app.s]\ntype = spring\nsize = \n[app.t\ntype = \"",
        &[
            "GR001 line 3, column 8: this is not TOML: string values must be quoted, expected literal string",
            "GR001 line 4, column 8: this is not TOML: string values must be quoted, expected literal string",
            "GR001 line 5, column 7: this is not TOML: unclosed table, expected `]`",
        ],
    );
    check(
        "links = []\nlinks = []\n[app.s]\ntype = \"spring\"\ntype = \"hub\"",
        &["GR017 line 2, column 1: `links` stands twice", "GR017 line 5, column 1: `type` stands twice"],
    );
}

#[test]
fn types() {
    check(
        "links=[]\n[app.s]\nsize = 5\n[app.t]\ntype = \"sprong\"\n[app.u]\ntype = 5\n[app.v]\ntype = \"zzzzzzzzz\"",
        &[
            "GR007 line 2, column 1: app `s` has no type; add a line type = \"...\" below [app...]",
            "GR008 line 5, column 8: there is no type `sprong`; did you mean `spring`?",
            "GR005 line 7, column 8: `type` of app `u` must be a text; write type = \"...\"",
            "GR008 line 9, column 8: there is no type `zzzzzzzzz`; the types that there are: `hub`, `spring`",
        ],
    );
}

#[test]
fn options() {
    check_spring("size = 64", &[]);
    check_spring(
        "siez = 64\ncounter = 1\nxxxxxxxxx = 2",
        &[
            "GR009 line 8, column 1: app `s` is a `spring`, which has no option `siez`; did you mean `size`?",
            "GR009 line 9, column 1: app `s` is a `spring`, which has no option `counter`; did you mean `count`?",
            "GR009 line 10, column 1: app `s` is a `spring`, which has no option `xxxxxxxxx`",
        ],
    );
    // Each that is wrong is told, whichever the reader meets first.
    check_spring(
        "size = \"64\"\ncount = 256\npattern = 1.5",
        &[
            "GR011 line 8, column 8: `size` of app `s` must be a whole number, 0 or more, not the text \"64\"",
            "GR011 line 9, column 9: `count` of app `s` must be a whole number from 0 to 255, not 256",
            "GR011 line 10, column 11: `pattern` of app `s` must be a text, not 1.5",
        ],
    );
    check_spring(
        "size = -1",
        &["GR011 line 8, column 8: `size` of app `s` must be a whole number, 0 or more, not -1"],
    );
    check_spring(
        "size = [1, 2]\npattern = { a = 1 }",
        &[
            "GR011 line 8, column 8: `size` of app `s` must be a whole number, 0 or more, not a list",
            "GR011 line 9, column 11: `pattern` of app `s` must be a text, not a table",
        ],
    );
    check_spring("size = 5", &["GR012 line 8, column 8: `size` of app `s`: 5 is not between 14 and 100"]);
    check_spring(
        "worker = -1",
        &["GR011 line 8, column 10: `worker` of app `s` must be a whole number from 0 to 1023"],
    );
    check_spring(
        "pattern = \"absent\"",
        &["GR019 line 8, column 11: `pattern` of app `s`: there is no such file"],
    );
}

/// Those that an app says as well as those that its class does not read.
#[test]
fn all_wrong_options_of_all_apps_are_told() {
    check(
        "links=[\"a.output -> h.x\", \"b.output -> h.y\", \"c.output -> h.z\"]\n[app.h]\ntype=\"hub\"\npath=5\nrate=true\n\
         [app.a]\ntype=\"spring\"\nsize=101\ncount=101\n\
         [app.b]\ntype=\"spring\"\nsize=\"x\"\ncount=101\n\
         [app.c]\ntype=\"spring\"\nsize=17\ncuont=20\n",
        &[
            "GR011 line 4, column 6: `path` of app `h` must be a text, not 5",
            "GR011 line 5, column 6: `rate` of app `h` must be a number, not true",
            "GR012 line 8, column 6: `size` of app `a`: 101 is not between 14 and 100",
            "GR012 line 9, column 7: `count` of app `a`: 101 is not between 1 and 100",
            "GR011 line 12, column 6: `size` of app `b` must be a whole number, 0 or more, not the text \"x\"",
            "GR012 line 13, column 7: `count` of app `b`: 101 is not between 1 and 100",
            "GR009 line 17, column 1: app `c` is a `spring`, which has no option `cuont`; did you mean `count`?",
        ],
    );
}

#[test]
fn all_that_is_wrong_in_one_option_is_told() {
    let text = format!(
        "links=[\"h.a -> h.b\"]\n[app.h]\n{HUB}fast=1\nrules = [\n{{ port = 70000 }},\n{{ port = 1 }},\n{{ prt = 1 }},\n\
         {{ port = true, a = 1 }},\n5,\n{{ port = -1 }},\n{{ port = 99 }}]\n"
    );
    check(
        &text,
        &[
            "GR011 line 6, column 6: `fast` of app `h` must be true or false, not 1",
            "GR011 line 8, column 10: `rules[0].port` of app `h` must be a whole number from 0 to 65535, not 70000",
            "GR011 line 10, column 3: `rules[2]` of app `h` has no `prt`; did you mean `port`?",
            "GR011 line 11, column 10: `rules[3].port` of app `h` must be a whole number from 0 to 65535, not true",
            "GR011 line 11, column 16: `rules[3]` of app `h` has no `a`",
            "GR011 line 12, column 1: `rules[4]` of app `h` must be a table, not 5",
            "GR011 line 13, column 10: `rules[5].port` of app `h` must be a whole number from 0 to 65535, not -1",
        ],
    );
}

#[test]
fn options_that_must_be_set() {
    check(
        "links=[\"h.a -> h.b\"]\n[app.h]\ntype=\"hub\"\nrate=1",
        &["GR010 line 2, column 1: app `h` is a `hub`, which needs the option `path`"],
    );
    // One that is wrong is not missing as well.
    check(
        "links=[\"h.a -> h.b\"]\n[app.h]\ntype=\"hub\"\nrate=1\npath=1\nfast=0",
        &[
            "GR011 line 5, column 6: `path` of app `h` must be a text, not 1",
            "GR011 line 6, column 6: `fast` of app `h` must be true or false, not 0",
        ],
    );
}

#[test]
fn options_in_tables_below() {
    let text = format!(
        "links=[\"h.a -> h.b\"]\n[app.h]\n{HUB}[[app.h.rules]]\nport=1\n[[app.h.rules]]\nport=70000\n"
    );
    check(
        &text,
        &[
            "GR011 line 9, column 6: `rules[1].port` of app `h` must be a whole number from 0 to 65535, not 70000",
        ],
    );
    for (rules, at) in [
        (
            "rules = [{ port = 1 },\n{ port = 99 }]\n",
            "line 7, column 10: `rules[1].port` of app `h`: no such port",
        ),
        (
            "[[app.h.rules]]\nport=1\n[[app.h.rules]]\nport=99\n",
            "line 9, column 6: `rules[1].port` of app `h`: no such port",
        ),
        ("rules = [{ port = 98 }]\n", "line 6, column 19: `rules[0].port.deeper` of app `h`: no such port"),
    ] {
        let text = format!("links=[\"h.a -> h.b\"]\n[app.h]\n{HUB}{rules}");
        check(&text, &[&format!("GR012 {at}")]);
    }
    let text = format!("links=[\"h.a -> h.b\"]\n[app.h]\n{HUB}[[app.h.rules]]\nprt=1\n");
    check(&text, &["GR011 line 7, column 1: `rules` of app `h` has no `prt`; did you mean `port`?"]);
}

#[test]
fn what_an_option_says_over_several_lines_is_kept() {
    let text = "links=[]\n[app.s]\ntype=\"spring\"\npattern=\"x\"";
    let errors = GraphFile::parse(text, &registry()).unwrap_err().0;
    let error = errors.iter().find(|error| error.code == GraphCode::OptionValue).unwrap();
    assert_eq!(error.message, "`pattern` of app `s`: this is bad");
    assert_eq!(error.detail.as_deref(), Some("  | pattern\n  | ^^^"));
    assert_eq!((error.app.as_deref(), error.key.as_deref()), (Some("s"), Some("pattern")));
    assert_eq!(&text[error.span.clone()], "\"x\"");
}

#[test]
fn messages_have_one_line_whatever_names_are_in_it() {
    let text = "links=[]\n[app.s]\ntype=\"spring\"\n\"no\\u001b[31m\\nkey\"=1";
    let errors = GraphFile::parse(text, &registry()).unwrap_err().0;
    let error = errors.iter().find(|error| error.code == GraphCode::UnknownOption).unwrap();
    assert!(error.message.ends_with("has no option `no\\u{1b}[31m\\nkey`"), "{error:?}");
}

/// The class is to blame; who reads the file goes on.
#[test]
fn a_class_that_panics_when_it_checks_its_options() {
    let text = "links=[]\n[app.s]\ntype=\"spring\"\npattern=\"panic\"";
    let errors = GraphFile::parse(text, &registry()).unwrap_err().0;
    let error = errors.iter().find(|error| error.code == GraphCode::Failed).unwrap();
    assert!(error.message.contains("it failed when it was to check its options"), "{error}");
    assert!(error.message.contains("no such pattern"), "{error}");
}

#[test]
fn links_in_an_app() {
    check(
        "[app.s]\ntype=\"spring\"\nlinks = [\"s.output -> s.input\"]",
        &[
            "GR004 line 3, column 1: `links` stands in the table of app `s`; move `links = [...]` above the first [app...] table",
        ],
    );
}

#[test]
fn links() {
    let apps = format!("[app.s]\ntype=\"spring\"\n[app.h]\n{HUB}");
    let check_links = |links: &str, expected: &[&str]| check(&format!("links=[{links}]\n{apps}"), expected);
    check_links("\"s.output -> h.a\", \"h.b->h.c\"", &[]);
    check_links(
        "\"s.output h.a\", \"s.output ->\", 7, \"s.output -> h.\", \"s.output -> h.a\"",
        &[
            "GR013 line 1, column 8: `s.output h.a` is no link; did you mean \"s.output -> h.a\"?",
            "GR013 line 1, column 24: `s.output ->` is no link; write it as \"app.output -> app.input\"",
            "GR005 line 1, column 39: a link must be a text; write \"a.output -> b.input\"",
            "GR006 line 1, column 42: `` is no name for a port: use 1 to 30 letters, digits and underscores",
        ],
    );
    for (link, help) in [
        ("s -> h.a", "did you mean \"s.output -> h.a\"?"),
        ("h.a <- s.output", "did you mean \"s.output -> h.a\"?"),
        ("s to h.a", "did you mean \"s.output -> h.a\"?"),
        ("s.output => h.a", "did you mean \"s.output -> h.a\"?"),
        ("s, h.a, h.b", "each link is a text of its own: \"s.output -> h.a\", \"h.a -> h.b\""),
        ("s -> h", "write it as \"app.output -> app.input\""),
        ("s -> x.a.", "write it as \"app.output -> app.input\""),
        ("", "write it as \"app.output -> app.input\""),
    ] {
        let told = format!("GR013 line 1, column 8: `{link}` is no link; {help}");
        let Err(errors) = GraphFile::parse(&format!("links=[\"{link}\"]\n{apps}"), &registry()) else {
            panic!("{link}");
        };
        assert_eq!(format!("{} {}", errors.0[0].code, errors.0[0]), told);
    }
    check_links(
        "\"s.output -> x.a\", \"spring.output -> h.a\"",
        &[
            "GR014 line 1, column 21: no app is called `x`; add an app: [app.x]",
            "GR014 line 1, column 28: no app is called `spring`; add an app: [app.spring]",
        ],
    );
    check_links(
        "\"s.ouptut -> h.a\", \"h.b -> s.input\", \"h.c -> s.output\"",
        &[
            "GR015 line 1, column 9: app `s` is a `spring`, which has no output `ouptut`; did you mean `s.output`?",
            "GR015 line 1, column 35: app `s` is a `spring`, which has no input `input`",
            "GR015 line 1, column 53: app `s` is a `spring`, which has no input `output`; `output` is an output: links lead from outputs to inputs",
        ],
    );
    check_links(
        "\"s.output -> h.a\", \"s.output -> h.b\", \"h.c -> h.a\"",
        &[
            "GR016 line 1, column 28: two links leave `s.output`; put a `tee` between to send copies to both",
            "GR016 line 1, column 54: two links reach `h.a`; put a `join` between, which merges them",
        ],
    );
}

#[test]
fn an_app_that_is_wrong_does_not_make_its_links_wrong() {
    check(
        "links=[\"s.output -> t.input\"]\n[app.s]\ntype=\"spring\"\nsize=1\n[app.t]\ntype=\"tea\"",
        &[
            "GR012 line 4, column 6: `size` of app `s`: 1 is not between 14 and 100",
            "GR008 line 6, column 6: there is no type `tea`; the types that there are: `hub`, `spring`",
        ],
    );
}

#[test]
fn the_same_name_twice() {
    check(
        "links=[]\n[app.s]\ntype=\"spring\"\n[app.s]\ntype=\"spring\"",
        &["GR017 line 4, column 6: two apps are called `s`; give each a name of its own"],
    );
}

#[test]
fn names() {
    check(
        "links=[]\n[app.\"a b\"]\ntype=\"spring\"",
        &["GR006 line 2, column 6: `a b` is no name for an app: use 1 to 30 letters, digits and underscores"],
    );
}

#[test]
fn hostile_texts_end_soon() {
    let begin = std::time::Instant::now();
    let is_limited = |text: &str| match GraphFile::parse(text, &registry()) {
        Ok(_) => panic!("this should not be a graph"),
        Err(errors) => assert!(errors.0.len() <= 100, "{}", errors.0.len()),
    };
    is_limited(&"x".repeat(GraphFile::LEN_MAX + 1));
    is_limited(&"[".repeat(GraphFile::LEN_MAX));
    is_limited(&format!("a = {}", "[".repeat(100_000)));
    is_limited(&"=\n".repeat(100_000));
    is_limited(&"a = 1\n".repeat(40_000));
    let apps: String = (0..4096).map(|app| format!("[app.app_{app}]\ntype = \"spring\"\n")).collect();
    let links: Vec<String> =
        (0..4096).map(|link| format!("\"ap_{link}.output -> app_{link}.input\"")).collect();
    is_limited(&format!("links = [{}]\n{apps}", links.join(",")));
    let options: String = (0..100_000).map(|option| format!("option_{option} = 1\n")).collect();
    is_limited(&format!("[app.s]\ntype=\"spring\"\n{options}"));
    is_limited(&format!("[app.s]\ntype=\"{}\"", "spring".repeat(100_000)));
    // The path of each item would begin with the name of the list.
    let (name, items) = ("n".repeat(1 << 19), "1,".repeat(1 << 19));
    is_limited(&format!("[app.s]\ntype=\"spring\"\n{name} = [{items}]\npattern = [{items}]"));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn as_many_apps_and_links_as_there_may_be() {
    let apps: String = (0..4096).map(|app| format!("[app.app_{app}]\n{HUB}")).collect();
    let links: Vec<String> =
        (0..4096).map(|link| format!("\"app_{link}.b -> app_{}.a\"", (link + 1) % 4096)).collect();
    let begin = std::time::Instant::now();
    let file = GraphFile::parse(&format!("links = [{}]\n{apps}", links.join(",")), &registry()).unwrap();
    assert_eq!((file.graph.apps().len(), file.graph.links().len(), file.warnings.len()), (4096, 4096, 1));
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    check(
        &format!("{apps}[app.one_more]\n{HUB}").replace("\n\n", "\n"),
        &["GR002 line 1, column 2: 4097 apps; there can be 4096 at most"],
    );
}

#[test]
fn every_prefix_of_a_graph_is_read_without_panic() {
    let text = format!(
        "links = [\"s.output -> h.a\",]\n[app.s]\ntype='spring'\nsize=0x40\n[app.\"h\"]\n{HUB}[[app.h.rules]]\nport=1\n"
    );
    for end in 0..text.len() {
        for extra in [
            "",
            "\"",
            "]",
            "\n[app.s]",
            "\n[[app.s]]",
            "\n[app.h.rules]",
            "\napp.s.x=1",
            "\u{1f980}",
            "\n[app]",
            "\n[[app.h.rules.port]]",
        ] {
            let _ = GraphFile::parse(&format!("{}{extra}", &text[..end]), &registry());
        }
    }
}

/// A class that is made at run time: it sends packets to its outputs in turn, and counts what comes in.
#[derive(Clone, Debug, PartialEq)]
struct Scripted {
    info: ClassInfo,
    left: u64,
}

struct Script {
    left: u64,
    came: engine::shm::Counter,
}

impl Scripted {
    /// With so many lanes out, whose number is in its name.
    fn registered(registry: Registry, lanes: usize) -> Registry {
        let name = |lane| format!("lane{lane}");
        let inputs = if lanes == 0 { Ports::listed(["in".to_owned()]) } else { Ports::NONE };
        let info = ClassInfo::new(
            format!("script{lanes}"),
            inputs,
            Ports::listed((0..lanes).map(name)),
            Passage::Through,
        );
        let class = info.clone();
        let read = move |options: &OptionValue| {
            let OptionValue::Table(options) = options else { return Err(wrong("no table")) };
            let left = match options.get("packets") {
                Some(OptionValue::Integer(count @ 0..=1000)) => *count as u64,
                None => 0,
                Some(_) => {
                    return Err(wrong("it is no number up to 1000").behind(Step::Name("packets".to_owned())));
                }
            };
            Ok(Config::new(Scripted { info: class.clone(), left }))
        };
        registry.with_class(info, Some(vec!["packets".to_owned()]), read)
    }
}

fn wrong(message: &str) -> ReadError {
    serde::de::Error::custom(message)
}

impl Class for Scripted {
    const TYPE: &'static str = "script";
    type App = Script;

    fn info(&self) -> ClassInfo {
        self.info.clone()
    }

    fn start(&self, setup: &mut Setup<'_>) -> Result<Script, OptionError> {
        Ok(Script { left: self.left, came: setup.delivered() })
    }
}

impl App for Script {
    fn roles(&self) -> Roles {
        Roles::PULL.and(Roles::PUSH)
    }

    fn pull(&mut self, io: &mut Io<'_>) {
        let lanes = io.outputs.len();
        while self.left > 0 {
            let Some(packet) = io.pool.packet(b"packet") else { return };
            io.outputs[self.left as usize % lanes].put(packet);
            self.left -= 1;
        }
    }

    fn push(&mut self, io: &mut Io<'_>) {
        for input in &mut *io.inputs {
            while let Some(burst) = input.burst() {
                io.pool.free_burst(burst, &self.came);
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.left == 0
    }
}

#[test]
fn classes_and_ports_of_run_time_run() {
    let lanes = 2 + std::process::id() as usize % 3;
    let registry = Scripted::registered(Scripted::registered(registry(), lanes), 0);
    let links: Vec<String> = (0..lanes).map(|lane| format!("'s.lane{lane} -> e{lane}.in'")).collect();
    let ends: String = (0..lanes).map(|lane| format!("[app.e{lane}]\ntype = 'script0'\n")).collect();
    let text = |packets: &str| {
        format!("links = [{}]\n[app.s]\ntype = 'script{lanes}'\n{packets}\n{ends}", links.join(", "))
    };
    let file = GraphFile::parse(&text("packets = 12"), &registry).unwrap();
    let mut engine = Engine::new(Settings::new().unwrap()).unwrap();
    engine.configure(&file.graph).unwrap();
    engine.run(|_| true).unwrap();
    let report = engine.report();
    assert!(report.balanced(), "{:?}", report.imbalances);
    assert_eq!((report.delivered, &*report.apps["s"].class), (12, &*format!("script{lanes}")));
    assert_eq!(report.links.iter().map(|link| link.txpackets).sum::<u64>(), 12);

    let told = |text: &str| GraphFile::parse(text, &registry).unwrap_err().to_string();
    assert_eq!(
        told(&text("packets = 'x'")),
        "line 4, column 11: `packets` of app `s`: it is no number up to 1000"
    );
    assert_eq!(
        told(&text("packet = 1")),
        format!(
            "line 4, column 1: app `s` is a `script{lanes}`, which has no option `packet`; did you mean `packets`?"
        )
    );
    let port = told(&text("").replace("s.lane1", "s.lane9"));
    assert!(port.contains(&format!("app `s` is a `script{lanes}`, which has no output `lane9`")), "{port}");
    // Another number of lanes is another class: the app is started anew.
    let other = Scripted::registered(registry.clone(), lanes + 1);
    let changed = text("").replace(&format!("script{lanes}"), &format!("script{}", lanes + 1));
    let changes = engine.configure(&GraphFile::parse(&changed, &other).unwrap().graph).unwrap();
    assert_eq!((&changes.stopped[..], &changes.started[..]), (&["s".to_owned()][..], &["s".to_owned()][..]));
}

#[test]
fn codes_are_in_order() {
    assert!(GraphCode::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(GraphCode::NoLink.to_string(), "GR101");
}
