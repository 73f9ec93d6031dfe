//! Tests of `report`: it writes a single HTML file that is readable without scripts and contains the numbers of the trace.

use crate::common::facts::assert_found;
use crate::common::{job, process, put, run, small, stdout, trace};
use serde_json::{Value, json};

struct Made {
    html: String,
    printed: String,
    code: Option<i32>,
    folder: tempfile::TempDir,
}

impl Made {
    fn of(bytes: &[u8], more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = put(folder.path(), "a.dxt", bytes);
        let page = folder.path().join("page.html").display().to_string();
        let output = run(&[&["report", &path, "-o", &page], more].concat());
        let html = std::fs::read_to_string(&page).unwrap_or_default();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        Self { html, printed, code: output.status.code(), folder }
    }

    /// Returns the JSON data of the charts, as embedded in the page.
    fn data(&self) -> Value {
        let (_, rest) = self.html.split_once("id=\"data\">").expect("data");
        let (json, _) = rest.split_once("</script>").expect("its end");
        serde_json::from_str(json).expect("JSON")
    }

    /// Returns the page's HTML without its scripts.
    fn text(&self) -> String {
        let mut out = String::new();
        for (number, piece) in self.html.split("<script").enumerate() {
            out.push_str(if number == 0 { piece } else { piece.split_once("</script>").map_or("", |(_, rest)| rest) });
        }
        out
    }
}

/// Sums a chart's grid over the time slices for which `keep` returns true: calls, bytes, ns.
fn sums(grid: &Value, keep: impl Fn(u64) -> bool) -> (u64, u64, u64) {
    let mut out = (0, 0, 0);
    for line in grid["lines"].as_array().expect("lines") {
        if keep(line["slice"].as_u64().expect("a slice")) {
            let cells: Vec<u64> = line["cells"].as_array().expect("cells").iter().filter_map(Value::as_u64).collect();
            for cell in cells.chunks(4) {
                out = (out.0 + cell[1], out.1 + cell[2], out.2 + cell[3]);
            }
        }
    }
    out
}

#[test]
fn the_grids_hold_every_byte_call_and_nanosecond() {
    let (job, processes) = small();
    let made = Made::of(&trace(&job, processes), &[]);
    assert_eq!(made.code, Some(0));
    let data = made.data();
    let slices = data["slices"].as_array().expect("slices");
    let own = |kind: &'static str| {
        move |slice: u64| {
            let slice = &slices[slice as usize];
            slice["nested"] == false && slice["kind"] == kind
        }
    };
    // Each of four ranks makes two writes of 1,000 bytes in 5 µs through MPI-IO and one read of 500 bytes in 1 µs.
    for grid in ["ranks", "nodes", "files", "job"] {
        assert_eq!(sums(&data[grid], own("write")), (8, 8000, 40_000), "{grid}");
        assert_eq!(sums(&data[grid], own("read")), (4, 2000, 4000), "{grid}");
    }
    assert_eq!(data["ranks"]["rows"].as_array().map(Vec::len), Some(4));
    let nodes = json!([{ "label": "node1", "members": 2 }, { "label": "node2", "members": 2 }]);
    assert_eq!(data["nodes"]["rows"], nodes);
    // With few calls, the page contains each of them exactly.
    assert_eq!(data["calls"]["start_ns"].as_array().map(Vec::len), Some(4 * 7));
}

#[test]
fn thousands_of_ranks_stay_small_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.dxt");
    let args = ["dxt-synth", "file-per-process", "-n", "3000", "--segments", "20", "--transfer", "64K", "-o"];
    dxt_synth::run(args.iter().map(std::ffi::OsStr::new).chain([path.as_os_str()])).expect("a trace");
    let made = Made::of(&std::fs::read(&path).expect("the trace"), &[]);
    assert!(made.html.len() < 5 << 20, "{} bytes", made.html.len());
    let data = made.data();
    assert_eq!((&data["ranks"]["per_row"], &data["calls"]), (&16.into(), &Value::Null));
    let slices = data["slices"].as_array().expect("slices");
    for grid in ["ranks", "nodes", "files", "targets", "job"] {
        let written = sums(&data[grid], |slice| slices[slice as usize]["kind"] == "write");
        assert_eq!(written.1, (3000 * 20) << 16, "{grid}");
    }
    assert_eq!(data["files"]["rows"].as_array().map(Vec::len), Some(64));
}

