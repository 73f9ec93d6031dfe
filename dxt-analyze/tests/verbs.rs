//! The verbs on a small trace whose numbers are known: summary, dump, exit codes, several files, colours, closed pipes.

mod common;

use common::{command, job, json, op, process, put, run, small, stdout, trace};
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{Missing, Note, stream_flags};

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
        "rank,node,pid,thread,layer,op,nested,file,segment,offset,length,start_ns,end_ns,in_hdf5,data_set\n\
         -1,n0,77,999,POSIX,write,0,/a,0,0,4,1,2,0,\n\
         -1,n0,77,999,STDIO,write,0,/a,0,4,4,3,4,0,\n\
         -1,n0,77,999,POSIX,write,0,/a,1,8,4,5,6,0,\n\
         -1,n0,77,78,POSIX,open,0,/a,2,-1,0,7,8,0,\n\
         1,\"n,1\",1001,1001,POSIX,write,0,/b,0,5,7,1010,1020,0,\n"
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
fn many_files_of_one_job_are_one_job_and_two_jobs_are_a_usage_error() {
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
    let output = run(&["summary", here]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("job-1") && message.contains("job-2") && message.contains("--job"), "{message}");
    assert_eq!(json(&["summary", "--format", "json", "--job", "job-2", here], 0)["segments"], 1);
    assert_eq!(run(&["summary", "--job", "job-3", here]).status.code(), Some(2));
    let check = stdout(&["check", here], 0);
    assert!(check.contains("5 files: 5 complete, 0 cut, 0 damaged, 0 unreadable; 29 segments read, 0 lost"), "{check}");
}

#[test]
fn what_was_folded_is_in_the_sums_and_makes_the_trace_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    one.write("/a", 0, 10, 5, 15);
    let mut counters = Counters::default();
    let mut previous = Previous::default();
    (0..5).for_each(|i| counters.fold(&mut previous, i * 100, 100, 20 + i as u64, 30 + i as u64));
    one.process.missing = vec![Missing { stream: 0, counters }];
    one.process.notes = vec![Note { what: "files of /usr".into(), count: 3 }];
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let found = json(&["summary", "--format", "json", &path], 3);
    assert_eq!((&found["segments"], &found["missing_segments"]), (&1.into(), &5.into()));
    assert_eq!((&found["bytes_written"], &found["write_ns"]), (&510.into(), &60.into()));
    assert_eq!(found["findings"][0]["code"], "DXT-T002");
    assert_eq!(found["missing"]["notes"][0]["count"], 3);
    assert_eq!(run(&["summary", "--fail-on", "info", &path]).status.code(), Some(4));
    assert_eq!(run(&["summary", "--fail-on", "high", &path]).status.code(), Some(3));
}

/// A counters trace, and the full trace of the same operations.
fn counters_and_full() -> (Vec<u8>, Vec<u8>) {
    use trace_format::profile::{Access, Last, Profile};
    let mut full = process(0, "n");
    for i in 0..200_u64 {
        full.write("/a", (i * 5000) as i64, 100 + i % 3, 1000 + i * 100, 1040 + i * 100 + i % 7);
    }
    full.add("/a", op::POSIX_READ, 0, 0, 50, 90_000, 90_100);
    full.add("/a", op::POSIX_OPEN, stream_flags::FAILED, -1, 0, 91_000, 91_100);
    let mut counted = process(0, "n");
    let (mut profile, mut last) = (Profile::default(), Last::default());
    let mut sums: Vec<(Counters, Previous)> = vec![Default::default(); full.process.streams.len()];
    for segment in &full.threads[0].1 {
        let stream = &full.process.streams[segment.stream().0 as usize];
        let (sum, previous) = &mut sums[segment.stream().0 as usize];
        sum.fold(previous, segment.offset, segment.length(), segment.start, segment.end);
        if stream.op != op::POSIX_OPEN {
            let access = Access {
                writes: stream.op == op::POSIX_WRITE,
                offset: segment.offset,
                length: segment.length(),
                start: segment.start,
                end: segment.end,
                memory_unaligned: None,
            };
            profile.fold(&mut last, access, 4096);
        }
    }
    counted.process.files = full.process.files.clone();
    counted.process.streams = full.process.streams.clone();
    let missing = sums.into_iter().enumerate();
    counted.process.missing = missing.map(|(id, sum)| Missing { stream: id as u32, counters: sum.0 }).collect();
    counted.process.profiles =
        vec![trace_format::meta::ProfileDef { file: 0, layer: trace_format::op::Layer::Posix, profile }];
    let mut by_design = job("k", 0);
    by_design.settings = vec![("DXT_ENABLE".into(), "counters".into())];
    (trace(&by_design, vec![counted]), trace(&job("k", 0), vec![full]))
}

