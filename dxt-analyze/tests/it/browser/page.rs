//! Tests of the report page opened from disk.

use crate::browser::DRAWINGS_FIT;
use crate::browser::driver::{Browser, available};
use crate::browser::{page_of, synth};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A Darshan log with heat maps only (bytes over time, but no calls) still gives a timeline.
#[tokio::test]
async fn a_page_of_heat_maps_alone_has_a_timeline() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = page_of(folder.path(), &crate::common::heat_log(folder.path()));
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    browser.picture("heat").await;
    let drawn = browser
        .js("const { rows, bins, bytes } = dxt.mapHeat;
             return Array.from({ length: rows }, (_, row) => bytes.slice(row * bins, (row + 1) * bins).reduce((a, b) => a + b))")
        .await;
    assert_eq!(drawn, serde_json::json!([1007, 2007]));
    // The number of calls in flight and the call sizes are unknown at all times.
    let hatched = browser
        .js("return dxt.series.chart.getOption().series.filter(({ name }) => name === 'no data').map(({ markArea }) => markArea?.data?.length ?? 0)")
        .await;
    assert_eq!(hatched, serde_json::json!([0, 1, 1]));
    // Busy time is unknown here: if it is selected, cells with bytes are striped in their colour.
    browser.choose("#measure", "busy").await;
    let kinds = browser
        .js("const chart = dxt.map.chart; const canvas = chart.getDom().querySelector('canvas'); const ratio = canvas.width / canvas.clientWidth;
             chart.getZr().refreshImmediately(); const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, [0.75e9, 0.5]);
             const { data } = canvas.getContext('2d').getImageData(Math.round(x * ratio), Math.round(y * ratio), 16, 1);
             const pixels = Array.from({ length: 16 }, (_, at) => [...data.slice(at * 4, at * 4 + 4)]);
             return [pixels.some(([r, , b]) => r > b + 40), pixels.some(([r, , b]) => Math.abs(r - b) < 20), document.getElementById('map-legend').innerText.includes('heat map')]")
        .await;
    assert_eq!(kinds, serde_json::json!([true, true, true]));
    browser.choose("#measure", "bytes").await;
    let shown = browser
        .js("return [document.getElementById('measure').value, !document.getElementById('places'), document.getElementById('status').innerText]")
        .await;
    assert_eq!((&shown[0], &shown[1]), (&"bytes".into(), &true.into()));
    assert!(shown[2].as_str().unwrap().contains("2 ranks · bandwidth"), "{shown}");
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}

/// Case of the GCRM application: 256 ranks, one file, 14 slow writes; calls are few enough to be drawn singly.
#[tokio::test]
async fn everything_on_the_page_works_and_nothing_is_fetched() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = page_of(folder.path(), &synth(folder.path(), &["gcrm"]));
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    browser.picture("gcrm-first-screen").await;
    // The first screen shows the time ledger, the verdict as a sentence, all findings by saving, and the first three with advice.
    let found = browser
        .js("const rows = [...document.querySelectorAll('#t-findings tbody tr')];
             const saves = rows.map((row) => Number(row.querySelector('[data-value]').dataset.value));
             return [document.querySelectorAll('.bar i').length > 0, rows.length, saves.every((ns, at) => at === 0 || ns <= saves[at - 1]),
                     rows.every((row) => row.cells.length === 6 && row.cells[5].innerText.length > 0)]")
        .await;
    let rows = number(&found[1]) as usize;
    assert!(rows > 0 && found[0] == true && found[2] == true && found[3] == true, "{found}");
    let cards = browser.js("return [...document.querySelectorAll('.card')].map((card) => card.innerText)").await;
    let cards: Vec<&str> = cards.as_array().unwrap().iter().map(|card| card.as_str().unwrap()).collect();
    assert_eq!(cards.len(), rows.min(3));
    assert!(cards.iter().all(|card| card.contains("Do:") && card.contains("of the run time")), "{cards:?}");
    let bottom = browser.js("return document.querySelector('.sentence').getBoundingClientRect().bottom").await;
    assert!(number(&bottom) < 500.0, "the verdict ends at {bottom}");

    folded_sections_open_where_they_are_asked_for(&browser).await;
    a_finding_leads_to_its_section(&browser).await;
    filters(&browser).await;
    zoom_and_pan(&browser).await;
    hover(&browser).await;
    an_outlier_leads_to_its_row(&browser).await;
    tables(&browser).await;
    colours(&browser).await;

    assert_eq!(browser.console().await, Vec::<Value>::new());
    for request in browser.requests().await {
        assert!(request.starts_with("file://") || request.starts_with("data:"), "asked for {request}");
    }
    browser.end().await;
}

