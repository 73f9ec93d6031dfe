//! Tests of open flags stored with streams: O_SYNC, O_DIRECT and O_APPEND, set in every way a program can.

use crate::harness::{Compiler, Launch, Scratch, Traces, skip, workload_with};
use std::collections::BTreeSet;
use std::path::Path;
use trace_format::meta::stream_flags;
use trace_format::op::OpClass;

fn letters(flags: u8) -> String {
    let all = [(stream_flags::THROUGH, 'S'), (stream_flags::DIRECT, 'D'), (stream_flags::APPENDED, 'A')];
    let said: String = all.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| *letter).collect();
    if said.is_empty() { "-".into() } else { said }
}

#[test]
fn every_way_to_open_is_reported_by_the_streams() {
    if !["libaio.h", "liburing.h"].iter().all(|header| Path::new("/usr/include").join(header).exists()) {
        return skip("libaio and liburing are not installed");
    }
    for mode in ["trace", "counters"] {
        let scratch = Scratch::new();
        let program = workload_with("opened_so", Compiler::Cc, &["-O1", "-Wl,--no-as-needed", "-laio", "-luring"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).env("DXT_ENABLE", mode).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        // In counters mode, appending calls are counted together with all others.
        let counted = |line: &str| match line.replace('A', "") {
            reported if reported.ends_with(' ') => reported + "-",
            reported => reported,
        };
        let all = outcome.stdout.lines();
        let expected: BTreeSet<String> =
            all.map(|line| if mode == "trace" { line.to_owned() } else { counted(line) }).collect();
        let mut reported = BTreeSet::new();
        for (process, job) in traces.processes.iter().zip(traces.jobs.iter().cycle()) {
            for stream in &process.block.streams {
                let Some(op) = job.ops.iter().find(|def| def.code == stream.op) else { continue };
                let class = match op.class {
                    OpClass::Read => "read",
                    OpClass::Write => "write",
                    _ => continue,
                };
                let path = &process.paths[stream.file as usize];
                if let Some(name) = path.strip_prefix(scratch.data().to_str().unwrap()) {
                    reported.insert(format!("{} {class} {}", name.trim_start_matches('/'), letters(stream.flags)));
                }
            }
        }
        assert!(expected.len() > 25, "{expected:?}");
        assert_eq!(reported, expected, "{mode}");
    }
}
