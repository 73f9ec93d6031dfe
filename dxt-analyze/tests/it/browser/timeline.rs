//! Tests of the timeline's colours: reads and writes differ at every zoom, colours get stronger with the load, and time without data is hatched.

use crate::browser::driver::{Browser, available};
use crate::browser::page_of;
use crate::common::op;
use serde_json::Value;
use trace_format::counters::Counters;
use trace_format::meta::Missing;

/// Writes a trace of two ranks that read for 2 s, then write for 2 s. The load rises, and calls are too many to be drawn singly.
fn busy(folder: &std::path::Path) -> String {
    let processes = (0..2).map(|rank| {
        let mut one = crate::common::process(rank, "node1");
        one.process.info.end_ns = 4_000_000_000;
        for step in 0..16_000_u64 {
            let start = step * 250_000;
            // The busy fraction changes every 0.5 s: 10 %, 40 %, 70 %, 98 %, then from 10 % again.
            let takes = [25_000, 100_000, 175_000, 245_000][(step / 2000 % 4) as usize];
            let (offset, end) = ((step * 4096) as i64, start + takes);
            if step < 8000 {
                one.add("/scratch/some folder/in.dat", op::POSIX_READ, 0, offset, 4096, start, end);
            } else {
                one.write("/scratch/some folder/out.dat", offset, 4096, start, end);
            }
        }
        one
    });
    let bytes = crate::common::trace(&crate::common::job("k", 2), processes.collect());
    crate::common::put(folder, "busy.dxt", &bytes)
}

/// JavaScript that defines `pixels(time, row, count)`: colours of `count` pixels in a row of the displayed timeline from `time` on, in ns.
const LOOK: &str = "const chart = dxt.map.chart; chart.getZr().refreshImmediately();
     const canvas = chart.getDom().querySelector('canvas'); const ratio = canvas.width / canvas.clientWidth;
     const seen = document.createElement('canvas'); [seen.width, seen.height] = [canvas.width, canvas.height];
     const context = seen.getContext('2d', { willReadFrequently: true });
     context.fillStyle = dxt.theme.color('back'); context.fillRect(0, 0, seen.width, seen.height); context.drawImage(canvas, 0, 0);
     const pixels = (time, row, count) => { const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, [time, row]);
       const { data } = context.getImageData(Math.round(x * ratio), Math.round(y * ratio), count, 1);
       return Array.from({ length: count }, (_, at) => [...data.slice(at * 4, at * 4 + 3)]); };";

/// Returns the colours (red, green, blue) of the timeline at the given times in s, in the middle of the upper row.
async fn pixels(browser: &Browser, moments: &[f64]) -> Vec<[f64; 3]> {
    let script = format!("{LOOK} return {moments:?}.map((time) => pixels(time * 1e9, 0.5, 1)[0])");
    serde_json::from_value(browser.js(&script).await).unwrap()
}

#[tokio::test]
async fn reads_and_writes_have_colours_of_their_own_at_every_zoom_and_more_is_stronger() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = busy(folder.path());
    let browser = Browser::start(1280, 900).await;
    browser.open(&page_of(folder.path(), &trace)).await;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        for (from, until) in [(0.0, 4.0), (1.0, 3.0), (1.2, 2.8)] {
            browser.js(&format!("dxt.zoomTo({from} * 1e9, {until} * 1e9, 0, null)")).await;
            assert_eq!(browser.js("return dxt.map.singles").await, Value::Null, "a raster, not single calls");
            let found = pixels(&browser, &[1.75, 2.25]).await;
            let [read, write] = [found[0], found[1]];
            // Reads are blue, writes orange.
            assert!(read[2] > read[0] + 40.0, "{scheme} {from}: read {read:?}");
            assert!(write[0] > write[2] + 40.0, "{scheme} {from}: write {write:?}");
        }
        browser.js("dxt.zoomTo(dxt.whole.from, dxt.whole.until, 0, null)").await;
        let steps = pixels(&browser, &[2.25, 2.75, 3.25, 3.75]).await;
        let light: Vec<f64> = steps.iter().map(|pixel| pixel[0] + pixel[1] + pixel[2]).collect();
        let apart = |pair: &[f64]| if scheme == "light" { pair[0] - pair[1] } else { pair[1] - pair[0] };
        assert!(light.windows(2).all(|pair| apart(pair) > 12.0), "{scheme}: {light:?} of 10, 40, 70 and 98 %");
        browser.picture(&format!("busy-{scheme}")).await;
    }
    // Each chart shows short file names, with the full name in the tooltip.
    let names = browser
        .js("const option = document.querySelector('#offset-file option'); return [option.text, option.title, document.querySelector('#file option:nth-child(2)').text]")
        .await;
    assert_eq!(names[0].as_str().unwrap().split('.').nth(1), Some("dat"));
    assert!(
        names[1].as_str().unwrap().starts_with("/scratch/some folder/") && !names[2].as_str().unwrap().contains('/'),
        "{names}"
    );
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}

