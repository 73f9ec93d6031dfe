//! Tests of all commands on a small trace with known numbers: summary, dump, exit codes, several input files, colours, closed pipes.

mod counted;

use crate::common::{command, job, json, op, process, put, run, small, stdout, trace};
use std::io::Read;
use std::process::Stdio;
use trace_format::meta::stream_flags;

fn small_bytes() -> Vec<u8> {
    let (job, processes) = small();
    trace(&job, processes)
}

#[test]
fn summary_counts_each_byte_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &small_bytes());
    let found = json(&["summary", "--format", "json", &path], 0);
    for (key, expected) in [
        ("ranks", 4),
        ("processes", 4),
        ("nodes", 2),
        ("files", 2),
        ("segments", 4 * 7),
        ("missing_segments", 0),
        ("lost_segments", 0),
        ("bytes_read", 4 * 500),
        ("bytes_written", 4 * 2000),
        ("write_ns", 4 * 2 * 5000),
    ] {
        assert_eq!(found[key], expected, "{key}");
    }
    let rows = found["operations"].as_array().unwrap();
    let row = |layer: &str, op: &str, nested: bool| {
        rows.iter().find(|row| row["layer"] == layer && row["op"] == op && row["nested"] == nested).unwrap()
    };
    assert_eq!(row("MPIIO", "write", false)["count"], 8);
    assert_eq!(row("MPIIO", "write", false)["mode"], "collective");
    assert_eq!(row("POSIX", "write", true)["bytes"], 8000);
    assert_eq!(found["job"]["exe"], "/opt/app/bin/simulate");
    let text = stdout(&["summary", &path], 0);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("4 ranks, 4 processes, 2 nodes, 2 files"), "{text}");
    let csv = stdout(&["summary", "--format", "csv", &path], 0);
    assert!(csv.starts_with("layer_label,layer,operation,op,mode,nested"), "{csv}");
    assert!(stdout(&["summary", "--format", "csv", "--table", "files", &path], 0).starts_with("file,processes"));
    assert_eq!(run(&["summary", "--format", "csv", "--table", "none", &path]).status.code(), Some(2));
}

#[test]
fn ten_thousand_files_are_one_job() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10_000 {
        let mut one = process(number, &format!("n{:03}", number / 100));
        one.process.info.pid = 1000 + number as u32;
        one.write("/shared", i64::from(number) * 100, 100, 10, 20);
        put(folder.path(), &format!("{number:05}.dxt"), &trace(&job("many", 10_000), vec![one]));
    }
    let path = folder.path().to_str().unwrap();
    let found = json(&["summary", "--format", "json", path], 0);
    for (key, expected) in [("processes", 10_000), ("nodes", 100), ("files", 1), ("bytes_written", 1_000_000)] {
        assert_eq!(found[key], expected, "{key}");
    }
    let checked = json(&["check", "--format", "json", path], 0);
    assert_eq!(checked["files"].as_array().unwrap().len(), 10_000);
}

