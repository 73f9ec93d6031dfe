//! Tests of content wider than the window: scrolling frames indicate it, tables have captions, and files are shown by the last part of their path.

use crate::browser::driver::{Browser, available};
use crate::browser::{page_of, synth};
use serde_json::{Value, json};

#[tokio::test]
async fn what_goes_on_beyond_its_edge_says_so_and_every_table_has_a_caption() {
    if !available() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let address = page_of(folder.path(), &synth(folder.path(), &["gcrm"]));
    let browser = Browser::start(1280, 900).await;
    browser.open(&address).await;
    browser.resize(400, 800).await;
    browser.until("return innerWidth === 400").await;
    // The section bar can be scrolled to the right, then both ways, then to the left.
    let ends = "return ['left', 'right'].map((way) => document.querySelector(`nav .more-${way}`).checkVisibility())";
    browser.until(&format!("return JSON.stringify((() => {{ {ends} }})()) === '[false,true]'")).await;
    browser.picture("nav-400").await;
    browser.click("nav .more-right").await;
    browser.until(&format!("return JSON.stringify((() => {{ {ends} }})()) === '[true,true]'")).await;
    browser.js("document.querySelector('nav ul').scrollLeft = 1e6").await;
    browser.until(&format!("return JSON.stringify((() => {{ {ends} }})()) === '[true,false]'")).await;
    // Tables count once they are unfolded.
    browser.js("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    let silent = "return [...document.querySelectorAll('main div.table')].filter((frame) => frame.checkVisibility() && frame.scrollWidth > frame.clientWidth + 4)
        .filter((frame) => !(frame.previousElementSibling?.checkVisibility() && frame.previousElementSibling.textContent.includes('scroll sideways')))
        .map((frame) => [frame.querySelector('table').id, frame.scrollWidth, frame.clientWidth, frame.previousElementSibling?.outerHTML ?? ''])";
    // The page processes changes of size within two frames.
    browser
        .js("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")
        .await;
    assert_eq!(browser.js(silent).await, json!([]), "wide tables that do not say so");
    let said = browser
        .js("return [...document.querySelectorAll('.sideways')].filter((line) => line.checkVisibility()).length")
        .await;
    assert!(said.as_f64() > Some(2.0), "{said} tables are wide");
    let bare = browser.js("return [...document.querySelectorAll('main table')].filter((table) => !table.caption?.textContent.trim()).map((table) => table.id)").await;
    assert_eq!(bare, json!([]), "tables without captions");
    // Files are shown by the last part of their path, with the full path in the tooltip.
    let paths = browser
        .js("return [...document.querySelectorAll('td.path')].map((cell) => [cell.textContent, cell.title])")
        .await;
    let paths: Vec<[String; 2]> = serde_json::from_value(paths).unwrap();
    assert!(
        !paths.is_empty() && paths.iter().all(|[shown, whole]| !shown.contains('/') && whole.ends_with(shown.as_str())),
        "{paths:?}"
    );
    // Secondary tables are folded to a line until opened.
    browser.open(&address).await;
    let open = browser
        .js("return [...document.querySelectorAll('main div.table')].filter((frame) => frame.checkVisibility()).length")
        .await;
    assert_eq!(open, 1, "the findings alone");
    let gists = browser.js("return [...document.querySelectorAll('details.folded > summary')].every((line) => line.querySelector('.gist').textContent.length > 15)").await;
    assert_eq!(gists, true);
    let words = browser.js("return document.querySelector('main').textContent").await;
    let words = words.as_str().unwrap();
    assert!(
        !words.contains("MB/s") && !words.contains("kB/s") && words.contains("MiB/s"),
        "sizes and rates have units of one kind"
    );
    assert!(!words.contains('█'), "lines of blocks are for terminals");
    assert_eq!(browser.console().await, Vec::<Value>::new());
    browser.end().await;
}
