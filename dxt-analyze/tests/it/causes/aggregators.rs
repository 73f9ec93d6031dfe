//! Tests of aggregators: processes that move the bytes of all ranks in collective calls.

use super::{MPIIO_READ_ALL, MS, report, saves_ms};
use crate::common::facts::{assert_says, assert_stated, brief};
use crate::common::{Builder, op, process};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json};
use trace_format::meta::stream_flags::NESTED;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

/// Returns the JSON report on a synthetic run of eight ranks that write 1 MiB each in ten collective calls to a file of eight stripes; rank
/// 0 moves all data, 40 ms per call. With `reads`, every other call reads.
fn one_of_eight(stripe: u32, nodes: u64, reads: bool) -> Value {
    let rank = |rank: u64| {
        let mut one: Builder = process(rank as i32, &format!("n{}", rank % nodes));
        let (file, bytes) = (one.file("/lus/a"), lustre(stripe, &(0..8).collect::<Vec<u32>>()));
        let source = LayoutSource::Lustre;
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Close, source, bytes });
        for call in 0..10_u64 {
            let (from, at) = (call * 100 * MS + 30 * MS, call * 8);
            let takes = 40 * MS + call * 3 % 10 * MS / 10;
            let (inner, outer) = match reads && call % 2 == 1 {
                true => (op::POSIX_READ, MPIIO_READ_ALL),
                false => (op::POSIX_WRITE, op::MPIIO_WRITE_ALL),
            };
            if rank == 0 {
                one.add("/lus/a", inner, NESTED, (at << 20) as i64, 8 << 20, from + MS, from + MS + takes);
            }
            let all = from + takes + 2 * MS;
            one.add("/lus/a", outer, 0, ((at + rank) << 20) as i64, 1 << 20, from, all);
        }
        one
    };
    report((0..8).map(rank).collect(), 1020)
}

#[test]
fn one_aggregator_of_one_node_has_a_price_and_its_bounds() {
    let found = one_of_eight(1 << 20, 1, false);
    let first = assert_stated(&found, "DXT-L005", &json!({"file": "/lus/a"}));
    assert_eq!(first["severity"], "high", "{first}");
    assert_says(first, &["1 aggregator", "8 stripes"]);
    let ms = |key: &str| first[key].as_u64().unwrap_or(0) / MS;
    // Of 400 ms, four aggregators would save three quarters: the estimate; two aggregators give its lower bound, as many as stripes its upper bound.
    assert!((280..=305).contains(&ms("saves_ns")), "{first}");
    assert!((180..=205).contains(&ms("saves_low_ns")), "{first}");
    assert!((330..=360).contains(&ms("saves_high_ns")), "{first}");
    let commands = first["commands"].to_string();
    assert!(commands.contains("cb_config_list *:8"), "{commands}");
    assert!(first["hint"].as_str().is_some_and(|hint| hint.contains("cb_config_list=*:8")), "{first}");
}

/// `report` asserts that the same price is there only once.
#[test]
fn an_aggregator_that_reads_and_writes_is_one_finding() {
    let found = one_of_eight(1 << 20, 1, true);
    assert_stated(&found, "DXT-L005", &json!({"file": "/lus/a"}));
    let saves = saves_ms(&found, "DXT-L005").unwrap_or(0);
    assert!((280..=305).contains(&saves), "{saves} of 300 ms: {}", brief(&found));
}

#[test]
fn a_call_has_no_more_aggregators_than_stripes() {
    // With stripes of 4 MiB, a call of 8 MiB covers two of them, on any number of nodes.
    for nodes in [1, 8] {
        let found = one_of_eight(4 << 20, nodes, false);
        let saves = saves_ms(&found, "DXT-L005").unwrap_or(0);
        assert!((180..=205).contains(&saves), "{saves} of 200 ms: {}", brief(&found));
    }
}