async fn a_finding_leads_to_its_section(browser: &Browser) {
    browser.click(".card h3 a").await;
    let found = browser
        .js("const at = document.querySelector(location.hash); const box = at.getBoundingClientRect();
             return [at.className, box.top >= 0 && box.top < innerHeight, at.closest('details').open]")
        .await;
    assert_eq!(found, serde_json::json!(["finding", true, true]));
    // The code of a finding links to its explanation.
    browser.click(".card .codes a").await;
    let found = browser
        .js("const at = document.querySelector(location.hash); const box = at.getBoundingClientRect();
             return [at.className, box.height > 0 && box.top < innerHeight, at.innerText.includes('What to do')]")
        .await;
    assert_eq!(found, serde_json::json!(["means", true, true]));
}

async fn folded_sections_open_where_they_are_asked_for(browser: &Browser) {
    let open = "return [...document.querySelectorAll('details.folded')].map((part) => part.open)";
    let all = async || browser.js(open).await.as_array().unwrap().iter().filter(|open| **open == true).count();
    assert_eq!(all().await, 0);
    let seen = "const rows = document.querySelector('#stripes .table'); return rows.getBoundingClientRect().height > 0 && rows.checkVisibility()";
    assert_eq!(browser.js(seen).await, false);
    browser.click("nav a[href='#stripes']").await;
    assert_eq!((all().await, browser.js(seen).await), (1, true.into()));
    // A section opens through its address, as from a link in a mail.
    browser.js("location.hash = '#counters'").await;
    browser.until("return document.querySelector('#counters details').open").await;
    browser
        .js("document.querySelectorAll('details.folded').forEach((part) => (part.open = false)); scrollTo(0, 0)")
        .await;
}

async fn filters(browser: &Browser) {
    browser.js("document.getElementById('activity').scrollIntoView()").await;
    let status = async || browser.js("return document.getElementById('status').textContent").await;
    assert!(status().await.as_str().unwrap().contains("256 ranks"), "{}", status().await);
    // In every view, the written bytes on the page equal those of the trace.
    let bytes = browser
        .js("const sum = (name) => dxt.sum(dxt.data[name], dxt.keep(name)).bytes.reduce((a, b) => a + b, 0);
             return ['ranks', 'nodes', 'targets', 'files'].map(sum)")
        .await;
    let bytes: Vec<f64> = bytes.as_array().unwrap().iter().map(number).collect();
    assert!(bytes.iter().all(|sum| *sum == bytes[0] && *sum > 16e9), "{bytes:?}");
    browser.choose("#kind", "metadata").await;
    let metadata = status().await;
    assert!(metadata.as_str().unwrap().contains("only metadata"), "{metadata}");
    assert!(metadata.as_str().unwrap().contains("512 single calls"), "{metadata}");
    browser.choose("#kind", "read").await;
    assert!(status().await.as_str().unwrap().contains("0 single calls"), "{}", status().await);
    browser.choose("#kind", "").await;
    browser.choose("#layer", "POSIX").await;
    assert!(status().await.as_str().unwrap().contains("only POSIX"));
    browser.choose("#layer", "").await;
    browser.choose("#file", "/scratch/synth/gcrm.nc").await;
    assert!(status().await.as_str().unwrap().contains("gcrm.nc"));
    browser.choose("#file", "").await;
    for (view, count) in [("nodes", "16 nodes"), ("targets", "52 OSTs"), ("files", "1 file"), ("ranks", "256 ranks")] {
        browser.click(&format!("[data-view={view}]")).await;
        assert!(status().await.as_str().unwrap().contains(count), "{view}: {}", status().await);
    }
}

async fn zoom_and_pan(browser: &Browser) {
    let span = async || {
        let found = browser.js("return [dxt.state.from, dxt.state.until]").await;
        (number(&found[0]), number(&found[1]))
    };
    let whole = span().await;
    browser.click("#zoom-in").await;
    let half = span().await;
    assert!(((half.1 - half.0) / (whole.1 - whole.0) - 0.5).abs() < 0.01, "{half:?} of {whole:?}");
    // All charts over time follow the zoom.
    let charts =
        "return ['map', 'series', 'offsets'].map((name) => dxt[name].chart.getOption().dataZoom[0].startValue)";
    for start in browser.js(charts).await.as_array().unwrap() {
        assert!((number(start) - half.0).abs() < 1e6, "{start} for {half:?}");
    }
    // Dragging to the left brings later times into view.
    let at = browser
        .js("const box = dxt.map.chart.getDom().getBoundingClientRect(); return [box.left + 700, box.top + 100]")
        .await;
    let (x, y) = (number(&at[0]), number(&at[1]));
    browser.pointer(&[(x, y), (x - 50.0, y), (x - 100.0, y)], true).await;
    let dragged = span().await;
    assert!(
        dragged.0 > half.0 && ((dragged.1 - dragged.0) - (half.1 - half.0)).abs() < 1e6,
        "{dragged:?} after {half:?}"
    );
    browser.keys("#map", "0").await;
    assert_eq!(span().await, whole);
    browser.keys("#map", "++").await;
    let quarter = span().await;
    assert!(((quarter.1 - quarter.0) / (whole.1 - whole.0) - 0.25).abs() < 0.01);
    browser.keys("#map", "\u{e014}").await;
    assert!(span().await.0 > quarter.0);
    browser.keys("#map", "-").await;
    browser.picture("gcrm-zoomed").await;
    browser.click("#zoom-reset").await;
    assert_eq!(span().await, whole);
}

/// Hovering shows the call under the pointer: rank 3's small write that takes 3.5 s.
async fn hover(browser: &Browser) {
    browser.js("dxt.zoomTo(dxt.whole.from, dxt.whole.until, 0, 16)").await;
    let at = browser
        .js("const [x, y] = dxt.map.chart.convertToPixel({ seriesIndex: 0 }, [26e9, 3.5]);
             const box = dxt.map.chart.getDom().getBoundingClientRect(); return [box.left + x, box.top + y]")
        .await;
    browser.pointer(&[(number(&at[0]) - 5.0, number(&at[1])), (number(&at[0]), number(&at[1]))], false).await;
    let tip = browser.js("const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.innerText").await;
    let tip = tip.as_str().unwrap();
    for word in ["rank 3: POSIX write", "2,536", "328 B", "24.850000 s", "28.350000 s", "3.50 s"] {
        assert!(tip.contains(word), "{word} is not in {tip:?}");
    }
}

async fn an_outlier_leads_to_its_row(browser: &Browser) {
    browser.js("document.getElementById('spread').scrollIntoView()").await;
    let point = browser
        .js("const chart = dxt.boxes.chart; const { data } = chart.getOption().series[1];
             const at = data.findIndex(({ row }) => row.rank === 11);
             const [x, y] = chart.convertToPixel({ seriesIndex: 1 }, data[at].value);
             const box = chart.getDom().getBoundingClientRect(); return [box.left + x, box.top + y, data.length]")
        .await;
    assert_eq!(number(&point[2]), 14.0);
    let (x, y) = (number(&point[0]), number(&point[1]));
    browser.picture("gcrm-boxes").await;
    browser.pointer(&[(x - 3.0, y), (x, y)], false).await;
    browser.pointer(&[(x, y)], true).await;
    let row = browser
        .js("const row = document.querySelector('tr.chosen'); const box = row.getBoundingClientRect();
             return [row.closest('section').id, row === document.activeElement, box.top > 0 && box.bottom < innerHeight, row.cells[4].textContent]")
        .await;
    // At a place with points of several ranks, the row shows 328 bytes in 3.50 s.
    assert_eq!(row, serde_json::json!(["outliers", true, true, "328"]));
}

async fn tables(browser: &Browser) {
    let lengths = "return [...document.querySelectorAll('#t-outliers-0 tbody tr')].filter((row) => !row.hidden).map((row) => Number(row.cells[4].textContent.replaceAll(',', '')))";
    browser.click("#t-outliers-0 th:nth-child(5) button").await;
    let sorted: Vec<f64> = browser.js(lengths).await.as_array().unwrap().iter().map(number).collect();
    assert!(sorted.windows(2).all(|pair| pair[0] >= pair[1]) && sorted.len() == 14, "{sorted:?}");
    assert_eq!(
        browser.js("return document.querySelector('#t-outliers-0 th:nth-child(5)').ariaSort").await,
        "descending"
    );
    browser.keys("#outliers input[type=search]", "3271568936").await;
    assert_eq!(browser.js(lengths).await, serde_json::json!([120]));
    // Each chart offers its numbers as a table.
    for chart in ["map", "series", "offsets", "boxes"] {
        browser.js(&format!("document.querySelector('details[data-of={chart}]').open = true")).await;
        browser
            .until(&format!("return document.querySelectorAll('details[data-of={chart}] tbody tr').length > 0"))
            .await;
    }
    let first = browser.js("return document.querySelector('details[data-of=map] tbody tr').innerText").await;
    assert!(first.as_str().unwrap().starts_with("rank "), "{first}");
}

async fn colours(browser: &Browser) {
    let back = async || browser.js("return getComputedStyle(document.body).backgroundColor").await;
    browser.prefer("dark").await;
    assert_eq!(back().await, "rgb(18, 22, 28)");
    browser.js("scrollTo(0, document.getElementById('activity').offsetTop)").await;
    browser.picture("gcrm-dark").await;
    browser.prefer("light").await;
    assert_eq!(back().await, "rgb(255, 255, 255)");
    browser.click("#theme").await;
    assert_eq!(back().await, "rgb(18, 22, 28)");
    browser.click("#theme").await;
    assert_eq!(back().await, "rgb(255, 255, 255)");
}

#[tokio::test]
async fn every_control_is_reached_with_the_tab_key() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = page_of(folder.path(), &synth(folder.path(), &["ior-shared", "-n", "4", "--layer", "mpiio"]));
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    let mut met = Vec::new();
    browser.js("document.body.tabIndex = -1; document.body.focus()").await;
    for _ in 0..80 {
        browser.press('\u{e004}').await;
        let at = browser
            .js("const at = document.activeElement; return at ? at.id || at.dataset.view || at.className || at.tagName : ''")
            .await;
        met.push(at.as_str().unwrap_or_default().to_owned());
    }
    let wanted = [
        "skip",
        "theme",
        "ranks",
        "files",
        "measure",
        "kind",
        "layer",
        "file",
        "zoom-in",
        "zoom-reset",
        "map",
        "series",
        "offset-file",
        "offsets",
        "boxes",
    ];
    let places: Vec<Option<usize>> = wanted.iter().map(|name| met.iter().position(|found| found == name)).collect();
    assert!(places.iter().all(Option::is_some), "{wanted:?} {places:?} {met:?}");
    assert!(places.is_sorted(), "{wanted:?} {places:?}");
    browser.js("document.getElementById('activity').scrollIntoView()").await;
    browser.picture("four-ranks").await;
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}

#[tokio::test]
async fn thousands_of_ranks_fit_a_narrow_window() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(
        folder.path(),
        &["ior-strided", "-n", "4096", "--segments", "16", "--slow-ost", "3:6", "--slow-node", "7:2"],
    );
    let address = page_of(folder.path(), &trace);
    let size = std::fs::metadata(folder.path().join("report.html")).unwrap().len();
    assert!(size < 4 << 20, "{size} bytes");
    let browser = Browser::start(1280, 800).await;
    browser.open(&address).await;
    let status = browser.js("return document.getElementById('status').textContent").await;
    assert!(status.as_str().unwrap().contains("4,096 ranks, 16 to a row"), "{status}");
    browser.js("document.getElementById('activity').scrollIntoView()").await;
    browser.picture("many-ranks").await;
    let width = 420;
    browser.client.set_window_size(width, 800).await.unwrap();
    browser.until("return innerWidth < 520").await;
    let wide = browser.js("return [document.documentElement.scrollWidth, innerWidth]").await;
    assert!(number(&wide[0]) <= number(&wide[1]), "{wide}");
    browser.picture("narrow").await;
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}

/// At all usual window widths, in light and dark mode and on paper, no element is wider than the window and none overlaps another.
#[tokio::test]
async fn the_first_screen_fits_every_window() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(
        folder.path(),
        &["ior-strided", "-n", "256", "--segments", "16", "--slow-ost", "3:6", "--slow-node", "7:2"],
    );
    let address = page_of(folder.path(), &trace);
    let browser = Browser::start(1280, 900).await;
    browser.open(&address).await;
    browser.js("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    // JavaScript that finds elements wider than the window and in no scrolling frame.
    let outside = "const wide = [...document.querySelectorAll('body *')].filter((at) => at.getBoundingClientRect().right > innerWidth + 1 && at.checkVisibility() && !at.closest('.table, nav ul, .skip, .chart, #tip'));
                   return [document.documentElement.scrollWidth <= innerWidth, wide.map((at) => `${at.tagName}.${at.className} ${at.textContent.slice(0, 40)}`).slice(0, 5)]";
    for width in [400, 800, 1200, 1600] {
        for scheme in ["light", "dark"] {
            browser.resize(width, 900).await;
            browser.prefer(scheme).await;
            browser.until(&format!("return innerWidth === {width}")).await;
            browser.js("scrollTo(0, 0)").await;
            browser.picture(&format!("first-{width}-{scheme}")).await;
            assert_eq!(browser.js(outside).await, serde_json::json!([true, []]), "{width} {scheme}");
        }
    }
    browser.resize(700, 1000).await;
    browser.media("print").await;
    browser.picture("first-print").await;
    let hidden = browser
        .js("return ['nav', '.controls', '#theme'].map((css) => document.querySelector(css).checkVisibility())")
        .await;
    assert_eq!(hidden, serde_json::json!([false, false, false]));
    browser.js("dispatchEvent(new Event('beforeprint'))").await;
    let wide = browser.js("return [...document.querySelectorAll('main *')].filter((at) => at.checkVisibility() && !at.parentElement.closest('.chart') && at.getBoundingClientRect().right > innerWidth + 1).map((at) => `${at.tagName}.${at.className} ${at.textContent.slice(0, 40)}`).slice(0, 9)").await;
    assert_eq!(wide, serde_json::json!([]));
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}

/// Tests that figures of the I/O signatures (access patterns) are present, labelled and exactly as wide as the page, at every width and in dark mode.
#[tokio::test]
async fn figures_of_the_signatures_fit_every_window() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = synth(folder.path(), &["ior-strided", "-n", "640", "--segments", "17"]);
    let address = page_of(folder.path(), &trace);
    let browser = Browser::start(1280, 900).await;
    browser.open(&address).await;
    browser.js("document.querySelectorAll('#signatures details').forEach((part) => (part.open = true))").await;
    let what = "return [...document.querySelectorAll('#signatures figure')].map((at) => [at.id, at.querySelector('title').textContent.length > 20, at.querySelector('figcaption').innerText.length > 40,
                  at.querySelectorAll('path').length > 0, at.querySelectorAll('tbody tr').length > 5, at.querySelectorAll('.slice title').length > 5])";
    let there = |name: &str| serde_json::json!([format!("signatures-{name}"), true, true, true, true, true]);
    let wanted = serde_json::json!([there("offsets"), there("sizes"), there("bandwidth")]);
    assert_eq!(browser.js(what).await, wanted);
    let bandwidth = browser.js("return document.querySelector('#signatures-bandwidth figcaption').innerText").await;
    assert!(bandwidth.as_str().unwrap().contains("10,880 calls are too many for one bar per call"), "{bandwidth}");
    for width in [400, 800, 1600] {
        browser.resize(width, 900).await;
        browser.until(&format!("return innerWidth === {width}")).await;
        assert_eq!(browser.js(DRAWINGS_FIT).await, serde_json::json!([true, []]), "{width}");
        browser.js("document.getElementById('signatures-offsets').scrollIntoView()").await;
        browser.picture(&format!("figures-{width}")).await;
    }
    browser.prefer("dark").await;
    let colour = browser.js("return getComputedStyle(document.querySelector('svg.figure text')).fill").await;
    assert_eq!(colour, "rgb(230, 234, 240)");
    browser.picture("figures-dark").await;
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}