#[test]
fn dump_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let mut second = process(1, "n,1");
    second.process.info.epoch_unix_ns += 1000;
    second.write("/b", 5, 7, 10, 20);
    let mut first = process(-1, "n0");
    first.process.info.pid = 77;
    first.process.threads.push(trace_format::meta::ThreadDef { index: 1, tid: 78 });
    first.write("/a", 0, 4, 1, 2).add("/a", op::STDIO_WRITE, 0, 4, 4, 3, 4).write("/a", 8, 4, 5, 6);
    first.add("/a", op::POSIX_OPEN, stream_flags::FAILED, -1, 0, 7, 8);
    let other_thread = first.threads[0].1.pop().unwrap();
    first.threads.push((1, vec![other_thread]));
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![second, first]));
    let csv = stdout(&["dump", "--format", "csv", &path], 0);
    assert_eq!(
        csv,
        "rank,node,pid,thread,layer,op,nested,file,segment,offset,length,start_ns,end_ns,in_hdf5,data_set,mode,failed,errno,site,place\n\
         -1,n0,77,999,POSIX,write,0,/a,0,0,4,1,2,0,,,0,0,,\n\
         -1,n0,77,999,STDIO,write,0,/a,0,4,4,3,4,0,,,0,0,,\n\
         -1,n0,77,999,POSIX,write,0,/a,1,8,4,5,6,0,,,0,0,,\n\
         -1,n0,77,78,POSIX,open,0,/a,2,-1,0,7,8,0,,,1,28,,\n\
         1,\"n,1\",1001,1001,POSIX,write,0,/b,0,5,7,1010,1020,0,,,0,0,,\n"
    );
    let lines = stdout(&["dump", "--format", "json", &path], 0);
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 5);
    assert_eq!((&rows[3]["failed"], &rows[3]["errno"]), (&true.into(), &28.into()));
    let absolute = stdout(&["dump", "--format", "csv", "--absolute", &path], 0);
    assert!(absolute.contains(",1,2,") || absolute.contains("1700000000000000001,1700000000000000002"), "{absolute}");
    assert_eq!(stdout(&["dump", &path], 0).lines().filter(|line| !line.starts_with('#')).count(), 5);
}

#[test]
fn many_files_of_one_job_are_one_job_and_files_of_two_jobs_are_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let (job_block, processes) = small();
    for (rank, process) in processes.into_iter().enumerate() {
        put(folder.path(), &format!("{rank}.dxt"), &trace(&job_block, vec![process]));
    }
    put(folder.path(), "x.dxt.partial", b"not finished");
    let here = folder.path().to_str().unwrap();
    let found = json(&["summary", "--format", "json", here], 0);
    assert_eq!((&found["ranks"], &found["segments"]), (&4.into(), &28.into()));
    assert!(found["missing"]["remarks"][0].as_str().unwrap().contains(".partial"));
    let one_file = format!("{here}/2.dxt");
    let part = json(&["summary", "--format", "json", &one_file], 3);
    assert_eq!(part["missing"]["absent_ranks"], 3);

    let mut other = process(0, "n");
    other.write("/b", 0, 1, 1, 2);
    put(folder.path(), "other.dxt", &trace(&job("job-2", 0), vec![other]));
    let both = ["0.dxt", "other.dxt"].map(|name| format!("{here}/{name}"));
    let output = run(&["summary", &both[0], &both[1]]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("job-1") && message.contains("job-2") && message.contains("--job"), "{message}");
    // Two jobs in a directory that start together: the one with ranks is taken.
    let found = json(&["summary", "--format", "json", here], 0);
    assert_eq!(found["segments"], 28);
    assert!(found["missing"]["remarks"].to_string().contains("of 2 jobs in"), "{found}");
    assert_eq!(json(&["summary", "--format", "json", "--job", "job-2", here], 0)["segments"], 1);
    assert_eq!(run(&["summary", "--job", "job-3", here]).status.code(), Some(2));
    let check = stdout(&["check", here], 0);
    assert!(
        check.contains("5 files: 5 complete, 0 cut short, 0 damaged, 0 unreadable; 29 segments read, 0 lost"),
        "{check}"
    );
}

