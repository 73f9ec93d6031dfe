//! Reads the logs that test programs write of their own operations (testdata/workloads/oplog.h), and compares them with the traces.

use super::Scratch;
use std::collections::BTreeMap;

/// I/O operation, as logged by the program or as recorded in the trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Op {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) layer: String,
    pub(crate) name: String,
    pub(crate) mode: String,
    pub(crate) offset: i64,
    pub(crate) length: u64,
    pub(crate) path: String,
    /// Error number of a failed operation; 0 on success.
    pub(crate) errno: u16,
}

impl Op {
    /// True if the call submits asynchronous operations or waits for them, and so transfers no data itself.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self.name.as_str(), "submit" | "wait") && ["POSIX", "MPIIO"].contains(&self.layer.as_str())
    }
}

pub(crate) fn log_lines(scratch: &Scratch) -> Vec<String> {
    let dir = scratch.log();
    let dir = dir.parent().expect("the log prefix has a directory");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("failed to list the logs")
        .map(|entry| entry.expect("failed to list the logs").path())
        .collect();
    files.sort();
    let read = |path| std::fs::read_to_string(path).expect("failed to read a log");
    files.iter().flat_map(|path| read(path).lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(crate) fn read_log(scratch: &Scratch) -> Vec<Op> {
    log_lines(scratch).iter().filter_map(|line| parse(line.strip_prefix("OP ")?)).collect()
}

pub(crate) fn read_failures(scratch: &Scratch) -> Vec<Op> {
    // In a FAILED line, the error number is in the place of the length.
    let failed = |line: &String| parse(line.strip_prefix("FAILED ")?);
    log_lines(scratch).iter().filter_map(failed).map(|op| Op { errno: op.length as u16, length: 0, ..op }).collect()
}

fn parse(line: &str) -> Option<Op> {
    let mut words = line.splitn(8, ' ');
    let mut word = || words.next().unwrap_or_else(|| panic!("a log line is too short: {line}"));
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("no number in a log line: {line}"));
    Some(Op {
        pid: number(word()) as u32,
        tid: number(word()) as u32,
        layer: word().into(),
        name: word().into(),
        mode: word().trim_start_matches('-').into(),
        offset: number(word()),
        length: number(word()) as u64,
        path: word().into(),
        errno: 0,
    })
}

/// Returns the ranks by process id, as logged by MPI programs.
pub(crate) fn read_ranks(scratch: &Scratch) -> BTreeMap<u32, i32> {
    let lines = log_lines(scratch);
    let words = lines.iter().filter_map(|line| line.strip_prefix("RANK ")?.split_once(' '));
    words.map(|(pid, rank)| (pid.parse().expect("a pid"), rank.parse().expect("a rank"))).collect()
}

/// Order that program log and trace must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Order of all operations of a thread.
    Thread,
    /// Order of a thread's operations on one file through one layer, since some programs log an operation late.
    File,
}

/// Asserts that the trace has exactly the operations that the program logged, in the required order.
#[track_caller]
pub(crate) fn assert_same(order: Order, program: &[Op], trace: &[Op]) {
    let groups = |ops: &[Op]| {
        let mut groups: BTreeMap<(u32, u32, String), Vec<Op>> = BTreeMap::new();
        for op in ops {
            let place = if order == Order::File { format!("{} {}", op.layer, op.path) } else { String::new() };
            groups.entry((op.pid, op.tid, place)).or_default().push(op.clone());
        }
        groups
    };
    let (program, trace) = (groups(program), groups(trace));
    let mut faults = Vec::new();
    for group in program.keys().chain(trace.keys().filter(|group| !program.contains_key(*group))) {
        let none = Vec::new();
        let (did, reported) = (program.get(group).unwrap_or(&none), trace.get(group).unwrap_or(&none));
        if did.len() != reported.len() || !did.iter().zip(reported).all(|(did, reported)| agree(did, reported)) {
            faults.push(difference(group, did, reported));
        }
    }
    assert!(faults.is_empty(), "{} groups differ:\n{}", faults.len(), faults[..faults.len().min(5)].join("\n"));
}

/// True if the recorded operation equals the logged one. The recorded offset may be unknown in two cases only: ordered MPI-IO calls in
/// which one rank writes another's bytes (Open MPI), and nonblocking shared-pointer calls carried out by another thread.
fn agree(did: &Op, reported: &Op) -> bool {
    let by_others =
        reported.mode == "ordered" || reported.name.ends_with("_ordered") || reported.name.ends_with("_shared");
    let unknown = reported.offset == -1 && by_others;
    did == reported || unknown && *did == Op { offset: did.offset, ..reported.clone() }
}

fn difference(group: &(u32, u32, String), did: &[Op], reported: &[Op]) -> String {
    let at = did
        .iter()
        .zip(reported)
        .position(|(did, reported)| !agree(did, reported))
        .unwrap_or(did.len().min(reported.len()));
    let show = |ops: &[Op]| {
        let from = at.saturating_sub(2);
        let lines = ops.iter().enumerate().skip(from).take(6).map(|(i, op)| {
            let Op { layer, name, mode, offset, length, path, errno, .. } = op;
            format!("    {i:5} {layer} {name} {mode} {offset} {length} {path} {errno}\n")
        });
        lines.collect::<String>()
    };
    format!(
        "process {} thread {} {}: {} operations in the program, {} in the trace, the first difference at {at}\n  \
         program:\n{}  trace:\n{}",
        group.0,
        group.1,
        group.2,
        did.len(),
        reported.len(),
        show(did),
        show(reported)
    )
}
