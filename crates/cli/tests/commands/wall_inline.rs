//! `sluss wall run --inline`: a client, the wall, and a server, each in a network namespace of its own, with the kernel's own stacks, curl and a real server.

use crate::common::inline::{Bench, HTTP_SERVER};
use crate::common::{arg, say, scratch, sluss};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testkit::netns::PATIENCE;

#[test]
fn what_is_accepted_passes_whole_in_both_versions_of_ip() {
    Bench::run("inline-passes", "dpi = 'own'\nrules = 'otherwise => accept'", |bench| {
        let bytes: Vec<u8> =
            (0..50_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(bench.folder.join("large"), &bytes).unwrap();
        bench.serve(HTTP_SERVER, 8080);
        for server in ["192.0.2.2", "[2001:db8::2]"] {
            let to = bench.folder.join("fetched");
            let (output, _) = bench.curl(&format!("-g http://{server}:8080/large -o {}", arg(&to)));
            assert!(output.status.success(), "{server}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(fs::read(&to).unwrap() == bytes, "{server}: the file differs");
        }
        let last = bench.stop();
        assert_eq!((last["dropped"].as_u64(), last["rejected"].as_u64()), (Some(0), Some(0)), "{last}");
        assert!(last["accepted"].as_u64().unwrap() > 1000);
    });
}

#[test]
fn an_application_is_blocked_and_the_reject_ends_the_connection_at_once() {
    let policy =
        "dpi = 'own'\nrules = '''\napp HTTP => reject(log)\notherwise => accept\n'''\n[records]\neve = 'EVE'";
    let folder = scratch("inline-blocked-eve");
    let eve = folder.join("eve.json");
    Bench::run("inline-blocked", &policy.replace("EVE", arg(&eve)), |bench| {
        bench.serve(HTTP_SERVER, 8080);
        for server in ["192.0.2.2", "[2001:db8::2]"] {
            let (output, after) = bench.curl(&format!("-g http://{server}:8080/policy.toml"));
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(56), "{server}: {errors}");
            assert!(errors.contains("reset"), "{server}: {errors}");
            assert!(after < Duration::from_secs(5), "{server}: after {after:?}");
        }
        bench.wait("the count of the rule", || bench.stats()["rules"][0]["packets"].as_u64().unwrap() >= 2);
        let last = bench.stop();
        assert!(last["rejected"].as_u64().unwrap() >= 2, "{last}");
        let text = fs::read_to_string(&eve).unwrap();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let drop = events.iter().find(|event| event["event_type"] == "drop").expect(&text);
        assert_eq!(
            (&drop["sluss"]["verdict"], &drop["sluss"]["basis"]["line"]),
            (&"reject".into(), &3.into()),
            "{drop}"
        );
        assert_eq!((&drop["app_proto"], &drop["dest_port"]), (&"http".into(), &8080.into()), "{drop}");
        assert!(events.iter().any(|event| event["event_type"] == "flow"), "{text}");
    });
}

#[test]
fn a_name_of_tls_is_blocked_and_others_pass() {
    let policy = "dpi = 'own'\nrules = '''\nsni blocked.example => reject\notherwise => accept\n'''";
    Bench::run("inline-tls", policy, |bench| {
        let key =
            "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=x";
        let made =
            Command::new("openssl").args(key.split(' ').skip(1)).current_dir(&bench.folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        bench.serve("openssl s_server -quiet -accept 8443 -cert cert.pem -key key.pem -www", 8443);
        for (name, is_blocked) in
            [("fine.example", false), ("blocked.example", true), ("www.blocked.example", true)]
        {
            let (output, after) =
                bench.curl(&format!("--resolve {name}:8443:192.0.2.2 https://{name}:8443/"));
            assert_eq!(
                output.status.success(),
                !is_blocked,
                "{name}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(after < Duration::from_secs(5), "{name}: after {after:?}");
        }
    });
}

#[test]
fn what_comes_back_passes_and_what_begins_outside_does_not() {
    let policy = "dpi = 'own'\nrules = '''\nstate invalid => drop\nstate {established, related} => accept\nin lan => accept\nicmp6 => accept\n'''";
    Bench::run("inline-state", policy, |bench| {
        bench.serve(HTTP_SERVER, 8080);
        let (output, _) = bench.curl("http://192.0.2.2:8080/policy.toml");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let listener = bench.client.enter(|| TcpListener::bind("0.0.0.0:9000").unwrap());
        let address = "192.0.2.1:9000".parse().unwrap();
        let refused = bench.server.enter(|| TcpStream::connect_timeout(&address, Duration::from_millis(700)));
        assert!(refused.is_err());
        drop(listener);
        assert!(bench.stats()["default"]["packets"].as_u64().unwrap() > 0);
    });
}

#[test]
fn another_policy_is_taken_while_packets_go_on() {
    let accept = "dpi = 'own'\nrules = '''\ntcp port 7 => accept\notherwise => accept\n'''";
    Bench::run("inline-reload", accept, |bench| {
        let server = bench.server.enter(|| TcpListener::bind("192.0.2.2:7777").unwrap());
        let mut client = bench.client.enter(|| TcpStream::connect("192.0.2.2:7777").unwrap());
        let (mut served, _) = server.accept().unwrap();
        let mut echo = |client: &mut TcpStream| {
            client.write_all(b"ping").unwrap();
            let mut bytes = [0; 4];
            served.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            served.read_exact(&mut bytes).map(|()| bytes)
        };
        assert_eq!(echo(&mut client).unwrap(), *b"ping");
        // A policy that is wrong changes nothing, and says why.
        let reload = |bench: &Bench| bench.command(&["wall", "reload", arg(&bench.control())]);
        fs::write(bench.policy(), "rules = 'app HTPP => drop'").unwrap();
        let output = reload(bench);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("goes on unchanged") && errors.contains("HTPP"), "{errors}");
        assert_eq!((echo(&mut client).unwrap(), bench.stats()["generation"].as_u64()), (*b"ping", Some(1)));
        // Flows are kept: the connection that is open is established for the new policy.
        fs::write(bench.policy(), "dpi = 'own'\nrules = '''\nstate established => accept\n'''").unwrap();
        let output = reload(bench);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.starts_with("generation 2: 1 rule, 1 new, 2 gone"), "{told}");
        assert_eq!(echo(&mut client).unwrap(), *b"ping");
        // SIGHUP does the same.
        fs::write(
            bench.policy(),
            "dpi = 'own'\nrules = '''\ntcp port 7777 => reject\notherwise => accept\n'''",
        )
        .unwrap();
        let wall = bench.wall.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-HUP", &wall]).status().unwrap().success());
        bench.wait("the third policy", || bench.stats()["generation"].as_u64() == Some(3));
        client.write_all(b"ping").unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let end = client.read(&mut [0; 4]).map_err(|error| error.kind());
        assert_eq!(end, Err(std::io::ErrorKind::ConnectionReset));
        let last = bench.stop();
        let sum =
            ["accepted", "dropped", "rejected"].iter().map(|key| last[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((last["total"].as_u64(), last["generation"].as_u64()), (Some(sum), Some(3)), "{last}");
        for line in bench.errors().lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "with `--json`: {line}");
        }
    });
}

#[test]
fn devices_that_bring_no_packets_are_told() {
    Bench::run("inline-told", "dpi = 'own'\nrules = 'in w7 and tcp => drop'", |bench| {
        bench.wait("the warning", || bench.errors().contains("the interface `w7`, by which no packet"));
        assert!(!bench.errors().contains("switched off"), "{}", bench.errors());
        fs::write(bench.policy(), "dpi = 'own'\nrules = '(in lan or in w8) and tcp => drop'").unwrap();
        let output = bench.command(&["wall", "reload", arg(&bench.control())]);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains("\nwarning: ") && told.contains("`w8`") && !told.contains("`lan`"), "{told}");
        bench.middle.run("ip link add x0 type veth peer name x1");
        bench.middle.run("ip link set dev x0 up");
        let words = "wall run POLICY --inline x0 x1 -D 100ms".replace("POLICY", arg(&bench.policy()));
        let mut wall = bench.middle.command(&format!("{} {words}", env!("CARGO_BIN_EXE_sluss")));
        let output = wall.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        assert!(
            errors.contains("warning: x0 has no carrier: ")
                && errors.contains("warning: x1 is switched off: "),
            "{errors}"
        );
    });
}

