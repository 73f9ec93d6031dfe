//! Test that `scripts/read_trace.py`, a reader written from FORMAT.md alone, prints the output of `dump --format csv` without call sites. If
//! the outputs differ, the specification or one of the readers is wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a Python interpreter that has the module `zstandard`; `None` if there is none.
fn python() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let tried = Command::new(python).args(["-c", "import zstandard"]).output();
        tried.is_ok_and(|output| output.status.success())
    })
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn dump(trace: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dxt-analyze")).args(["dump", "--format", "csv"]).arg(trace).output().unwrap()
}

/// Asserts that both readers print equal lines for `trace`; returns the number of lines.
#[track_caller]
fn compare(python: &str, trace: &Path) -> usize {
    let theirs = Command::new(python).arg(project().join("scripts/read_trace.py")).arg(trace).output().unwrap();
    let (ours, theirs) = (dump(trace).stdout, theirs.stdout);
    let (ours, theirs) = (String::from_utf8(ours).unwrap(), String::from_utf8(theirs).unwrap());
    // These traces have no call sites: the last two columns are empty.
    let ours = ours.replace(",site,place\n", "\n").replace(",,\n", "\n");
    if let Some((line, (ours, theirs))) = ours.lines().zip(theirs.lines()).enumerate().find(|(_, (a, b))| a != b) {
        panic!("line {line}: dump says\n{ours}\nand read_trace.py\n{theirs}");
    }
    assert_eq!(ours.len(), theirs.len(), "one of them stops early");
    ours.lines().count()
}

#[test]
fn a_reader_written_from_the_specification_prints_the_same() {
    let Some(python) = python() else {
        crate::common::skip("no python3 with the module zstandard (Debian: python3-zstandard)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dxt");
    let traces: [(&[&str], usize); 5] = [
        (&["gcrm", "-n", "256"], 256 * 18 + 14),
        (&["ior-strided", "-n", "20", "--layer", "mpiio"], 20 * 20 + 2 * 16),
        (&["random", "-n", "2", "--segments", "40000", "--transfer", "512"], 2 * 40_002),
        (&["hacc", "-n", "3", "--segments", "90"], 3 * 92),
        (&["file-per-process", "--op", "read", "--stripe-size", "0"], 8 * 18),
    ];
    for (options, segments) in traces {
        let arguments = ["dxt-synth"].iter().chain(options).map(PathBuf::from);
        dxt_synth::run(arguments.chain(["-o".into(), path.clone()])).unwrap();
        assert_eq!(compare(python, &path), segments + 1, "{options:?}");
    }
}

#[test]
fn both_know_data_sets() {
    let Some(python) = python() else {
        crate::common::skip("no python3 with the module zstandard (Debian: python3-zstandard)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = crate::common::put(folder.path(), "hdf5.dxt", &crate::common::hdf5());
    assert_eq!(compare(python, Path::new(&path)), 1 + 2 * 6);
}

#[test]
fn both_read_the_golden_trace_and_what_is_left_of_it_when_cut() {
    let Some(python) = python() else {
        crate::common::skip("no python3 with the module zstandard (Debian: python3-zstandard)");
        return;
    };
    let golden = project().join("testdata/golden/v1.dxt");
    assert_eq!(compare(python, &golden), 2 * (202 + 71) + 1);
    let bytes = std::fs::read(golden).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.dxt");
    for cut in (64..bytes.len()).step_by(bytes.len() / 23) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        compare(python, &path);
    }
}
