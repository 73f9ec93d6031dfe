//! Golden traces: a file of each format version, which must be read as stated by the JSON file beside it, forever.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[path = "common/sample.rs"]
mod sample;

use common::{file, read};
use sample::{job, ranks};
use serde_json::{Value, json};
use std::path::PathBuf;
use trace_format::Segment;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden").join(name)
}

/// Returns the contents of a trace as JSON: metadata under the names of the Rust fields, segments as [stream, offset, length, start, end].
fn contents(bytes: &[u8]) -> Value {
    let seen = read(bytes).unwrap();
    assert_eq!((seen.problems, seen.complete), (0, true));
    let row = |s: &Segment| json!([s.stream().0, s.offset, s.length(), s.start, s.end]);
    let regions = seen.regions.iter().map(|region| {
        let blocks = region.blocks.iter().map(
            |block| json!({"thread": block.thread, "segments": block.segments.iter().map(row).collect::<Vec<_>>()}),
        );
        json!({"number": region.number, "process": region.process, "blocks": blocks.collect::<Vec<_>>()})
    });
    json!({"job": seen.job, "regions": regions.collect::<Vec<_>>()})
}

/// Asserts that `found` equals `expected`, the contents when the golden file was created. Fields added to the format since then must be
/// present and empty.
fn assert_as_ever(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (name, value) in expected {
                assert_as_ever(found.get(name).unwrap_or(&Value::Null), value, &format!("{place}.{name}"));
            }
            for (name, value) in found.iter().filter(|(name, _)| !expected.contains_key(*name)) {
                assert_eq!(*value, json!([]), "{place}.{name} was not in version 1");
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{place}");
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert_as_ever(found, expected, &format!("{place}[{i}]"));
            }
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

fn version_1() -> Value {
    serde_json::from_slice(&std::fs::read(golden("v1.json")).unwrap()).unwrap()
}

#[test]
fn version_1_is_read_as_ever() {
    assert_as_ever(&contents(&std::fs::read(golden("v1.dxt")).unwrap()), &version_1(), "v1");
}

#[test]
fn this_writer_still_writes_what_version_1_holds() {
    // In the golden file, the last segment has times that no clock reaches, with bits that this writer uses as marks.
    let text = version_1().to_string();
    let now = text
        .replace(&format!("{},{}]", u64::MAX - 1, u64::MAX), &format!("{},{}]", (1_u64 << 62) - 2, (1_u64 << 62) - 1));
    assert_ne!(text, now);
    assert_as_ever(&contents(&file(&job(), &mut ranks())), &serde_json::from_str(&now).unwrap(), "v1");
}

/// Rewrites the golden trace and its JSON. No longer allowed, since releases have written version 1 of the format: an incompatible change
/// needs a new version with a golden pair of its own.
#[test]
#[ignore = "rewrites testdata/golden: cargo test -p trace-format --test golden -- --ignored"]
fn rewrite_version_1() {
    let bytes = file(&job(), &mut ranks());
    std::fs::create_dir_all(golden("")).unwrap();
    std::fs::write(golden("v1.dxt"), &bytes).unwrap();
    let text = contents(&bytes).to_string().replace("],[", "],\n[").replace("},{", "},\n{");
    std::fs::write(golden("v1.json"), text + "\n").unwrap();
}
