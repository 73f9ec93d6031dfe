//! Tests of `live --to nats:...` and `live --from nats:...`.

use crate::live_sinks::program::{Traced, agent};
use crate::live_sinks::server::{Server, free_port, program, until};
use crate::live_sinks::values::{events, now_unix_ns, outlet};
use dxt_analyze::live::interval::Interval;
use std::collections::BTreeSet;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

/// NATS server that stores its message streams in a folder.
pub(crate) struct Broker {
    folder: tempfile::TempDir,
    port: u16,
}

impl Broker {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    pub(crate) fn start(&self) -> Option<Server> {
        let server = Server::start(
            Command::new(program("nats-server")?)
                .args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"])
                .arg(self.folder.path()),
        );
        until("nats-server", || TcpStream::connect(("127.0.0.1", self.port)).ok());
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/test.calls", self.port)
    }

    /// Reads the message stream with another agent and further options; returns that agent's standard output and standard error.
    fn read(&self, more: &[&str]) -> (String, String) {
        self.read_of(more, false)
    }

    /// Reads the message stream as [`Self::read`] does. `dropped`: true if calls are expected to be missing in the stream (exit code 3).
    fn read_of(&self, more: &[&str], dropped: bool) -> (String, String) {
        let output = agent().args(["--from", &self.url(), "--until-end"]).args(more).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        // The exit code reports events dropped by agents.
        assert_eq!(output.status.code(), Some(if dropped { 3 } else { 0 }), "{err}");
        (out, err)
    }

    /// Returns the IDs of all calls in the message stream, and the messages that the reading agent prints.
    fn names(&self, folder: &Path) -> (Vec<String>, String) {
        let path = folder.join(now_unix_ns().to_string());
        let (_, said) = self.read(&["--to", &format!("events:{}", path.display())]);
        let text = std::fs::read_to_string(path).unwrap();
        let name =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
        (text.lines().map(name).collect(), said)
    }

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
    // A second agent passes on the events that the first has passed on.
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
fn what_is_dropped_is_reported_in_the_stream() {
    let broker = Broker::new();
    let all = events(now_unix_ns(), 5, 1750);
    let mut outlet = outlet(&broker.url());
    // One batch is in flight, the others wait, and the oldest of the waiting ones are dropped.
    outlet.events(&all[..1]);
    until("what is said", || outlet.messages().pop());
    outlet.events(&all[1..]);
    let dropped = outlet.dropped();
    assert_eq!(dropped, all.len() as u64 - 1 - (1 << 17));
    let Some(_server) = broker.start() else { return };
    outlet.end();
    assert_eq!((outlet.dropped(), broker.messages()), (dropped, all.len() as u64 - dropped + 1));
    let screen = broker.read_of(&[], true).0.replace(',', "");
    assert!(screen.contains(&format!("{dropped} events were not accepted by a destination")), "{screen}");
    assert!(screen.contains("POSIX write") && screen.contains(" on node1"), "{screen}");
}

/// Processes that were not seen while the server was down are reported, even if calls overflow the queue.
#[test]
fn what_was_unseen_is_reported_though_calls_are_dropped() {
    let broker = Broker::new();
    let all = events(now_unix_ns(), 5, 1750);
    let mut outlet = outlet(&broker.url());
    outlet.events(&all[..1]);
    until("what is said", || outlet.messages().pop());
    let mut interval = Interval::empty(now_unix_ns(), 100_000_000);
    interval.not_seen.spools = 3;
    outlet.interval(&interval);
    outlet.events(&all[1..]);
    // An unchanged number is not reported again.
    outlet.interval(&interval);
    assert_eq!(outlet.dropped(), all.len() as u64 - 1 - (1 << 17), "calls alone are counted");
    let Some(_server) = broker.start() else { return };
    outlet.end();
    let screen = broker.read_of(&[], true).0;
    assert!(screen.contains("3 processes started and ended unobserved"), "{screen}");
}

/// Numbers in messages are bounded: anyone with access to a message stream may write anything to it.
#[test]
fn what_agents_claim_has_bounds() {
    let broker = Broker::new();
    let Some(_server) = broker.start() else { return };
    let mut first = outlet(&broker.url());
    first.events(&events(now_unix_ns(), 1, 1));
    first.end();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(format!("127.0.0.1:{}", broker.port)).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let most = u64::MAX;
        for name in ["a", "b"] {
            for text in [
                format!(r#"{{"unseen":{most},"watcher":"{name}"}}"#),
                format!(r#"{{"dropped":{most},"agent":"{name}"}}"#),
            ] {
                context.publish("test.calls", text.into()).await.unwrap().await.unwrap();
            }
        }
    });
    let screen = broker.read_of(&[], true).0.replace(',', "");
    assert!(screen.contains(&format!("{} processes started and ended unobserved", u64::MAX)), "{screen}");
    assert!(screen.contains(&format!("{} events were not accepted", u64::MAX)), "{screen}");
}

#[test]
fn processes_that_came_and_went_unseen_are_reported_in_the_stream_once() {
    let broker = Broker::new();
    let Some(_server) = broker.start() else { return };
    let agent = |position: Option<u64>, unseen: &[u64]| {
        let mut outlet = outlet(&broker.url());
        outlet.begin(position).unwrap();
        for count in unseen {
            let mut interval = Interval::empty(now_unix_ns(), 100_000_000);
            interval.not_seen.spools = *count;
            outlet.interval(&interval);
        }
        let position = outlet.settle();
        outlet.end();
        position
    };
    let first = agent(None, &[0, 2, 2, 3]);
    // An agent that continues another's state has counted that agent's unseen items; a separate agent counts its own.
    agent(first, &[3, 5]);
    agent(None, &[1]);
    let path = broker.folder.path().join("intervals");
    let (screen, said) = (broker.read(&[]).0, broker.read(&["--to", &format!("intervals:{}", path.display())]).1);
    assert!(screen.contains("6 processes started and ended unobserved"), "{screen}");
    assert!(said.contains("6 processes started and ended unobserved"), "{said}");
    let text = std::fs::read_to_string(path).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["not_seen"]["spools"], 6, "{text}");
}

#[test]
fn a_real_programs_calls_come_from_elsewhere_once_also_when_the_agent_is_killed() {
    let broker = Broker::new();
    let Some(_server) = broker.start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut traced = Traced::watched(&[&broker.url()]);
    let path = folder.path().join("intervals");
    // The reading agent sees the program while it runs, and passes on sums.
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