#[test]
fn findings_and_tables_are_there_without_scripts_and_names_are_only_names() {
    let hostile = "/a/</script><img src=x onerror=alert(1)>&\"'";
    let mut one = process(0, "n");
    for step in 0..100_u64 {
        let slow = if step == 50 { 900_000_000 } else { 100_000 };
        one.write(hostile, (step * 4096) as i64, 4096, step * 1_000_000_000, step * 1_000_000_000 + slow + step * 7);
    }
    let made = Made::of(&trace(&job("k", 1), vec![one]), &["--fail-on", "info"]);
    assert_eq!(made.code, Some(4));
    let text = made.text();
    let lead = "I/O takes 0.9 % of the run time";
    assert!(text.contains(lead) && made.printed.contains(lead), "{}", made.printed);
    assert!(text.contains("DXT-O001"), "the section has what the verdict does not");
    assert!(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&quot;"), "no name");
    assert!(!text.contains("<img") && !made.html.contains("<img src=x"));
    assert!(text.contains("<table id=\"t-outliers-0\">"));
    // The page fetches nothing: its only addresses are those of licenses and namespaces in the plotting library.
    for tag in ["<link", "<script src", "<iframe", "@import", "url("] {
        let found = text.matches(tag).count();
        assert_eq!(found, usize::from(tag == "<link"), "{tag}");
    }
    assert_eq!(made.data()["files"]["rows"][0]["label"], hostile);
}

#[test]
fn a_trace_with_nothing_in_it_makes_a_page_that_says_so() {
    let made = Made::of(&trace(&job("k", 1), vec![process(0, "n")]), &[]);
    assert_eq!(made.code, Some(0));
    let said = "I/O is not the bottleneck";
    assert!(made.text().contains(said) && made.printed.contains(said), "{}", made.printed);
    assert!(made.text().contains("Nothing is known to be missing from the trace."));
    assert_eq!(made.data()["segments"], 0);
}

#[test]
fn a_damaged_trace_is_said_to_be_one_first_and_how_at_the_end_alone() {
    let (job, mut processes) = small();
    processes.pop();
    let made = Made::of(&trace(&job, processes), &[]);
    assert_eq!(made.code, Some(3));
    let text = made.text();
    let places = |words: &str| text.match_indices(words).map(|(at, _)| at).collect::<Vec<usize>>();
    let (top, lead, end) = (places("href=\"#missing\""), places("class=\"lead\""), places("id=\"missing\""));
    // The link occurs twice: in the menu, and above all findings.
    assert!(top.len() == 2 && top[1] < lead[0], "{top:?} {lead:?}");
    let how = places("1 rank of the job is not in these inputs");
    assert!(how.len() == 1 && how[0] > end[0], "{how:?} {end:?}");
    let head = "Missing from the";
    let path = made.folder.path().join("a.dxt").display().to_string();
    assert!(stdout(&["summary", &path], 3).contains(head));
    assert!(!text.contains(head), "a section says it again");
    let (first, last) = (made.printed.find("1 rank absent"), made.printed.find("1 rank of the job is not"));
    assert!(first < made.printed.find("I/O takes") && last > made.printed.find("I/O takes"), "{}", made.printed);
}

#[test]
fn what_is_left_out_by_design_stands_above_nothing() {
    let (mut job, processes) = small();
    job.settings = vec![("DXT_EXCLUDE".into(), "*.log".into())];
    let made = Made::of(&trace(&job, processes), &[]);
    assert_eq!(made.code, Some(0));
    assert_eq!(made.text().matches("href=\"#missing\"").count(), 1, "a warning above the findings");
    let (_, end) = made.printed.split_once("Limits of this trace").expect("it is said");
    assert!(end.contains("DXT_EXCLUDE") && made.printed.matches("DXT_EXCLUDE").count() == 1, "{}", made.printed);
}

/// Returns a trace with one slow rank: rank 5 writes ten times as long as the others, which wait for it in each step.
fn sick() -> Vec<u8> {
    let processes = (0..16).map(|rank| {
        let mut one = process(rank, if rank < 8 { "node1" } else { "node2" });
        one.process.info.end_ns = 4_000_000_000;
        for step in 0..40_u64 {
            let start = step * 100_000_000 + u64::from(rank.unsigned_abs()) * 1000;
            let takes = if rank == 5 { 60_000_000 } else { 5_000_000 + (step * 37 + rank as u64 * 11) % 400_000 };
            one.write(
                "/lus/my run/field.dat",
                (step * 16 + rank as u64) as i64 * 1_048_576,
                1_048_576,
                start,
                start + takes,
            );
        }
        one
    });
    let mut about = job("k", 16);
    about.info.exe = b"/usr/bin/python3".to_vec();
    about.info.args = [b"python3".to_vec(), b"heat.py".to_vec(), b"--steps".to_vec(), b"40".to_vec()].to_vec();
    trace(&about, processes.collect())
}

#[test]
fn the_first_screen_has_job_ledger_sentence_table_cards_and_the_rest_in_this_order() {
    let made = Made::of(&sick(), &[]);
    assert_eq!(made.code, Some(0), "{}", made.printed);
    let text = made.text();
    let order = [
        "python3 heat.py --steps 40",
        "class=\"lead\"",
        "class=\"bar\"",
        "Per process",
        "class=\"sentence\"",
        "id=\"t-findings\"",
        "<li class=\"card\"",
        "id=\"activity\"",
        "id=\"places\"",
        "id=\"spread\"",
        "id=\"summary\"",
        "id=\"ledger\"",
        "id=\"codes\"",
        "id=\"missing\"",
    ];
    let at: Vec<Option<usize>> = order.iter().map(|words| text.find(words)).collect();
    assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{order:?} {at:?}");
    // Names are short in running text, with the full name in the tooltip.
    assert!(text.contains("<span class=\"file\" title=\"/lus/my run/field.dat\">field.dat</span>"), "no short name");
    for words in
        ["python3 heat.py --steps 40", "16 ranks on 2 nodes", "I/O takes", "no I/O ", "DXT-O002", "rank 5", "field.dat"]
    {
        assert!(made.printed.contains(words), "{words}: {}", made.printed);
    }
    // Details behind the charts are folded under a summary line.
    assert!(
        text.contains("<section id=\"layers\" aria-labelledby=\"h-layers\"><details class=\"folded\">"),
        "not folded"
    );
    assert!(text.contains("<span class=\"gist\">"), "no line");
}

#[test]
fn every_link_on_the_page_leads_somewhere_and_those_of_codes_to_what_they_mean() {
    for bytes in [sick(), trace(&small().0, small().1), trace(&job("k", 1), vec![process(0, "n")])] {
        let text = Made::of(&bytes, &[]).text();
        for link in text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(text.matches(&format!(" id=\"{link}\"")).count(), 1, "{link}");
        }
        let named = text.matches("class=\"code\" href=\"#code-DXT-").count();
        assert_eq!(named, text.matches("class=\"code\" href").count(), "a code that leads elsewhere");
    }
}

