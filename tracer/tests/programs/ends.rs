//! Tests of process ends, over all kinds of processes, storage modes and ways to end. The program itself counts the calls that it has begun
//! and those that have returned. Per file, the number of calls in the traces must lie between these two numbers, and no call may be
//! recorded twice. Traces written by the tracer and traces recovered from spools count together.

use crate::filters::noted;
use crate::harness::{
    Compiler, Launch, Outcome, Scratch, Traces, is_root, library, recover, spools, under_strace, workload,
    workload_with,
};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Number of counter pairs (calls begun, calls returned) that the program keeps, one pair per file.
const SLOTS: usize = 256;

/// Kinds of test processes, by their activity beside the writes.
const KINDS: [&str; 9] =
    ["threads", "vforks", "forks", "exec", "confined", "chroot", "mounts", "ranks mpich", "ranks openmpi"];
/// Kinds that require root. Not combined with exec(3), since the executed program would look for files elsewhere.
const OF_ROOT: [&str; 2] = ["chroot", "mounts"];
/// Storage modes for recorded calls.
const MODES: [&str; 5] = ["compact", "spill", "fold", "counters", "untimed"];
/// Ways to end a process. Only MPI ranks can end by "finalize"; processes with another root or other mounts ([`OF_ROOT`]) never by "exec".
const WAYS: [&str; 15] = [
    "exit",
    "_exit",
    "quick_exit",
    "sigterm",
    "sigkill",
    "abort",
    "segv",
    "sigpipe",
    "sigalrm",
    "sigxfsz",
    "machine_code",
    "exec",
    "failed_exec",
    "join",
    "finalize",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    kind: &'static str,
    mode: &'static str,
    way: &'static str,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let cases = KINDS.into_iter().flat_map(|kind| {
            MODES.into_iter().flat_map(move |mode| WAYS.into_iter().map(move |way| Self { kind, mode, way }))
        });
        let is_root = is_root();
        let can_be = move |case: &Self| !OF_ROOT.contains(&case.kind) || is_root && case.way != "exec";
        cases.filter(|case| case.mpi().is_some() || case.way != "finalize").filter(can_be)
    }

    fn mpi(self) -> Option<Compiler> {
        match self.kind {
            "ranks mpich" => Some(Compiler::Mpich),
            "ranks openmpi" => Some(Compiler::OpenMpi),
            _ => None,
        }
    }

    fn program(self) -> PathBuf {
        match self.mpi() {
            None => workload("ends"),
            Some(mpi) => workload_with("ends", mpi, &["-O1", "-DWITH_MPI"]),
        }
    }

    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self.mode {
            "compact" => &[("DXT_BUFFER_MAX", "256K")],
            "spill" => &[("DXT_BUFFER_MAX", "256K"), ("DXT_OVERFLOW", "spill")],
            "fold" => &[("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")],
            "counters" => &[("DXT_ENABLE", "counters")],
            _ => &[("DXT_ENABLE", "counters"), ("DXT_TIMING", "off")],
        }
    }

    fn run(self, seed: u64) -> Result<(), String> {
        let scratch = Scratch::new();
        let checked = self.run_by(seed, &scratch, Launch::new(&scratch, self.program()), self.code());
        if checked.is_err() && std::env::var_os("DXT_ENDS_KEEP").is_some() {
            std::mem::forget(scratch);
        }
        checked
    }

    /// Runs the case (kind of process, storage mode, way to end), with random numbers from `seed`, while the kernel fails one system call.
    /// `refused`: the system call and its errno.
    fn run_without(self, seed: u64, refused: [&str; 2]) -> Result<(), String> {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("without")).untraced();
        let launch = launch.env("PRELOAD", library()).env("DXT_SECCOMP", "trust").args(refused).arg(self.program());
        self.run_by(seed, &scratch, launch, self.code())
    }

    /// Runs the case (kind of process, storage mode, way to end), and kills the process when its trace has been renamed to its final name.
    /// A delay after rename(2) makes this possible.
    fn run_to_the_name(self, seed: u64) -> Result<(), String> {
        // The kill may come too late on a busy machine.
        for _ in 0..5 {
            let scratch = Scratch::new();
            let options = ["-o", "/dev/null", "-e", "trace=renameat2", "-e", "signal=none", "-e"];
            let held = ["inject=renameat2:delay_exit=1000000"];
            let options = [&options[..], &held].concat();
            let Some(launch) = under_strace(&scratch, &options, self.program()) else { return Ok(()) };
            let program = self.program();
            let (checked, in_time) = std::thread::scope(|scope| {
                let ran = scope.spawn(|| self.run_by(seed, &scratch, launch, 128 + libc::SIGKILL));
                let mut in_time = false;
                while !ran.is_finished() {
                    let listed = std::fs::read_dir(scratch.traces());
                    let is_trace = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|end| end == "dxt");
                    if listed.is_ok_and(|listed| listed.flatten().any(|entry| is_trace(&entry))) {
                        in_time |= !spools(&scratch).is_empty();
                        kill(&program, &scratch);
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                (ran.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), in_time)
            });
            if in_time {
                return checked;
            }
        }
        Err("each run had removed its spool before it was killed".into())
    }

    /// Runs `launch` with the arguments and settings of the case (kind of process, storage mode, way to end), and checks the number of
    /// calls in all traces. Unless the case uses MPI, the exit status must be `code`.
    fn run_by(self, seed: u64, scratch: &Scratch, launch: Launch<'_>, code: i32) -> Result<(), String> {
        let counts = scratch.root().join("counts");
        std::fs::write(&counts, vec![0; SLOTS * 16]).expect("failed to make a file");
        let kind = if self.mpi().is_some() { "ranks" } else { self.kind };
        let mut launch = launch.arg(scratch.data()).arg(&counts);
        launch = launch.args([kind, self.way, &seed.to_string()]);
        launch = self.settings().iter().fold(launch, |launch, (name, value)| launch.env(name, value));
        if let Some(mpi) = self.mpi() {
            launch = launch.ranks(mpi, 2);
        }
        let outcome = launch.run();
        self.check(scratch, &counts, &outcome, code)
    }

    fn check(self, scratch: &Scratch, counts: &PathBuf, outcome: &Outcome, code: i32) -> Result<(), String> {
        let mut wrong = String::new();
        let uncounted = outcome.code == 99 || outcome.code == 98 || outcome.stderr.contains("panicked");
        if uncounted || self.mpi().is_none() && outcome.code != code {
            let _ = write!(wrong, "ended with {}: {} ", outcome.code, outcome.stderr.trim());
        }
        let left = spools(scratch).len();
        assert_eq!(recover(scratch), 0, "calls that may be counted twice");
        let traces = Traces::read_finished(&scratch.traces());
        let mut found: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        let slot_of = |path: &str| path.rsplit_once("/t").and_then(|(_, slot)| slot.parse::<usize>().ok());
        let mut seen = HashSet::new();
        for segment in traces.segments.iter().filter(|segment| segment.op.name == "write") {
            let Some(slot) = slot_of(&segment.op.path) else { continue };
            let entry = found.entry(slot).or_default();
            entry.0 += 1;
            if !seen.insert((slot, segment.op.offset)) {
                entry.1 += 1;
            }
        }
        for missing in traces.processes.iter().flat_map(|process| &process.missing) {
            if let Some(slot) = slot_of(&missing.op.path).filter(|_| missing.op.name == "write") {
                found.entry(slot).or_default().0 += missing.counters.segments;
            }
        }
        // Once the trace is written, a spool still holds some calls. Further calls are counted over all files together.
        let mut late = noted(&traces, "calls made after the trace");
        let bytes = std::fs::read(counts).expect("failed to read the counts");
        let numbers: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        for (slot, pair) in numbers.chunks(2).enumerate() {
            let &[begun, returned] = pair else { continue };
            let (count, twice) = found.get(&slot).copied().unwrap_or_default();
            let lost = returned.saturating_sub(count);
            let found_late = lost.min(late);
            let lost = lost - found_late;
            late -= found_late;
            let invented = count.saturating_sub(begun);
            if lost + invented + twice > 0 {
                let _ = write!(wrong, "t{slot}: {begun} begun, {returned} returned, {count} found, {twice} twice; ");
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong}({left} spools)")) }
    }

    fn code(self) -> i32 {
        match self.way {
            "sigterm" => 128 + 15,
            "sigkill" => 128 + 9,
            "abort" => 128 + 6,
            "segv" => 128 + 11,
            "sigpipe" => 128 + 13,
            "sigalrm" => 128 + 14,
            "sigxfsz" => 128 + 25,
            _ => 0,
        }
    }
}

