//! Tests of the environment variables described in docs/configuration.md, as a user sets them.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, spools, workload, workload_with};

/// Returns the launch of a program that makes one open and `calls` pwrites of 4 bytes, and exits with status 7.
fn program<'a>(scratch: &'a Scratch, calls: u32) -> Launch<'a> {
    Launch::new(scratch, workload("exits")).arg(scratch.data()).arg("return").arg(calls.to_string())
}

fn traced_or_not(change: impl Fn(Launch<'_>) -> Launch<'_>) -> (Outcome, Traces) {
    let scratch = Scratch::new();
    let outcome = change(program(&scratch, 10).without("DXT_ENABLE").without("DXT_ENABLE_IO_TRACE")).run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    (outcome, Traces::read(&scratch.traces()))
}

#[test]
fn off_unless_asked_for() {
    let off: [fn(Launch<'_>) -> Launch<'_>; 5] = [
        |launch| launch,
        |launch| launch.env("DXT_ENABLE", "off"),
        |launch| launch.env("DXT_ENABLE", ""),
        |launch| launch.env("DXT_ENABLE_IO_TRACE", "0"),
        |launch| launch.env("DXT_ENABLE", "off").env("DXT_ENABLE_IO_TRACE", "1"),
    ];
    for change in off {
        let (outcome, traces) = traced_or_not(change);
        assert_eq!((outcome.stderr.as_str(), traces.files.len()), ("", 0));
    }
}

#[test]
fn on_by_either_switch() {
    let on: [fn(Launch<'_>) -> Launch<'_>; 2] =
        [|launch| launch.env("DXT_ENABLE", "trace"), |launch| launch.env("DXT_ENABLE_IO_TRACE", "1")];
    for change in on {
        let (outcome, traces) = traced_or_not(change);
        assert_eq!((outcome.stderr.as_str(), traces.segments.len()), ("", 11));
    }
}

#[test]
fn a_value_that_makes_no_sense_turns_tracing_off_with_one_line() {
    for (variable, value) in [
        ("DXT_ENABLE", "yes"),
        ("DXT_ENABLE_IO_TRACE", "maybe"),
        ("DXT_BUFFER_MAX", "lots"),
        ("DXT_BUFFER_MAX", "-4M"),
        ("DXT_BUFFER_MAX", "1"),
        ("DXT_OVERFLOW", "drop"),
        ("DXT_FLUSH", "sometimes"),
        ("DXT_VERBOSE", "loud"),
    ] {
        let (outcome, traces) = traced_or_not(|launch| {
            let launch = if variable == "DXT_ENABLE_IO_TRACE" { launch } else { launch.env("DXT_ENABLE", "trace") };
            launch.env(variable, value)
        });
        assert_eq!(traces.files.len(), 0, "{variable}={value}");
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].contains(variable) && lines[0].contains(value), "{lines:?}");
    }
}

#[test]
fn what_the_buffer_cannot_hold_is_counted_exactly() {
    for buffer in ["16K", "64K", "1M", "65536", "0.5"] {
        let scratch = Scratch::new();
        let launch = program(&scratch, 50_000).env("DXT_BUFFER_MAX", buffer).env("DXT_OVERFLOW", "fold");
        let outcome = launch.run();
        assert_eq!(outcome.code, 7, "{outcome:?}");
        if buffer == "0.5" {
            assert!(outcome.stderr.contains("DXT_BUFFER_MAX"));
            continue;
        }
        let traces = Traces::read(&scratch.traces());
        let process = &traces.processes[0];
        assert!(process.info.missing > 0 && process.info.segments > 0, "{:?}", process.info);
        assert_eq!(process.info.segments + process.info.missing, 50_001);
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (50_000, 200_000), "{buffer}");
        assert_eq!(traces.totals(&["POSIX"], "open", &scratch.data()), (1, 0), "{buffer}");
        let counters =
            process.missing.iter().find(|missing| missing.op.name == "write").map(|missing| &missing.counters);
        let counters = counters.expect("writes are missing");
        assert!(counters.first_start <= counters.last_end && counters.last_end <= process.info.end_ns);
        assert!(counters.max_end_offset <= 49_999 * 64 + 4 && counters.sizes[0] == counters.segments);
    }
}