#[test]
fn addresses_are_banned_for_a_time_while_the_wall_runs() {
    let policy = "dpi = 'own'\nrules = '''\nsrc host in {@banned} => drop\notherwise => accept\n'''\n[sets]\nbanned = ['203.0.113.1']";
    Bench::run("inline-banned", policy, |bench| {
        let listener = bench.server.enter(|| TcpListener::bind("192.0.2.2:7777").unwrap());
        let address = "192.0.2.2:7777".parse().unwrap();
        let connects = |bench: &Bench| {
            bench.client.enter(|| TcpStream::connect_timeout(&address, Duration::from_millis(700))).is_ok()
        };
        assert!(connects(bench));
        let control = bench.control();
        let change = |bench: &Bench, words: &[&str]| bench.command(&[&["set"], words].concat());
        let banned =
            change(bench, &["add", arg(&control), "banned", "192.0.2.1", "--timeout", "2s", "--json"]);
        assert!(banned.status.success(), "{}", String::from_utf8_lossy(&banned.stderr));
        assert!(!connects(bench), "it is banned");
        // The ban is of the policy that runs, whatever the file says by now.
        fs::write(bench.policy(), "rules = 'app HTPP => drop'").unwrap();
        bench.wait("the end of the ban", || bench.stats()["generation"].as_u64() == Some(3));
        assert!(connects(bench), "it is not any more");
        let policy = scratch("inline-second").join("policy.toml");
        fs::write(&policy, "rules = 'otherwise => accept'").unwrap();
        let second =
            format!("{} wall run {} --inline wan lan -D 1", env!("CARGO_BIN_EXE_sluss"), arg(&policy));
        let second = bench.middle.command(&second).output().unwrap();
        let errors = String::from_utf8_lossy(&second.stderr);
        assert!(second.status.code() == Some(3) && errors.contains("another wall stands on wan"), "{errors}");
        let unknown = change(bench, &["del", arg(&control), "bans", "192.0.2.1"]);
        let errors = String::from_utf8_lossy(&unknown.stderr).into_owned();
        assert_eq!(unknown.status.code(), Some(2), "{errors}");
        assert!(errors.contains("there is no set `bans`; there are banned"), "{errors}");
        drop(listener);
    });
}

