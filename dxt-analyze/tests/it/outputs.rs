//! Tests of machine-readable output, for every command that clap knows: column values fit the units in the column names, and tables without
//! rows have headers. No share exceeds 1, for real and for damaged logs.

use crate::common::{command, job, logs, op, process, put, small, text, trace};
use darshan_log::{Log, Module};
use dxt_analyze::cli::args::command as known;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::meta::stream_flags;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Commands that write no CSV table on a run, each with the reason. A new command must have `--format` or be listed here.
const OTHERS: [(&str, &str); 7] = [
    ("serve", "a server"),
    ("live", "has destinations of its own"),
    ("convert", "writes a trace"),
    ("export", "writes forms of other programs"),
    ("expand", "reads a signature: fio.rs"),
    ("generate", "writes man pages"),
    ("recover", "reads spools, not traces: recover.rs"),
];

/// Returns command lines of all commands with `--format`, as known to clap, each with inputs that the command accepts.
fn commands(one: &str, two: &str, all: &str) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    for subcommand in known().get_subcommands() {
        let name = subcommand.get_name();
        if OTHERS.iter().any(|(other, _)| *other == name) {
            continue;
        }
        assert!(
            subcommand.get_arguments().any(|arg| arg.get_id() == "format"),
            "{name} has no --format: is it one of OTHERS?"
        );
        let forms: &[&[&str]] = match name {
            "explain" => &[&["explain"], &["explain", "DXT-O001"]],
            "compare" => &[&["compare", one, two]],
            "corpus" | "scaling" => &[&[name, all]],
            "outliers" => &[
                &[name, one],
                &[name, "--metric", "duration", "--absolute", one],
                &[name, "--by", "rank", "--windows", "2", one],
            ],
            "summary" => &[&[name, "--peak", "1MB/s", one]],
            "signatures" => &[&[name, one], &[name, "--level", "local", one]],
            _ => &[&[name, one]],
        };
        out.extend(forms.iter().map(|form| form.iter().map(|word| (*word).to_owned()).collect()));
    }
    assert!(out.len() > 18, "{out:?}");
    out
}

fn ran(args: &[String], more: &[&str]) -> Output {
    let words: Vec<&str> =
        args.iter().map(String::as_str).chain(more.iter().copied()).chain(["--threads", "1"]).collect();
    // Some commands write to the current directory.
    command(&words).current_dir(env!("CARGO_TARGET_TMPDIR")).output().unwrap()
}

/// Calls `of` for each item, using two threads.
fn each<T: Sync>(items: &[T], of: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            of(item);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
}

fn tables(args: &[String]) -> Vec<String> {
    let output = ran(args, &["--format", "csv", "--table", "none of these"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let names = said.split_once("it has: ").unwrap_or_else(|| panic!("{args:?}: {said}")).1;
    names.trim().split(", ").map(str::to_owned).collect()
}

/// Checks a value against the unit in its column's name. Returns the reason if it does not fit.
fn misread(name: &str, value: &str, unit: Option<&str>) -> Option<&'static str> {
    let decimals = value.split_once('.').map_or(0, |(_, behind)| behind.len());
    let is_number = value.parse::<f64>().is_ok();
    let bare = name.trim_end_matches("_least").trim_end_matches("_most");
    let in_seconds = bare.ends_with("_s") && !bare.ends_with("_per_s");
    if value.is_empty() || !is_number && !in_seconds && !bare.ends_with("_ns") {
        return None;
    }
    if bare.ends_with("_ns") {
        return (!is_number || decimals > 0).then_some("no whole nanoseconds");
    }
    if in_seconds || unit == Some("s") {
        return (!is_number || decimals != 9).then_some("no seconds");
    }
    if decimals == 9 {
        return Some("seconds in a column that does not say so");
    }
    let is_rate = bare.ends_with("_per_s");
    if bare.contains("bytes") && !is_rate && !bare.ends_with("_share") && !bare.starts_with("mean_") && decimals > 0 {
        return (!bare.contains("share") && !bare.contains("variance")).then_some("no whole bytes");
    }
    let is_share = bare.contains("share") && !bare.contains("shared") || unit == Some("share");
    (is_share && value.parse::<f64>().unwrap() > 1.0).then_some("a share above 1")
}

/// Checks the header and all values of a CSV table; returns its number of rows.
fn check_table(what: &str, csv: &[u8]) -> usize {
    let mut reader = csv::Reader::from_reader(csv);
    let heads = reader.headers().unwrap().clone();
    assert!(!heads.is_empty(), "{what} has no header");
    let mut rows = 0;
    for row in reader.records() {
        let row = row.unwrap_or_else(|error| panic!("{what}: {error}"));
        rows += 1;
        let of = |wanted: &str| heads.iter().position(|head| head == wanted).and_then(|place| row.get(place));
        for (name, value) in heads.iter().zip(&row) {
            // A column with mixed units has the unit in another column.
            let (name, unit) = match name {
                "value" | "threshold" => (name, of("unit")),
                "also_value" | "also_threshold" => (name, of("also_unit")),
                "before" | "after" => (of("measure").unwrap_or(name), None),
                name => (name, None),
            };
            if let Some(why) = misread(name, value, unit) {
                panic!("{what}: {name} = {value}: {why}");
            }
        }
    }
    rows
}

/// Encodes a trace of four ranks that read parts of one file in nested strides, and all of another file: candidates for prefetching and for
/// reading once.
fn reads() -> Vec<u8> {
    let processes = (0..4_u64).map(|rank| {
        let mut one = process(rank as i32, &format!("n{}", rank / 2));
        let nested = (0..200).map(|k| ("/scratch/nested", rank * 4096 + k / 2 * 32_768 + k % 2 * 8192, 4096));
        let same = (0..64).map(|k| ("/scratch/same", k << 20, 1 << 20));
        for (call, (file, offset, length)) in (1..).zip(nested.chain(same)) {
            let start = call * 5_000_000;
            one.add(file, op::POSIX_READ, 0, offset as i64, length, start, start + 1_000_000);
        }
        one
    });
    trace(&job("reads", 4), processes.collect())
}

/// Returns input files that together fill nearly all tables: the demo, a run with a stripe layout, HDF5 details, Darshan logs.
fn inputs(folder: &Path) -> Vec<String> {
    let synth = |name: &str, args: &[&str]| {
        let path = text(&folder.join(name)).to_owned();
        dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).unwrap();
        path
    };
    vec![
        format!("{PROJECT}/testdata/demo/demo.dxt"),
        synth("ior.dxt", &["ior-strided", "-n", "4", "--layer", "mpiio", "--segments", "16"]),
        put(folder, "reads.dxt", &reads()),
        put(folder, "hdf5.dxt", &crate::common::hdf5()),
        format!("{PROJECT}/testdata/darshan/synth-pfl-a.darshan"),
    ]
}