/// Asserts that each of the program's `writes` writes has a segment, in order.
fn all_on_record(scratch: &Scratch, writes: usize) {
    let traces = Traces::read(&scratch.traces());
    assert_eq!((traces.segments.len(), traces.missing()), (writes + 1, 0));
    let (offsets, lengths): (Vec<i64>, Vec<u64>) =
        traces.segments[1..].iter().map(|seg| (seg.op.offset, seg.op.length)).unzip();
    assert!(offsets.iter().enumerate().all(|(i, offset)| *offset == i as i64 * 64));
    assert!(lengths.iter().all(|length| *length == 4));
    // Calls of one thread do not overlap.
    assert!(traces.segments.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
}

#[test]
fn a_larger_buffer_holds_all() {
    let scratch = Scratch::new();
    let outcome = program(&scratch, 300_000).env("DXT_BUFFER_MAX", "1G").run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    all_on_record(&scratch, 300_000);
}

#[test]
fn a_full_buffer_is_packed_and_loses_nothing() {
    // Without packing, 4 MiB hold 131,072 segments.
    let scratch = Scratch::new();
    assert_eq!(program(&scratch, 600_000).run().code, 7);
    all_on_record(&scratch, 600_000);
}

/// Runs `bench_calls`, which makes `calls` calls of `operation`, with these settings and the default buffer of 4 MiB. Returns the number of
/// calls with segments, and the number of calls without.
fn kept_of(operation: &str, calls: u64, settings: &[(&str, &str)]) -> (u64, u64) {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload_with("bench_calls", Compiler::Cc, &["-O2"]));
    let launch = launch.arg(operation).arg(calls.to_string()).arg(match operation {
        "whole-random" => "/dev/zero".into(),
        _ => scratch.data().join("file"),
    });
    let outcome = settings.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(spools(&scratch), Vec::<std::path::PathBuf>::new());
    assert!(std::fs::read_dir(scratch.spools()).is_ok_and(|mut left| left.next().is_none()), "nothing is left behind");
    let info = Traces::summaries(&scratch.traces()).remove(0);
    (info.segments, info.missing)
}

#[test]
fn the_default_buffer_holds_two_million_regular_and_half_a_million_random_calls() {
    assert_eq!(kept_of("whole", 2_000_000, &[]), (2_000_002, 0));
    assert_eq!(kept_of("whole-random", 500_000, &[]), (500_001, 0));
}

#[test]
fn what_the_buffer_cannot_hold_is_spilled() {
    let settings = [("DXT_BUFFER_MAX", "256K"), ("DXT_OVERFLOW", "spill")];
    assert_eq!(kept_of("whole-random", 500_000, &settings), (500_001, 0));
    let scratch = Scratch::new();
    let launch = program(&scratch, 300_000).env("DXT_BUFFER_MAX", "64K").env("DXT_OVERFLOW", "spill");
    assert_eq!(launch.run().code, 7);
    all_on_record(&scratch, 300_000);
}

#[test]
fn what_even_packing_cannot_hold_is_counted_exactly() {
    for buffer in ["16K", "64K", "128K"] {
        let scratch = Scratch::new();
        assert_eq!(program(&scratch, 300_000).env("DXT_BUFFER_MAX", buffer).run().code, 7);
        let traces = Traces::read(&scratch.traces());
        let info = &traces.processes[0].info;
        assert!(info.missing > 0 && info.segments + info.missing == 300_001, "{buffer}: {info:?}");
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (300_000, 1_200_000), "{buffer}");
    }
}

#[test]
fn the_default_directory_is_where_the_program_began() {
    let scratch = Scratch::new();
    assert_eq!(program(&scratch, 3).without("DXT_OUTPUT_DIR").run().code, 7);
    let files = std::fs::read_dir(scratch.root()).unwrap();
    let traces = files.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "dxt"));
    assert_eq!(traces.count(), 1);
}

#[test]
fn a_directory_that_is_absent_is_made_and_a_relative_one_is_where_the_program_began() {
    let scratch = Scratch::new();
    let outcome = program(&scratch, 3).env("DXT_OUTPUT_DIR", "a/b/c").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""));
    assert_eq!(Traces::read(&scratch.root().join("a/b/c")).segments.len(), 4);
}

#[test]
fn verbose_says_what_was_written() {
    let scratch = Scratch::new();
    let outcome = program(&scratch, 3).env("DXT_VERBOSE", "1").run();
    let file = Traces::read(&scratch.traces()).files.remove(0);
    assert_eq!(outcome.code, 7);
    assert!(outcome.stderr.contains(&*file.file_name().unwrap().to_string_lossy()), "{}", outcome.stderr);
}

