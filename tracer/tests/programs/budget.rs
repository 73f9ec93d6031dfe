//! Tests of DXT_JOB_BYTES for whole jobs: total bytes of all processes, and lifetime of the node quota file. (site.rs tests the limits of a
//! single process.)

use crate::filters::{BOTH, noted};
use crate::harness::{
    Launch, Scratch, Traces, have, is_root, recover, skip, spools, under_strace, workload, workload_with,
};
use crate::launcher::run_in;
use crate::site::{ended_quietly, left};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

const FOLDED: &str = "because DXT_JOB_BYTES has no room";
const OWN_SHARE: &str = "with a fixed share of DXT_JOB_BYTES";
/// Maximum number of bytes of a trace beyond the bytes that the budget counts for it.
const TRACE: u64 = 4 << 10;
/// Maximum number of bytes beyond the budget that a killed process with one thread and two files leaves. More threads or files add steps of
/// this size.
const LEAST_SPOOL: u64 = 64 << 10;

/// Returns the disk space that a file takes, in bytes. Less than the length, since spools are sparse.
fn bytes(file: &Path) -> u64 {
    let about = file.symlink_metadata().expect("a file");
    about.len().min(about.blocks() * 512)
}

fn all_bytes(scratch: &Scratch) -> u64 {
    left(scratch).iter().map(|file| bytes(file)).sum()
}

/// Returns the node quota files in the scratch directory, through which the processes of a job on one node share the budget.
fn pots(scratch: &Scratch) -> Vec<PathBuf> {
    left(scratch).into_iter().filter(|file| file.extension().is_some_and(|end| end == "budget")).collect()
}

/// Returns the number of bytes reserved in the only node quota file.
fn reserved(scratch: &Scratch) -> u64 {
    let [pot] = pots(scratch).try_into().expect("one pot");
    reserved_in(&pot)
}

/// Returns the node quota files in /tmp, used by processes that have no spool directory in common.
fn pots_in_tmp() -> Vec<PathBuf> {
    let files = std::fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|file| file.extension().is_some_and(|end| end == "budget")).collect()
}

fn is_own(pot: &Path) -> bool {
    let own = std::fs::metadata("/proc/self").expect("a process");
    pot.symlink_metadata().is_ok_and(|about| about.uid() == own.uid())
}

fn reserved_in(pot: &Path) -> u64 {
    let bytes = std::fs::read(pot).expect("a pot can be read");
    u64::from_le_bytes(bytes[16..24].try_into().expect("three words"))
}

/// Returns the launch of a program with `calls` writes at random offsets to one file, and one write to another file. `budget`:
/// DXT_JOB_BYTES; `job`: job ID.
fn process<'a>(scratch: &'a Scratch, job: Option<&str>, budget: &str, calls: &str) -> Launch<'a> {
    let launch = Launch::new(scratch, workload("many_files")).arg(scratch.data()).args(["return", "1", calls]);
    let launch = launch.env("DXT_JOB_BYTES", budget);
    job.into_iter().fold(launch, |launch, job| launch.env("DXT_JOB_ID", job))
}

/// Starts a Python process that locks the node quota file `pot`, as the tracer does, then runs the Python code `last`.
fn holder(pot: &Path, last: &str) -> Child {
    let holds = "import fcntl, os, signal, sys, time; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); ";
    let mut holder = Command::new("python3")
        .args(["-c", &format!("{holds}{last}")])
        .arg(pot)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("failed to run python3");
    let mut said = String::new();
    let stdout = holder.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).expect("a line");
    assert_eq!(said, "held\n");
    holder
}

/// Kills and reaps the process that holds the lock on a node quota file.
fn let_go(mut holder: Child) {
    holder.kill().expect("failed to kill it");
    holder.wait().expect("it ends");
}

fn segments(traces: &Traces) -> u64 {
    traces.processes.iter().map(|process| process.info.segments).sum()
}

/// Asserts that all `writes` writes are recorded or counted, and that some, but not all, writes have segments.
#[track_caller]
fn complete(scratch: &Scratch, writes: u64) -> Traces {
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.writes_within_budget(&scratch.data()), writes);
    let segments = segments(&traces);
    assert!(segments > 0 && segments < writes, "{segments} of {writes} have segments");
    assert!(noted(&traces, FOLDED) > 0);
    traces
}