/// A line of the status of each thread of a process.
fn statuses(process: u32, key: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let of = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok()).map(of).collect()
}

#[test]
fn the_wall_gives_up_what_it_does_not_need() {
    Bench::run("inline-confined", "dpi = 'own'\nrules = 'otherwise => accept'", |bench| {
        bench.serve(HTTP_SERVER, 8080);
        let (output, _) = bench.curl("http://192.0.2.2:8080/policy.toml");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let wall = bench.wall.as_ref().unwrap().id();
        for (key, expected) in [
            ("CapEff", "0000000000000000"),
            ("CapPrm", "0000000000000000"),
            ("NoNewPrivs", "1"),
            ("Seccomp", "2"),
        ] {
            let found = statuses(wall, key);
            assert!(!found.is_empty() && found.iter().all(|value| value == expected), "{key}: {found:?}");
        }
        if bench.errors().contains("Landlock") {
            say("SKIPPED in part: this kernel has no Landlock");
        }
    });
}

#[test]
fn what_is_missing_is_told() {
    let folder = scratch("inline-missing");
    let policy: &Path = &folder.join("policy.toml");
    fs::write(policy, "rules = 'otherwise => accept'").unwrap();
    for (words, code, what) in [
        (vec!["wall", "run", arg(policy)], 2, "there is nothing to judge"),
        (vec!["wall", "run", arg(policy), "--inline", "nowhere0", "nowhere0"], 2, "these are one"),
        (
            vec!["wall", "run", arg(policy), "--inline", "nowhere0", "nowhere1"],
            3,
            "there is no device nowhere",
        ),
        (vec!["wall", "stats", "/nowhere/control"], 3, "no wall answers"),
    ] {
        let output = sluss(&words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(what), "{words:?}: {errors}");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
    }
}