#[test]
fn a_counters_trace_is_complete_and_says_what_the_full_one_says() {
    let folder = tempfile::tempdir().unwrap();
    let (counters, full) = counters_and_full();
    let (counters, full) = (put(folder.path(), "c.dxt", &counters), put(folder.path(), "f.dxt", &full));
    let found = json(&["summary", "--format", "json", &counters], 0);
    let expected = json(&["summary", "--profiles", "--format", "json", &full], 0);
    assert_eq!((&found["segments"], &found["counted_operations"]), (&0.into(), &202.into()));
    assert_eq!((&found["missing"]["complete"], &found["missing_segments"]), (&true.into(), &0.into()));
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(0));
    for key in ["bytes_read", "bytes_written", "read_ns", "write_ns", "other_ns", "top_files", "profiles"] {
        assert_eq!(found[key], expected[key], "{key}");
    }
    assert_eq!(found["profiles"][0]["sizes"][0], serde_json::json!({"value": 100, "count": 67, "over": 0}));
    assert_eq!(json(&["summary", "--format", "json", &full], 0)["profiles"].as_array().map(Vec::len), Some(0));
    let text = stdout(&["summary", &counters], 0);
    assert!(text.contains("none, as asked for (DXT_ENABLE=counters): 202 calls are counted"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("4900 (33 %)"), "{text}");
    let csv = stdout(&["summary", "--format", "csv", "--table", "profiles", &counters], 0);
    assert!(csv.starts_with("file,layer,accesses,switches"), "{csv}");

    let lines = stdout(&["dump", "--format", "json", &counters], 0);
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records: Vec<_> = rows.iter().map(|row| (&row["record"], &row["op"])).collect();
    assert_eq!(records[0], (&"counters".into(), &"write".into()));
    assert_eq!((records.len(), records[3].0), (4, &"profile".into()));
    assert_eq!((&rows[0]["segments"], &rows[3]["switches"], &rows[2]["errno"]), (&200.into(), &1.into(), &28.into()));
    let text = stdout(&["dump", &counters], 0);
    assert!(text.contains("POSIX write calls 200 bytes 20199") && text.contains("strides 4900x67"), "{text}");
    assert_eq!(stdout(&["dump", "--format", "csv", &counters], 0).lines().count(), 1);

    assert!(stdout(&["check", &counters], 0).contains("1 complete"));
    assert!(stdout(&["outliers", &counters], 0).contains("counters and no single operations"));
    assert!(stdout(&["outliers", "--by", "ost", &counters], 0).contains("counters and no offsets"));
    assert!(stdout(&["outliers", "--by", "file", &counters], 0).contains("POSIX write"));
    assert!(stdout(&["stripes", &counters], 0).contains("202 operations were counted"));
}