#[test]
fn a_job_of_many_processes_has_one_budget() {
    // Processes run one after another, then at once. Without a budget they leave 3 MB and 5 MB.
    for (count, calls, and, budget) in [(300_u64, 2000_u64, ";", 256_u64 << 10), (50, 20_000, "&", 512 << 10)] {
        let scratch = Scratch::new();
        let place = scratch.data().display().to_string();
        (1..=count).for_each(|i| std::fs::create_dir(scratch.data().join(i.to_string())).expect("a directory"));
        let script = format!("for i in $(seq {count}); do \"$0\" {place}/$i return 1 {calls} {and} done; wait");
        let program = workload("many_files");
        let command = ["sh".as_ref(), "-c".as_ref(), Path::new(&script), &*program];
        let (spools, budget_text) = (scratch.spools().display().to_string(), budget.to_string());
        let variables = [("DXT_SPOOL", spools.as_str()), ("DXT_JOB_BYTES", &budget_text)];
        let outcome = run_in(&scratch, variables, &["-q"], &command);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{and}");
        let traces = complete(&scratch, count * (calls + 1));
        assert!(traces.files.len() as u64 >= count, "{} traces", traces.files.len());
        assert_eq!(noted(&traces, OWN_SHARE), 0);
        let (left, most) = (all_bytes(&scratch), budget + TRACE * traces.files.len() as u64);
        assert!(left <= most, "{left} bytes are left, {most} allowed");
        assert!(reserved(&scratch) <= budget);
    }
}

#[test]
fn what_processes_do_not_leave_others_may() {
    let scratch = Scratch::new();
    for _ in 0..20 {
        assert_eq!(process(&scratch, Some("7"), "400K", "1000").run().code, 7);
    }
    // Each process had a spool of some 300 KiB.
    let traces = Traces::read(&scratch.traces());
    assert_eq!((traces.files.len(), noted(&traces, FOLDED)), (20, 0));
    let left = traces.files.iter().map(|file| bytes(file)).sum::<u64>();
    assert_eq!(reserved(&scratch), left);
    let [pot] = pots(&scratch).try_into().expect("one pot");
    assert_eq!(pot.metadata().expect("a pot").permissions().mode() & 0o777, 0o600);
    // Another job has its own quota.
    assert_eq!(process(&scratch, Some("8"), "400K", "1000").run().code, 7);
    assert_eq!(pots(&scratch).len(), 2);
}

#[test]
fn what_killed_processes_leave_counts() {
    let scratch = Scratch::new();
    let (budget, killed) = (1_u64 << 20, 12);
    for _ in 0..killed {
        let launch = Launch::new(&scratch, workload("many_files")).arg(scratch.data()).args(["kill", "1", "3000"]);
        launch.env("DXT_JOB_ID", "7").env("DXT_JOB_BYTES", budget.to_string()).run();
    }
    assert_eq!(spools(&scratch).len(), killed);
    let (left, most) = (all_bytes(&scratch), budget + LEAST_SPOOL * killed as u64);
    assert!(left <= most, "{left} bytes are left, {most} allowed");
    assert!(reserved(&scratch) <= budget);
    // Calls that are only counted are recovered too.
    recover(&scratch);
    complete(&scratch, killed as u64 * 3001);
}

#[test]
fn steps_of_ranks_and_their_children_have_one_budget() {
    for compiler in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for flush in ["auto", "process"] {
            let scratch = Scratch::new();
            let budget = 256 << 10;
            for step in ["0", "1"] {
                let program = workload_with("children_mpi", compiler, &["-O1"]);
                let launch = Launch::new(&scratch, program).arg(scratch.data()).args(["20000", "3"]);
                let launch = launch.env("SLURM_JOB_ID", "7").env("SLURM_STEP_ID", step).env("DXT_FLUSH", flush);
                let outcome = launch.env("DXT_JOB_BYTES", budget.to_string()).ranks(compiler, 2).run();
                ended_quietly(&outcome);
            }
            // Two job steps of two ranks, each with three child processes.
            let traces = complete(&scratch, 16 * 20_000);
            assert_eq!(noted(&traces, OWN_SHARE), 0);
            let (left, most) = (all_bytes(&scratch), budget + TRACE * traces.files.len() as u64);
            assert!(left <= most, "{compiler:?} {flush}: {left} bytes are left, {most} allowed");
            assert!(reserved(&scratch) <= budget);
        }
    }
}

