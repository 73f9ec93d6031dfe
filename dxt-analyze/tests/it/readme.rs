//! Tests that the README is up to date: its sample output is what `report` prints for the demo trace, and its picture (docs/report.png)
//! shows the HTML page that `report` writes.

use crate::common::command;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Line of the README that precedes the sample output.
const MARK: &str = "<!-- A test makes what follows:";

/// Returns the terminal output of `report` on the demo trace, and the page's contents.
fn report() -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/demo");
    let words =
        ["--quiet", "report", "--layout", "../layouts/four-by-1m.layout", "-o", page.to_str().unwrap(), "demo.dxt"];
    let output = command(&words).current_dir(demo).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), std::fs::read(page).unwrap())
}

#[test]
fn the_sample_is_what_report_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(&readme).unwrap();
    let (before, rest) = text.split_once(MARK).unwrap();
    let (line, rest) = rest.split_once("\n```\n").unwrap();
    let (sample, behind) =
        if let Some(behind) = rest.strip_prefix("```\n") { ("", behind) } else { rest.split_once("\n```\n").unwrap() };
    let (printed, _) = report();
    let printed = printed.trim_end();
    if std::env::var_os("DXT_BLESS").is_some() {
        std::fs::write(&readme, format!("{before}{MARK}{line}\n```\n{printed}\n```\n{behind}")).unwrap();
    } else {
        assert!(sample == printed, "README.md shows something else; DXT_BLESS=1 writes it anew:\n{printed}");
    }
}

#[test]
fn the_picture_is_of_this_page() {
    let (_, page) = report();
    let sum: String = Sha256::digest(&page).iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/demo/page.sha256");
    let shown = std::fs::read_to_string(shown).unwrap();
    assert_eq!(sum, shown.trim(), "docs/report.png shows another page: scripts/screenshot.sh makes it anew");
}
