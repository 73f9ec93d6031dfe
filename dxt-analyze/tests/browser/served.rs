//! The page from `serve`: zoomed deep, it shows single calls that were not embedded.

use crate::common::command;
use crate::driver::{Browser, available};
use crate::synth;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn deep_zoom_shows_exact_segments() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(folder.path(), &["ior-shared", "-n", "512", "--segments", "100"]);
    let mut child = command(&["serve", &trace]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server = Server(child);
    let address = line.trim();
    let browser = Browser::start(1280, 800).await;
    browser.open(address).await;
    assert_eq!(
        browser.js("return [dxt.data.tiles, dxt.data.calls, dxt.map.singles]").await,
        serde_json::json!([true, null, null])
    );
    // One millisecond of ranks 8 to 15, somewhere in the middle.
    browser.js("document.getElementById('activity').scrollIntoView(); dxt.zoomTo(30e6, 31e6, 4, 8)").await;
    browser.until("return dxt.map.singles !== null").await;
    let calls = browser
        .js("const { calls } = dxt; return dxt.map.singles.map((i) => [calls.process[i], calls.offset[i], calls.length[i], calls.start_ns[i], calls.start_ns[i] + calls.duration_ns[i]])")
        .await;
    let mut shown: Vec<[i64; 5]> = serde_json::from_value(calls).unwrap();
    shown.sort_unstable();
    // Exactly what `dump` says of that time and these ranks.
    let dumped =
        crate::common::stdout(&["dump", "--format", "csv", "--time", "0.03:0.031", "--ranks", "8:15", &trace], 0);
    let mut expected: Vec<[i64; 5]> = dumped
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            [0, 9, 10, 11, 12].map(|column: usize| cells[column].parse().unwrap())
        })
        .collect();
    expected.sort_unstable();
    // A call that only touches the edge may be drawn too.
    let inside = |rows: &[[i64; 5]]| {
        rows.iter()
            .copied()
            .filter(|row| row[3] < 31_000_000 && row[4] > 30_000_000 && (8..16).contains(&row[0]))
            .collect::<Vec<_>>()
    };
    assert_eq!(inside(&shown), inside(&expected));
    assert!(inside(&shown).len() > 8, "{shown:?}");
    browser.picture("served-deep").await;
    assert_eq!(browser.console().await, Vec::<serde_json::Value>::new());
    for request in browser.requests().await {
        assert!(request.starts_with(address) || request.starts_with("data:"), "asked for {request}");
    }
    browser.end().await;
    drop(server);
}