#[test]
fn a_node_has_its_part() {
    let run = |variables: &[(&str, &str)]| {
        let scratch = Scratch::new();
        // The number of segments that fit depends on the duration of the calls.
        let launch = process(&scratch, Some("7"), "400K", "150000");
        let launch = variables.iter().fold(launch, |launch, (name, value)| launch.env(name, value));
        assert_eq!(launch.run().code, 7);
        complete(&scratch, 150_001);
        let bytes = all_bytes(&scratch);
        (bytes, reserved(&scratch))
    };
    let (all, _) = run(&[("DXT_BUFFER_MAX", "512K")]);
    let (half, reserved) = run(&[("SLURM_JOB_NUM_NODES", "2")]);
    assert!(all > 150 << 10, "{all}");
    assert!(half <= (200 << 10) + TRACE && reserved <= 200 << 10, "{half} {reserved}");
}

/// Returns the number of node quota files, and the number of processes that report a fixed share of the budget.
fn shares(scratch: &Scratch) -> (usize, u64) {
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()).0, 101 * traces.files.len() as u64);
    (pots(scratch).len(), noted(&traces, OWN_SHARE))
}

#[test]
fn without_a_name_or_a_place_each_process_has_its_share() {
    // The process has no job id to share with other processes.
    let scratch = Scratch::new();
    assert_eq!(process(&scratch, None, "1M", "100").run().code, 7);
    assert_eq!(shares(&scratch), (0, 1));
    // No file can be made in this directory.
    let scratch = Scratch::new();
    assert_eq!(process(&scratch, Some("7"), "1M", "100").env("DXT_SPOOL", "/proc/self").run().code, 7);
    assert_eq!(shares(&scratch), (0, 1));
    let scratch = Scratch::new();
    std::fs::write(scratch.spools(), "a file").expect("failed to write a file");
    assert_eq!(process(&scratch, Some("7"), "1M", "100").env("DXT_SPOOL", scratch.spools()).run().code, 7);
    assert_eq!(shares(&scratch).1, 1);
    // Without a budget there is nothing to share.
    let scratch = Scratch::new();
    assert_eq!(process(&scratch, Some("7"), "", "100").run().code, 7);
    assert_eq!((shares(&scratch), left(&scratch).len()), ((0, 0), 1));
}

#[test]
fn a_pot_that_is_none_is_left_alone() {
    for planted in ["link", "fifo", "directory", "garbage", "locked", "owner"] {
        let scratch = Scratch::new();
        assert_eq!(process(&scratch, Some("7"), "1M", "100").run().code, 7);
        let [pot] = pots(&scratch).try_into().expect("one pot");
        let good = std::fs::read(&pot).expect("a pot can be read");
        std::fs::remove_file(&pot).expect("failed to remove the pot");
        let elsewhere = scratch.root().join("elsewhere");
        std::fs::write(&elsewhere, &good).expect("failed to write a file");
        match planted {
            "link" => std::os::unix::fs::symlink(&elsewhere, &pot).expect("failed to make a link"),
            "fifo" if !have("mkfifo") => return skip("mkfifo is not installed"),
            "fifo" => {
                let made = std::process::Command::new("mkfifo").arg(&pot).status();
                assert!(made.is_ok_and(|made| made.success()));
            }
            "directory" => std::fs::create_dir(&pot).expect("failed to make a directory"),
            "garbage" => {
                let bytes: Vec<u8> = good.iter().map(|byte| byte ^ 1).collect();
                std::fs::write(&pot, bytes).expect("failed to write a file");
                std::fs::set_permissions(&pot, std::fs::Permissions::from_mode(0o600)).expect("failed to set a mode");
            }
            // Any process that can open the file can hold its lock.
            "locked" if !have("python3") => return skip("python3 is not installed"),
            "locked" => {
                std::fs::write(&pot, &good).expect("failed to write a file");
                std::fs::set_permissions(&pot, std::fs::Permissions::from_mode(0o666)).expect("failed to set a mode");
            }
            _ if !is_root() => {
                skip("only root can give a file away");
                continue;
            }
            _ => {
                std::fs::write(&pot, &good).expect("failed to write a file");
                std::os::unix::fs::chown(&pot, Some(65_534), None).expect("failed to give a file away");
            }
        }
        let holder = matches!(planted, "locked" | "owner").then(|| holder(&pot, "time.sleep(60)"));
        let outcome = process(&scratch, Some("7"), "1M", "100").run();
        holder.into_iter().for_each(let_go);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{planted}");
        assert_eq!(noted(&Traces::read(&scratch.traces()), FOLDED), 0, "{planted}");
        assert_eq!(std::fs::read(&elsewhere).expect("a file"), good, "{planted}");
        if planted == "directory" {
            std::fs::remove_dir(&pot).expect("an empty directory");
        } else {
            std::fs::remove_file(&pot).expect("failed to remove what was planted");
        }
        assert_eq!(shares(&scratch), (0, 1), "{planted}");
    }
}