#[test]
fn runs_that_share_a_job_are_reported_and_children_of_ranks_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let run_of = |name: &str, first_pid: u32| {
        let (job, mut processes) = small();
        processes.iter_mut().zip(first_pid..).for_each(|(process, pid)| process.process.info.pid = pid);
        put(folder.path(), name, &trace(&job, processes))
    };
    let paths = [run_of("a.dxt", 1000), run_of("b.dxt", 2000), run_of("c.dxt", 3000)];
    let mut args = vec!["summary", "--format", "json"];
    args.extend(paths.iter().map(String::as_str));
    let found = json(&args, 0);
    // Returns the number of runs that share one job; `None` without a remark on this.
    let shared = |found: &serde_json::Value| {
        let remarks = found["missing"]["remarks"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str);
        remarks.filter_map(|remark| remark.split_once(" runs share ")).next().map(|(count, _)| count.to_owned())
    };
    assert_eq!(shared(&found).as_deref(), Some("3"));
    let remarks = found["missing"]["remarks"].to_string();
    assert!(remarks.contains("4 of the job's ranks") && remarks.contains("a.dxt"), "{remarks}");
    assert!(stdout(&["summary", &paths[0], &paths[1]], 0).contains("2 runs share"));
    assert_eq!((&found["segments"], &found["processes"]), (&(3 * 28).into(), &12.into()));
    // Runs of a single rank count as runs as well.
    let alone: Vec<String> = (0..3)
        .map(|number| {
            let mut one = process(0, "node1");
            one.process.info.pid = 4000 + number;
            one.write("/b", 0, 1, 1, 2);
            let mut job = small().0;
            job.info.mpi.as_mut().unwrap().ranks = 1;
            put(folder.path(), &format!("alone-{number}.dxt"), &trace(&job, vec![one]))
        })
        .collect();
    let found = json(&["summary", "--format", "json", &alone[0], &alone[1], &alone[2]], 0);
    assert_eq!(shared(&found).as_deref(), Some("3"));
    // Rank 0 has a child process with a trace file of its own; another file is a copy.
    let mut child = process(0, "node1");
    child.process.info.pid = 9;
    child.write("/b", 0, 1, 1, 2);
    let child = put(folder.path(), "child.dxt", &trace(&small().0, vec![child]));
    let copy = run_of("copy.dxt", 1000);
    let found = json(&["summary", "--format", "json", &paths[0], &child, &copy], 0);
    assert_eq!(shared(&found), None, "{}", found["missing"]["remarks"]);
}

#[test]
fn modes_and_errors_are_in_every_form_of_dump() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    one.add("/f", op::MPIIO_WRITE_ALL, 0, 0, 100, 10, 20);
    one.fail("/f", op::POSIX_OPEN, 2, 30, 40);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 1), vec![one]));
    let csv = stdout(&["dump", "--format", "csv", &path], 0);
    let ends: Vec<&str> = csv
        .lines()
        .filter_map(|line| line.split_once("data_set,").or(line.split_once("0,,")))
        .map(|(_, end)| end)
        .collect();
    assert_eq!(ends, ["mode,failed,errno,site,place", "collective,0,0,,", ",1,2,,"], "{csv}");
    let text = stdout(&["dump", &path], 0);
    let modes: Vec<&str> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().nth(6)).collect();
    assert_eq!(modes, ["collective", "-"], "{text}");
    let empty = put(folder.path(), "empty.dxt", &trace(&job("e", 1), vec![process(0, "n")]));
    assert_eq!(stdout(&["dump", "--format", "csv", &empty], 0), csv.lines().next().unwrap().to_owned() + "\n");
}

