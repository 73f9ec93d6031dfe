//! Tests of `export`: each format has the right content for known traces, does not depend on the number of threads, and can be read by
//! other programs.

mod outside;
mod perfetto;
mod rows;
pub(crate) mod tables;

use crate::common::{Builder, job, op, process, put, run, trace};
use std::path::Path;
use trace_format::meta::stream_flags;

/// Writes a trace of job `key`; returns its path. 6 ranks on 3 nodes write 40 blocks of `MIB` bytes each to a file through MPI-IO; rank 2
/// is slow. One call of each rank fails.
fn shared(folder: &Path, key: &str) -> String {
    let processes = (0..6).map(|rank: i32| {
        let mut one = process(rank, &format!("node{}", rank / 2));
        for step in 0..40_u64 {
            let stripe = step * 6 + rank as u64;
            let (start, time) = (step * 10_000_000 + 1000, if rank == 2 { 4_000_000 } else { 1_000_000 });
            let (offset, nested) = ((stripe * MIB) as i64, stream_flags::NESTED);
            one.add("/lus/shared", op::POSIX_WRITE, nested, offset, MIB, start + 500, start + time);
            one.add("/lus/shared", op::MPIIO_WRITE_ALL, 0, offset, MIB, start, start + time + 500);
            one.write(&format!("/lus/log.{rank}"), step as i64 * 100, 100, start + time + 1000, start + time + 2000);
        }
        one.add("/lus/shared", op::POSIX_READ, stream_flags::FAILED, -1, 0, 900_000_000, 900_000_500);
        one
    });
    put(folder, &format!("{key}.dxt"), &trace(&job(key, 6), processes.collect()))
}

const MIB: u64 = 1 << 20;
/// Number of segments in [`shared`].
const SHARED: usize = 6 * (40 * 3 + 1);
/// Layout of the file in [`shared`] as a `--layout` file: 4 targets from OST 10 on.
const LAYOUT: &[u8] = b"/lus/shared size=1M count=4 start=10\n";

/// Returns processes of `ranks` ranks with many short calls on three files. Every second call has a nested one, and some calls are long.
fn many(ranks: i32, steps: u64) -> Vec<Builder> {
    let one = |rank: i32| {
        let mut one = process(rank, &format!("n{}", rank % 2));
        for step in 0..steps {
            let start = 1000 + step * 20_000 + rank as u64;
            let time = if step % 1000 == 7 { 15_000 } else { 2_000 + (step * 7 + rank as u64) % 1000 };
            let (path, offset) = (format!("/data/{}", step / 50 % 3), step as i64 * 512);
            if step % 2 == 0 {
                one.add(&path, op::POSIX_WRITE, stream_flags::NESTED, offset, 512, start + 100, start + time - 100);
                one.add(&path, op::MPIIO_WRITE_ALL, 0, offset, 512, start, start + time);
            } else {
                one.add(&path, op::POSIX_READ, 0, offset, 512, start, start + time);
            }
        }
        one
    };
    (0..ranks).map(one).collect()
}

/// Runs `export --to form -o place`, asserts its exit code and returns its standard error.
#[track_caller]
fn export(form: &str, place: &Path, args: &[&str], code: i32) -> String {
    let mut all = vec!["export", "--to", form, "-o", place.to_str().unwrap()];
    all.extend_from_slice(args);
    let output = run(&all);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{all:?}\n{said}");
    said
}

/// Returns path and content of every file in `folder`.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                out.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

#[test]
fn the_same_bytes_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "many.dxt", &trace(&job("k", 5), many(5, 30_000)));
    let layout = put(folder.path(), "layout", b"* size=64K count=4\n");
    for (form, more) in [("parquet", vec![]), ("csv", vec![]), ("json", vec![]), ("perfetto", vec!["--most", "4000"])] {
        let with = |threads: &str| {
            let place = folder.path().join(format!("{form}.{threads}"));
            let mut args = vec!["--threads", threads, "--layout", &layout, &path];
            args.extend(&more);
            export(form, &place, &args, 0);
            if place.is_dir() { contents(&place) } else { vec![(form.into(), std::fs::read(&place).unwrap())] }
        };
        assert!(with("1") == with("4"), "{form}");
    }
}

#[test]
fn what_cannot_be_written_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = shared(folder.path(), "a");
    let there = folder.path().join("there");
    std::fs::write(&there, "mine").unwrap();
    for form in ["csv", "json", "perfetto", "parquet"] {
        let said = export(form, &there, &[&path], 1);
        assert!(said.contains("failed to write") && said.contains("there"), "{form}: {said}");
        assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    }
    export("csv", &there, &["--force", &path], 0);
    assert!(std::fs::read(&there).unwrap().starts_with(b"job,rank,"));
    assert!(export("parquet", Path::new("-"), &[&path], 2).contains("directory"));
    for form in ["csv", "json", "perfetto"] {
        let said = export(form, Path::new("/dev/full"), &[&path], 1);
        assert!(said.contains("No space left on device"), "{form}: {said}");
        export(form, &folder.path().join("absent/place"), &[&path], 1);
        export(form, folder.path(), &["--force", &path], 1);
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.dxt", "there"]);
}

#[test]
fn a_full_disk_leaves_a_data_set_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = shared(folder.path(), "a");
    let place = folder.path().join("export");
    export("parquet", &place, &["--ranks", "0", &path], 0);
    let before = contents(&place);
    // The limit simulates a full disk: no file may exceed 4 KiB.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$@\"";
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", script, "bash", env!("CARGO_BIN_EXE_dxt-analyze"), "export", "--to", "parquet", "-o"]);
    let output = limited.arg(&place).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("failed to write") && said.contains("File too large"), "{said}");
    assert!(contents(&place) == before);
}

#[test]
fn an_incomplete_trace_is_exported_and_ends_in_3() {
    let folder = tempfile::tempdir().unwrap();
    let whole = trace(&job("k", 2), vec![process(0, "n")]);
    let path = put(folder.path(), "cut.dxt", &whole);
    for form in ["csv", "json", "perfetto", "parquet"] {
        let said = export(form, &folder.path().join(form), &[&path], 3);
        assert!(said.contains("1 rank of the job is not in these inputs"), "{said}");
    }
}
