//! Tests of DXT_TIMING=off: counters have no times, and all other fields are exact.

use crate::harness::{Compiler, Launch, Scratch, Traces, workload, workload_with};
use trace_format::counters::Counters;

/// Returns the counters of every stream without times, each with a description of the stream.
fn counted(traces: &Traces) -> Vec<(String, Counters)> {
    let mut all: Vec<(String, Counters)> = traces
        .processes
        .iter()
        .flat_map(|process| &process.missing)
        .map(|missing| {
            let none = Counters::default();
            let about = format!("{} {} {} {}", missing.op.layer, missing.op.name, missing.op.path, missing.nested);
            let (first_start, last_end) = (none.first_start, none.last_end);
            (about, Counters { duration: 0, max_duration: 0, first_start, last_end, ..missing.counters.clone() })
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn has_no_times(traces: &Traces) {
    for process in &traces.processes {
        for Counters { duration, max_duration, first_start, last_end, .. } in
            process.missing.iter().map(|missing| &missing.counters)
        {
            assert_eq!((*duration, *max_duration, *first_start, *last_end), (0, 0, u64::MAX, 0));
        }
        for profile in process.profiles.values() {
            assert_eq!((profile.slowest_read, profile.slowest_write), Default::default());
        }
        assert!(process.info.end_ns > 0, "how long it ran is known");
    }
    let off = ("DXT_TIMING".to_owned(), "off".to_owned());
    assert!(!traces.jobs.is_empty() && traces.jobs.iter().all(|job| job.settings.contains(&off)));
}

#[test]
fn all_but_times_is_as_with_them() {
    let run = |timing: &str| {
        let scratch = Scratch::new();
        let data = scratch.data();
        let launch = Launch::new(&scratch, workload("counters"))
            .arg(&data)
            .arg("pattern")
            .arg("0")
            .env("DXT_ENABLE", "counters");
        let outcome = launch.env("DXT_TIMING", timing).env("DXT_INCLUDE", &data).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let counted = counted(&traces)
            .into_iter()
            .map(|(about, counters)| (about.replace(&data.display().to_string(), ""), counters));
        (counted.collect::<Vec<_>>(), traces)
    };
    let ((timed, _), (untimed, traces)) = (run("on"), run("off"));
    assert_eq!(timed, untimed);
    assert!(!untimed.is_empty());
    has_no_times(&traces);
}

#[test]
fn ranks_reduce_counters_without_times() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for flush in ["auto", "process"] {
            let scratch = Scratch::new();
            let program = workload_with("counters_mpi", mpi, &["-O1"]);
            let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("shared").ranks(mpi, 3);
            let launch = launch.env("OMPI_MCA_io", "^ompio").env("DXT_INCLUDE", scratch.data());
            // DARSHAN_DISABLE_TIMING is Darshan's variable.
            let launch = launch.env("DXT_ENABLE", "counters").env("DARSHAN_DISABLE_TIMING", "1");
            assert_eq!(launch.env("DXT_FLUSH", flush).run().code, 0);
            let traces = Traces::read(&scratch.traces());
            assert_eq!(traces.processes.iter().any(|process| process.reduced.0 > 0), flush == "auto", "{mpi:?}");
            has_no_times(&traces);
        }
    }
}

#[test]
fn a_trace_without_times_is_refused_with_a_word() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "/bin/cat").arg("/dev/null").env("DXT_TIMING", "off");
    let outcome = launch.run();
    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.contains("DXT_TIMING") && outcome.stderr.contains("DXT_ENABLE=counters"), "{outcome:?}");
    let check = Launch::new(&scratch, "/bin/cat").arg("/dev/null").env("DXT_TIMING", "of").env("DXT_ENABLE", "check");
    assert!(check.run().stderr.contains("on or off"));
}
