//! `--to nats:...` and `--from nats:...`.

use crate::program::{Traced, agent};
use crate::server::{Server, free_port, program, until};
use crate::values::{events, now_unix_ns, outlet};
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// A server that keeps streams in a folder.
struct Broker {
    folder: tempfile::TempDir,
    port: u16,
}

impl Broker {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    fn start(&self) -> Option<Server> {
        let server = Server::start(
            Command::new(program("nats-server")?)
                .args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"])
                .arg(self.folder.path()),
        );
        until("nats-server", || TcpStream::connect(("127.0.0.1", self.port)).ok());
        Some(server)
    }

    fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/test.calls", self.port)
    }

    /// What an agent elsewhere reads, with these options more: standard output and error.
    fn read(&self, more: &[&str]) -> (String, String) {
        let output = agent().args(["--from", &self.url(), "--until-end"]).args(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{err}");
        (out, err)
    }

    /// Names of all calls, and what was said.
    fn names(&self, folder: &Path) -> (Vec<String>, String) {
        let path = folder.join(now_unix_ns().to_string());
        let (_, said) = self.read(&["--to", &format!("events:{}", path.display())]);
        let text = std::fs::read_to_string(path).unwrap();
        let name =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
        (text.lines().map(name).collect(), said)
    }

    /// Messages of the stream, whatever they say.
    fn messages(&self) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = async_nats::connect(format!("127.0.0.1:{}", self.port)).await.unwrap();
            let mut stream = async_nats::jetstream::new(client).get_stream("test_calls").await.unwrap();
            stream.info().await.unwrap().state.messages
        })
    }
}

#[test]
fn each_call_is_in_the_stream_once_though_the_server_goes_and_the_agent_begins_anew() {
    let broker = Broker::new();
    let Some(server) = broker.start() else { return };
    let mut server = Some(server);
    let all = events(now_unix_ns(), 4, 300);
    let mut first = outlet(&broker.url());
    for (number, some) in all.chunks(2000).enumerate() {
        first.events(some);
        match number {
            2 => {
                until("the first messages", || (!first.is_behind()).then_some(()));
            }
            4 => server.take().unwrap().kill(),
            7 => server = broker.start(),
            _ => {}
        }
    }
    first.end();
    assert_eq!((first.dropped(), first.is_behind()), (0, false));
    // Another agent passes on what the first had passed on.
    let mut second = outlet(&broker.url());
    second.events(&all[..9000]);
    second.end();
    assert_eq!(broker.messages(), all.len() as u64);
    let (names, said) = broker.names(broker.folder.path());
    let expected: BTreeSet<String> = all.iter().map(|event| event.id()).collect();
    assert_eq!((names.len(), names.into_iter().collect::<BTreeSet<_>>()), (all.len(), expected));
    assert!(said.is_empty(), "{said}");
}

#[test]
fn what_is_dropped_is_told_in_the_stream() {
    let broker = Broker::new();
    let all = events(now_unix_ns(), 5, 1750);
    let mut outlet = outlet(&broker.url());
    // One batch is under way, the others wait, and the oldest of them go.
    outlet.events(&all[..1]);
    until("what is said", || outlet.messages().pop());
    outlet.events(&all[1..]);
    let dropped = outlet.dropped();
    assert_eq!(dropped, all.len() as u64 - 1 - (1 << 17));
    let Some(_server) = broker.start() else { return };
    outlet.end();
    assert_eq!((outlet.dropped(), broker.messages()), (dropped, all.len() as u64 - dropped + 1));
    let screen = broker.read(&[]).0.replace(',', "");
    assert!(screen.contains(&format!("{dropped} events were not taken by a destination")), "{screen}");
    assert!(screen.contains("POSIX write") && screen.contains(" on node1"), "{screen}");
}

#[test]
fn a_real_programs_calls_come_from_elsewhere_once_also_when_the_agent_is_killed() {
    let broker = Broker::new();
    let Some(_server) = broker.start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut traced = Traced::watched(&[&broker.url()]);
    let path = folder.path().join("intervals");
    // What reads the stream sees the program while it runs, and passes on sums.
    let elsewhere = agent()
        .args(["--from", &broker.url(), "--interval", "100ms"])
        .args(["--to", &format!("intervals:{}", path.display())])
        .spawn();
    let _elsewhere = Server(elsewhere.unwrap());
    let writes = || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let writes = lines.filter(|line| line["op"] == "write" && line["layer"] == "POSIX");
        writes.map(|line| line["calls"].as_u64().unwrap()).sum::<u64>()
    };
    traced.write(100);
    until("the first writes", || (writes() == 100).then_some(()));
    traced.write(200);
    traced.kill_agent();
    traced.write(50);
    traced.watch();
    traced.write(50);
    until("the last writes", || (writes() >= 400).then_some(()));
    let said = traced.end();
    assert_eq!(writes(), 400, "{said}");
    let (screen, _) = broker.read(&["--job", "job, \"of\" test"]);
    assert!(screen.contains("/output"), "{screen}");
    assert!(broker.read(&["--job", "another"]).0.contains("no calls yet"));
}