const POLICY_OF_COUNTS: &str = "dpi = 'own'
rules = '''
tcp port 8081 => drop
app HTTP and tcp port 8082 => reject
udp and flow_count > 6 => accept
udp => accept
otherwise => accept
'''";

/// What the wall counts of a fixed exchange between several hosts: transfers, fragments, what is dropped and rejected.
fn counted(name: &str, workers: &[&str]) -> Option<Value> {
    let mut counts = None;
    Bench::run_with(name, POLICY_OF_COUNTS, workers, |bench| {
        for host in 10..18 {
            bench.client.run(&format!("ip address add 192.0.2.{host}/24 dev c0"));
        }
        let bytes: Vec<u8> =
            (0..50_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        fs::write(bench.folder.join("large"), &bytes).unwrap();
        bench.serve(HTTP_SERVER, 8080);
        bench.serve("python3 -m http.server 8082 --bind ::", 8082);
        let to = bench.folder.join("fetched");
        let (output, _) = bench.curl(&format!("http://192.0.2.2:8080/large -o {}", arg(&to)));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::read(&to).unwrap() == bytes, "the file differs");
        let sink = bench.server.enter(|| UdpSocket::bind("192.0.2.2:5000").unwrap());
        sink.set_read_timeout(Some(PATIENCE)).unwrap();
        for host in 10..18 {
            let (output, _) =
                bench.curl(&format!("--interface 192.0.2.{host} http://192.0.2.2:8080/policy.toml"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let (output, _) =
                bench.curl(&format!("--interface 192.0.2.{host} http://192.0.2.2:8082/policy.toml"));
            assert_eq!(output.status.code(), Some(56), "{}", String::from_utf8_lossy(&output.stderr));
            let client = bench.client.enter(|| UdpSocket::bind(format!("192.0.2.{host}:4000")).unwrap());
            // Four fragments, which go where the rest of their flow goes.
            let datagram = [host as u8; 5000];
            for _ in 0..3 {
                client.send_to(&datagram, "192.0.2.2:5000").unwrap();
                let mut received = [0; 6000];
                let len = sink.recv(&mut received).unwrap();
                assert!(received[..len] == datagram, "a datagram differs");
            }
            let refused = "192.0.2.2:8081".parse().unwrap();
            let connected = bench
                .client
                .enter(|| TcpStream::connect_timeout(&refused, Duration::from_millis(300)).is_ok());
            assert!(!connected);
        }
        let told: u64 = bench.stats()["rules"].as_array().unwrap().len() as u64;
        assert_eq!(told, 5);
        counts = Some(bench.stop());
    });
    counts
}

#[test]
fn several_workers_judge_and_count_as_one_does() {
    let Some(one) = counted("inline-one-worker", &[]) else { return };
    let Some(two) = counted("inline-workers", &["--workers", "3"]) else { return };
    // Of connections, packets depend on how the kernel cuts and acknowledges; of datagrams, on nothing.
    let rule = |counts: &Value, at: usize, key: &str| counts["rules"][at][key].as_u64().unwrap();
    // Of the twelve fragments of each of the eight flows, six are its seventh packet or later: no fragment was judged apart from its flow.
    for at in [2, 3] {
        assert_eq!((rule(&one, at, "packets"), rule(&two, at, "packets")), (48, 48));
        assert_eq!(rule(&one, at, "bytes"), rule(&two, at, "bytes"));
    }
    // The kernel brings packets where they are judged, but for ARP and such; by ports, two of three would be handed over.
    let handed_over = two["handed_over"].as_u64().unwrap();
    assert!(handed_over < 200 && two["total"].as_u64().unwrap() > 1000, "{two}");
    assert_eq!(one["handed_over"], Value::Null);
    for counts in [&one, &two] {
        assert!(rule(counts, 0, "packets") >= 8 && rule(counts, 1, "packets") >= 8, "{counts}");
        assert_eq!(counts["generation"].as_u64(), Some(1), "{counts}");
        let sum =
            ["accepted", "dropped", "rejected"].iter().map(|key| counts[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!(counts["total"].as_u64(), Some(sum), "{counts}");
    }
}

#[test]
fn all_workers_take_another_policy_and_share_its_limits() {
    let policy = "dpi = 'own'\nrules = '''\nudp port 5000 and limit 1/h burst 5 => accept\nudp => drop\notherwise => accept\n'''";
    Bench::run_with("inline-workers-reload", policy, &["--workers", "2"], |bench| {
        let send = |bench: &Bench| {
            for host in 10..20 {
                let client = bench.client.enter(|| UdpSocket::bind(format!("192.0.2.{host}:0")).unwrap());
                client.send_to(b"x", "192.0.2.2:5000").unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        for host in 10..20 {
            bench.client.run(&format!("ip address add 192.0.2.{host}/24 dev c0"));
        }
        let count = |stats: &Value, at: usize| stats["rules"][at]["packets"].as_u64().unwrap_or(0);
        send(bench);
        bench.wait("ten datagrams", || {
            let stats = bench.stats();
            count(&stats, 0) + count(&stats, 1) == 10
        });
        assert_eq!(count(&bench.stats(), 0), 5);
        // The limit keeps what is left of it: nothing. Rules go on counting.
        let output = bench.command(&["wall", "reload", arg(&bench.control())]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        send(bench);
        bench.wait("ten more", || count(&bench.stats(), 1) == 15);
        let last = bench.stop();
        assert_eq!((count(&last, 0), last["generation"].as_u64()), (5, Some(2)), "{last}");
    });
}

/// A server of FTP that sends one file, in all four ways to connect for it.
const FTP_SERVER: &str = r#"
import socket

def serve(control):
    say = lambda text: control.sendall((text + "\r\n").encode())
    say("220 FTP server")
    passive = active = None
    for line in control.makefile("r", newline="\r\n"):
        word, _, rest = line.strip().partition(" ")
        if word == "USER": say("331 password")
        elif word == "PASS": say("230 welcome")
        elif word in ("PASV", "EPSV"):
            passive = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
            port = passive.getsockname()[1]
            if word == "EPSV": say(f"229 passive (|||{port}|)")
            else: say(f"227 passive (192,0,2,2,{port // 256},{port % 256})")
        elif word == "PORT":
            parts = rest.split(",")
            active = (".".join(parts[:4]), int(parts[4]) * 256 + int(parts[5]))
            say("200 so be it")
        elif word == "EPRT":
            _, _, address, port, _ = rest.split("|")
            active = (address, int(port))
            say("200 so be it")
        elif word == "RETR":
            data = passive.accept()[0] if passive else socket.create_connection(active)
            say("150 here it comes")
            data.sendall(b"x" * 100000)
            data.close()
            say("226 done")
            passive = active = None
        elif word == "QUIT": say("221 bye")
        else: say("200 so be it")

listener = socket.create_server(("::", 2121), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    control, _ = listener.accept()
    try: serve(control)
    except OSError: pass
    control.close()
"#;

const FTP_CLIENT: &str = r#"
import ftplib, sys
ftp = ftplib.FTP()
ftp.connect(sys.argv[1], 2121, timeout=5)
ftp.login("a", "b")
ftp.set_pasv(sys.argv[2] == "passive")
parts = []
ftp.retrbinary("RETR file", parts.append)
ftp.quit()
print(len(b"".join(parts)))
"#;

#[test]
fn data_of_ftp_pass_as_they_were_announced() {
    let policy = |states: &str| {
        format!(
            "dpi = 'own'\nrules = '''\nstate {{{states}}} => accept\nin lan and tcp dst port 2121 => accept\nicmp6 => accept\n'''"
        )
    };
    for (name, states, passes) in
        [("inline-ftp", "established, related", true), ("inline-ftp-unrelated", "established", false)]
    {
        Bench::run(name, &policy(states), |bench| {
            fs::write(bench.folder.join("server.py"), FTP_SERVER).unwrap();
            fs::write(bench.folder.join("client.py"), FTP_CLIENT).unwrap();
            bench.serve("python3 server.py", 2121);
            let ways = [
                ("192.0.2.2", "passive"),
                ("192.0.2.2", "active"),
                ("2001:db8::2", "passive"),
                ("2001:db8::2", "active"),
            ];
            // Without it, one try is enough to see that it takes its time, and fails.
            for (server, way) in ways.into_iter().take(if passes { 4 } else { 1 }) {
                let client =
                    format!("timeout 8 python3 {} {server} {way}", arg(&bench.folder.join("client.py")));
                let output = bench.client.command(&client).output().unwrap();
                let (told, errors) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                assert_eq!(told.trim() == "100000", passes, "{server} {way}: {told} {errors}");
            }
        });
    }
}

/// Makes a torrent of a file, and tells all who ask that the seeder has it.
const TRACKER: &str = r#"
import hashlib, http.server, socket, sys
def coded(value):
    if isinstance(value, int): return b"i%de" % value
    if isinstance(value, bytes): return b"%d:%s" % (len(value), value)
    return b"d" + b"".join(coded(key) + coded(value[key]) for key in sorted(value)) + b"e"
data, piece = open("seed/file", "rb").read(), 65536
pieces = b"".join(hashlib.sha1(data[at:at + piece]).digest() for at in range(0, len(data), piece))
info = {b"name": b"file", b"length": len(data), b"piece length": piece, b"pieces": pieces}
open("file.torrent", "wb").write(coded({b"announce": b"http://192.0.2.2:6969/announce", b"info": info}))
peers = socket.inet_aton("192.0.2.2") + (6881).to_bytes(2, "big")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = coded({b"interval": 5, b"peers": peers})
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("0.0.0.0", 6969), Handler).serve_forever()
"#;

#[test]
fn two_clients_of_bittorrent_are_told_and_blocked() {
    let is_there = Command::new("aria2c").arg("--version").output().is_ok();
    if !is_there {
        return say("SKIPPED: a download by BitTorrent needs `aria2c`: install aria2 (Debian)");
    }
    for (name, rule, passes) in [
        ("inline-bittorrent", "app BitTorrent => accept(log)", true),
        ("inline-bittorrent-blocked", "app BitTorrent => drop", false),
    ] {
        let policy = format!("dpi = 'own'\nrules = '''\n{rule}\notherwise => accept\n'''");
        Bench::run(name, &policy, |bench| {
            let bytes: Vec<u8> =
                (0..500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            for folder in ["seed", "leech"] {
                fs::create_dir_all(bench.folder.join(folder)).unwrap();
            }
            fs::write(bench.folder.join("seed/file"), &bytes).unwrap();
            fs::write(bench.folder.join("tracker.py"), TRACKER).unwrap();
            bench.serve("python3 tracker.py", 6969);
            let alone = "--no-conf --enable-dht=false --enable-dht6=false --bt-enable-lpd=false --enable-peer-exchange=false --console-log-level=warn";
            let torrent = bench.folder.join("file.torrent");
            let torrent = arg(&torrent);
            bench.serve(&format!("aria2c {alone} --listen-port=6881 --seed-ratio=0.0 --check-integrity=true --dir=seed {torrent}"), 6881);
            let leech = bench.folder.join("leech");
            let mut leecher = bench.client.command(&format!(
                "aria2c {alone} --stop=25 --listen-port=6882 --seed-time=0 --dir={} {torrent}",
                arg(&leech)
            ));
            let mut leecher = leecher.stdout(std::process::Stdio::null()).spawn().unwrap();
            if passes {
                bench.wait("the end of the download", || leecher.try_wait().unwrap().is_some());
                assert!(
                    fs::read(leech.join("file")).unwrap() == bytes,
                    "the file differs; {}",
                    bench.stats()
                );
            } else {
                bench.wait("the count of the rule", || {
                    bench.stats()["rules"][0]["packets"].as_u64() > Some(3)
                });
                std::thread::sleep(Duration::from_secs(2));
                // The file is there, without what makes it one.
                assert!(fs::read(leech.join("file")).unwrap_or_default() != bytes);
                let _ = leecher.kill();
                let _ = leecher.wait();
            }
            assert!(bench.stats()["rules"][0]["packets"].as_u64() > Some(3), "{}", bench.stats());
        });
    }
}
