//! Tests of the printed page: the first screen and the charts fit the paper and cover the whole run, and the screen is restored after printing.

use crate::browser::driver::{Browser, available};
use crate::browser::{page_of, synth};
use serde_json::Value;

fn pages(pdf: &[u8]) -> usize {
    pdf.windows(11).filter(|part| part.starts_with(b"/Type /Page") && part != b"/Type /Pages").count()
}

#[tokio::test]
async fn paper_has_the_first_screen_and_the_charts_with_all_of_the_run() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = page_of(folder.path(), &synth(folder.path(), &["ior-strided", "-n", "64", "--segments", "16"]));
    let browser = Browser::start(1600, 900).await;
    browser.open(&address).await;
    // The page is dark and zoomed, with open sections: none of this should appear on paper.
    browser.prefer("dark").await;
    browser
        .js("document.querySelectorAll('details').forEach((part) => (part.open = true)); dxt.zoomTo(5e6, 9e6, 4, 9)")
        .await;
    let view = "return [dxt.state.from, dxt.state.until, dxt.state.top, dxt.state.bottom, document.documentElement.dataset.theme ?? '']";
    let before = browser.js(view).await;
    // During print layout, the plotting library reports the state of the charts.
    browser
        .js("addEventListener('beforeprint', () => { const charts = ['map', 'series', 'offsets', 'boxes'].map((name) => dxt[name].chart);
               window.onPaper = { whole: dxt.state.from === dxt.whole.from && dxt.state.until === dxt.whole.until && dxt.state.bottom === null,
                 widths: charts.map((chart) => chart.getWidth()), spans: charts.slice(0, 3).map((chart) => chart.getOption().dataZoom[0].end - chart.getOption().dataZoom[0].start),
                 dark: dxt.theme.dark }; })")
        .await;
    let pdf = browser.print().await;
    if let Some(pictures) = std::env::var_os("DXT_TEST_PICTURES") {
        std::fs::write(std::path::Path::new(&pictures).join("paper.pdf"), &pdf).unwrap();
    }
    let found = browser.js("return window.onPaper").await;
    assert_eq!((&found["whole"], &found["dark"]), (&true.into(), &false.into()), "{found}");
    assert_eq!(found["spans"], serde_json::json!([100, 100, 100]), "{found}");
    // Charts are narrower than the window, whose right part would be cut off on paper.
    assert_eq!(found["widths"], serde_json::json!([760, 760, 760, 760]));
    assert!((2..=7).contains(&pages(&pdf)), "{} pages", pages(&pdf));
    assert_eq!(browser.js(view).await, before, "the screen is not as it was");
    let shown = browser.js("return dxt.map.chart.getWidth()").await;
    assert!(shown.as_f64() > Some(1000.0), "{shown}");
    // The style sheet decides which elements appear on paper.
    browser.resize(700, 1000).await;
    browser.media("print").await;
    let seen = browser
        .js("return ['#verdict', '#activity', '#places', '#spread', '#summary', '#layers', '#codes', 'nav', '.controls', 'details.alternative'].map((css) => document.querySelector(css).checkVisibility())")
        .await;
    assert_eq!(seen, serde_json::json!([true, true, true, true, false, false, false, false, false, false]));
    let outside = browser
        .js("dispatchEvent(new Event('beforeprint'));
             return [...document.querySelectorAll('canvas')].filter((canvas) => canvas.checkVisibility() && canvas.getBoundingClientRect().right > innerWidth).length")
        .await;
    assert_eq!(outside, 0, "charts are wider than the paper");
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}