#[test]
fn each_column_of_each_table_of_each_command_holds_what_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let of_runs = inputs(folder.path());
    let all = format!("{PROJECT}/testdata/darshan");
    let mut asked: Vec<(Vec<String>, Option<String>)> = Vec::new();
    for (number, one) in of_runs.iter().enumerate() {
        let two = &of_runs[(number + 1) % of_runs.len()];
        let runs = if number == 0 { &all } else { text(folder.path()) };
        for args in commands(one, two, runs) {
            let with_tables =
                known().find_subcommand(&args[0]).unwrap().get_arguments().any(|arg| arg.get_id() == "table");
            asked.push((args.clone(), None));
            if with_tables {
                let names = tables(&args);
                assert!(names.iter().all(|name| !name.is_empty()), "{args:?} has a table without a name, or none");
                asked.extend(names.into_iter().map(|name| (args.clone(), Some(name))));
            }
        }
    }
    let filled = Mutex::new(std::collections::BTreeMap::<String, usize>::new());
    each(&asked, |(args, table)| {
        let with = table.as_ref().map_or_else(Vec::new, |name| vec!["--table", name]);
        let output = ran(args, &[&["--format", "csv"], with.as_slice()].concat());
        let what = format!("{} {with:?}", args.join(" "));
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{what} ends with {code:?}: {}", String::from_utf8_lossy(&output.stderr));
        let rows = check_table(&what, &output.stdout);
        let name = format!("{} {}", args[0], table.as_deref().unwrap_or_default());
        *filled.lock().unwrap().entry(name).or_default() += rows;
    });
    let filled = filled.into_inner().unwrap();
    let (some, none): (Vec<_>, Vec<_>) = filled.iter().partition(|(_, rows)| **rows > 0);
    assert!(some.len() > 5 * none.len(), "too many tables without rows to see what is in them: {none:?}");
    for name in
        ["signatures global", "signatures local", "signatures read_ahead", "signatures stripe_sizes", "compare job"]
    {
        assert!(filled.get(name).is_some_and(|rows| *rows > 0), "no rows in {name}");
    }
}

/// Collects into `out` the shares outside [0, 1] in a JSON result, with their paths, and the percentages above 100 in its texts.
fn above(place: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().filter(|(name, _)| *name != "thresholds").for_each(|(name, value)| {
            let is_share = name.contains("share") && !name.contains("shared");
            if is_share && value.as_f64().is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                out.push(format!("{place}.{name} = {value}"));
            }
            above(&format!("{place}.{name}"), value, out);
        }),
        Value::Array(values) => values.iter().for_each(|value| above(place, value, out)),
        Value::String(words) => {
            out.extend(above_in_words(words).map(|share| format!("{place}: {share} % in {words:?}")));
        }
        _ => {}
    }
}