#[test]
fn a_stopped_process_that_has_the_lock_costs_nobody_anything() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    let scratch = Scratch::new();
    assert_eq!(process(&scratch, Some("7"), "1G", "100").run().code, 7);
    let all_of_100 = segments(&Traces::read(&scratch.traces()));
    let [pot] = pots(&scratch).try_into().expect("one pot");
    let before = reserved(&scratch);
    let holder = holder(&pot, "os.kill(os.getpid(), signal.SIGSTOP)");
    let outcome = process(&scratch, Some("7"), "1G", "300000").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""));
    // The process used a fixed share, and reports so.
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()).0, 300_102);
    assert_eq!((noted(&traces, FOLDED), noted(&traces, OWN_SHARE)), (0, 1));
    assert_eq!(segments(&traces), 2 * all_of_100 + 299_900);
    assert_eq!(reserved(&scratch), before);
    let_go(holder);
    assert_eq!(process(&scratch, Some("7"), "1G", "100").run().code, 7);
    assert!(reserved(&scratch) > before);
    // A fixed share still limits the process.
    let small = Scratch::new();
    assert_eq!(process(&small, Some("7"), "400K", "100").run().code, 7);
    let [pot] = pots(&small).try_into().expect("one pot");
    let holder = self::holder(&pot, "os.kill(os.getpid(), signal.SIGSTOP)");
    assert_eq!(process(&small, Some("7"), "400K", "300000").run().code, 7);
    let_go(holder);
    complete(&small, 300_102);
    assert!(all_bytes(&small) <= (400 << 10) + 3 * TRACE, "{}", all_bytes(&small));
}

#[test]
fn a_lock_that_comes_late_costs_nobody_anything() {
    if !have("python3") {
        return skip("python3 is not installed");
    }
    let scratch = Scratch::new();
    assert_eq!(process(&scratch, Some("7"), "1G", "100").run().code, 7);
    let [pot] = pots(&scratch).try_into().expect("one pot");
    // The lock is held longer than a process waits at its start, but released before the process ends.
    let mut holder = holder(&pot, "time.sleep(0.3)");
    let launch = Launch::new(&scratch, "sh").args(["-c", "\"$0\" \"$@\"; code=$?; exit $code"]).untraced();
    let launch = launch.arg("env").arg(format!("LD_PRELOAD={}", crate::harness::library().display()));
    let launch = launch.arg(workload("many_files")).arg(scratch.data()).args(["return", "1", "3000000"]);
    // The buffer has room for all segments, so only the budget could omit some.
    let launch = launch.env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", "7").env("DXT_BUFFER_MAX", "64M");
    assert_eq!(launch.run().code, 7);
    assert!(holder.wait().expect("it ends").success());
    // At the end the reservations equal the sizes of the files that are left.
    let traces = Traces::read(&scratch.traces());
    assert_eq!((noted(&traces, FOLDED), noted(&traces, OWN_SHARE)), (0, 0));
    assert!(segments(&traces) > 3_000_000, "{}", segments(&traces));
    assert_eq!(reserved(&scratch), traces.files.iter().map(|file| bytes(file)).sum::<u64>());
}