#[test]
fn failed_calls_are_shown_and_left_out_of_bandwidths() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    one.write("/a", 0, 100, 10, 20);
    one.add("/a", op::POSIX_WRITE, stream_flags::FAILED, 100, 0, 20, 1020);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let found = json(&["summary", "--format", "json", &path], 0);
    assert_eq!((&found["write_ns"], &found["other_ns"]), (&10.into(), &1000.into()));
    let rows = found["operations"].as_array().unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (&row["failed"], &row["count"], row["bandwidth"].is_null())).collect();
    assert_eq!(rows, [(&false.into(), &1.into(), false), (&true.into(), &1.into(), true)]);
    let text = stdout(&["dump", "--format", "text", &path], 0);
    let errors: Vec<&str> =
        text.lines().skip(2).map(|line| line.trim_start_matches("# ").split_whitespace().nth(8).unwrap()).collect();
    assert_eq!(errors, ["errno", "0", "28"]);
    let json_rows = stdout(&["dump", "--format", "json", &path], 0);
    assert!(json_rows.lines().last().unwrap().contains(r#""failed":true,"errno":28"#), "{json_rows}");
}

#[test]
fn the_program_ends_well_when_nobody_reads_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    (0..200_000).for_each(|i| {
        one.write("/a", i * 10, 10, i as u64 + 1, i as u64 + 2);
    });
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    for format in ["csv", "text", "json"] {
        let mut child = command(&["dump", "--format", format, &path]).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{format}");
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &small_bytes());
    let colored = |args: &[&str], no_color: bool| {
        let mut command = command(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!colored(&["summary", &path], false));
    assert!(!colored(&["summary", &path], true));
    assert!(colored(&["summary", "--color", "always", &path], true));
    assert!(!colored(&["summary", "--color", "never", &path], false));
    assert!(!colored(&["summary", "--color", "always", "--format", "json", &path], false));
}

#[test]
fn exit_codes_of_what_cannot_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none.dxt");
    let text = put(folder.path(), "text.dxt", b"this is no trace at all");
    for (args, code, message) in [
        (vec!["summary", none.to_str().unwrap()], 1, "failed to find"),
        (vec!["summary", text.as_str()], 1, "it is text"),
        (vec!["check", text.as_str()], 1, ""),
        (vec!["summary"], 2, "required"),
        (vec!["stripes", "--layout", "/does/not/exist", text.as_str()], 1, "failed to"),
        (vec!["frobnicate"], 2, "unrecognized"),
    ] {
        let output = run(&args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?} {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
    let good = put(folder.path(), "good.dxt", &small_bytes());
    let found = json(&["summary", "--format", "json", &good, &text], 3);
    assert_eq!(found["segments"], 28);
    assert!(found["missing"]["problems"][0]["what"].as_str().unwrap().contains("it is text"));
    let layout = put(folder.path(), "bad.layout", b"* size=4M\n");
    let output = run(&["stripes", "--layout", &layout, &good]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1"));
}

#[test]
fn nodes_whose_clocks_are_apart_are_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let processes = (0..4)
        .map(|rank| {
            let mut process = process(rank, if rank < 2 { "a" } else { "b" });
            process.process.info.sync_ns = Some(5_000 + rank as u64);
            if rank >= 2 {
                process.process.info.epoch_unix_ns += 3_000_000_000;
            }
            process.write("/f", 0, 1, 6_000, 7_000);
            process
        })
        .collect();
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 4), processes));
    let csv = stdout(&["dump", "--format", "csv", &path], 0);
    let starts: Vec<u64> = csv.lines().skip(1).map(|line| line.split(',').nth(11).unwrap().parse().unwrap()).collect();
    assert!(starts.iter().max().unwrap() - starts.iter().min().unwrap() < 10, "{starts:?}");
    let shift = &json(&["summary", "--format", "json", &path], 0)["job"]["clock_shifts"]["b"];
    assert_eq!(*shift, -3_000_000_002_i64);
}

#[test]
fn every_report_names_the_filters() {
    let folder = tempfile::tempdir().unwrap();
    let (mut job, mut processes) = small();
    job.settings = [("DXT_ENABLE", "trace"), ("DXT_RANKS", "0:1"), ("DXT_EXCLUDE", "*.log")]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    processes.truncate(2);
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let line = "DXT_EXCLUDE=*.log  DXT_RANKS=0:1";
    for subcommand in ["summary", "outliers", "stripes", "check", "dump"] {
        // A filter excludes two of the four ranks, so they are not reported as absent.
        let output = run(&[subcommand, &path]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{subcommand}: {text}");
        let filters: Vec<&str> = text.lines().filter(|text| text.contains("filters")).collect();
        assert!(filters.len() == 1 && filters[0].contains(line), "{subcommand}: {text}");
    }
    for (subcommand, place) in
        [("summary", "/missing"), ("outliers", "/missing"), ("stripes", "/missing"), ("check", "/files/0")]
    {
        let found = json(&[subcommand, "--format", "json", &path], 0);
        let filters = found.pointer(&format!("{place}/filters")).unwrap();
        assert_eq!(*filters, serde_json::json!({"DXT_EXCLUDE": "*.log", "DXT_RANKS": "0:1"}), "{subcommand}");
    }
    let output = run(&["dump", "--format", "json", &path]);
    assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("filters: {line}")));
    let whole = put(folder.path(), "b.dxt", &small_bytes());
    assert!(!stdout(&["summary", &whole], 0).contains("filters"));
}

