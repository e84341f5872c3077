//! `sluss wall run --inline` under load: nothing is lost uncounted while the policy is read again, or nDPI's process is killed; and what is in tagged frames.

use crate::common::inline::{Bench, HTTP_SERVER};
use crate::common::{arg, say};
use std::fs;
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Datagrams that are sent, each in a flow of its own.
const DATAGRAMS: u16 = 4000;

/// Sends datagrams from the client to the server while `meanwhile` runs; says how many arrive.
fn sent_while(bench: &Bench, meanwhile: impl FnOnce(&AtomicBool)) -> u64 {
    let sink = bench.server.enter(|| UdpSocket::bind("192.0.2.2:5000").unwrap());
    sink.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let arrived = scope.spawn(|| {
            let mut received = [0; 64];
            (0..).take_while(|_: &u64| sink.recv(&mut received).is_ok()).count() as u64
        });
        scope.spawn(|| {
            bench.client.enter(|| {
                for port in 0..DATAGRAMS {
                    let socket = UdpSocket::bind(("192.0.2.1", 20_000 + port)).unwrap();
                    socket.send_to(b"what may this be?", "192.0.2.2:5000").unwrap();
                    std::thread::sleep(Duration::from_micros(400));
                }
            });
            is_over.store(true, Ordering::Relaxed);
        });
        meanwhile(&is_over);
        arrived.join().unwrap()
    })
}

#[test]
fn no_packet_is_lost_uncounted_while_the_policy_changes() {
    let policy = |verdict: &str| {
        format!("dpi = 'own'\nrules = '''\nudp port 5000 => {verdict}\notherwise => accept\n'''")
    };
    for (name, flags) in
        [("inline-load-reload", &[][..]), ("inline-load-reload-workers", &["--workers", "2"])]
    {
        Bench::run_with(name, &policy("accept"), flags, |bench| {
            let mut reloads = 0_u64;
            let arrived = sent_while(bench, |is_over| {
                while !is_over.load(Ordering::Relaxed) {
                    let verdict = if reloads.is_multiple_of(2) { "drop" } else { "accept" };
                    fs::write(bench.policy(), policy(verdict)).unwrap();
                    let output = bench.command(&["wall", "reload", arg(&bench.control())]);
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    reloads += 1;
                }
            });
            let last = bench.stop();
            assert_eq!(last["generation"].as_u64(), Some(reloads + 1), "{last}");
            let dropped = last["dropped"].as_u64().unwrap();
            assert_eq!(arrived + dropped, u64::from(DATAGRAMS), "{last}");
            assert!(reloads > 2 && arrived > 0 && dropped > 0, "{reloads} reloads: {last}");
        });
    }
}

/// The processes that have this parent, and theirs.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let of_parent = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse::<u32>().ok()?;
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let parent_of = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()?;
        (parent_of == parent).then_some(number)
    });
    of_parent.flat_map(|child| [vec![child], children(child)].concat()).collect()
}

#[test]
fn no_packet_is_lost_uncounted_while_the_process_of_ndpi_is_killed() {
    if dpi::ndpi::built_with().is_none() {
        return say("SKIPPED: nDPI is not installed (Debian: libndpi-dev)");
    }
    // A rule asks what the flow speaks, and what nDPI is lost for is dropped: every packet is either accepted or counted as a fault or a drop.
    let policy = "rules = '''\napp BitTorrent => drop\nudp port 5000 => accept\notherwise => accept\n'''\n[fail]\nworker_lost = 'closed'";
    Bench::run("inline-load-killed", policy, |bench| {
        let wall = bench.wall.as_ref().unwrap().id();
        let mut killed = 0;
        let arrived = sent_while(bench, |is_over| {
            while !is_over.load(Ordering::Relaxed) {
                // The last is the worker; the one before it starts others.
                if let Some(worker) = children(wall).last().filter(|_| children(wall).len() > 1) {
                    killed += u32::from(
                        Command::new("kill").args(["-KILL", &worker.to_string()]).status().unwrap().success(),
                    );
                }
                std::thread::sleep(Duration::from_millis(150));
            }
        });
        let last = bench.stop();
        let dropped = last["dropped"].as_u64().unwrap();
        assert_eq!(arrived + dropped, u64::from(DATAGRAMS), "{last}");
        assert!(killed > 1, "{killed} were killed");
        let sum: u64 =
            ["accepted", "dropped", "rejected"].iter().map(|key| last[key].as_u64().unwrap()).sum();
        assert_eq!(last["total"].as_u64(), Some(sum), "{last}");
    });
}

/// Puts hosts behind a TAP whose frames get a tag on their way to the wall, and lose it on their way back.
fn tagged(bench: &Bench) -> Vec<Child> {
    let ends = [(&bench.client, "c0", "192.0.2.1"), (&bench.server, "s0", "192.0.2.2")];
    ends.map(|(end, cable, address)| {
        end.run(&format!("ip address flush dev {cable}"));
        let graph = format!(
            "links = ['host.output -> tag.input', 'tag.output -> cable.input', 'cable.output -> untag.input', 'untag.output -> host.input']\n\
             [app.host]\ntype = 'tap'\nname = 't0'\n[app.cable]\ntype = 'af_packet'\ndevice = '{cable}'\npromiscuous = true\n\
             [app.tag]\ntype = 'vlan_tag'\ntag = 7\n[app.untag]\ntype = 'vlan_untag'\ntag = 7\n"
        );
        let path = bench.folder.join(format!("{cable}.toml"));
        fs::write(&path, graph).unwrap();
        let words = format!("{} run {} --no-report", env!("CARGO_BIN_EXE_sluss"), arg(&path));
        let child = end.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        bench.wait("the TAP", || end.command("ip link show dev t0").output().unwrap().status.success());
        end.run("ip link set dev t0 up");
        end.run(&format!("ip address add {address}/24 dev t0"));
        child
    })
    .into()
}

#[test]
fn what_is_in_tagged_frames_is_judged_and_rejected_in_tagged_frames() {
    let policy = "dpi = 'own'\nrules = '''\nvlan 7 and app HTTP and tcp port 8082 => reject\nvlan 7 => accept\n'''\nnot_ip = 'accept'";
    // Keys of a policy stand before its tables.
    Bench::run("inline-tagged", policy, |bench| {
        let graphs = tagged(bench);
        bench.serve(HTTP_SERVER, 8080);
        bench.serve("python3 -m http.server 8082 --bind ::", 8082);
        let (output, _) = bench.curl("http://192.0.2.2:8080/policy.toml");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (output, after) = bench.curl("http://192.0.2.2:8082/policy.toml");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(56), "{errors}");
        assert!(errors.contains("reset") && after < Duration::from_secs(5), "{errors}");
        let last = bench.stop();
        assert!(
            last["rejected"].as_u64().unwrap() > 0 && last["rules"][1]["packets"].as_u64().unwrap() > 8,
            "{last}"
        );
        for mut graph in graphs {
            let _ = graph.kill();
            let _ = graph.wait();
        }
    });
}
