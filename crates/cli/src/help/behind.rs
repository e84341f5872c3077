//! What stands behind the options in the help of a command, and has sections of its own in its man page.

use crate::args::{Net, RulesShape, WallMode};
use clap::ValueEnum;
use clap::builder::PossibleValue;

/// The texts of one command.
#[derive(Debug)]
pub(crate) struct Behind {
    /// What nobody can do without: a line each, also in `-h`.
    pub(crate) first: &'static [&'static str],
    /// More of it: a paragraph each.
    pub(crate) notes: &'static [&'static str],
    /// What there is to choose from.
    pub(crate) table: Option<Table>,
    /// Commands as they are typed.
    pub(crate) examples: &'static [&'static str],
    /// The codes, and what they mean. None of a command that is only a group of others.
    pub(crate) exit_codes: &'static [(&'static str, &'static str)],
}

/// Names, and what they stand for.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) heading: &'static str,
    pub(crate) rows: fn() -> Vec<(String, String)>,
}

impl Behind {
    /// For `-h`.
    pub(super) fn brief(&self) -> String {
        [self.first.join("\n"), self.examples()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n")
    }

    /// For `sluss help`.
    pub(super) fn in_full(&self) -> String {
        let mut parts = vec![self.first.join("\n")];
        parts.extend(self.notes.iter().map(|&note| note.to_owned()));
        parts.extend(
            self.table.as_ref().map(|table| format!("{}:\n{}", table.heading, columns(&(table.rows)()))),
        );
        parts.push(self.examples());
        if !self.exit_codes.is_empty() {
            parts.push(format!("Exit codes:\n{}", columns(self.exit_codes)));
        }
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn examples(&self) -> String {
        match self.examples {
            [] => String::new(),
            examples => format!("Examples:\n  {}", examples.join("\n  ")),
        }
    }
}

/// Two columns, indented.
pub(crate) fn columns<T: AsRef<str>>(rows: &[(T, T)]) -> String {
    let width = rows.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0);
    let lines =
        rows.iter().map(|(name, meaning)| format!("  {:width$}  {}", name.as_ref(), meaning.as_ref()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The texts of a command, by the words that lead to it.
pub(crate) fn behind(command: &str) -> &'static Behind {
    match command {
        "" => &SLUSS,
        "filter" => &FILTER,
        "info" => &INFO,
        "match" => &MATCH,
        "compile" => &COMPILE,
        "explain" => &EXPLAIN,
        "trace" => &TRACE,
        "blast" => &BLAST,
        "run" => &RUN,
        "new" => &NEW,
        "new app" => &NEW_APP,
        "new annotations" => &NEW_ANNOTATIONS,
        "snsh" => &SNSH,
        "apps" => &APPS,
        "bench" => &BENCH,
        "bench engine" => &ENGINE,
        "bench io" => &IO_BENCH,
        "bench rules" => &RULES_BENCH,
        "bench wall" => &WALL_BENCH,
        "quickcheck" => &QUICKCHECK,
        "wall" => &WALL,
        "wall spy" => &WALL_SPY,
        "wall filter" => &WALL_FILTER,
        "wall import" => &WALL_IMPORT,
        "wall run" => &WALL_RUN,
        "wall check" => &WALL_CHECK,
        "wall test" => &WALL_TEST,
        "wall why" => &WALL_WHY,
        "wall reload" => &WALL_RELOAD,
        "wall stats" => &WALL_STATS,
        "wall protocols" => &WALL_PROTOCOLS,
        "set" => &SET,
        "set build" => &SET_BUILD,
        "set add" => &SET_ADD,
        "set del" => &SET_DEL,
        "set check" => &SET_CHECK,
        "set test" => &SET_TEST,
        "set stats" => &SET_STATS,
        "ps" => &PS,
        "top" => &TOP,
        "doctor" => &DOCTOR,
        "completions" => &COMPLETIONS,
        "man" => &MAN,
        _ => &NOTHING,
    }
}

const WRONG_FLAG: (&str, &str) = ("2", "wrong flag");
const WRONG_FILTER: (&str, &str) = ("2", "wrong filter or flag");
const REFUSED: (&str, &str) = ("3", "the system refused");
const INTERNAL: (&str, &str) = ("4", "internal error");
const DAMAGED: (&str, &str) = ("5", "incomplete: the input is damaged, cut off or not a capture");

const NOTHING: Behind = Behind { first: &[], notes: &[], table: None, examples: &[], exit_codes: &[] };

const SLUSS: Behind = Behind {
    exit_codes: &[
        ("0", "done, matched"),
        ("1", "nothing matched"),
        WRONG_FILTER,
        REFUSED,
        INTERNAL,
        ("5", "incomplete: an input is damaged, cut off or not a capture"),
    ],
    ..NOTHING
};

const FILTER: Behind = Behind {
    notes: &[
        "FILE is a pcap or pcapng capture (plain, gzip or zstd, told by content), a folder, a glob or `-`. FILTER is \
         pcap-filter(7) text, or @FILE that holds it. Without -o, --count, --fields, --csv and --json, a line is \
         printed for each packet, on a terminal and into a pipe; a capture goes to a pipe with `-o -`. With -i, packets of a device take the place of captures, and all words are the filter.",
    ],
    examples: &[
        "sluss filter 'tcp port 80' trace.pcap -o web.pcap",
        "sluss filter trace.pcap -f arp -o arp.pcap -f 'port 53' -o dns.pcap",
        "sluss filter -i eth0 -w web.pcap tcp port 80",
    ],
    exit_codes: &[
        ("0", "at least one packet matched, or --no-fail"),
        ("1", "no packet matched"),
        WRONG_FILTER,
        REFUSED,
        INTERNAL,
        ("5", "damaged, cut off or no capture; more lost than --max-loss"),
        ("129, 130 and 143", "ended by SIGHUP, SIGINT or SIGTERM (with -i: 0 or 1)"),
    ],
    ..NOTHING
};

const INFO: Behind = Behind {
    notes: &[
        "FILE is a pcap or pcapng capture (plain, gzip or zstd, told by content), a folder, a glob or `-`. Each is read to its end. Bytes are \
         those on the wire; times are the earliest and the latest of a packet, in UTC.",
    ],
    examples: &[
        "sluss info trace.pcap",
        "sluss info --json captures/ | jq -r 'select(.complete | not).file'",
    ],
    exit_codes: &[
        ("0", "done"),
        WRONG_FLAG,
        REFUSED,
        INTERNAL,
        ("5", "a capture is damaged, cut off, unreadable or none"),
    ],
    ..NOTHING
};

const MATCH: Behind = Behind {
    notes: &[
        "PROGRAM is `match { TEST => HANDLER, … }`, or @FILE that holds it. The first clause decides whose TEST holds: a pcap-filter(7) \
         text, or `otherwise`. HANDLER may have arguments, `web(ip[8], len)`, or be a block of clauses, `{ … }`. `--` begins a comment.",
        "With --count, each call is a line with the number of its packets, `-` for packets that no clause takes, sorted. With -o, the packets of \
         each handler go to a capture. With neither, each packet is a line that begins with its call.",
    ],
    examples: &[
        "sluss match --count 'match { tcp port 80 => web, otherwise => rest }' a.pcap",
        "sluss match -F split.match a.pcap -o web=web.pcap -o -=rest.pcap",
        "sluss match --count 'match { ip => from(ip[12:2]) }' a.pcap",
    ],
    exit_codes: &[
        ("0", "a clause took a packet, or --no-fail"),
        ("1", "no clause took a packet"),
        ("2", "wrong program or flag"),
        REFUSED,
        INTERNAL,
        ("5", "an input is damaged, cut off, unreadable or no capture"),
        ("129, 130 and 143", "ended by SIGHUP, SIGINT or SIGTERM; the output is whole"),
    ],
    ..NOTHING
};

const COMPILE: Behind = Behind {
    notes: &[
        "With `--to c` a filter becomes a function for programs without sluss, `int NAME(const uint8_t *data, size_t captured, \
         uint32_t wire_len)` in C99, which returns 1 where the packet matches and reads no byte behind the captured ones. NAME is \
         `filter` unless --name says otherwise.",
        "With `--to cbpf` it becomes a program of classic BPF, for SO_ATTACH_FILTER, libpcap or xt_bpf, which returns 262144 where the packet \
         matches, else 0.",
    ],
    table: Some(Table {
        heading: "Stages, in order",
        rows: || {
            let meanings = [
                "words and signs",
                "the syntax tree with spans",
                "the tree of tests, offsets resolved",
                "the decision graph as built",
                "the decision graph after optimisation",
                "a view of it: named values",
                "a view of it: blocks with dominators",
                "instructions over virtual registers",
                "instructions over machine registers",
                "machine code with the words it came from",
                "the same in hexadecimal, with tables",
            ];
            let names = pflang::Stage::ALL.iter().map(|stage| stage.name().to_owned());
            names.zip(meanings.map(str::to_owned)).collect()
        },
    }),
    examples: &[
        "sluss compile --stage optimised 'vlan and ip'",
        "sluss compile --to c --name is_web -o is_web.c 'tcp port 80'",
        "sluss compile --to cbpf --format d 'udp port 53'",
    ],
    exit_codes: &[("0", "done"), WRONG_FILTER, REFUSED, INTERNAL],
    ..NOTHING
};

const EXPLAIN: Behind = Behind {
    notes: &["Warnings say where the meaning may surprise."],
    examples: &["sluss explain 'not vlan and udp'", "sluss explain -y LINUX_SLL2 tcp port 80"],
    exit_codes: &[("0", "done"), WRONG_FILTER, REFUSED, INTERNAL],
    ..NOTHING
};

const TRACE: Behind = Behind {
    notes: &["For each primitive of the filter: the bytes that it read, the value, and the outcome."],
    examples: &["sluss trace 'tcp port 80' trace.pcap -n 17"],
    exit_codes: &[
        ("0", "the packet matches, or --no-fail"),
        ("1", "the packet does not match"),
        ("2", "wrong filter or flag, or no packet of this number"),
        REFUSED,
        INTERNAL,
        DAMAGED,
    ],
    ..NOTHING
};

const BLAST: Behind = Behind {
    first: &["TARGET is a device, `tap:NAME`, `null`, or a file: dir/file, x.pcap, x.pcapng."],
    notes: &[
        "Without --rate, packets are sent as fast as the device takes them. Without --loop, --count and --duration it goes on until interrupted, or a pipe is at its end.",
    ],
    examples: &[
        "sluss blast trace.pcap --to eth0 --rate 1Mpps --duration 10s",
        "sluss blast --synth --size 60,1514 --src 198.18.0.0/22 --flows 1000 --to null",
        "sluss blast --synth --count 1000 --to made.pcap",
    ],
    exit_codes: &[
        ("0", "sent"),
        WRONG_FLAG,
        REFUSED,
        ("4", "packets unaccounted for"),
        ("5", "not all were read or sent"),
        ("129, 130 and 143", "ended by SIGHUP, SIGINT or SIGTERM, after the summary"),
    ],
    ..NOTHING
};

const NEW: Behind =
    Behind { examples: &["sluss new app my_app --lua", "sluss new annotations .sluss"], ..NOTHING };

const NEW_APP: Behind = Behind {
    notes: &[
        "The folder NAME is made, with the app, a test, a network that runs it, and a README. Nothing that is there is overwritten.",
    ],
    examples: &["sluss new app my_app --lua", "sluss new app my_app --rust"],
    exit_codes: &[("0", "made"), ("2", "no name for an app, or there already"), REFUSED],
    ..NOTHING
};

const NEW_ANNOTATIONS: Behind = Behind {
    notes: &[
        "An editor with lua-language-server shows the types of packets, links and functions, if .luarc.json names the folder as a library.",
    ],
    examples: &["sluss new annotations .sluss"],
    exit_codes: &[("0", "written"), ("2", "a file is there that is no annotation"), REFUSED],
    ..NOTHING
};

const SNSH: Behind = Behind {
    notes: &[
        "The options are followed in their order; then FILE is run, then the prompt is shown. A line at the prompt is a statement, or an expression, whose \
         values are printed.",
    ],
    examples: &[
        "sluss snsh -e 'print(packet.from_string(\"abc\").length)'",
        "sluss snsh -jv program.lua",
        "sluss --snabb snabb/src snsh -t lib.ctable",
    ],
    exit_codes: &[
        ("0", "done"),
        ("1", "the program raised an error"),
        ("2", "not Lua, or a wrong flag"),
        REFUSED,
        ("any", "the program has called `main.exit`"),
    ],
    ..NOTHING
};

const RUN: Behind = Behind {
    first: &[
        "GRAPH is TOML: `links = [\"a.output -> b.input\"]`, then a table for each app:",
        "[app.NAME], with `type = \"...\"` and its options; `sluss apps` lists them.",
    ],
    notes: &[
        "It runs until it is finished or told to stop. When the file changes, or on SIGHUP, what runs changes by difference; a wrong file changes nothing. On a \
         terminal, it ends when that hangs up.",
        "With --sandbox, a program in Lua that is not trusted can do no harm: it touches packets, the captures that --sandbox-read and --sandbox-write name, and nothing else.",
        "A GRAPH that ends in `.lua` is a program for Snabb; with --snabb, the name of one of that tree is one as well. It says itself how long it runs; what stands behind \
         its name is its own.",
    ],
    examples: &[
        "sluss run --check net.toml",
        "sluss run net.toml --duration 1m",
        "sluss run examples/lua/replay.lua in.pcap eth0",
        "sluss --snabb ~/snabb run snabbmark basic1 100e6",
    ],
    exit_codes: &[
        ("0", "finished"),
        ("1", "a program in Lua raised an error, or an app of it did"),
        ("2", "wrong graph, or a program that is not Lua"),
        REFUSED,
        ("4", "packets unaccounted for, or an app failed before it ran"),
        ("5", "a capture is damaged or none, or an app was down at the end"),
        ("129, 130 and 143", "ended by a hangup, SIGINT and SIGTERM, after the report"),
    ],
    ..NOTHING
};

const APPS: Behind = Behind {
    notes: &["All there is to tell of a type: its ports, options, counters and drops, with an example."],
    examples: &["sluss apps filter counter"],
    exit_codes: &[("0", "done"), ("2", "no such type")],
    ..NOTHING
};

const BENCH: Behind = Behind { ..NOTHING };

/// Values of a flag, with what each is.
fn described<V: ValueEnum>() -> Vec<(String, String)> {
    let values = V::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let about = |value: &PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
    values.map(|value| (value.get_name().to_owned(), about(&value))).collect()
}

const ENGINE: Behind = Behind {
    notes: &[
        "Packets are those that leave the source; time is the CPU time of the process, after half a second of warm-up. \
         Figures of different machines, or of one machine at different times, do not compare: measure both sides in one run.",
    ],
    table: Some(Table { heading: "Networks", rows: described::<Net> }),
    examples: &["sluss bench engine --net tee", "sluss bench engine --net filter --pcap trace.pcap"],
    exit_codes: &[
        ("0", "measured"),
        WRONG_FLAG,
        REFUSED,
        ("4", "packets unaccounted for, or an app failed"),
        DAMAGED,
    ],
    ..NOTHING
};

const IO_BENCH: Behind = Behind {
    notes: &[
        "All runs on one thread, in turn: what sends, what receives, and the kernel's work in between, whose time is counted as well. \
         `af_packet` and `nfqueue` run in a network namespace of their own, as root.",
        "Where dpdk-testpmd is installed, `dpdk` is compared with it: forward mode `macswap` with --app swap, else `io`, in the same kind of memory.",
    ],
    examples: &["sluss bench io --chain dpdk --app swap --json"],
    exit_codes: &[
        ("0", "done"),
        WRONG_FLAG,
        ("3", "what the chain needs is missing, or the system refused"),
        INTERNAL,
    ],
    ..NOTHING
};

const RULES_BENCH: Behind = Behind {
    notes: &[
        "Times are medians of chunks of 256 headers: each header looked up on its own, and all in a batch. Answers are compared with a linear scan, for 10,000 \
         headers or more. Rules count from 0.",
    ],
    table: Some(Table { heading: "Shapes", rows: described::<RulesShape> }),
    examples: &[
        "sluss bench rules --classbench rules.txt --json",
        "sluss bench rules --shape notes --n 16384",
    ],
    exit_codes: &[
        ("0", "measured, and all answers are those of the scan"),
        ("2", "wrong flag, or a line that is no rule or no header"),
        ("3", "no such file"),
        ("4", "answers differ"),
    ],
    ..NOTHING
};

const WALL_BENCH: Behind = Behind {
    notes: &[
        "Packets are replayed from memory for two seconds of CPU time or more, that of changing their addresses included, and nDPI never makes \
         them wait but where its ring is three quarters full. Compare what was measured in turn on one machine.",
    ],
    table: Some(Table { heading: "Modes", rows: described::<WallMode> }),
    examples: &[
        "sluss bench wall --mode churn trace.pcap",
        "sluss bench wall --mode cached --flows 4000000 --json",
    ],
    exit_codes: &[("0", "measured"), WRONG_FLAG, REFUSED, DAMAGED],
    ..NOTHING
};

const WALL: Behind = Behind { ..NOTHING };

const WALL_IMPORT: Behind = Behind {
    notes: &[
        "The program has the handlers `accept`, `drop` and `reject`, and decides about each packet as the rules do. A line that cannot be expressed is told with \
         its number, and then nothing is written.",
    ],
    examples: &[
        "iptables-save | sluss wall import - -o rules.pfm",
        "sluss wall import rules.v4 sets.ipset --chain FORWARD",
        "sluss match --count -F rules.pfm trace.pcap",
    ],
    exit_codes: &[
        ("0", "done"),
        ("2", "a line that cannot be expressed, or which chain is not clear"),
        ("3", "no such file"),
    ],
    ..NOTHING
};

const WALL_SPY: Behind = Behind {
    notes: &[
        "The report has a line for each flow, in the order of their first packets: a number that stands for the flow, its packets, its ends and \
         what it speaks. A flow is identified by what it says, by our own code at first, and by nDPI where that leaves it open; never by its ports alone.",
        "nDPI runs in a process of its own, which can do nothing but answer; where it is not installed, our own code is all there is.",
    ],
    examples: &["sluss wall spy pcap trace.pcap --table", "sudo sluss wall spy raw eth0 --live --stats"],
    exit_codes: &[
        ("0", "done"),
        WRONG_FLAG,
        ("3", "no such input, no nDPI, or the system refused"),
        INTERNAL,
        DAMAGED,
        ("129, 130 and 143", "ended by SIGHUP, SIGINT or SIGTERM; all until then is told"),
    ],
    ..NOTHING
};

const WALL_FILTER: Behind = Behind {
    notes: &[
        "RULES is a table of SnabbWall: for each protocol `accept`, `drop`, `reject`, or a pfmatch program that calls these and may ask for \
         flow_count, the packets of the flow so far. `default` is for all others, and for flows not yet identified. It is read, never executed.",
        "The ends of a rejected TCP connection are reset; senders of other packets get an ICMP error, from the address given by -4 and -6, or else from \
         the one that they wrote to.",
    ],
    examples: &["sluss wall filter -p -e \"{ HTTP = 'reject', default = 'accept' }\" pcap a.pcap"],
    exit_codes: &[
        ("0", "done"),
        ("2", "wrong rules or flag"),
        ("3", "no such input, or the system refused"),
        INTERNAL,
        DAMAGED,
    ],
    ..NOTHING
};

const WRONG_POLICY: (&str, &str) = ("2", "wrong policy or flag");

const WALL_RUN: Behind = Behind {
    notes: &[
        "The first rule of POLICY that takes a packet decides it. Of captures, packets are judged by what is known when they come, the same in every run.",
        "Between devices, packets that are accepted go on to the other one, and ends of rejected flows are told. SIGHUP, or `sluss wall reload`, has the policy read again; one that is wrong changes nothing.",
        "Live, the wall gives up its capabilities when its devices are open, and confines itself by Landlock and seccomp as far as the kernel has these. \
         Behind a queue it keeps CAP_NET_ADMIN, and --in and --out say what `in` and `out` of rules are.",
    ],
    examples: &[
        "sluss wall run policy.toml trace.pcap -o accepted.pcap",
        "sudo sluss wall run policy.toml --inline eth0 eth1",
        "sudo sluss wall run policy.toml --nfqueue 5",
    ],
    exit_codes: &[
        ("0", "done"),
        WRONG_POLICY,
        ("3", "no such input or device, or the system refused"),
        INTERNAL,
        DAMAGED,
        ("129, 130 and 143", "ended by SIGHUP, SIGINT or SIGTERM; all until then is told"),
    ],
    ..NOTHING
};

const WALL_CHECK: Behind = Behind {
    notes: &[
        "A rule looks at the packet alone, at its flow, or at what the flow speaks: the less, the sooner it decides.",
    ],
    examples: &["sluss wall check policy.toml"],
    exit_codes: &[("0", "nothing is wrong"), WRONG_POLICY, REFUSED],
    ..NOTHING
};

const WALL_TEST: Behind = Behind {
    examples: &["sluss wall test policy.toml"],
    exit_codes: &[
        ("0", "all passed"),
        ("1", "one failed"),
        ("2", "wrong policy or flag, or no tests"),
        REFUSED,
        DAMAGED,
    ],
    ..NOTHING
};

const WALL_WHY: Behind = Behind {
    examples: &["sluss wall why policy.toml trace.pcap -n 17"],
    exit_codes: &[("0", "told"), ("2", "wrong policy or flag, or no such packet"), REFUSED, DAMAGED],
    ..NOTHING
};

const WALL_RELOAD: Behind = Behind {
    examples: &["sluss wall reload /run/sluss/control"],
    exit_codes: &[
        ("0", "another policy is in force"),
        ("2", "the policy is wrong; the one before it stays"),
        ("3", "no wall answers"),
    ],
    ..NOTHING
};

const WALL_STATS: Behind = Behind {
    examples: &["sluss wall stats /run/sluss/control --json"],
    exit_codes: &[("0", "told"), WRONG_FLAG, ("3", "no wall answers")],
    ..NOTHING
};

const WALL_PROTOCOLS: Behind = Behind {
    examples: &["sluss wall protocols", "sluss wall protocols mail"],
    exit_codes: &[("0", "done"), ("1", "none has this in its name"), WRONG_FLAG],
    ..NOTHING
};

const QUICKCHECK: Behind = Behind {
    notes: &[
        "Every engine answers every pair that it knows; the first that differs from the interpreter ends the run, and its filter and packet \
         are made small. Engines: interpreter, machine code, bursts, the mask VM, BPF bytecode here and in the kernel, libpcap's \
         bytecode where there is a libpcap, C where there is a `cc`.",
        "A line for an engine is FILTER, link type, length on the wire and packet in hexadecimal, separated by tabs. The answer is a line \
         of 1 or 0; for a program, which begins with `match`, the call as handler(1,2), or 0; `-` for what the engine does not know.",
    ],
    examples: &["sluss quickcheck --seconds 60", "sluss quickcheck --seed 7 --engine mine='./mine --lines'"],
    exit_codes: &[
        ("0", "all answers agree"),
        ("1", "a disagreement was found"),
        WRONG_FLAG,
        REFUSED,
        INTERNAL,
    ],
    ..NOTHING
};

const SET: Behind = Behind { ..NOTHING };

const WRONG_LIST: (&str, &str) = ("2", "the list is wrong, or a flag");

/// What a list may be.
const LISTS: &str = "A list has an entry a line: an address, a prefix, a range, a port, a MAC address, or an address and a port \
     (10.0.0.1,80); `#` and `;` begin comments, and a word behind an address is its value. Told by content, it may be what `ipset save` or \
     `nft list ruleset` prints, CSV with a column `ip`, or JSON, as FireHOL, Spamhaus and AbuseIPDB publish them.";

const SET_BUILD: Behind = Behind {
    notes: &[
        LISTS,
        "What overlaps or touches is joined; prefixes that are left are written as prefixes, and other intervals as ranges.",
    ],
    examples: &["sluss set build drop.txt level1.netset -o bad.txt"],
    exit_codes: &[("0", "written"), WRONG_LIST, REFUSED, INTERNAL],
    ..NOTHING
};

/// How sets of what runs change.
const CHANGED: &str = "It is in effect when the command ends: filters with the set are compiled anew beside what runs, and swapped between two bursts. The \
     file of the set stays as it is, and the change lasts as long as what runs; for a time, and it is as the file says afterwards. \
     The last change of an address decides.";

/// Why they may not.
const UNCHANGED: (&str, &str) =
    ("2", "nothing has changed: no such set or instance, what is no address, or a flag");

const SET_ADD: Behind = Behind {
    notes: &[CHANGED],
    examples: &[
        "sluss set add edge blocked.txt 192.0.2.7 --timeout 1h",
        "sluss set add /run/wall.sock blocked - < addresses.txt",
    ],
    exit_codes: &[("0", "in effect"), UNCHANGED, REFUSED, INTERNAL],
    ..NOTHING
};

const SET_DEL: Behind = Behind {
    notes: &[CHANGED, "An address is not in the set from now on, whichever prefix of it holds it."],
    examples: &["sluss set del edge blocked.txt 192.0.2.7"],
    exit_codes: &[("0", "in effect"), UNCHANGED, REFUSED, INTERNAL],
    ..NOTHING
};

const SET_CHECK: Behind = Behind {
    notes: &[LISTS],
    examples: &["sluss set check level1.netset", "sluss set check --name bad ipset.save"],
    exit_codes: &[("0", "nothing is wrong"), WRONG_LIST, REFUSED, INTERNAL],
    ..NOTHING
};

const SET_TEST: Behind = Behind {
    notes: &[
        LISTS,
        "Each answer is a line: what was asked, a tab, and yes or no; for a map, the value or no. What is no address is told on standard error \
         with its line, and the others are answered.",
    ],
    examples: &["sluss set test bad.txt 192.0.2.1 2001:db8::1", "sluss set test bad.txt - < addresses.txt"],
    exit_codes: &[
        ("0", "all are members"),
        ("1", "one is not"),
        ("2", "the list is wrong, a flag, or what was asked"),
        REFUSED,
        INTERNAL,
    ],
    ..NOTHING
};

const SET_STATS: Behind = Behind {
    notes: &[LISTS],
    examples: &["sluss set stats bad.txt"],
    exit_codes: &[("0", "done"), WRONG_LIST, REFUSED, INTERNAL],
    ..NOTHING
};

const PS: Behind = Behind {
    notes: &[
        "Instances keep their counters in a file each: NAME.PID.counters in $SLUSS_RUNTIME_DIR, else $XDG_RUNTIME_DIR/sluss, \
         /run/sluss or /tmp/sluss-UID. That of a crashed one stays, until --clean removes it.",
    ],
    exit_codes: &[("0", "done"), WRONG_FLAG, REFUSED],
    ..NOTHING
};

const TOP: Behind = Behind {
    first: &["Keys: q quits, ? shows the others, and what the columns mean."],
    notes: &[
        "Wire bit/s are those that the packets take on an Ethernet, with 24 bytes each for preamble, checksum and gap. \
         Fill is packets in a breath as a share of the burst, more than 100 % where bursts of several links meet or a link from another worker is emptied; \
         p50 and p99 are of turns in the interval, exact to a quarter.",
    ],
    examples: &["sluss top edge", "sluss top --once --json"],
    exit_codes: &[
        ("0", "shown"),
        ("1", "no instance at all"),
        ("2", "none of that name or number"),
        REFUSED,
        ("129, 130, 131 and 143", "ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM"),
    ],
    ..NOTHING
};

const DOCTOR: Behind = Behind {
    notes: &[
        "A line a check: `ok`; `warn`, it works but not as well; `fail`, what it is needed for does not work; `unknown`. \
         Below stands the one command that mends it. Nothing is changed.",
    ],
    examples: &["sluss doctor eth0", "sluss doctor nfqueue --json"],
    exit_codes: &[
        ("0", "nothing to mend"),
        ("1", "something to mend: a check is `warn` or `fail`"),
        WRONG_FLAG,
        ("3", "no such device, or the system refused"),
    ],
    ..NOTHING
};

const COMPLETIONS: Behind = Behind {
    examples: &["source <(sluss completions bash)"],
    exit_codes: &[("0", "done"), WRONG_FLAG, REFUSED, INTERNAL],
    ..NOTHING
};

const MAN: Behind = Behind {
    examples: &["sluss man ~/.local/share/man/man1"],
    exit_codes: &[("0", "done"), WRONG_FLAG, REFUSED, INTERNAL],
    ..NOTHING
};
