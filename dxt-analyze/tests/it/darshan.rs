//! Tests of all commands on Darshan logs: totals equal the log's counters, and calls equal its DXT segments.
//!
//! Logs missing from `testdata/darshan` are taken from the folder named by `DXT_DARSHAN_LOGS`.

use crate::common::{json, run, stdout};
use darshan_log::{Api, Log, Module};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Once;

fn of_project(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/darshan").join(name)
}

static SAID: Once = Once::new();

/// Returns every readable Darshan log: those of the project, and those in the folder named by `DXT_DARSHAN_LOGS`.
fn logs() -> Vec<PathBuf> {
    let mut folders = vec![of_project("")];
    match std::env::var_os("DXT_DARSHAN_LOGS") {
        Some(folder) => folders.push(PathBuf::from(folder)),
        None => {
            SAID.call_once(|| crate::common::skip_here("more logs than the project has: DXT_DARSHAN_LOGS is not set"));
        }
    }
    let all = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut out: Vec<PathBuf> = all.map(|entry| entry.expect("an entry").path()).collect();
    out.retain(|path| path.extension().is_some_and(|extension| extension == "darshan"));
    out.sort();
    out
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

/// Returns calls and bytes of a log by layer and operation class, from counters or from DXT segments, whichever has more.
fn sums(path: &Path) -> BTreeMap<(&'static str, &'static str), (u64, u64)> {
    let mut out: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    let mut log = Log::open(path).expect("a log");
    for (module, layer, prefix) in [
        (Module::Posix, "POSIX", "POSIX"),
        (Module::MpiIo, "MPIIO", "MPIIO"),
        (Module::Stdio, "STDIO", "STDIO"),
        (Module::H5D, "HDF5", "H5D"),
    ] {
        for record in log.counters(module).into_iter().flatten() {
            let of = |name: &str| record.int(module, &format!("{prefix}_{name}")).unwrap_or(0).max(0) as u64;
            let forms = |what: &str| match layer {
                "MPIIO" => ["INDEP", "COLL", "SPLIT", "NB"].iter().map(|form| of(&format!("{form}_{what}"))).sum(),
                _ => of(what),
            };
            for (class, calls, bytes) in
                [("read", forms("READS"), of("BYTES_READ")), ("write", forms("WRITES"), of("BYTES_WRITTEN"))]
            {
                let sum = out.entry((layer, class)).or_default();
                *sum = (sum.0 + calls, sum.1 + bytes);
            }
        }
    }
    let mut traced: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for (api, layer) in [(Api::Posix, "POSIX"), (Api::MpiIo, "MPIIO")] {
        let Some(mut dxt) = log.dxt(api) else { continue };
        while dxt.next_record().is_some() {
            while let Some(piece) = dxt.next_piece() {
                let class = if piece.operation == darshan_log::Operation::Write { "write" } else { "read" };
                let sum = traced.entry((layer, class)).or_default();
                let bytes: i64 = piece.segments.iter().map(|segment| segment.length).sum();
                *sum = (sum.0 + piece.segments.len() as u64, sum.1 + bytes as u64);
            }
        }
    }
    // DXT segments can cover fewer calls than the counters, or come without counters.
    for (key, segments) in traced {
        let sum = out.entry(key).or_default();
        *sum = (sum.0.max(segments.0), sum.1.max(segments.1));
    }
    out.retain(|_, sum| sum.0 > 0);
    out
}

#[test]
fn sums_are_those_of_the_log() {
    for path in logs() {
        let output = run(&["summary", "--format", "json", text(&path)]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {output:?}", path.display());
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut seen: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for row in found["operations"].as_array().expect("rows") {
            let (layer, op) = (row["layer"].as_str().expect("a layer"), row["op"].as_str().expect("a name"));
            if ["read", "write"].contains(&op) {
                let sum = seen.entry((layer, op)).or_default();
                *sum = (sum.0 + row["count"].as_u64().expect("a count"), sum.1 + row["bytes"].as_u64().expect("bytes"));
            }
        }
        assert_eq!(seen, sums(&path), "{}", path.display());
    }
}

/// Counter values by name.
type Counted = Vec<(&'static str, i64)>;

/// Returns selected counters of each record, by module, rank and record ID.
fn records(path: &Path) -> BTreeMap<(&'static str, i64, u64), Counted> {
    const SAME: [&str; 9] = [
        "OPENS",
        "BYTES_READ",
        "BYTES_WRITTEN",
        "SIZE_WRITE_100K_1M",
        "SIZE_READ_0_100",
        "FASTEST_RANK",
        "FASTEST_RANK_BYTES",
        "SLOWEST_RANK",
        "SLOWEST_RANK_BYTES",
    ];
    let mut log = Log::open(path).expect("a log");
    let mut out = BTreeMap::new();
    for (module, prefix) in [(Module::Posix, "POSIX"), (Module::MpiIo, "MPIIO"), (Module::Stdio, "STDIO")] {
        for record in log.counters(module).into_iter().flatten() {
            let of = |name: &str| record.int(module, &format!("{prefix}_{name}"));
            let mut counters: Vec<_> = SAME.iter().filter_map(|name| Some((*name, of(name)?))).collect();
            // DXT does not distinguish independent and collective MPI-IO calls.
            for (what, forms) in [
                ("READS", ["READS", "INDEP_READS", "COLL_READS"]),
                ("WRITES", ["WRITES", "INDEP_WRITES", "COLL_WRITES"]),
            ] {
                counters.push((what, forms.iter().filter_map(|form| of(form)).sum()));
            }
            out.insert((prefix, record.rank, record.id), counters);
        }
    }
    out
}

/// A log converted to a trace and back has the same records with the same counters, including records reduced over all ranks.
#[test]
fn a_log_made_of_a_log_has_the_same_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for path in logs() {
        let before = records(&path);
        let log = Log::open(&path).expect("a log");
        let names = log.info();
        // Record IDs in an anonymized log do not match its names; synthetic logs have segments without counters.
        let anonymized = names.names.iter().any(|(id, name)| darshan_log::record_id(name.as_bytes()) != id);
        let made_up = text(&path).contains("synth-");
        let whole = log.partial().next().is_none() && !before.is_empty();
        drop(log);
        if anonymized || made_up || !whole {
            continue;
        }
        let made = folder.path().join("made.darshan");
        let output = run(&["export", "--to", "darshan", "--force", "-o", text(&made), text(&path)]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {output:?}", path.display());
        let after = records(&made);
        for (key, counters) in &before {
            let empty = counters.iter().all(|(_, count)| *count <= 0);
            assert!(
                after.get(key) == Some(counters) || empty,
                "{} {key:?}: {counters:?}, {:?}",
                path.display(),
                after.get(key)
            );
        }
        compared += before.len();
    }
    assert!(compared > 20, "{compared}");
}

/// Tests that calls on HDF5 data sets are shown as in the log, but do not count twice in the program's totals.
#[test]
fn data_sets_are_those_of_the_log() {
    let Some(folder) = std::env::var_os("DXT_DARSHAN_LOGS") else {
        return crate::common::skip_here("logs with data sets: DXT_DARSHAN_LOGS is not set");
    };
    let path = Path::new(&folder).join("openpmd-8a-384p.darshan");
    if !path.exists() {
        return crate::common::skip_here("logs with data sets: openpmd-8a-384p.darshan is not in DXT_DARSHAN_LOGS");
    }
    let mut log = Log::open(&path).expect("a log");
    let mut written: BTreeMap<String, u64> = BTreeMap::new();
    let names = log.info();
    for record in log.counters(Module::H5D).into_iter().flatten() {
        let name = names.names.get(record.id).expect("a name").to_str().into_owned();
        let bytes = record.int(Module::H5D, "H5D_BYTES_WRITTEN").expect("bytes");
        *written.entry(name.rsplit_once(':').expect("a data set").1.to_owned()).or_default() += bytes as u64;
    }
    let found = json(&["summary", "--format", "json", "--top", "1000", text(&path)], 0);
    let shown = found["top_data_sets"].as_array().expect("rows").iter();
    let shown: BTreeMap<String, u64> = shown
        .map(|row| {
            (row["data_set"].as_str().expect("a name").to_owned(), row["bytes_written"].as_u64().expect("bytes"))
        })
        .collect();
    assert_eq!(shown, written);
    assert!(shown.len() >= 10, "{shown:?}");
    let of_layer = |layer: &str| {
        let rows = found["operations"].as_array().expect("rows").iter();
        let own = rows.filter(|row| row["layer"] == layer && row["op"] == "write" && row["nested"] == false);
        own.map(|row| row["bytes"].as_u64().expect("bytes")).sum::<u64>()
    };
    assert!(of_layer("HDF5") > 0);
    assert_eq!(found["bytes_written"], of_layer("MPIIO") + of_layer("STDIO") + of_layer("POSIX"));
}

#[test]
fn every_verb_reads_every_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    for path in logs() {
        for subcommand in [
            vec!["outliers"],
            vec!["outliers", "--by", "rank"],
            vec!["outliers", "--by", "ost"],
            vec!["stripes", "--recommend"],
            vec!["layers"],
            vec!["checks"],
            vec!["counters"],
            vec!["timeline"],
            vec!["check"],
            vec!["report", "-o", text(&page)],
        ] {
            let output = run(&[subcommand.as_slice(), &[text(&path)]].concat());
            assert!(matches!(output.status.code(), Some(0 | 3)), "{subcommand:?} {}: {output:?}", path.display());
            assert!(!output.stdout.is_empty(), "{subcommand:?} {}", path.display());
        }
    }
}

#[test]
fn a_log_and_the_trace_made_of_it_have_the_same_segments() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in logs() {
        let made = folder.path().join("made.dxt");
        let output = run(&["convert", text(&path), "-o", text(&made)]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {output:?}", path.display());
        let dump = |path: &Path| run(&["dump", "--format", "json", text(path)]).stdout;
        let (of_log, of_trace) = (dump(&path), dump(&made));
        assert!(of_log == of_trace, "{}", path.display());
        let mut log = Log::open(&path).expect("a log");
        let mut count = 0;
        for api in [Api::Posix, Api::MpiIo] {
            if let Some(mut dxt) = log.dxt(api) {
                while let Some(record) = dxt.next_record() {
                    count += record.write_count + record.read_count;
                }
            }
        }
        let lines = String::from_utf8(of_log).expect("text");
        let segments =
            lines.lines().filter(|line| line.contains("\"start_ns\"") && line.contains("\"offset\"")).count();
        assert_eq!(segments as u64, count, "{}", path.display());
    }
}

#[test]
fn what_darshan_prints_is_printed() {
    for path in logs() {
        let mut log = Log::open(&path).expect("a log");
        let mut expected = Vec::new();
        darshan_log::text::darshan_parser(&mut log, &mut expected).expect("text");
        let output = run(&["dump", "--format", "darshan-parser", text(&path)]);
        assert!(output.stdout == expected, "{}", path.display());
    }
    let path = of_project("gen-mpi8-rt3.5.0.darshan");
    let printed = stdout(&["dump", "--format", "dxt-parser", text(&path)], 0);
    let golden = std::fs::read(of_project("gen-mpi8-rt3.5.0.dxt.txt.xz")).expect("the golden file");
    let mut expected = Vec::new();
    lzma_rs::xz_decompress(&mut golden.as_slice(), &mut expected).expect("xz");
    assert!(printed.as_bytes() == expected);
    let folder = tempfile::tempdir().expect("a folder");
    let trace = crate::common::put(
        folder.path(),
        "a.dxt",
        &crate::common::trace(&crate::common::job("k", 1), vec![crate::common::process(0, "n")]),
    );
    stdout(&["dump", "--format", "dxt-parser", &trace], 1);
    stdout(&["dump", "--format", "dxt-parser", "--ranks", "0", text(&path)], 2);
}

#[test]
fn posix_calls_are_found_inside_those_of_mpi_io() {
    let found = json(&["layers", "--format", "json", text(&of_project("gen-mpi8-rt3.5.0.darshan"))], 0);
    let inside = &found["job"]["mpiio"]["inside"];
    assert_eq!((&inside["reads"]["calls"], &inside["writes"]["calls"]), (&12.into(), &497.into()));
    // The ranks write the collective file in 64 calls of 16 MiB; the log's counters show that they are collective.
    let file = &found["collective_files"][0];
    assert!(file["calls"] == 64 || file["calls"] == 32, "{file}");
}

#[test]
fn layouts_of_parts_and_on_the_metadata_target_come_along() {
    let found = json(&["stripes", "--format", "json", text(&of_project("synth-pfl-a.darshan"))], 0);
    let mut parts: Vec<usize> = found["files"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| file["layout"]["components"].as_array().map_or(0, Vec::len))
        .collect();
    parts.sort_unstable();
    assert_eq!(parts, [2, 3], "{}", found["files"][0]);
}

#[test]
fn old_logs_and_other_files_are_refused_in_one_sentence() {
    let output = run(&["summary", text(&of_project("v2.3.1-ppc64.darshan.gz"))]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Darshan 2.x") && said.trim().lines().count() == 1, "{said}");
}

#[test]
fn a_cut_or_changed_log_gives_a_result_or_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut state = 9_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for name in ["ppc64-3.1.5-bigendian.darshan", "x86_64-3.0.0.darshan", "gen-threads-rtmain.darshan"] {
        let whole = std::fs::read(of_project(name)).expect("a log");
        for round in 0..60 {
            let mut bytes = whole.clone();
            if round % 2 == 0 {
                bytes.truncate(random(whole.len()));
            } else {
                (0..1 + random(4)).for_each(|_| bytes[random(whole.len())] = random(256) as u8);
            }
            let path = folder.path().join("a.darshan");
            std::fs::write(&path, &bytes).expect("written");
            let output = run(&["checks", text(&path)]);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1 | 3)), "{name} {round}: {output:?}");
            assert!(code != Some(1) || !output.stderr.is_empty(), "{name} {round}");
        }
    }
}