#[test]
fn check_shows_how_long_writing_the_trace_took() {
    use trace_format::columns::TickScale;
    use trace_format::frame::FlushTimes;
    use trace_format::write::{Encoder, ThreadSegments, file};

    let (job, mut processes) = small();
    let mut encoder = Encoder::new().unwrap();
    let mut regions = Vec::new();
    for (number, one) in (0..).zip(&mut processes) {
        let pieces = vec![one.threads[0].1.as_slice().into()];
        let threads = [ThreadSegments { thread: one.threads[0].0, pieces }];
        let mut region = encoder.region(number, &mut one.process, &threads, &TickScale::IDENTITY).unwrap();
        // The last rank has no flush times.
        if number < 3 {
            let ns = 1000 * (u64::from(number) + 1);
            region.add_flush(&FlushTimes { stages_ns: [ns, ns, ns, 0, ns, 10_000 - ns, 0, 5], packed_segments: 1 });
            region.renumber(number).unwrap();
        }
        regions.push(region);
    }
    let raw: u64 = regions[..3].iter().map(|region| region.entry.segments * 32).sum();
    let written: u64 = regions[..3].iter().map(|region| region.bytes.len() as u64).sum();
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &file(&mut encoder, &job, regions).unwrap());
    // No other result changes.
    assert_eq!(json(&["summary", "--format", "json", &path], 0)["segments"], 4 * 7);
    let found = &json(&["check", "--format", "json", &path], 0)["files"][0];
    assert_eq!(found["state"], "complete");
    let flush = &found["flush"];
    assert_eq!((&flush["processes"], &flush["packed_segments"]), (&3.into(), &3.into()));
    assert_eq!((flush["raw_bytes"].as_u64(), flush["written_bytes"].as_u64()), (Some(raw), Some(written)));
    assert_eq!(flush["compression_ratio"].as_f64(), Some(raw as f64 / written as f64));
    assert_eq!((&flush["stages"][0]["sum_ns"], &flush["stages"][0]["longest_rank"]), (&6000.into(), &2.into()));
    assert_eq!((&flush["stages"][5]["longest_ns"], &flush["stages"][5]["longest_rank"]), (&9000.into(), &0.into()));
    let text = stdout(&["check", &path], 0);
    assert!(text.contains("compress") && text.contains("3.00 µs"), "{text}");
    // The repair stage did not run and has no time.
    let repair = text.lines().find(|line| line.contains("repair")).unwrap();
    assert!(!repair.contains("ns") && repair.contains('-'), "{repair}");
    let csv = stdout(&["check", "--format", "csv", "--table", "flush", &path], 0);
    assert!(csv.starts_with("job,stage,processes,mean_s,longest_s,longest_rank,bytes_in,bytes_out,ratio"), "{csv}");

    let plain = put(folder.path(), "b.dxt", &small_bytes());
    assert!(json(&["check", "--format", "json", &plain], 0)["files"][0]["flush"].is_null());
    assert!(!stdout(&["check", &plain], 0).contains("compress"));
    // A file that is cut behind a flush frame still has that frame.
    let bytes = std::fs::read(&path).unwrap();
    let cut = put(folder.path(), "c.dxt", &bytes[..bytes.len() - 200]);
    assert_eq!(json(&["check", "--format", "json", &cut], 3)["files"][0]["flush"]["processes"], 3);
}