#[test]
fn ranks_reduced_to_one_record_are_still_so_many() {
    use trace_format::meta::{Reduction, SpreadDef};
    use trace_format::op::Layer;
    use trace_format::spread::{RankShare, Spread};
    let folder = tempfile::tempdir().unwrap();
    let mut reduced = process(-1, "n");
    let stream = reduced.stream("/shared", op::POSIX_WRITE, 0);
    let (mut counters, mut spread) = (Counters::default(), Spread::default());
    for rank in 0..8 {
        counters.fold(&mut Previous::default(), rank * 100, 100, 1000, 2000 + rank as u64);
        let time_ns = 1000 + rank as u64;
        spread.merge(&Spread::of(RankShare { rank: rank as u32, time_ns, bytes: 100 }));
    }
    reduced.process.info.pid = 0;
    reduced.process.info.sync_ns = Some(100);
    reduced.process.missing = vec![Missing { stream, counters }];
    reduced.process.reduction =
        Reduction { ranks: 8, nodes: 3, spreads: vec![SpreadDef { file: 0, layer: Layer::Posix, spread }] };
    let mut own = process(2, "n");
    own.process.info.sync_ns = Some(100);
    let stream = own.stream("/own", op::POSIX_WRITE, 0);
    let mut counters = Counters::default();
    counters.fold(&mut Previous::default(), 0, 7, 1, 2);
    own.process.missing = vec![Missing { stream, counters }];
    let mut by_design = job("k", 8);
    by_design.settings = vec![("DXT_ENABLE".into(), "counters".into())];
    let path = put(folder.path(), "r.dxt", &trace(&by_design, vec![reduced, own]));
    let found = json(&["summary", "--format", "json", &path], 0);
    assert_eq!((&found["ranks"], &found["processes"], &found["nodes"]), (&8.into(), &8.into(), &3.into()));
    assert_eq!((&found["bytes_written"], &found["missing"]["absent_ranks"]), (&807.into(), &0.into()));
    let shared = found["top_files"].as_array().unwrap().iter().find(|row| row["file"] == "/shared").unwrap();
    assert_eq!((&shared["processes"], &shared["operations"]), (&8.into(), &8.into()));
    let ranks = &found["profiles"][0]["ranks"];
    assert_eq!((&ranks["fastest"]["rank"], &ranks["slowest"]["rank"]), (&0.into(), &7.into()));
    assert_eq!((&ranks["time_variance"], &ranks["bytes_mean"]), (&5.25.into(), &100.0.into()));
    let text = stdout(&["summary", &path], 0);
    assert!(text.contains("8 ranks, 8 processes, 3 nodes, 2 files"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("Slowest"), "{text}");
    assert!(stdout(&["dump", &path], 0).contains("used by 8 ranks, fastest 0 (1000 ns, 100 bytes), slowest 7"));
    assert!(stdout(&["outliers", "--by", "rank", &path], 0).contains("left out here"));
}

/// A record of 64 ranks with a file of all of them and one of eight, of which the first is slow.
fn a_file_of_some_ranks(folder: &Path) -> String {
    use trace_format::meta::{Reduction, SpreadDef};
    use trace_format::op::Layer;
    use trace_format::spread::{RankShare, Spread};
    let mut reduced = process(-1, "n");
    let mut spreads = Vec::new();
    for (file, (path, ranks)) in (0..).zip([("/all", 0..64_u64), ("/some", 8..16)]) {
        let stream = reduced.stream(path, op::POSIX_WRITE, 0);
        let (mut counters, mut spread) = (Counters::default(), Spread::default());
        for rank in ranks {
            let time_ns = if rank == 8 && file == 1 { 900_000_000 } else { 1_000_000 };
            counters.fold(&mut Previous::default(), rank as i64 * 100, 100, 1000, 1000 + time_ns);
            spread.merge(&Spread::of(RankShare { rank: rank as u32, time_ns, bytes: 100 }));
        }
        reduced.process.missing.push(Missing { stream, counters });
        spreads.push(SpreadDef { file, layer: Layer::Posix, spread });
    }
    reduced.process.info.pid = 0;
    reduced.process.info.sync_ns = Some(100);
    reduced.process.info.end_ns = 1_000_000_000;
    reduced.process.reduction = Reduction { ranks: 64, nodes: 8, spreads };
    let mut by_design = job("k", 64);
    by_design.settings = vec![("DXT_ENABLE".into(), "counters".into())];
    put(folder, "s.dxt", &trace(&by_design, vec![reduced]))
}

#[test]
fn a_file_of_some_ranks_is_not_one_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = a_file_of_some_ranks(folder.path());
    let row = |rows: &serde_json::Value, file: &str| {
        rows.as_array().unwrap().iter().find(|row| row["file"] == file).unwrap_or_else(|| panic!("{rows}")).clone()
    };
    for with_time in [false, true] {
        // A window keeps no times of ranks, and how many they are all the same.
        let window = if with_time { &["--time", "0:10"][..] } else { &[] };
        let found = json(&[&["summary", "--format", "json", &path], window].concat(), 0);
        assert_eq!((&found["ranks"], &found["processes"]), (&64.into(), &64.into()));
        for (file, ranks) in [("/all", 64), ("/some", 8)] {
            assert_eq!(row(&found["top_files"], file)["processes"], ranks, "{file}");
        }
    }
    let found = json(&["counters", "--format", "json", &path], 0);
    let all = found.to_string();
    assert_eq!(row(&found["files"], "/some")["processes"], 8, "{all}");
    assert_eq!(row(&found["files"], "/all")["processes"], 64, "{all}");
    // Over 64 ranks: eight of them took 907 ms on the one file, and all 64 ms on the other.
    let dump = stdout(&["dump", "--format", "text", &path], 0);
    assert!(dump.lines().any(|line| line.contains("(of 8 ranks)") && line.contains("/some")), "{dump}");
    assert!(dump.lines().any(|line| line.contains("(of 64 ranks)") && line.contains("/all")), "{dump}");
    let causes = stdout(&["causes", &path], 0);
    assert!(causes.contains("8 of 64 ranks") && !causes.contains("all ranks on a file"), "{causes}");
    // Of different ranks on different files each has its own time; all ranks' file comes on top.
    let layers = json(&["layers", "--format", "json", &path], 0);
    let rows = layers["layers"].as_array().unwrap();
    let all = rows.iter().find(|row| row["op"] == "all").unwrap();
    assert_eq!((&all["slowest_ns"], &all["processes"]), (&901_000_000.into(), &64.into()), "{all}");
    // A log has the sums, too.
    let log = folder.path().join("s.darshan").display().to_string();
    stdout(&["export", "--to", "darshan", "-o", &log, &path], 0);
    let back = json(&["summary", "--format", "json", &log], 0);
    assert_eq!(back["bytes_written"], 7200, "{back}");
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
        text.lines().skip(2).map(|line| line.trim_start_matches("# ").split_whitespace().nth(7).unwrap()).collect();
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
    for verb in ["summary", "outliers", "stripes", "check", "dump"] {
        // Two of the four ranks are left out; they are not absent.
        let output = run(&[verb, &path]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{verb}: {text}");
        let filters: Vec<&str> = text.lines().filter(|text| text.contains("filters")).collect();
        assert!(filters.len() == 1 && filters[0].contains(line), "{verb}: {text}");
    }
    for (verb, place) in
        [("summary", "/missing"), ("outliers", "/missing"), ("stripes", "/missing"), ("check", "/files/0")]
    {
        let found = json(&[verb, "--format", "json", &path], 0);
        let filters = found.pointer(&format!("{place}/filters")).unwrap();
        assert_eq!(*filters, serde_json::json!({"DXT_EXCLUDE": "*.log", "DXT_RANKS": "0:1"}), "{verb}");
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
        // The last rank does not say.
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
    // Nothing else changes.
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
    // No mending, no time.
    let mend = text.lines().find(|line| line.contains("mend")).unwrap();
    assert!(!mend.contains("ns") && mend.contains('-'), "{mend}");
    let csv = stdout(&["check", "--format", "csv", "--table", "flush", &path], 0);
    assert!(csv.starts_with("job,stage,processes,mean_s,longest_s,longest_rank,bytes_in,bytes_out,ratio"), "{csv}");

    let plain = put(folder.path(), "b.dxt", &small_bytes());
    assert!(json(&["check", "--format", "json", &plain], 0)["files"][0]["flush"].is_null());
    assert!(!stdout(&["check", &plain], 0).contains("compress"));
    // A file cut behind a flush frame still has it.
    let bytes = std::fs::read(&path).unwrap();
    let cut = put(folder.path(), "c.dxt", &bytes[..bytes.len() - 200]);
    assert_eq!(json(&["check", "--format", "json", &cut], 3)["files"][0]["flush"]["processes"], 3);
}

#[test]
fn without_times_no_verb_shows_one() {
    let (mut job, mut processes) = small();
    job.settings.extend([("DXT_ENABLE".into(), "counters".into()), ("DXT_TIMING".into(), "off".into())]);
    for one in &mut processes {
        // As the tracer leaves them: no time, no first and no last.
        let (mut counters, mut previous) = (Counters::default(), Previous::default());
        (0..200).for_each(|i| counters.fold(&mut previous, i * 300, 100, 0, 0));
        (counters.first_start, counters.last_end) = (u64::MAX, 0);
        one.threads[0].1.clear();
        let stream = one.stream("/data/few", op::POSIX_WRITE, 0);
        one.process.missing = vec![Missing { stream, counters }];
        one.process.info.end_ns = 5_000_000_000;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let verbs = ["summary", "counters", "ledger", "causes", "outliers", "stripes", "layers", "checks", "timeline"];
    for verb in verbs.into_iter().chain(["signatures", "dump"]) {
        let text = stdout(&[verb, &path], 0);
        // The dump's head has the start as a number.
        let untold = if verb == "dump" { text.contains("time_ns -") } else { !text.contains("0 ns") };
        assert!(untold && !text.contains("time_ns 0"), "{verb}: {text}");
        // dump says what is missing on standard error.
        assert!(verb == "dump" || text.contains("(DXT_TIMING=off)"), "{verb}: {text}");
    }
    let page = folder.path().join("page.html");
    let text = stdout(&["report", "-o", page.to_str().unwrap(), &path], 0);
    assert!(text.contains("What I/O costs cannot be told without times") && !text.contains("bottleneck"), "{text}");
    assert!(!std::fs::read_to_string(&page).unwrap().contains(">0 ns<"));
    let summary = json(&["summary", "--format", "json", &path], 0);
    assert_eq!((&summary["missing"]["untimed"], summary["job"]["runtime_ns"].as_u64() > Some(0)), (&true.into(), true));
    assert!(summary["write_ns"].is_null() && summary["operations"][0]["time_ns"].is_null());
    assert_eq!(summary["bytes_written"], 4 * 20_000);
    let ledger = json(&["ledger", "--format", "json", &path], 0);
    assert!(ledger["io_share"].is_null() && ledger["rows"][0]["write_ns"].is_null());
    assert!(ledger["rows"][0]["run_ns"].as_u64() > Some(0));
    let report = json(&["report", "--format", "json", &path], 0);
    assert!(report["verdict"]["io_share"].is_null() && report["verdict"]["io_matters"].is_null());
}

#[test]
fn counters_tell_how_memory_was_aligned_where_it_is_known() {
    use trace_format::meta::{MemoryCost, MemoryDef, MemoryUse};
    use trace_format::op::Layer;

    let (job, mut processes) = small();
    let known = put(tempfile::tempdir().unwrap().keep().as_path(), "none.dxt", &small_bytes());
    let patterns = json(&["counters", "--format", "json", &known], 0)["patterns"].clone();
    assert!(patterns.as_array().unwrap().iter().all(|row| row["memory_unaligned"].is_null()), "{patterns}");
    let stream = processes[0].stream("/data/mine", op::POSIX_WRITE, 0);
    processes[0].process.memory = MemoryDef {
        alignment: 512,
        streams: vec![MemoryUse { stream, known: 4, unaligned: 3 }],
        costs: vec![MemoryCost {
            layer: Layer::Posix,
            writes: 1,
            size: 2,
            aligned: 1,
            aligned_ns: 1000,
            unaligned: 3,
            unaligned_ns: 6000,
        }],
    };
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let found = json(&["counters", "--format", "json", &path], 0);
    let posix = found["patterns"].as_array().unwrap().iter().find(|row| row["layer"] == "POSIX").unwrap();
    assert_eq!((&posix["memory_known"], &posix["memory_unaligned"]), (&4.into(), &3.into()));
    assert_eq!(posix["memory_alignment"], 512);
    let row = &found["memory"][0];
    assert_eq!((&row["direction"], &row["size_bin"], &row["unaligned"]), (&"write".into(), &2.into(), &3.into()));
    assert_eq!((row["aligned_mean_ns"].as_f64(), row["unaligned_mean_ns"].as_f64()), (Some(1000.0), Some(2000.0)));
    assert!(stdout(&["counters", &path], 0).contains("at a multiple of 512 B"));
    // What was counted over the whole run is not known of a part of it, nor by file.
    let part = json(&["counters", "--format", "json", "--time", "0:1", &path], 0);
    assert!(part["memory"].as_array().unwrap().is_empty());
    let others = json(&["counters", "--format", "json", "--files", "/data/mine", &path], 0);
    assert!(others["memory"].as_array().unwrap().is_empty());
    assert_eq!(others["patterns"][0]["memory_unaligned"], 3);
}