#[test]
fn a_directory_of_logs_is_read_as_one_of_traces_is() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(of_project("gen-mpi8-rt3.5.0.darshan"), folder.path().join("job.darshan")).expect("copied");
    assert!(stdout(&["summary", text(folder.path())], 0).contains("8 ranks"));
    let other = folder.path().join("other.darshan");
    std::fs::copy(of_project("synth-pfl-a.darshan"), &other).expect("copied");
    let newest = stdout(&["summary", text(folder.path())], 0);
    assert!(newest.contains("of 2 jobs in"), "{newest}");
    stdout(&["summary", text(&folder.path().join("job.darshan")), text(&other)], 2);
}

/// The timeline of a log without DXT comes from its heat maps: totals are equal, and each byte counts once.
#[test]
fn heat_maps_are_timelines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = PathBuf::from(crate::common::heat_log(folder.path()));
    let found = json(&["timeline", "--format", "json", text(&path)], 0);
    let bins = found["bins"].as_array().expect("bins");
    let written: Vec<(u64, u64)> = bins
        .iter()
        .map(|bin| (bin["start_ns"].as_u64().expect("a time"), bin["bytes_written"].as_u64().expect("bytes")))
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    assert_eq!(written, [(500_000_000, 3000), (3_000_000_000, 14)], "{found}");
    assert_eq!(found["phases"].as_array().expect("phases").len(), 2);
    // A log exported from this log has the same sums in narrower bins.
    let again = folder.path().join("again.darshan");
    stdout(&["export", "--to", "darshan", "-o", text(&again), text(&path)], 0);
    let records: Vec<_> = Log::open(&again).expect("a log").heatmaps().expect("heat maps").collect();
    let sums: Vec<(i64, i64)> = records.iter().map(|record| (record.rank, record.write_bytes.iter().sum())).collect();
    assert_eq!(sums, [(0, 1007), (1, 2007)]);
    let page = folder.path().join("page.html");
    stdout(&["report", "-o", text(&page), text(&path)], 0);
    // The page has a row per rank.
    let html = std::fs::read_to_string(&page).expect("a page");
    let data = html.split_once("<script type=\"application/json\" id=\"data\">").expect("data").1;
    let data: Value = serde_json::from_str(data.split_once("</script>").expect("an end").0).expect("JSON");
    let lines = data["ranks"]["lines"].as_array().expect("lines");
    let bytes = |row: u64| {
        let lines =
            lines.iter().filter(|line| line["row"] == row).flat_map(|line| line["cells"].as_array().expect("cells"));
        lines.skip(2).step_by(4).filter_map(Value::as_u64).sum::<u64>()
    };
    assert_eq!((bytes(0), bytes(1)), (1007, 2007), "{lines:?}");
}
