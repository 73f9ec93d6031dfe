//! Tests of programs that wait by polling.

use super::{BARRIER, LOCK, MS, RENAME, STAT, STAT_FAILED, UNLINK, report, report_of, saves_ms};
use crate::common::facts::{assert_saves_ms, assert_says, assert_stated};
use crate::common::op::{POSIX_OPEN, POSIX_READ, POSIX_WRITE};
use crate::common::{Builder, process};
use serde_json::{Value, json};
use trace_format::meta::stream_flags::{FAILED, IN_HDF5, NESTED};

const EAGAIN: u16 = 11;
const EEXIST: u16 = 17;
const ENOENT: u16 = 2;

/// Adds failing calls of operation `op` on file `name`, one every 5 ms between `from` and `until` (in ms).
fn ask(one: &mut Builder, name: &str, op: u16, errno: u16, from: u64, until: u64) {
    for at in (from..until).step_by(5) {
        one.fail(name, op, errno, at * MS, at * MS + 20_000);
    }
}

/// Returns the JSON report on four synthetic ranks that hold a lock file for `holds` ms each, one after another, then synchronize.
fn with_lock(holds: u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        let mine = 100 + rank * holds;
        ask(&mut one, "/scratch/lock", POSIX_OPEN, EEXIST, 100, mine);
        one.add("/scratch/lock", POSIX_OPEN, 0, -1, 0, mine * MS, mine * MS + 50_000);
        one.write("/scratch/table", (rank << 20) as i64, 4096, (mine + 1) * MS, (mine + 2) * MS);
        one.add("/scratch/lock", UNLINK, 0, -1, 0, (mine + holds - 1) * MS, (mine + holds) * MS - 1000);
        one.add("", BARRIER, 0, 0, 0, (mine + holds) * MS, (100 + 4 * holds) * MS);
        one
    };
    report((0..4).map(rank).collect(), 1000)
}

#[test]
fn a_lock_file_that_is_asked_for_again_and_again_is_reported() {
    let found = with_lock(200);
    let facts = json!({"file": "/scratch/lock", "calls": 40 + 80 + 120, "processes": 3});
    let waits = assert_stated(&found, "DXT-V027", &facts);
    assert_saves_ms(waits, 560.0..=640.0);
    assert_says(waits, &["lock file", "240 opens"]);
    assert_eq!(saves_ms(&with_lock(4), "DXT-V027"), None, "asked once or twice");
}

/// Returns the JSON report on a synthetic process that polls for a file every 5 ms until it exists, then reads it. If `reads_on` is true,
/// the process reads another file meanwhile. If `makes_it` is true, it creates the file itself; otherwise another process does.
fn consumer(reads_on: bool, makes_it: bool) -> Value {
    let mut one = process(-1, "n");
    ask(&mut one, "/scratch/result", STAT_FAILED, ENOENT, 100, 700);
    for at in (100..700).step_by(10).filter(|_| reads_on) {
        one.add("/scratch/in", POSIX_READ, 0, (at << 16) as i64, 65536, (at + 1) * MS, (at + 5) * MS);
    }
    if makes_it {
        one.write("/scratch/result", 0, 4096, 703 * MS, 704 * MS);
    }
    one.add("/scratch/result", POSIX_OPEN, 0, -1, 0, 702 * MS, 703 * MS);
    one.add("/scratch/result", POSIX_READ, 0, 0, 1 << 20, 710 * MS, 800 * MS);
    report(vec![one], 1000)
}

#[test]
fn a_file_that_others_make_is_reported_where_who_waits_does_nothing_else() {
    let found = consumer(false, false);
    let facts = json!({"file": "/scratch/result", "calls": 120, "processes": 1});
    let waits = assert_stated(&found, "DXT-V027", &facts);
    assert_saves_ms(waits, 560.0..=640.0);
    assert_says(waits, &["pid 999", "another process", "120 calls"]);
    let found = {
        let mut one = process(-1, "n");
        ask(&mut one, "/scratch/job", STAT_FAILED, ENOENT, 100, 700);
        one.add("/scratch/job", POSIX_OPEN, 0, -1, 0, 702 * MS, 703 * MS);
        one.add("/scratch/job", UNLINK, 0, -1, 0, 704 * MS, 705 * MS);
        report(vec![one], 1000)
    };
    assert!(saves_ms(&found, "DXT-V027").is_some_and(|ms| ms >= 560), "who takes it away has not made it");
    assert_eq!(saves_ms(&consumer(true, false), "DXT-V027"), None, "it works meanwhile");
    assert_eq!(saves_ms(&consumer(false, true), "DXT-V027"), None, "it makes the file itself");
}

