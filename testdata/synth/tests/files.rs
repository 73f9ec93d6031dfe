//! Tests of the trace files that the generator writes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use trace_format::layout::parse_lustre;
use trace_format::read::{Decoder, Trace};

/// Writes a synthetic trace with the command-line options `options`; returns the bytes of the trace.
fn generate(options: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path: PathBuf = folder.path().join("trace.dxt");
    let arguments = ["dxt-synth"].iter().chain(options).map(PathBuf::from);
    dxt_synth::run(arguments.chain(["-o".into(), path.clone()])).expect("a trace");
    std::fs::read(path).expect("the trace")
}

#[test]
fn the_same_options_give_the_same_bytes_and_another_seed_others() {
    let options = ["random", "-n", "3", "--segments", "50", "--layer", "mpiio"];
    let first = generate(&options);
    assert_eq!(first, generate(&options));
    assert_ne!(first, generate(&[&options[..], &["--seed", "2"]].concat()));
}

#[test]
fn every_pattern_is_a_whole_trace_with_a_layout() {
    for pattern in ["ior-shared", "ior-strided", "file-per-process", "hacc", "random", "gcrm"] {
        for layer in ["posix", "mpiio"] {
            let bytes = generate(&[pattern, "--layer", layer, "-n", "20", "--stripe-count", "3"]);
            let trace = Trace::open(bytes.as_slice()).unwrap();
            assert!(trace.complete && trace.problems.is_empty() && trace.regions.len() == 20, "{pattern}");
            for (rank, region) in (0..).zip(&trace.regions) {
                let region = trace.region(region);
                let process = region.process.unwrap();
                assert_eq!((process.info.rank, process.info.node.len()), (rank, 8));
                let there: u32 = region.blocks.iter().map(|block| block.head.segments).sum();
                assert_eq!(u64::from(there), process.info.segments);
                assert_eq!(parse_lustre(&process.layouts[0].bytes).unwrap().components[0].targets, [0, 1, 2]);
            }
        }
    }
}

#[test]
fn gcrm_has_fourteen_slow_writes_on_four_stripes_of_ost_0() {
    let bytes = generate(&["gcrm"]);
    let trace = Trace::open(bytes.as_slice()).unwrap();
    assert_eq!(trace.regions.len(), 256);
    let (mut slow, mut stripes, mut decoder) = (0, BTreeSet::new(), Decoder::default());
    for region in &trace.regions {
        let region = trace.region(region);
        let layout = parse_lustre(&region.process.unwrap().layouts[0].bytes).unwrap();
        for block in &region.blocks {
            let columns = decoder.block(trace.source(), block).unwrap();
            for i in (0..columns.len()).filter(|&i| columns.length[i] > 0) {
                let duration = (columns.end[i] - columns.start[i]) as f64;
                if duration > 3e9 {
                    let place = layout.locate(columns.offset[i] as u64).unwrap();
                    assert_eq!(place.target, Some(0));
                    stripes.insert(place.stripe);
                    slow += 1;
                } else {
                    let bytes_per_ns = columns.length[i] as f64 / duration;
                    assert!((1.34..1.47).contains(&bytes_per_ns), "{bytes_per_ns} GB/s");
                }
            }
        }
    }
    assert_eq!((slow, stripes), (14, BTreeSet::from([0, 260, 520, 780])));
}