/// Returns percentages above 100 in a text such as `120.0 % of the reads`. Changes, which have a sign, are ignored.
fn above_in_words(words: &str) -> impl Iterator<Item = f64> {
    let parts = words.match_indices(" % of ").map(|(at, _)| &words[..at]);
    let number = |before: &str| {
        let word = before.rsplit([' ', '(']).next()?;
        word.replace(',', "").parse::<f64>().ok().filter(|share| *share > 100.0 && !word.starts_with(['+', '-']))
    };
    parts.filter_map(number)
}

/// Pseudo-random number generator with a fixed seed, so that each run of the test uses equal numbers.
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Writes copies of the project's test files with some bytes changed or cut off. Readers must not fail on them.
fn damaged(folder: &Path) -> Vec<String> {
    let files = logs().into_iter().chain([PathBuf::from(format!("{PROJECT}/testdata/demo/demo.dxt"))]);
    let copy = |(number, path): (usize, PathBuf)| {
        let mut numbers = Numbers::new(number as u64 + 1);
        let mut bytes = std::fs::read(&path).unwrap();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] = numbers.below(256) as u8;
        }
        if number % 3 == 0 {
            bytes.truncate(bytes.len() - numbers.below(bytes.len() as u64 / 2) as usize);
        }
        put(folder, &format!("damaged-{number}-{}", path.file_name().unwrap().to_str().unwrap()), &bytes)
    };
    files.enumerate().map(copy).collect()
}

/// Writes intact Darshan logs with contradictory values: counts and times are multiplied, or taken from another record.
fn contradicting_logs(folder: &Path) -> Vec<String> {
    let modules = [Module::Posix, Module::MpiIo, Module::Stdio, Module::H5F, Module::H5D];
    let rewrite = |(number, path): (usize, PathBuf)| {
        let mut numbers = Numbers::new(100 + number as u64);
        let mut log = Log::open(&path).unwrap();
        let mut job = log.job().clone();
        job.end_sec = job.start_sec + numbers.pick(&[0, 1, 100]);
        job.metadata = vec![("lib_ver".into(), "3.5.0".into())];
        let mounts: Vec<_> = log.mounts().iter().cloned().collect();
        let names: Vec<_> = log.names().iter().map(|(_, name)| name.as_bytes().to_vec()).collect();
        let mut writer =
            darshan_log::write::Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, &names).ok()?;
        for module in modules {
            let Some(records) = log.counters(module) else { continue };
            let changed = records.map(|mut record| {
                record
                    .ints
                    .iter_mut()
                    .for_each(|value| *value = value.saturating_mul(numbers.pick(&[0, 1, 1, 1, 3, 1000])));
                record.floats.iter_mut().for_each(|value| *value *= numbers.pick(&[0.0, 1.0, 1.0, 0.01, 1000.0]));
                record
            });
            let changed: Vec<_> = changed.collect();
            writer.counters(module, &changed).ok()?;
        }
        let bytes = writer.finish().unwrap().into_inner();
        Some(put(folder, &format!("contradicting-{number}.darshan"), &bytes))
    };
    logs().into_iter().enumerate().filter_map(rewrite).collect()
}

/// Writes traces with contradictory times: processes that end before their calls, overlapping calls on one thread, nested calls longer than
/// the outer ones.
fn contradicting_traces(folder: &Path, seeds: std::ops::Range<u64>) -> Vec<String> {
    let of_seed = |seed: u64| {
        let mut numbers = Numbers::new(seed);
        let mut processes = small().1;
        processes.push(process(4, "node3"));
        let end_ns = numbers.pick(&[0, 1, 10_000, 20_000_000]);
        for process in &mut processes {
            process.process.info.end_ns = end_ns;
            for _ in 0..40 {
                let path = numbers.pick(&["/scratch/out.h5", "/scratch/b", "/home/c"]);
                let kind = numbers.pick(&[
                    op::POSIX_READ,
                    op::POSIX_WRITE,
                    op::POSIX_OPEN,
                    op::POSIX_CLOSE,
                    op::MPIIO_WRITE_ALL,
                    op::STDIO_WRITE,
                    op::HDF5_WRITE_ALL,
                    op::HDF5_READ,
                ]);
                let flags = numbers.pick(&[0, stream_flags::NESTED, stream_flags::IN_HDF5, stream_flags::FAILED]);
                let start = numbers.below(1_000_000);
                let (offset, length) = (numbers.below(1 << 20) as i64, numbers.below(1 << 18));
                process.add(path, kind, flags, offset, length, start, start + numbers.below(10_000_000));
            }
        }
        put(folder, &format!("contradicting-{seed}.dxt"), &trace(&job(&format!("job-{seed}"), 5), processes))
    };
    seeds.map(of_seed).collect()
}