#[test]
fn a_file_that_never_comes_is_not_waited_for() {
    let mut one = process(-1, "n");
    ask(&mut one, "/scratch/stop", STAT_FAILED, ENOENT, 0, 900);
    one.add("/scratch/in", POSIX_READ, 0, 0, 1 << 20, 900 * MS, 990 * MS);
    assert_eq!(saves_ms(&report(vec![one], 1000), "DXT-V027"), None);
}

/// Returns the JSON report on two synthetic processes: one creates 6 files, one per second; the other polls for each file every `every` ms
/// until it exists. If `reads_on` is true, the second process reads another file meanwhile. If `meets` is true, both synchronize.
fn producer_and_consumer(every: usize, reads_on: bool, meets: bool) -> Value {
    let mut maker = process(0, "n");
    let mut waits = process(1, "n");
    for file in 0..6_u64 {
        let (name, made) = (format!("/scratch/ready_{file}"), file * 1000 + 600);
        maker.add(&name, POSIX_OPEN, 0, -1, 0, made * MS - 50_000, made * MS);
        for at in (file * 1000 + 100..made).step_by(every) {
            waits.fail(&name, STAT_FAILED, ENOENT, at * MS, at * MS + 20_000);
        }
        let found = (file * 1000 + 100..).step_by(every).find(|at| *at >= made).unwrap_or(0);
        for at in (file * 1000 + 110..found).step_by(10).filter(|_| reads_on) {
            waits.add("/scratch/in", POSIX_READ, 0, (at << 16) as i64, 65536, at * MS + MS, at * MS + 6 * MS);
        }
        waits.add(&name, STAT, 0, -1, 0, found * MS, found * MS + 20_000);
        waits.add("/scratch/other", POSIX_READ, 0, (file << 20) as i64, 1 << 20, (found + 1) * MS, (found + 20) * MS);
        for one in [&mut maker, &mut waits].into_iter().filter(|_| meets) {
            one.add("", BARRIER, 0, 0, 0, (made + 10) * MS, (made + 20) * MS);
        }
    }
    report(vec![maker, waits], 6200)
}

#[test]
fn a_file_that_is_found_late_costs_the_time_since_it_was_there() {
    // The second process queries at 100, 400 and 700 ms; the file exists from 600 ms on.
    let found = producer_and_consumer(300, false, false);
    let late = assert_stated(&found, "DXT-V027", &json!({"calls": 12}));
    assert_says(late, &["rank 1", "6 files", "/scratch/ready_*", "100 ms", "300 ms"]);
    assert_eq!(saves_ms(&found, "DXT-V027"), Some(600));
    // With a query every 850 ms, the second process queries at 100 and 950 ms.
    assert_eq!(saves_ms(&producer_and_consumer(850, false, false), "DXT-V027"), Some(2100));
    assert!(saves_ms(&producer_and_consumer(5, false, false), "DXT-V027").is_none_or(|ms| ms < 30), "asked often");
    assert_eq!(saves_ms(&producer_and_consumer(300, true, false), "DXT-V027"), None, "it works meanwhile");
    assert_eq!(saves_ms(&producer_and_consumer(300, false, true), "DXT-V027"), None, "they meet meanwhile");
}

#[test]
fn a_file_that_is_renamed_into_its_place_is_there_from_then_on() {
    // Two ranks query the file, and again 190 ms later, when it has existed for 60 ms.
    let run = |folder: &str| {
        let mut all: Vec<Builder> = (0..3).map(|rank| process(rank, "n")).collect();
        for file in 0..6_u64 {
            let (name, at) = (format!("/scratch/out/res.{file}"), file * 300);
            all[0].add(&format!("{folder}/tmp"), RENAME, 0, -1, 0, (at + 129) * MS, (at + 130) * MS);
            for one in all.iter_mut().skip(1) {
                one.fail(&name, POSIX_OPEN, ENOENT, at * MS, at * MS + 20_000);
                one.add(&name, POSIX_OPEN, 0, -1, 0, (at + 190) * MS, (at + 191) * MS);
                one.add(&name, POSIX_READ, 0, 0, 1 << 20, (at + 191) * MS, (at + 200) * MS);
            }
        }
        report(all, 1800)
    };
    let found = run("/scratch/out");
    let late = assert_stated(&found, "DXT-V027", &json!({"calls": 12}));
    assert_says(late, &["2 processes", "6 files", "/scratch/out/res.*", "60.0 ms"]);
    assert_eq!(saves_ms(&found, "DXT-V027"), Some(360));
    assert_eq!(saves_ms(&run("/scratch/elsewhere"), "DXT-V027"), None, "in another folder");
}