#[test]
fn json_has_the_verdict_and_csv_the_findings_that_save_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &sick());
    let found: Value =
        serde_json::from_str(&crate::common::stdout(&["report", &path, "--format", "json"], 0)).expect("JSON");
    let verdict = &found["verdict"];
    for key in ["job", "run_ns", "ledger", "lead", "io_share", "io_matters", "sentence", "findings", "rest", "missing"]
    {
        assert!(verdict.get(key).is_some(), "{key}");
    }
    let findings = verdict["findings"].as_array().expect("findings");
    let all = found["findings"].as_array().expect("findings");
    let facts = |finding: &Value| (finding["code"].clone(), finding["about"].clone());
    assert!(all.iter().zip(findings).all(|(one, other)| facts(one) == facts(other)), "one order everywhere");
    assert!(all.len() >= findings.len());
    let saves = |finding: &Value| finding["saves_ns"].as_u64().unwrap_or(0);
    let slow = assert_found(&found, "DXT-O002", &json!({ "rank": 5 }));
    assert!(saves(slow) > 0 && slow["explains"]["share"].as_f64() > Some(0.0) && slow["also"].is_array(), "{slow}");
    // The ledger covers the time of all processes.
    let parts = verdict["ledger"].as_object().expect("parts");
    let run = verdict["run_ns"].as_u64().expect("a time");
    assert!(parts.values().filter_map(Value::as_u64).sum::<u64>() <= run * 16);
    // No page is written if JSON is requested.
    assert!(!folder.path().join("report.html").exists());
    let csv = crate::common::stdout(&["report", &path, "--format", "csv"], 0);
    let mut lines = csv.lines();
    let head = "severity,code,saves_s,run_share,saves_low_s,saves_high_s,cause,explains_share,what_to_do,also";
    assert_eq!(lines.next(), Some(head));
    assert_eq!(lines.count(), findings.iter().filter(|finding| saves(finding) > 0).count(), "{csv}");
}

