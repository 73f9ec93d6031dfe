//! Tests of file and program names that contain HTML or JavaScript: the page shows them as text and never executes them.

use crate::browser::driver::{Browser, available};
use crate::browser::page_of;
use crate::common::{job, process, put, trace};

#[tokio::test]
async fn hostile_names_do_nothing() {
    if !available() {
        return;
    }
    let hostile = [
        "/a/</script><img src=x onerror=\"window.pwned=1\">",
        "/a/<script>window.pwned=2</script>",
        "/a/\"><svg onload=window.pwned=3>",
        "/a/{{scripts}}<!--<script>`${window.pwned=4}`",
    ];
    let processes = (0..3).map(|rank| {
        let mut one = process(rank, "<b onmouseover=window.pwned=5>node</b>");
        for (number, path) in hostile.iter().enumerate() {
            for step in 0..30_u64 {
                let start = number as u64 * 1_000_000 + step * 10_000;
                let slow = if step == 7 { 5_000_000 } else { 5000 };
                one.write(path, (step * 1000) as i64, 1000, start, start + slow);
            }
        }
        one
    });
    let mut about = job("k", 3);
    about.info.exe = b"/bin/<img src=y onerror=window.pwned=6>".to_vec();
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&about, processes.collect()));
    let browser = Browser::start(1280, 800).await;
    browser.open(&page_of(folder.path(), &path)).await;
    // The clicks open every part of the page that shows a name: lists, rows, tables, tooltips.
    browser.click("[data-view=files]").await;
    browser.click("[data-view=nodes]").await;
    browser.click("[data-view=ranks]").await;
    for chart in ["map", "series", "offsets", "boxes"] {
        browser.js(&format!("document.querySelector('details[data-of={chart}]').open = true")).await;
    }
    browser
        .js("const { chart } = dxt.map; const [x, y] = chart.convertToPixel({ seriesIndex: 0 }, [2e6, 1.5]);
             chart.getZr().handler.dispatch('mousemove', { zrX: x, zrY: y, offsetX: x, offsetY: y, preventDefault() {}, stopPropagation() {} });
             dxt.boxes.chart.dispatchAction({ type: 'showTip', seriesIndex: 1, dataIndex: 0 })")
        .await;
    let found = browser
        .js("return [window.pwned === undefined, document.querySelectorAll('img, svg:not(.figure, .figure svg), svg[onload], .figure :is(img, script, b, foreignObject), script[src]').length, document.querySelector('#file').options.length, document.title]")
        .await;
    assert_eq!(found, serde_json::json!([true, 0, 5, "I/O of <img src=y onerror=window.pwned=6>"]));
    // Tables show the last part of a path, with the full path in the tooltip.
    let shown = browser
        .js("return [...document.querySelectorAll('#summary td.path')].map((cell) => [cell.title, cell.textContent])")
        .await;
    let shown: Vec<[String; 2]> = serde_json::from_value(shown).unwrap();
    for name in hostile {
        let [_, short] = shown.iter().find(|[whole, _]| whole == name).unwrap_or_else(|| panic!("{name}: {shown:?}"));
        assert!(name.ends_with(short.as_str()) && !short.is_empty(), "{short} of {name}");
    }
    assert_eq!(browser.console().await, Vec::<serde_json::Value>::new());
    browser.end().await;
}