#[test]
fn who_looks_once_and_then_makes_or_opens_a_file_does_not_wait_for_it() {
    let run = |again: bool| {
        let (mut maker, mut other) = (process(0, "n"), process(1, "n"));
        for file in 0..6_u64 {
            let (name, at) = (format!("/scratch/part_{file}"), file * 1000);
            maker.add(&name, POSIX_OPEN, 0, -1, 0, (at + 600) * MS, (at + 601) * MS);
            other.fail(&name, STAT_FAILED, ENOENT, (at + 100) * MS, (at + 101) * MS);
            // The querying call finds the file, or the next call does anyway.
            let op = if again { STAT } else { POSIX_OPEN };
            other.add(&name, op, 0, -1, 0, (at + 900) * MS, (at + 901) * MS);
            other.add(&name, POSIX_READ, 0, 0, 1 << 20, (at + 902) * MS, (at + 950) * MS);
        }
        saves_ms(&report(vec![maker, other], 6000), "DXT-V027")
    };
    assert_eq!(run(true), Some(1794));
    assert_eq!(run(false), None);
}

#[test]
fn who_waits_for_the_program_that_makes_a_file_does_not_poll() {
    // Like make: each target is looked at, made by a program that a shell starts, and looked at again when the program ends, or later.
    let run = |starts: bool, ends: u64| {
        let mut make = process(-1, "n");
        let mut all = Vec::new();
        for file in 0..6_u64 {
            let (name, at) = (format!("/scratch/part_{file}.o"), file * 1000);
            let (mut shell, mut compiler) = (process(-1, "n"), process(-1, "n"));
            (shell.process.info.pid, compiler.process.info.pid) = (2000 + file as u32, 3000 + file as u32);
            shell.process.info.ppid = if starts { make.process.info.pid } else { 1 };
            compiler.process.info.ppid = shell.process.info.pid;
            make.fail(&name, STAT_FAILED, ENOENT, (at + 100) * MS, (at + 101) * MS);
            compiler.add(&name, POSIX_OPEN, 0, -1, 0, (at + 600) * MS, (at + 601) * MS);
            make.add(&name, STAT, 0, -1, 0, (at + 900) * MS, (at + 901) * MS);
            all.extend([(shell, at + ends), (compiler, at + ends)]);
        }
        all.push((make, 6000));
        report_of(all, 0)
    };
    assert_eq!(saves_ms(&run(true, 890), "DXT-V027"), None);
    for (starts, ends) in [(false, 890), (true, 610)] {
        assert_eq!(saves_ms(&run(starts, ends), "DXT-V027"), Some(1794), "{starts}");
    }
}

#[test]
fn who_looks_for_all_files_before_and_after_other_work_does_not_poll() {
    // One process looks for six files at the start, and again at the end; or for one after the other.
    let run = |at_once: bool| {
        let (mut maker, mut other) = (process(0, "n"), process(1, "n"));
        for file in 0..6_u64 {
            let (name, at) = (format!("/scratch/part_{file}"), file * 1000);
            maker.add(&name, POSIX_OPEN, 0, -1, 0, (at + 600) * MS, (at + 601) * MS);
            let (asks, finds) = if at_once { (file, 5800 + file) } else { (at + 100, at + 900) };
            other.fail(&name, STAT_FAILED, ENOENT, asks * MS, asks * MS + 20_000);
            other.add(&name, STAT, 0, -1, 0, finds * MS, finds * MS + 20_000);
        }
        saves_ms(&report(vec![maker, other], 6000), "DXT-V027")
    };
    assert_eq!((run(true), run(false)), (None, Some(1794)));
}

/// HDF5 asks once for the lock of a file, and a program that opens the file again until it succeeds polls for the lock. The time with the
/// lock is no wait, and locks of MPI-IO are its own.
#[test]
fn locks_that_hdf5_asks_for_are_polled_by_opening_again() {
    let run = |inside: u8| {
        let rank = |number: u64| {
            let mut one = process(-1, "n");
            one.process.info.pid = 500 + number as u32;
            for round in [0, 1000] {
                let (from, until) = (round + number * 250, round + (number + 1) * 250);
                for at in (round..from).step_by(10) {
                    let stream = one.stream("/data/a.h5", LOCK, inside | FAILED);
                    one.process.streams[stream as usize].errno = EAGAIN;
                    one.add("/data/a.h5", LOCK, inside | FAILED, -1, 0, at * MS, at * MS + 20_000);
                }
                one.add("/data/a.h5", LOCK, inside, -1, 0, from * MS, from * MS + 20_000);
                one.add("/data/a.h5", POSIX_WRITE, inside, 0, 4096, (from + 1) * MS, (until - 1) * MS);
            }
            one
        };
        report((0..4).map(rank).collect(), 2000)
    };
    let found = run(IN_HDF5);
    let waits = assert_stated(&found, "DXT-V027", &json!({"file": "/data/a.h5"}));
    assert_says(waits, &["locks", "300 lock calls"]);
    assert_saves_ms(waits, 1350.0..=1550.0);
    assert_eq!(saves_ms(&run(NESTED), "DXT-V027"), None);
}