/// Distance in the list between successive cases: even a few cases then cover all modes and ways.
const STEP: usize = 7;

/// Runs one of `cases` after another, with seeds from `first_seed` on, while `goes_on(number of runs so far)` returns true. Returns the
/// number of runs, and a table of failures (empty if none).
fn runs(cases: &[Case], first_seed: u64, mut goes_on: impl FnMut(u64) -> bool) -> (u64, String) {
    let cases: Vec<Case> = cases.iter().copied().filter(|case| case.mpi().is_none_or(Compiler::available)).collect();
    let (mut wrong, mut tally, mut round) = (String::new(), BTreeMap::<Case, (u64, u64)>::new(), 0);
    while goes_on(round) {
        let case = cases[round as usize * STEP % cases.len()];
        let seed = first_seed + round;
        let entry = tally.entry(case).or_default();
        entry.0 += 1;
        // A failed assertion of the harness on a trace counts as a failure.
        let ran = std::panic::catch_unwind(|| case.run(seed));
        if let Err(why) = ran.unwrap_or_else(|_| Err("a trace is not as every trace must be".into())) {
            entry.1 += 1;
            let _ = writeln!(wrong, "{case:?} seed {seed}: {why}");
        }
        round += 1;
    }
    if !wrong.is_empty() || std::env::var_os("DXT_ENDS_TABLE").is_some() {
        for (case, (runs, failed)) in &tally {
            eprintln!("{:14} {:9} {:12} {runs:6} runs {failed:6} failed", case.kind, case.mode, case.way);
        }
    }
    (round, wrong)
}