/// At its end, a process returns the part of its reservation that its trace and spool do not use. Cases: no file is left, a spool is left,
/// no file can be written.
#[test]
fn what_is_not_left_is_given_back() {
    // Filtered and confined by seccomp: the process leaves no file.
    let scratch = Scratch::new();
    for _ in 0..3 {
        let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).args(["kill", "100"]);
        let launch = launch.env("DXT_MIN_RUN_TIME", "10").env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", "7");
        assert_eq!(launch.run().code, 5);
    }
    assert_eq!(left(&scratch), Vec::<PathBuf>::new());
    // Confined by seccomp: the spool remains, and no more than its size stays reserved.
    for count in 1..=3 {
        let launch = Launch::new(&scratch, workload("confined")).arg(scratch.data()).args(["kill", "100"]);
        assert_eq!(launch.env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", "7").run().code, 5);
        assert_eq!(spools(&scratch).len(), count);
        let (kept, there) = (reserved(&scratch), spools(&scratch).iter().map(|file| bytes(file)).sum::<u64>());
        assert!(kept <= there && there <= kept + LEAST_SPOOL * count as u64, "{kept} {there}");
    }
    // No trace can be written, and there is no spool.
    let scratch = Scratch::new();
    let file = scratch.root().join("a_file");
    std::fs::write(&file, "").expect("failed to write a file");
    let job = format!("failed-{}", std::process::id());
    let launch = process(&scratch, Some(&job), "1G", "100").env("DXT_SPOOL", "off").env("DXT_OUTPUT_DIR", &file);
    let before = pots_in_tmp();
    assert_eq!(launch.run().code, 7);
    let new: Vec<PathBuf> = pots_in_tmp().into_iter().filter(|pot| !before.contains(pot) && is_own(pot)).collect();
    assert_eq!(new, Vec::<PathBuf>::new());
}

#[test]
fn programs_that_are_not_traced_leave_what_counts() {
    let scratch = Scratch::new();
    let library = crate::harness::library().display().to_string();
    let end = |how: &str| {
        let script = format!("echo x > {}/f; {how}", scratch.data().display());
        let launch = Launch::new(&scratch, "/bin/sh").args(["-c", &script]);
        let outcome = launch.env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", "7").run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{how}");
        let (pot, files) = (reserved(&scratch), left(&scratch));
        let is = |file: &Path, end: &str| file.extension().is_some_and(|there| there == end);
        let done = files.iter().filter(|file| is(file, "done")).count();
        (done, pot, files.iter().filter(|file| !is(file, "budget")).map(|file| bytes(file)).sum::<u64>())
    };
    let (done, pot, there) = end("unset LD_PRELOAD; exec true");
    assert_eq!(done, 1);
    // File system metadata (page tables) is not counted.
    assert!(pot <= there && there <= pot + LEAST_SPOOL, "{pot} {there}");
    // A program with the tracer, even switched off, removes the file and returns the reservation.
    let (_, before, there) = end("exec true");
    for how in [
        "exec true",
        "DXT_ENABLE=off exec true",
        "unset DXT_ENABLE; exec true",
        &format!("LD_PRELOAD={library} exec sh -c 'echo y > /dev/null'"),
    ] {
        let (done, pot, there_now) = end(how);
        assert_eq!(done, 1, "{how}");
        assert!(pot - before < 64 << 10 && there_now - there < 64 << 10, "{how}: {before} {pot}, {there} {there_now}");
    }
}

#[test]
fn without_a_budget_a_program_that_is_become_says_nothing_of_it() {
    let scratch = Scratch::new();
    let library = crate::harness::library().display().to_string();
    let script = format!("echo x > {0}/f; LD_PRELOAD={library} exec sh -c 'echo y > {0}/g'", scratch.data().display());
    assert_eq!(Launch::new(&scratch, "/bin/sh").args(["-c", &script]).run().code, 0);
    let traces = Traces::read(&scratch.traces());
    assert!(!traces.files.is_empty());
    assert_eq!(noted(&traces, OWN_SHARE), 0);
}