/// Adds to `wrong` each pair of findings in one list of `found` with equal code and facts but different titles: programs, and the report,
/// would take them for one finding.
fn same_facts(what: &str, found: &Value, wrong: &mut Vec<String>) {
    match found {
        Value::Array(rows) => {
            let facts = |row: &Value| ["code", "about"].map(|key| row[key].to_string());
            let findings: Vec<&Value> =
                rows.iter().filter(|row| row["title"].is_string() && row["code"].is_string()).collect();
            for (at, one) in findings.iter().enumerate() {
                let others = findings.iter().skip(at + 1).filter(|other| facts(one) == facts(other));
                let others = others.filter(|other| one["title"] != other["title"]);
                wrong.extend(others.map(|other| format!("{what}: {} and {}", one["title"], other["title"])));
            }
            rows.iter().for_each(|row| same_facts(what, row, wrong));
        }
        Value::Object(fields) => fields.values().for_each(|value| same_facts(what, value, wrong)),
        _ => {}
    }
}

/// Returns the percentages in a text, each with its line. Changes, which have a sign, are ignored.
fn shares(text: &str) -> Vec<(f64, &str)> {
    let mut out = Vec::new();
    for line in text.lines() {
        for (at, _) in line.match_indices('%') {
            let before = line[..at].trim_end();
            let from = before.rfind(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').map_or(0, |place| place + 1);
            let sign = before[..before.len().min(from)].chars().next_back();
            let number = before.get(from..).unwrap_or_default().replace(',', "").parse();
            if let (Ok(number), false) = (number, matches!(sign, Some('+' | '-'))) {
                out.push((number, line));
            }
        }
    }
    out
}

#[test]
fn shares_in_text_are_found() {
    let found: Vec<f64> =
        shares("a 99.5 % of 1,200 %\n+130 % -120 %, 7%").into_iter().map(|(share, _)| share).collect();
    assert_eq!(found, [99.5, 1200.0, 7.0]);
}

#[test]
fn no_share_is_above_one_and_facts_distinguish_findings_whatever_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs: Vec<String> = logs().iter().map(|path| text(path).to_owned()).collect();
    inputs.push(format!("{PROJECT}/testdata/demo/demo.dxt"));
    inputs.push(format!("{PROJECT}/testdata/golden/v1.dxt"));
    inputs.extend(damaged(folder.path()));
    let (odd_logs, odd_traces) = (contradicting_logs(folder.path()), contradicting_traces(folder.path(), 1..5));
    assert!(odd_logs.len() > 4, "{odd_logs:?}");
    let with_tables: Vec<&String> = odd_logs.iter().take(1).chain(odd_traces.iter().take(1)).collect();
    inputs.extend(odd_logs.iter().chain(&odd_traces).cloned());
    let mut asked = Vec::new();
    for (number, one) in inputs.iter().enumerate() {
        let of_many = |args: &Vec<String>| ["corpus", "scaling", "explain"].contains(&args[0].as_str());
        let all = commands(one, &inputs[(number + 1) % inputs.len()], text(folder.path()));
        for args in all.into_iter().filter(|args| number == 0 || !of_many(args)) {
            let has_tables = args.len() == 2 && with_tables.contains(&one);
            asked.push((args, has_tables));
        }
    }
    let answered = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    each(&asked, |(args, has_tables)| {
        let output = ran(args, &["--format", "json"]);
        assert!(matches!(output.status.code(), Some(0..=4)), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        if let Ok(found) = serde_json::from_slice::<Value>(&output.stdout) {
            answered.fetch_add(1, Ordering::Relaxed);
            above(&args.join(" "), &found, &mut wrong.lock().unwrap());
            same_facts(&args.join(" "), &found, &mut wrong.lock().unwrap());
        }
        let known = known();
        let can_choose = known.find_subcommand(&args[0]).unwrap().get_arguments().any(|arg| arg.get_id() == "table");
        if *has_tables && can_choose && output.status.code() != Some(1) {
            let text = String::from_utf8(ran(args, &[]).stdout).unwrap();
            let above = shares(&text).into_iter().filter(|(share, _)| *share > 100.0);
            wrong.lock().unwrap().extend(above.map(|(_, line)| format!("{args:?}: {line}")));
            for table in tables(args) {
                let csv = ran(args, &["--format", "csv", "--table", &table]).stdout;
                check_table(&format!("{args:?} {table}"), &csv);
            }
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<String>::new());
    assert!(answered.into_inner() > asked.len() / 2, "most inputs cannot be read");
}