#[tokio::test]
async fn parts_in_a_box_beside_the_pointer_add_up() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = busy(folder.path());
    let browser = Browser::start(1280, 900).await;
    browser.open(&page_of(folder.path(), &trace)).await;
    // The parts are thirds of various totals, in every unit of measure.
    let sums = "const number = (text) => Number(text.replaceAll(',', '').match(/^[\\d.]+/)[0]);
         const bad = [];
         for (const parts of [[1, 1, 1], [3333, 3333, 3334], [1e6, 2e6, 3e6 + 1], [5, 0, 0], [999999, 1, 1], [0.4, 0.4, 0.4], [1e9, 1e12, 3e15], [0, 0, 0]])
           for (const show of [dxt.units.bytes, dxt.units.rate, dxt.units.duration, dxt.units.count]) {
             const words = dxt.units.adding(parts, show);
             const sum = words.slice(0, -1).reduce((all, word) => all + number(word), 0);
             if (Math.abs(sum - number(words[words.length - 1])) > 1e-6) bad.push(words);
           }
         return bad";
    assert_eq!(browser.js(sums).await, serde_json::json!([]));
    let at = browser
        .js("document.getElementById('activity').scrollIntoView(); const [x, y] = dxt.map.chart.convertToPixel({ seriesIndex: 0 }, [2.0e9, 0.5]);
             const box = dxt.map.chart.getDom().getBoundingClientRect(); return [box.left + x, box.top + y]")
        .await;
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.pointer(&[(x - 4.0, y), (x + 1.0, y)], false).await;
    browser.picture("tip").await;
    let tip = browser.js("const tip = document.getElementById('tip'); return [tip.hidden, [...tip.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent))]").await;
    let rows = tip[1].as_array().unwrap();
    assert_eq!((&tip[0], rows.len()), (&false.into(), 4), "{tip}");
    let head = rows[0].as_array().unwrap();
    assert_eq!((head.first().unwrap(), head.last().unwrap()), (&"".into(), &"all".into()), "{tip}");
    browser.end().await;
}

/// Returns true if a line of pixels is hatched: some pixels, but not all, differ from the background colour `back`, and all are grey.
fn is_hatched(line: &[[f64; 3]], back: [f64; 3]) -> bool {
    let own = |pixel: &&[f64; 3]| (0..3).any(|part| (pixel[part] - back[part]).abs() > 12.0);
    let grey = |pixel: &[f64; 3]| (pixel[0] - pixel[2]).abs() < 40.0;
    let painted = line.iter().filter(own).count();
    painted > 0 && painted < line.len() && line.iter().all(grey)
}

/// Writes a trace of two ranks that run for 4 s. Ranks in `cut` have segments for the first second only; their later calls have only counters.
fn cut(folder: &std::path::Path, cut: &[i32]) -> String {
    let processes = (0..2).map(|rank| {
        let mut one = crate::common::process(rank, "node1");
        one.process.info.end_ns = 4_000_000_000;
        for step in 0..40_u64 {
            let start = step * 100_000_000;
            if !cut.contains(&rank) || step < 10 {
                one.write("/scratch/out.dat", (step * 4096) as i64, 4096, start, start + 50_000_000);
            }
        }
        if cut.contains(&rank) {
            let stream = one.stream("/scratch/out.dat", op::POSIX_WRITE, 0);
            let counters = Counters {
                segments: 30,
                bytes: 30 * 4096,
                first_start: 1_000_000_000,
                last_end: 3_950_000_000,
                ..Counters::default()
            };
            one.process.missing.push(Missing { stream, counters });
        }
        one
    });
    let bytes = crate::common::trace(&crate::common::job("k", 2), processes.collect());
    crate::common::put(folder, "cut.dxt", &bytes)
}

#[tokio::test]
async fn what_has_no_segments_is_hatched_to_the_end_and_a_heat_map_fills_it() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Rank 0 has segments to the end of the run, rank 1 does not.
    let trace = cut(folder.path(), &[1]);
    let browser = Browser::start(1280, 900).await;
    browser.open(&page_of(folder.path(), &trace)).await;
    let line = async |row: f64| -> Vec<[f64; 3]> {
        serde_json::from_value(browser.js(&format!("{LOOK} return pixels(1.96e9, {row}, 8)")).await).unwrap()
    };
    browser.picture("no-data").await;
    let white = [255.0; 3];
    assert!(is_hatched(&line(1.5).await, white), "{:?}", line(1.5).await);
    assert!(!is_hatched(&line(0.5).await, white), "rank 0 lacks nothing: {:?}", line(0.5).await);
    let legend = browser.js("return document.getElementById('map-legend').innerText").await;
    assert!(legend.as_str().unwrap().contains("no data"), "{legend}");
    // The hatching also appears in raster mode and in every view.
    browser.choose("#measure", "bytes").await;
    for view in ["nodes", "files", "ranks"] {
        browser.click(&format!("[data-view={view}]")).await;
        let legend = browser.js("return document.getElementById('map-legend').innerText").await;
        assert!(legend.as_str().unwrap().contains("no data"), "{view}: {legend}");
    }
    // If no rank has segments to the end, the time axis still covers the run.
    let none = tempfile::tempdir().unwrap();
    browser.open(&page_of(none.path(), &cut(none.path(), &[0, 1]))).await;
    assert!(browser.js("return dxt.whole.until").await.as_f64().unwrap() >= 3.95e9);
    browser.picture("no-data-of-all").await;
    for row in [0.5, 1.5] {
        let line: Vec<[f64; 3]> =
            serde_json::from_value(browser.js(&format!("{LOOK} return pixels(3.06e9, {row}, 8)")).await).unwrap();
        assert!(is_hatched(&line, white), "{row}: {line:?}");
    }
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}