#[test]
fn the_job_is_described() {
    let scratch = Scratch::new();
    let before = std::time::SystemTime::now();
    assert_eq!(program(&scratch, 3).env("DXT_JOB_ID", "k1").env("SLURM_JOB_ID", "4711").run().code, 7);
    let after = std::time::SystemTime::now();
    let traces = Traces::read(&scratch.traces());
    let (job, process) = (&traces.jobs[0].info, &traces.processes[0].info);
    assert!(job.key.contains("k1"), "{}", job.key);
    assert_eq!(job.scheduler, "SLURM_JOB_ID=4711");
    let other = Scratch::new();
    assert_eq!(program(&other, 3).env("LOAD_STEP_ID", "n1.123.0").run().code, 7);
    assert_eq!(Traces::read(&other.traces()).jobs[0].info.scheduler, "LOAD_STEP_ID=n1.123.0");
    assert_eq!(job.exe, workload("exits").as_os_str().as_encoded_bytes());
    assert_eq!(job.args.len(), 4);
    assert_eq!(job.args[2], b"return");
    assert_eq!(job.cwd, scratch.root().as_os_str().as_encoded_bytes());
    let unix_ns = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    for start in [job.start_unix_ns, process.epoch_unix_ns] {
        assert!((unix_ns(before)..=unix_ns(after)).contains(&start), "{start}");
    }
    assert!(!process.node.is_empty() && process.end_ns > 0 && process.clock_hz > 0);
    assert!(job.mpi.is_none());
}

/// Runs a program that makes ten writes with a configuration file that contains `lines`, and DXT_ENABLE not set; `change` modifies the
/// launch.
fn configured(lines: &str, change: impl Fn(Launch<'_>) -> Launch<'_>) -> (Outcome, Traces) {
    let scratch = Scratch::new();
    let file = scratch.root().join("site.conf");
    std::fs::write(&file, lines).expect("failed to write the configuration");
    let launch = program(&scratch, 10).without("DXT_ENABLE").env("DXT_CONFIG", &file);
    let outcome = change(launch).run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    (outcome, Traces::read(&scratch.traces()))
}

#[test]
fn a_file_sets_what_the_environment_does_not() {
    let site = "# everybody\nDXT_ENABLE=trace\nDXT_BUFFER_MAX = \"1M\"  # small\nDXT_OVERFLOW='fold'\n";
    let (outcome, traces) = configured(site, |launch| launch);
    assert_eq!((outcome.stderr.as_str(), traces.segments.len()), ("", 11));
    let settings = &traces.jobs[0].settings;
    let value = |name: &str| settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!((value("DXT_BUFFER_MAX"), value("DXT_OVERFLOW")), (Some("1048576"), Some("fold")));
    assert!(value("DXT_CONFIG").is_some_and(|path| path.ends_with("site.conf")));
    let (_, traces) = configured(site, |launch| launch.env("DXT_BUFFER_MAX", "2M"));
    assert!(traces.jobs[0].settings.contains(&("DXT_BUFFER_MAX".into(), "2097152".into())));
    for off in ["off", ""] {
        let (outcome, traces) = configured(site, |launch| launch.env("DXT_ENABLE", off));
        assert_eq!((outcome.stderr.as_str(), traces.files.len()), ("", 0));
    }
}

#[test]
fn a_file_that_makes_no_sense_is_named_with_its_line() {
    for (line, what) in [
        ("DXT_ENABLE", "NAME=value"),
        ("DXT_FLUSH=sometimes", "DXT_FLUSH=sometimes"),
        ("DXT_INCLUD=/x", "DXT_INCLUD"),
        ("LD_PRELOAD=/x", "LD_PRELOAD"),
        ("DXT_JOB_ID='a", "quote"),
    ] {
        let (outcome, traces) = configured(&format!("DXT_ENABLE=trace\n{line}\n"), |launch| launch);
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(traces.files.is_empty() && lines.len() == 1, "{lines:?}");
        assert!(lines[0].contains("site.conf line 2") && lines[0].contains(what), "{lines:?}");
    }
    for unreadable in ["/no/such/file", "/", "/dev/zero"] {
        let (outcome, traces) =
            configured("", |launch| launch.env("DXT_ENABLE", "trace").env("DXT_CONFIG", unreadable));
        assert!(traces.files.is_empty() && outcome.stderr.lines().count() == 1, "{outcome:?}");
        assert!(outcome.stderr.contains(unreadable) && outcome.stderr.contains("not tracing"), "{outcome:?}");
    }
}
