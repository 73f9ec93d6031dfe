//! Five runs of a program as mpi-io-test is, of which the second one has slow storage from half of its writes on; and what their traces say
//! of when that was, against which other answers are held.

use super::common;
use super::harness::{Compiler, Launch, Scratch, library, skip, workload_with};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::Path;

/// The run that is slow.
pub(crate) const SLOW: &str = "run-2";
pub(crate) const RUNS: u32 = 5;
const RANKS: u32 = 2;
/// Phases of writing, and of reading, in each of which each rank makes one call.
const PHASES: u32 = 10;
/// Writes of each rank before storage becomes slow, half of them; then the program reads as often.
pub(crate) const FAST_WRITES: usize = 5;
/// How long storage takes for a block at least, in ms: so much that a busy machine does not make it several times as long. And how much longer
/// when it is slow.
const USUAL_MS: u32 = 30;
pub(crate) const SLOWER_MS: u32 = 300;

/// Runs it five times; `None` without MPICH.
pub(crate) fn five_runs(scratch: &Scratch) -> Option<()> {
    let mpi = Compiler::Mpich;
    if !mpi.available() {
        skip("MPICH is not installed");
        return None;
    }
    let shim = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let program = workload_with("mpi_io_test", mpi, &["-O1"]);
    let preload = format!("{} {}", library().display(), shim.display());
    let file = scratch.data().join("file");
    let launch = || Launch::new(scratch, &program).arg(&file).ranks(mpi, RANKS).untraced();
    // The file is there: to make it takes longer.
    assert_eq!(launch().env("DXT_ENABLE", "off").run().code, 0);
    for run in 1..=RUNS {
        let usual = format!("op=write,us={USUAL_MS}000;op=read,us={USUAL_MS}000");
        let slower = format!(";op=write,us={SLOWER_MS}000,after={FAST_WRITES};op=read,us={SLOWER_MS}000");
        let name = format!("run-{run}");
        let delays = if name == SLOW { usual + &slower } else { usual };
        let launch = launch().env("DXT_JOB_ID", name).env("LD_PRELOAD", &preload);
        assert_eq!(launch.env("DELAYS", delays).env("DELAYS_PATH", &file).run().code, 0);
    }
    Some(())
}

/// Calls of an operation on the file, of each rank in its order: begin and end, ns since the job's start.
pub(crate) fn calls(trace: &str, op: &str) -> Vec<Vec<(u64, u64)>> {
    let output = common::stdout(&["dump", "--format", "json", "--layer", "posix", "--files", "file", trace], 0);
    let rows: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_rank = |rank: u32| {
        let own = rows.iter().filter(|row| row["op"] == op && row["rank"] == rank);
        let mut own: Vec<(u64, u64)> =
            own.map(|row| (row["start_ns"].as_u64().unwrap(), row["end_ns"].as_u64().unwrap())).collect();
        own.sort_unstable();
        own
    };
    (0..RANKS).map(of_rank).collect()
}

/// When ranks begin the write behind so many, the earliest and the latest, ns since the job's start.
pub(crate) fn begin_of_write(trace: &str, behind: usize) -> RangeInclusive<u64> {
    let begins: Vec<u64> = calls(trace, "write").into_iter().map(|of_rank| of_rank[behind].0).collect();
    *begins.iter().min().unwrap()..=*begins.iter().max().unwrap()
}

/// When the first slow call of an operation returned, in s since 1970-01-01 UTC: the second in which it did, and the one behind the second in which
/// all ranks' did, since the mean of the former has fast calls in it.
pub(crate) fn seconds_of_slow(traces: &Path, op: &str) -> RangeInclusive<i64> {
    let report = common::json(&["corpus", "--format", "json", traces.to_str().unwrap()], 0);
    let jobs = report["jobs"].as_array().unwrap();
    let job = jobs.iter().find(|job| job["job"] == SLOW).unwrap();
    let start = job["start_unix_ns"].as_i64().unwrap();
    let first = if op == "write" { FAST_WRITES } else { 0 };
    let ends = calls(job["source"].as_str().unwrap(), op).into_iter().map(|of_rank| of_rank[first].1);
    let seconds: Vec<i64> = ends.map(|end| (start + i64::try_from(end).unwrap()) / 1_000_000_000).collect();
    *seconds.iter().min().unwrap()..=*seconds.iter().max().unwrap() + 1
}

/// Reads and writes of all ranks of a run.
pub(crate) fn calls_of_run() -> i64 {
    i64::from(2 * PHASES * RANKS)
}

/// A block of SQL of docs/live.md, as it stands there.
pub(crate) fn question(number: usize) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/live.md");
    let text = std::fs::read_to_string(docs).unwrap();
    let block = text.split("```sql\n").nth(number + 1).unwrap();
    block.split("```").next().unwrap().to_owned()
}
