//! Tests of the page served by `serve`: at high zoom, it fetches and shows single calls that the page itself does not contain.

use crate::browser::driver::{Browser, available};
use crate::browser::synth;
use crate::common::command;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Child process of `dxt-analyze serve`, killed on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `serve` for a trace; returns the process and the page's address.
fn serve(trace: &str) -> (Server, String) {
    let mut child = command(&["serve", trace]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Server(child), line.trim().to_owned())
}

/// Forty wheel ticks cause only a few requests for finer data; the page announces each request, and gets the data of the last view.
#[tokio::test]
async fn forty_ticks_of_the_wheel_make_few_requests() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(folder.path(), &["ior-shared", "-n", "512", "--segments", "100"]);
    let (server, address) = serve(&trace);
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    browser.requests().await;
    let at = browser
        .js("document.getElementById('activity').scrollIntoView(); window.pictures = 0; dxt.on('zoom', () => (window.pictures += 1));
             window.said = 0; new MutationObserver((all) => all.forEach(({ target }) => (window.said += !target.hidden))).observe(document.getElementById('refining'), { attributes: true });
             const box = document.getElementById('map').getBoundingClientRect(); return [box.left + box.width / 2, box.top + 100]")
        .await;
    for _ in 0..40 {
        browser.wheel(at[0].as_f64().unwrap(), at[1].as_f64().unwrap()).await;
    }
    browser
        .until("return dxt.tile !== null && dxt.tileInView() !== null && document.getElementById('refining').hidden")
        .await;
    let counted = browser.js("return [window.pictures, window.said > 0, dxt.whole.until - dxt.whole.from > 4 * (dxt.state.until - dxt.state.from)]").await;
    assert!(
        counted[1] == true && counted[2] == true,
        "it is said that a finer picture comes, and there is zoom: {counted}"
    );
    assert!(counted[0].as_f64() <= Some(40.0), "more pictures than ticks: {counted}");
    let asked: Vec<String> =
        browser.requests().await.into_iter().filter(|request| request.contains("/tile?")).collect();
    // A busy machine may pause between two ticks, but not at each.
    assert!((1..=5).contains(&asked.len()), "{asked:?}");
    // The view is refined until no finer data exists.
    browser.js("dxt.zoomTo(30e6, 30.2e6, 4, 8)").await;
    browser.until("return dxt.map.singles !== null && document.getElementById('refining').hidden").await;
    assert_eq!(browser.console().await, Vec::<serde_json::Value>::new());
    browser.end().await;
    drop(server);
}

/// A pending request is cancelled when the view changes.
#[tokio::test]
async fn what_nobody_wants_any_more_is_taken_back() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(folder.path(), &["ior-shared", "-n", "64", "--segments", "100"]);
    let (server, address) = serve(&trace);
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    // The first request is never answered.
    browser
        .js("window.ends = []; const real = fetch; let first = true;
             window.fetch = (address, { signal }) => { if (!first) return real(address, { signal }); first = false;
               return new Promise((_, fail) => signal.addEventListener('abort', () => { window.ends.push(address); fail(signal.reason); })); };
             dxt.zoomTo(1e6, 1.4e6, 0, null)")
        .await;
    browser.until("return !document.getElementById('refining').hidden").await;
    // After eight polls, the request has been sent.
    browser.until("return performance.now() > 0 && (window.waited = (window.waited ?? 0) + 1) > 8").await;
    browser.js("dxt.zoomTo(3e6, 3.4e6, 0, null)").await;
    browser.until("return dxt.tileInView() !== null && document.getElementById('refining').hidden").await;
    let ends = browser.js("return window.ends.length").await;
    assert_eq!(ends, 1, "the first question was not taken back");
    assert_eq!(browser.console().await, Vec::<serde_json::Value>::new());
    browser.end().await;
    drop(server);
}

#[tokio::test]
async fn deep_zoom_shows_exact_segments() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(folder.path(), &["ior-shared", "-n", "512", "--segments", "100"]);
    let (server, address) = serve(&trace);
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    assert_eq!(
        browser.js("return [dxt.data.tiles, dxt.data.calls, dxt.map.singles]").await,
        serde_json::json!([true, null, null])
    );
    // One millisecond of ranks 8 to 15, in the middle of the run.
    browser.js("document.getElementById('activity').scrollIntoView(); dxt.zoomTo(30e6, 31e6, 4, 8)").await;
    browser.until("return dxt.map.singles !== null").await;
    let calls = browser
        .js("const { calls } = dxt; return dxt.map.singles.map((i) => [calls.process[i], calls.offset[i], calls.length[i], calls.start_ns[i], calls.start_ns[i] + calls.duration_ns[i]])")
        .await;
    let mut shown: Vec<[i64; 5]> = serde_json::from_value(calls).unwrap();
    shown.sort_unstable();
    // The page shows exactly the rows of `dump` for this time and these ranks.
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
    // A call that only touches the edge of the view may be drawn as well.
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
        assert!(request.starts_with(&address) || request.starts_with("data:"), "asked for {request}");
    }
    browser.end().await;
    drop(server);
}