#[test]
fn a_page_is_opened_by_the_browser_that_is_named_and_never_fails_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &sick());
    let page = folder.path().join("page.html");
    let (script, seen) = (folder.path().join("browser"), folder.path().join("seen"));
    let text = format!("#!/bin/sh\necho \"$1\" > {0}.new && mv {0}.new {0}\n", seen.display());
    crate::harness::executable(&script, &text);
    let report = |browser: &std::path::Path| {
        let mut command =
            crate::common::command(&["report", &path, "--force", "--open", "-o", &page.display().to_string()]);
        command.env("BROWSER", browser).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let shown = page.canonicalize().unwrap_or_else(|_| page.clone()).display().to_string();
    assert!(report(&folder.path().join("none")).contains(&format!("open {shown}")));
    assert!(!seen.exists());
    report(&script);
    // The viewer runs in the background.
    while !seen.exists() {
        std::thread::yield_now();
    }
    assert_eq!(std::fs::read_to_string(&seen).expect("what it was given").trim(), shown);
}

#[test]
fn a_summary_begins_with_where_the_run_time_went() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &sick());
    let (summary, ledger) =
        (crate::common::stdout(&["summary", &path], 0), crate::common::stdout(&["ledger", &path], 0));
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert!(
        first(&summary).starts_with("I/O takes ") && first(&ledger).starts_with(first(&summary).trim_end_matches('.')),
        "{summary}{ledger}"
    );
}

#[test]
fn a_page_that_cannot_be_written_is_a_failure() {
    let (job, processes) = small();
    let made = Made::of(&trace(&job, processes), &[]);
    let trace = made.folder.path().join("a.dxt").display().to_string();
    let output = run(&["report", &trace, "-o", "/nowhere/at/all.html"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("failed to write /nowhere/at/all.html"));
}

#[test]
fn a_trace_of_one_process_says_the_same_however_many_threads_read_it() {
    let mut one = crate::common::process(0, "n");
    let mut state = 9_u64;
    for call in 0..300_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (place, takes) = ((state >> 40) as i64 * 4096, 1000 + (state >> 20) % 700);
        one.add("/scratch/data", crate::common::op::POSIX_READ, 0, place, 4096, call * 2000, call * 2000 + takes);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = put(folder.path(), "a.dxt", &trace(&crate::common::job("one", 1), vec![one]));
    let with = |threads| crate::common::stdout(&["report", "--format", "json", "--threads", threads, &path], 0);
    let alone = with("1");
    assert!(alone.contains("/scratch/data"), "{alone}");
    assert!(alone == with("2") && alone == with("5"));
}
