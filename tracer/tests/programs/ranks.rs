//! Tests of DXT_RANKS: only the selected ranks are recorded, and no rank waits for a rank that is not recorded.

use crate::filters::{BOTH, mpiio, noted, setting};
use crate::harness::{Launch, Op, Order, Scratch, Traces, assert_same, read_log, read_ranks, workload, workload_with};

#[test]
fn only_ranks_that_are_named() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (chosen, flush) in [("1:2", "auto"), ("0", "auto"), ("1,3:", "process"), (":", "auto")] {
            let scratch = Scratch::new();
            let launch = mpiio(&scratch, mpi, 4).env("DXT_RANKS", chosen).env("DXT_FLUSH", flush);
            let (log, traces) = launch.traced();
            let wanted: &[i32] = match chosen {
                "1:2" => &[1, 2],
                "0" => &[0],
                ":" => &[0, 1, 2, 3],
                _ => &[1, 3],
            };
            let by_pid = read_ranks(&scratch);
            let log: Vec<Op> = log.into_iter().filter(|op| wanted.contains(&by_pid[&op.pid])).collect();
            assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
            let (files, regions) = if flush == "auto" { (1, 4) } else { (2, 2) };
            assert_eq!((traces.files.len(), traces.processes.len()), (files, regions), "{mpi:?} {chosen}");
            for process in &traces.processes {
                assert_eq!(process.info.segments > 0, wanted.contains(&process.info.rank), "{mpi:?} {chosen}");
            }
            let left_out = if flush == "auto" { 4 - wanted.len() as u64 } else { 0 };
            assert_eq!(noted(&traces, "ranks left out"), left_out);
            assert_eq!(setting(&traces, "DXT_RANKS"), Some(chosen));
        }
    }
}

#[test]
fn ranks_and_programs_that_are_all_left_out_write_nothing_and_hold_nobody_up() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (variable, value) in [("DXT_RANKS", "7:"), ("DXT_APPS", "other")] {
            let scratch = Scratch::new();
            let (_, traces) = mpiio(&scratch, mpi, 3).env(variable, value).traced();
            assert!(traces.files.is_empty(), "{mpi:?} {variable}");
        }
    }
}

#[test]
fn a_rank_without_a_launcher_is_known_when_mpi_starts() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for (chosen, files) in [("1", 0), ("0", 1)] {
            let scratch = Scratch::new();
            let launch = Launch::new(&scratch, workload_with("mpiio", mpi, &["-O1"])).arg(scratch.data()).arg("all");
            let launch = launch.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            let (_, traces) = launch.env("DXT_RANKS", chosen).traced();
            assert_eq!(traces.files.len(), files, "{mpi:?} {chosen}");
        }
    }
}

#[test]
fn children_of_a_process_that_is_left_out_are_left_out() {
    let scratch = Scratch::new();
    let (log, traces) = Launch::new(&scratch, workload("fork"))
        .arg(scratch.data())
        .env("DXT_RANKS", "1:")
        .env("SLURM_PROCID", "0")
        .env("SLURM_STEP_ID", "0")
        .traced();
    assert!(!log.is_empty() && traces.files.is_empty());
}

#[test]
fn processes_that_a_launcher_numbers_are_chosen_by_that_number() {
    for (number, files) in [(Some("2"), 1), (Some("3"), 0), (None, 1)] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("3");
        let launch = launch.env("DXT_RANKS", "0:2");
        let launch = match number {
            Some(number) => launch.env("SLURM_PROCID", number).env("SLURM_STEP_ID", "0"),
            None => launch.without("SLURM_PROCID"),
        };
        assert_eq!(launch.run().code, 7);
        assert_eq!(Traces::read(&scratch.traces()).files.len(), files, "{number:?}");
        assert!(!read_log(&scratch).is_empty());
    }
}

#[test]
fn a_batch_script_of_slurm_is_no_rank() {
    for (step, rank) in [(None, -1), (Some("0"), 1)] {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("3");
        let launch = launch.env("SLURM_JOB_ID", "7").env("SLURM_PROCID", "1");
        let launch = match step {
            Some(step) => launch.env("SLURM_STEP_ID", step),
            None => launch.without("SLURM_STEP_ID"),
        };
        assert_eq!(launch.run().code, 7);
        let traces = Traces::read(&scratch.traces());
        let ranks: Vec<i32> = traces.processes.iter().map(|process| process.info.rank).collect();
        assert_eq!(ranks, [rank], "{step:?}");
    }
}
