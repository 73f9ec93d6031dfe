//! Five runs of a program like mpi-io-test, in the second of which storage becomes slow in the middle of the writes. Reference results are
//! derived from the traces and compared with those of `corpus` and of database queries.

use super::harness::{Compiler, Launch, Scratch, library, skip, workload_with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// Name of the slow run.
pub(crate) const SLOW: &str = "run-2";
pub(crate) const RUNS: u32 = 5;
const RANKS: u32 = 2;
/// Number of write phases, and of read phases; each rank makes one call per phase.
const PHASES: u32 = 10;
/// Number of writes of each rank before storage becomes slow: half of them.
pub(crate) const FAST_WRITES: usize = 5;
/// Number of calls of each rank in one of the parts by which runs are compared.
const CALLS_OF_PART: usize = 2;
/// Minimum storage time per block, in ms; so large that delays on a busy machine stay small in comparison.
const USUAL_MS: u32 = 30;
/// Additional time per block of slow storage, in ms.
pub(crate) const SLOWER_MS: u32 = 300;

/// Runs the program five times under the tracer; `None` if MPICH is not installed.
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
    // An untraced run creates the file, so that no measured run spends time on this.
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

/// Returns start and end of each call of operation `op` on the file, ns since the job's start, by rank.
pub(crate) fn calls(trace: &str, op: &str) -> Vec<Vec<(u64, u64)>> {
    let output = crate::common::stdout(&["dump", "--format", "json", "--layer", "posix", "--files", "file", trace], 0);
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

/// Returns the range of possible start times of slow writes, ns since the slow run's start. Runs are compared in parts of two calls per
/// rank. Earliest: start of the part with the first slow write, or of a write before it that a busy machine slowed. Latest: start of the
/// second slow write.
pub(crate) fn begin_of_slow_writes(jobs: &[Value]) -> RangeInclusive<u64> {
    let of_run = |job: &Value| (job["job"] == SLOW, calls(job["source"].as_str().unwrap(), "write"));
    let (slow, others): (Vec<_>, Vec<_>) = jobs.iter().map(of_run).partition(|(is_slow, _)| *is_slow);
    let slow = &slow[0].1;
    let time = |run: &[Vec<(u64, u64)>], part: usize| -> u64 {
        let of_part = run.iter().flat_map(|of_rank| &of_rank[part * CALLS_OF_PART..][..CALLS_OF_PART]);
        of_part.map(|(begin, end)| end - begin).sum()
    };
    let is_slow = |part: usize| {
        let mut usual: Vec<u64> = others.iter().map(|(_, run)| time(run, part)).collect();
        usual.sort_unstable();
        time(slow, part) as f64 > usual[usual.len() / 2] as f64 * 1.2
    };
    let meant = FAST_WRITES / CALLS_OF_PART;
    let part = (0..meant).find(|part| is_slow(*part)).unwrap_or(meant);
    let begins = |behind: usize| slow.iter().map(move |of_rank| of_rank[behind].0);
    begins(part * CALLS_OF_PART).min().unwrap()..=begins(FAST_WRITES + 1).max().unwrap()
}

/// Returns the first second of the slow run (since 1970-01-01 UTC) in which calls of operation `op` were slow: their mean duration exceeds
/// three times the median of the runs' means, as in the queries of docs/live.md.
pub(crate) fn second_of_slow(traces: &Path, op: &str) -> i64 {
    let report = crate::common::json(&["corpus", "--format", "json", traces.to_str().unwrap()], 0);
    let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64;
    let (mut means, mut of_slow) = (Vec::new(), BTreeMap::<i64, Vec<u64>>::new());
    for job in report["jobs"].as_array().unwrap() {
        let start = job["start_unix_ns"].as_i64().unwrap();
        let calls: Vec<(u64, u64)> = calls(job["source"].as_str().unwrap(), op).into_iter().flatten().collect();
        means.push(mean(&calls.iter().map(|(begin, end)| end - begin).collect::<Vec<u64>>()));
        for (begin, end) in calls.into_iter().filter(|_| job["job"] == SLOW) {
            let second = (start + i64::try_from(end).unwrap()) / 1_000_000_000;
            of_slow.entry(second).or_default().push(end - begin);
        }
    }
    means.sort_by(f64::total_cmp);
    let usual = means[means.len() / 2];
    *of_slow.iter().find(|(_, times)| mean(times) > 3.0 * usual).unwrap().0
}

/// Returns the number of reads and writes in one run, over all ranks.
pub(crate) fn calls_of_run() -> i64 {
    i64::from(2 * PHASES * RANKS)
}

/// Returns SQL block number `number` of docs/live.md, unchanged.
pub(crate) fn question(number: usize) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/live.md");
    let text = std::fs::read_to_string(docs).unwrap();
    let block = text.split("```sql\n").nth(number + 1).unwrap();
    block.split("```").next().unwrap().to_owned()
}