#[test]
fn a_relative_directory_of_spools_is_no_place_for_a_pot() {
    let scratch = Scratch::new();
    let job = format!("relative-{}", std::process::id());
    let before = pots_in_tmp();
    for place in ["a", "b"] {
        let place = scratch.data().join(place);
        std::fs::create_dir(&place).expect("failed to make a directory");
        let script = format!("cd {}; \"$0\" \"$@\"", place.display());
        let launch = Launch::new(&scratch, "/usr/bin/env").untraced().args(["sh", "-c", &script, "env"]);
        let launch = launch.arg(format!("LD_PRELOAD={}", crate::harness::library().display()));
        let launch = launch.arg(workload("many_files")).arg(scratch.data()).args(["return", "1", "100"]);
        let launch = launch.env("DXT_SPOOL", "spools").env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", &job);
        assert_eq!(launch.run().code, 7);
        let here = std::fs::read_dir(place.join("spools")).expect("a directory").count();
        assert_eq!(here, 0);
    }
    let new: Vec<PathBuf> = pots_in_tmp().into_iter().filter(|pot| !before.contains(pot) && is_own(pot)).collect();
    let traces = Traces::read(&scratch.traces());
    assert_eq!(noted(&traces, OWN_SHARE), 0);
    let left: u64 = traces.files.iter().map(|file| bytes(file)).sum();
    let here: Vec<&PathBuf> = new.iter().filter(|pot| reserved_in(pot) == left).collect();
    here.iter().for_each(|pot| std::fs::remove_file(pot).expect("failed to remove the pot"));
    assert_eq!(here.len(), 1, "{new:?} {left}");
}

#[test]
fn to_give_back_makes_nothing() {
    let scratch = Scratch::new();
    let spools = scratch.spools();
    let script = format!("echo x > {}/f; rm -r {}", scratch.data().display(), spools.display());
    let outcome =
        Launch::new(&scratch, "/bin/sh").args(["-c", &script]).env("DXT_JOB_BYTES", "1G").env("DXT_JOB_ID", "7").run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!spools.exists(), "{:?}", left(&scratch));
    assert!(!Traces::read(&scratch.traces()).files.is_empty());
}

#[test]
fn without_a_budget_no_call_is_made_for_it() {
    let run = |budget: &str| {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.spools()).expect("failed to make a directory");
        let report = scratch.root().join("strace.out");
        let options = ["-o", report.to_str().expect("a name in UTF-8")];
        let launch = under_strace(&scratch, &options, workload("many_files"))?.arg(scratch.data());
        let outcome = launch.args(["return", "1", "1000"]).env("DXT_JOB_ID", "7").env("DXT_JOB_BYTES", budget).run();
        assert_eq!(outcome.code, 7, "{outcome:?}");
        let report = std::fs::read_to_string(&report).expect("strace writes a report");
        let of_pot = |line: &&str| line.contains(".budget") || line.contains("F_OFD_SETLK");
        Some((report.lines().filter(of_pot).count(), report.lines().count()))
    };
    let (Some((without, lines)), Some((with, more_lines))) = (run(""), run("100M")) else { return };
    // Open (not found), create, open again, and two pairs of lock and unlock.
    assert_eq!((without, with), (0, 7), "{lines} {more_lines}");
    assert!(more_lines > lines, "{lines} {more_lines}");
}

#[test]
fn forked_children_and_other_programs_give_back_what_they_do_not_leave() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("fork")).arg(scratch.data());
    let outcome = launch.env("DXT_JOB_ID", "7").env("DXT_JOB_BYTES", "100M").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let traces = Traces::read(&scratch.traces());
    assert_eq!((noted(&traces, FOLDED), noted(&traces, OWN_SHARE)), (0, 0));
    assert_eq!(reserved(&scratch), traces.files.iter().map(|file| bytes(file)).sum::<u64>());
}
