//! `report`: one file that reads without scripts, with the numbers of the trace in it.

mod common;

use common::{job, process, put, run, small, trace};
use serde_json::Value;

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

    /// What the charts draw.
    fn data(&self) -> Value {
        let (_, rest) = self.html.split_once("id=\"data\">").expect("data");
        let (json, _) = rest.split_once("</script>").expect("its end");
        serde_json::from_str(json).expect("JSON")
    }

    /// The page without what scripts and styles are.
    fn text(&self) -> String {
        let mut out = String::new();
        for (number, piece) in self.html.split("<script").enumerate() {
            out.push_str(if number == 0 { piece } else { piece.split_once("</script>").map_or("", |(_, rest)| rest) });
        }
        out
    }
}

/// Sums of a grid: calls, bytes, ns, of slices for which `keep` says so.
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
    // Four ranks, each two writes of 1000 bytes in 5 us through MPI-IO, one read of 500 bytes in 1 us.
    for grid in ["ranks", "nodes", "files", "job"] {
        assert_eq!(sums(&data[grid], own("write")), (8, 8000, 40_000), "{grid}");
        assert_eq!(sums(&data[grid], own("read")), (4, 2000, 4000), "{grid}");
    }
    assert_eq!(data["ranks"]["rows"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        data["nodes"]["rows"],
        serde_json::json!([{ "label": "node1", "members": 2 }, { "label": "node2", "members": 2 }])
    );
    // Few calls: all of them are there, exactly.
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
    let made = Made::of(&trace(&job("k", 1), vec![one]), &["--fail-on", "high"]);
    assert_eq!(made.code, Some(4));
    let text = made.text();
    assert!(text.contains("<strong>900 ms</strong>") && text.contains("DXT-O001"), "no verdict");
    assert!(
        made.printed.contains("spent 910 ms in I/O calls") && made.printed.contains("DXT-O001"),
        "{}",
        made.printed
    );
    assert!(text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&quot;"), "no name");
    assert!(!text.contains("<img") && !made.html.contains("<img src=x"));
    assert!(text.contains("<table id=\"t-outliers-0\">"));
    // Nothing is fetched: no address but those of licenses and namespaces, which are in the plotting library.
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
    assert!(made.text().contains("Nothing stands out.") && made.text().contains("there are no calls to show"));
    assert_eq!(made.data()["segments"], 0);
}

#[test]
fn an_incomplete_trace_is_said_to_be_one_first() {
    let (job, mut processes) = small();
    processes.pop();
    let made = Made::of(&trace(&job, processes), &[]);
    assert_eq!(made.code, Some(3));
    let text = made.text();
    let place = |words: &str| text.find(words).unwrap_or(usize::MAX);
    assert!(place("1 ranks of the job are not in these inputs") < place("id=\"activity\""));
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