fn some(kinds: &[&str], rounds: u64) {
    let cases: Vec<Case> = Case::all().filter(|case| kinds.contains(&case.kind)).collect();
    let (_, wrong) = runs(&cases, seed(), |round| round < rounds);
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the seed of the first case: DXT_ENDS_SEED, or 1.
fn seed() -> u64 {
    std::env::var("DXT_ENDS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn threads_that_write_while_the_process_ends() {
    some(&["threads"], 135);
}

/// Old kernels or containers may refuse some system calls. The number of recorded calls must be right without any one of them.
#[test]
fn threads_that_write_while_the_process_ends_without_one_system_call() {
    let refused = [
        ["membarrier", "EPERM"],
        ["membarrier", "ENOSYS"],
        ["madvise", "EINVAL"],
        ["openat2", "ENOSYS"],
        ["openat2", "EPERM"],
        ["statx", "ENOSYS"],
        ["renameat2", "ENOSYS"],
        ["renameat2", "EPERM"],
        ["linkat", "EPERM"],
        ["fallocate", "EPERM"],
        ["fstatfs", "ENOSYS"],
        ["sched_yield", "ENOSYS"],
        ["readlinkat", "EPERM"],
        ["rt_sigtimedwait", "ENOSYS"],
    ];
    let mut seed = seed();
    for refused in refused {
        for (mode, way) in [
            ("compact", "exit"),
            ("fold", "_exit"),
            ("counters", "sigterm"),
            ("spill", "failed_exec"),
            ("counters", "sigkill"),
        ] {
            // Without MADV_WIPEONFORK there is no spool, since a child could write into its parent's spool.
            if (refused[0], way) == ("madvise", "sigkill") {
                continue;
            }
            seed += 1;
            let ran = Case { kind: "threads", mode, way }.run_without(seed, refused);
            assert_eq!(ran, Ok(()), "without {refused:?}: {mode} {way} {seed}");
        }
    }
}

/// Kills the processes of `program` that have the scratch directory among their arguments.
fn kill(program: &Path, scratch: &Scratch) {
    let root = scratch.root().as_os_str().as_bytes();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let runs = std::fs::read_link(process.path().join("exe")).is_ok_and(|exe| exe == program);
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        if runs && arguments.windows(root.len()).any(|part| part == root) {
            // The process may have exited already.
            let _ = Command::new("kill").arg("-KILL").arg(process.file_name()).stderr(Stdio::null()).status();
        }
    }
}

/// A process is killed after its trace got its final name, but before its spool is marked as written. Includes records reduced over all ranks.
#[test]
fn killed_between_the_name_of_the_trace_and_the_marks_of_the_spool() {
    for (kind, way) in [("threads", "exit"), ("ranks mpich", "finalize"), ("ranks openmpi", "finalize")] {
        for mode in MODES {
            let case = Case { kind, mode, way };
            if case.mpi().is_none_or(Compiler::available) {
                assert_eq!(case.run_to_the_name(seed()), Ok(()), "{case:?}");
            }
        }
    }
}

/// Children of vfork(2) run in their parent's memory; the calling thread of the parent waits for the child's end.
#[test]
fn children_of_vfork_that_write_while_the_process_ends() {
    some(&["vforks"], 45);
}

#[test]
fn forked_children_that_end_while_threads_write() {
    some(&["forks"], 45);
}

#[test]
fn programs_that_become_others_while_threads_write() {
    some(&["exec"], 90);
}

/// Processes whose paths lead elsewhere (chroot, mounts), or that forbid themselves further system calls.
#[test]
fn processes_in_a_sandbox_that_end_while_threads_write() {
    some(&["confined", "chroot", "mounts"], 50);
}

#[test]
fn ranks_that_end_while_threads_write() {
    some(&["ranks mpich", "ranks openmpi"], 100);
}

/// Runs as many cases as the time limit permits, for scripts/soak.sh; prints a table of failures.
#[test]
#[ignore = "takes as long as one likes: scripts/soak.sh"]
fn soak() {
    let minutes = std::env::var("DXT_SOAK_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let mut cases: Vec<Case> = Case::all().collect();
    if let Ok(only) = std::env::var("DXT_SOAK_ONLY") {
        let words: Vec<&str> = only.split(',').collect();
        cases
            .retain(|case| words.iter().all(|word| format!("{} {} {}", case.kind, case.mode, case.way).contains(word)));
    }
    let first = seed();
    eprintln!("seeds from {first} on");
    let (rounds, wrong) = runs(&cases, first, |_| Instant::now() < until);
    eprintln!("{rounds} runs, {} failed", wrong.lines().count());
    assert!(wrong.is_empty(), "{wrong}");
}
