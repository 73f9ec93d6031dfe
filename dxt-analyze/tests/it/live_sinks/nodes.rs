//! Tests of a job on two nodes with an agent on each: any machine can show the data of both as one job. The nodes are simulated by
//! namespaces of this machine with host names and a /dev/shm of their own; mpirun reaches them through a stand-in for ssh.

use crate::harness::{Compiler, executable, library, skip, skip_here, workload_with};
use crate::live_sinks::nats::Broker;
use crate::live_sinks::program::agent;
use crate::live_sinks::server::{Server, until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

const NODES: [&str; 2] = ["node-a", "node-b"];
/// Number of ranks, half of them on each node.
const RANKS: i64 = 4;

/// Simulated node, removed on drop.
struct Node {
    holder: Server,
}

impl Node {
    /// Creates a simulated node; `None` if this user lacks the privileges.
    fn new(name: &str) -> Option<Self> {
        let script = "hostname \"$0\" && mount --make-rprivate / && mount -t tmpfs none /dev/shm && echo ready && exec sleep 600";
        let mut command = Command::new("unshare");
        command.args(["--uts", "--mount", "sh", "-c", script, name]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut holder = Server(command.stdout(Stdio::piped()).spawn().ok()?);
        let mut said = String::new();
        BufReader::new(holder.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
        (said == "ready\n").then_some(Self { holder })
    }

    /// Returns a command that runs `command` on this simulated node.
    fn on(&self, command: &Command) -> Command {
        let mut there = Command::new("nsenter");
        there.args(["-t", &self.holder.0.id().to_string(), "-u", "-m"]).arg(command.get_program());
        there.args(command.get_args()).stdin(Stdio::null());
        there
    }
}

/// Writes a stand-in for ssh, which mpirun calls with options, a node, and a command. Returns its path.
fn remote_shell(folder: &Path, nodes: &[Node]) -> std::path::PathBuf {
    for (name, node) in NODES.iter().zip(nodes) {
        std::fs::write(folder.join(name), node.holder.0.id().to_string()).unwrap();
    }
    let path = folder.join("rsh");
    let script = format!(
        "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nnode=$1\nshift\n\
         exec nsenter -t \"$(cat '{}'/\"$node\")\" -u -m sh -c \"$*\"\n",
        folder.display()
    );
    executable(&path, &script);
    path
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_job_on_several_nodes_is_shown_as_one_by_node() {
    if !Compiler::Mpich.available() {
        return skip("MPICH is not installed");
    }
    let nodes: Vec<Node> = NODES.into_iter().map_while(Node::new).collect();
    if nodes.len() < NODES.len() {
        return skip_here("nodes: this user may not make namespaces");
    }
    let broker = Broker::new();
    let Some(_server) = broker.start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("traces")).unwrap();
    let agents: Vec<Server> = nodes
        .iter()
        .map(|node| {
            let mut agent = agent();
            agent.args(["/dev/shm", "--interval", "100ms", "--until-end", "--to", &broker.url()]);
            Server(node.on(&agent).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        })
        .collect();
    let program = workload_with("runs", Compiler::Mpich, &["-O1"]);
    let mut job = Command::new("mpirun.mpich");
    job.args(["-launcher", "ssh", "-launcher-exec"]).arg(remote_shell(folder.path(), &nodes));
    job.args(["-localhost", "127.0.0.1", "-hosts", &NODES.map(|node| format!("{node}:{}", RANKS / 2)).join(",")]);
    job.args(["-n", &RANKS.to_string(), "env", "DXT_ENABLE=trace", "DXT_SPOOL=/dev/shm", "DXT_JOB_ID=of-both"]);
    job.arg(format!("DXT_OUTPUT_DIR={}", at("traces").display())).arg(format!("LD_PRELOAD={}", library().display()));
    let ended = job.arg(program).arg(at("file")).stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    for mut agent in agents {
        until("an agent's end", || agent.0.try_wait().unwrap());
    }

    // The stream has each call of the trace, with its node.
    let read = |more: &[String]| {
        let output = agent().args(["--from", &broker.url(), "--until-end"]).args(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    read(&[
        "--to".into(),
        format!("events:{}", at("events").display()),
        "--to".into(),
        format!("intervals:{}", at("sums").display()),
    ]);
    let mut summary = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let summary = summary.args(["summary", "--format", "json"]).arg(at("traces")).output().unwrap();
    let summary: Value = serde_json::from_slice(&summary.stdout).unwrap();
    assert_eq!((&summary["nodes"], &summary["ranks"]), (&2.into(), &RANKS.into()), "{summary}");
    let events = lines(&at("events"));
    let mut ranks: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["job"] == "of-both" && event["rank"].as_i64() >= Some(0)) {
        ranks.entry(event["node"].as_str().unwrap()).or_default().insert(event["rank"].as_i64().unwrap());
    }
    let expected = [("node-a", BTreeSet::from([0, 1])), ("node-b", BTreeSet::from([2, 3]))];
    assert_eq!(ranks, BTreeMap::from(expected));
    // Sums are kept by node.
    let moved = |node: &str| -> u64 {
        let of_node = lines(&at("sums")).into_iter().filter(|line| line["node"] == node && line["layer"] == "POSIX");
        let moves = of_node.filter(|line| line["op"] == "write" || line["op"] == "read");
        moves.map(|line| line["calls"].as_u64().unwrap()).sum()
    };
    // Two ranks write in ten phases and read in ten, four blocks each; initial reads of MPI come in addition.
    assert!(moved("node-a") >= 160 && moved("node-b") >= 160);
    let blocks = |node: &str| events.iter().filter(|event| event["node"] == node && event["length"] == 1 << 20).count();
    assert_eq!((blocks("node-a"), blocks("node-b")), (160, 160));

    // The terminal and the page name both nodes.
    let screen = read(&[]);
    assert!(screen.contains("rank 0 on node-a") || screen.contains("/file"), "{screen}");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    serve.args(["serve", "--live", "--from", &broker.url()]).stdin(Stdio::null()).stderr(Stdio::null());
    let mut serve = Server(serve.stdout(Stdio::piped()).spawn().unwrap());
    let mut address = String::new();
    BufReader::new(serve.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (host, path) = address.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let board = until("both nodes on the page", || {
        let mut stream = TcpStream::connect(host).ok()?;
        write!(stream, "GET /{path}board HTTP/1.0\r\nHost: {host}\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let board: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
        (board["nodes"].as_array()?.len() == 2).then_some(board)
    });
    let mut names: Vec<&str> =
        board["nodes"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, NODES);
    let all = |list: &str| -> u64 {
        board[list].as_array().unwrap().iter().map(|one| one["all"]["calls"].as_u64().unwrap()).sum()
    };
    assert!(all("nodes") > 320 && board["processes"].as_array().unwrap().len() >= 4, "{board}");
}
