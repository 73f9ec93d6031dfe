//! Tests of pages that compare several runs: they fit every window, can be sorted, use distinct colours, and fetch nothing.

use crate::browser::DRAWINGS_FIT;
use crate::browser::driver::{Browser, available};
use crate::common::stdout;

#[tokio::test]
async fn pages_of_several_runs_fit_every_window_and_fetch_nothing() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("a long name of a folder with runs");
    std::fs::create_dir(&runs).unwrap();
    let mut traces = Vec::new();
    for (ranks, seed) in [("2", "1"), ("2", "2"), ("4", "3"), ("16", "4")] {
        let path = runs.join(format!("{ranks}-{seed}.dxt")).display().to_string();
        let args = ["ior-strided", "-n", ranks, "--seed", seed, "--layer", "mpiio", "--segments", "16"];
        dxt_synth::run(["dxt-synth"].iter().chain(&args).chain(&["-o", path.as_str()])).unwrap();
        traces.push(path);
    }
    let page = |name: &str| folder.path().join(name).display().to_string();
    let (scaling, compare) = (page("scaling.html"), page("compare.html"));
    stdout(&["scaling", "-o", &scaling, runs.to_str().unwrap()], 0);
    stdout(&["compare", "-o", &compare, &traces[0], &traces[1], "--", &traces[2], &traces[3]], 0);

    let browser = Browser::start(1280, 900).await;
    for (page, figures) in [(&scaling, 3), (&compare, 1)] {
        browser.open(&format!("file://{page}")).await;
        assert_eq!(browser.js("return document.querySelectorAll('svg.figure').length").await, figures);
        for width in [400, 800, 1280, 1600] {
            browser.resize(width, 900).await;
            browser.until(&format!("return innerWidth === {width}")).await;
            assert_eq!(browser.js(DRAWINGS_FIT).await, serde_json::json!([true, []]), "{page} at {width}");
            browser.picture(&format!("several-{figures}-{width}")).await;
        }
        let sorted = browser
            .js("const table = document.querySelector('#tables table:has(tbody tr + tr)'); const head = table.tHead.querySelector('button');
                 const first = () => table.tBodies[0].rows[0].textContent; const before = first(); head.click(); const once = first(); head.click();
                 return [before, once, first(), head.closest('th').getAttribute('aria-sort')]")
            .await;
        assert!(sorted[1] != sorted[2] && sorted[3] == "ascending", "{sorted}");
        browser.click("#theme").await;
        assert_eq!(browser.js("return document.documentElement.dataset.theme").await, "dark");
        assert!(browser.console().await.is_empty());
        assert!(
            browser.requests().await.iter().all(|request| request.starts_with("file:") || request.starts_with("data:"))
        );
        assert!(!browser.print().await.is_empty());
    }
    browser.end().await;
}
