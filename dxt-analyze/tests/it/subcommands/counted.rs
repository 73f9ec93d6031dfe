//! Tests of all commands on traces with counters instead of segments: for some calls, for all calls, reduced over several ranks, or without times.

use crate::common::facts::{assert_says, brief, findings};
use crate::common::{job, json, op, process, put, run, small, stdout, trace};
use crate::subcommands::small_bytes;
use std::path::Path;
use trace_format::counters::{Counters, Previous};
use trace_format::meta::{Missing, Note, stream_flags};

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

/// Returns a trace with counters only, and the full trace of the same operations.
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
    assert!(text.contains("none, as configured (DXT_ENABLE=counters): 202 calls are counted"), "{text}");
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
    assert!(stdout(&["outliers", &counters], 0).contains("counters but no single operations"));
    assert!(stdout(&["outliers", "--by", "ost", &counters], 0).contains("counters but no offsets"));
    assert!(stdout(&["outliers", "--by", "file", &counters], 0).contains("POSIX write"));
    assert!(stdout(&["stripes", &counters], 0).contains("202 operations have only counters"));
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

/// Writes a trace of 64 ranks reduced to one record; returns its path. All ranks use one file, and ranks 8 to 15 another, of which rank 8 is slow.
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
        // Selecting a time window drops the times of ranks, but keeps the number of ranks.
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
    let dump = stdout(&["dump", "--format", "text", &path], 0);
    assert!(dump.lines().any(|line| line.contains("(of 8 ranks)") && line.contains("/some")), "{dump}");
    assert!(dump.lines().any(|line| line.contains("(of 64 ranks)") && line.contains("/all")), "{dump}");
    let causes = json(&["causes", "--format", "json", &path], 0);
    let uneven: Vec<_> = findings(&causes).into_iter().filter(|one| one["code"] == "DXT-C015").collect();
    assert_eq!(uneven.len(), 1, "{}", brief(&causes));
    assert_eq!((&uneven[0]["severity"], &uneven[0]["cost_ns"]), (&"high".into(), &786_625_000.into()));
    assert_says(uneven[0], &["rank 8", "the 8 ranks (of 64)", "7.9 times"]);
    // Different ranks on different files have their own times; the time on the file of all ranks is added.
    let layers = json(&["layers", "--format", "json", &path], 0);
    let rows = layers["layers"].as_array().unwrap();
    let all = rows.iter().find(|row| row["op"] == "all").unwrap();
    assert_eq!((&all["slowest_ns"], &all["processes"]), (&901_000_000.into(), &64.into()), "{all}");
    // A log exported from the trace has the same sums.
    let log = folder.path().join("s.darshan").display().to_string();
    stdout(&["export", "--to", "darshan", "-o", &log, &path], 0);
    let back = json(&["summary", "--format", "json", &log], 0);
    assert_eq!(back["bytes_written"], 7200, "{back}");
}

#[test]
fn without_times_no_verb_shows_one() {
    let (mut job, mut processes) = small();
    job.settings.extend([("DXT_ENABLE".into(), "counters".into()), ("DXT_TIMING".into(), "off".into())]);
    for one in &mut processes {
        // Counters as left by the tracer without times: no durations, no first start and no last end.
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
    let subcommands =
        ["summary", "counters", "ledger", "causes", "outliers", "stripes", "layers", "checks", "timeline"];
    for subcommand in subcommands.into_iter().chain(["signatures", "dump"]) {
        let text = stdout(&[subcommand, &path], 0);
        // The head of `dump` gives the start as a number.
        let untold = if subcommand == "dump" { text.contains("time_ns -") } else { !text.contains("0 ns") };
        assert!(untold && !text.contains("time_ns 0"), "{subcommand}: {text}");
        // `dump` reports missing data on standard error.
        assert!(subcommand == "dump" || text.contains("(DXT_TIMING=off)"), "{subcommand}: {text}");
    }
    let page = folder.path().join("page.html");
    let text = stdout(&["report", "-o", page.to_str().unwrap(), &path], 0);
    let verdict = &json(&["report", "--format", "json", &path], 0)["verdict"];
    assert_eq!((&verdict["untimed"], &verdict["states"]), (&true.into(), &serde_json::Value::Null));
    let printed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains(verdict["sentence"].as_str().unwrap()), "{text}");
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
    let folder = tempfile::tempdir().unwrap();
    let known = put(folder.path(), "none.dxt", &small_bytes());
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
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let found = json(&["counters", "--format", "json", &path], 0);
    let posix = found["patterns"].as_array().unwrap().iter().find(|row| row["layer"] == "POSIX").unwrap();
    assert_eq!((&posix["memory_known"], &posix["memory_unaligned"]), (&4.into(), &3.into()));
    assert_eq!(posix["memory_alignment"], 512);
    let row = &found["memory"][0];
    assert_eq!((&row["direction"], &row["size_bin"], &row["unaligned"]), (&"write".into(), &2.into(), &3.into()));
    assert_eq!((row["aligned_mean_ns"].as_f64(), row["unaligned_mean_ns"].as_f64()), (Some(1000.0), Some(2000.0)));
    assert!(stdout(&["counters", &path], 0).contains("at a multiple of 512 B"));
    // Memory alignment is counted over the whole run only, so it is unknown for a time window or a selection of files.
    let part = json(&["counters", "--format", "json", "--time", "0:1", &path], 0);
    assert!(part["memory"].as_array().unwrap().is_empty());
    let others = json(&["counters", "--format", "json", "--files", "/data/mine", &path], 0);
    assert!(others["memory"].as_array().unwrap().is_empty());
    assert_eq!(others["patterns"][0]["memory_unaligned"], 3);
}
