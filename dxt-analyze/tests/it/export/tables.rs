//! Tests of the Parquet export, read back with the crate that wrote it. Tests with other readers are in `outside`.

use super::{LAYOUT, SHARED, contents, export, shared};
use crate::common::{Builder, job, op, process, put, trace};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;

/// Returns all rows of a job's table, as one batch per file or row group.
pub(crate) fn read(place: &Path, table: &str, job: &str) -> Vec<RecordBatch> {
    let mut files: Vec<_> = std::fs::read_dir(place.join(table).join(format!("job={job}")))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let open = |path| ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    files.iter().flat_map(|path| open(path).with_batch_size(1 << 20).build().unwrap()).map(Result::unwrap).collect()
}

fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

pub(crate) fn numbers(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap();
    match column.as_primitive_opt::<Int64Type>() {
        Some(column) => column.iter().collect(),
        None => match column.as_primitive_opt::<TimestampNanosecondType>() {
            Some(column) => column.iter().collect(),
            None => match column.as_primitive_opt::<UInt32Type>() {
                Some(column) => column.iter().map(|value| value.map(i64::from)).collect(),
                None => column.as_primitive::<Int32Type>().iter().map(|value| value.map(i64::from)).collect(),
            },
        },
    }
}

pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap();
    match column.as_dictionary_opt::<Int32Type>() {
        Some(column) => column
            .downcast_dict::<arrow_array::StringArray>()
            .unwrap()
            .into_iter()
            .map(|text| text.map(str::to_owned))
            .collect(),
        None => column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect(),
    }
}

#[test]
fn segments_files_ranks_and_findings() {
    let folder = tempfile::tempdir().unwrap();
    let path = shared(folder.path(), "a");
    let layout = put(folder.path(), "layout", LAYOUT);
    let place = folder.path().join("export");
    assert_eq!(export("parquet", &place, &["--layout", &layout, &path], 0), "");
    let segments = read(&place, "segments", "a");
    assert_eq!(count(&segments), SHARED);
    let all = &segments[0];
    let start = 1_700_000_000_000_000_000_i64;
    assert_eq!((numbers(all, "rank")[3], numbers(all, "start_ns")[3]), (Some(0), Some(10_001_500)));
    assert_eq!(numbers(all, "start_unix_ns")[3], Some(start + 10_001_500));
    assert_eq!((numbers(all, "offset")[3], numbers(all, "stripe")[3]), (Some(6 << 20), Some(6)));
    assert_eq!((numbers(all, "offset")[120], numbers(all, "errno")[120]), (None, Some(28)));
    let names = ["node", "file", "layer", "op", "mode", "kind"].map(|name| texts(all, name)[4].clone().unwrap());
    assert_eq!(names, ["node0", "/lus/shared", "MPIIO", "write", "collective", "write"]);
    assert_eq!(texts(all, "data_set")[4], None);
    let osts = all.column_by_name("osts").unwrap().as_list::<i32>().clone();
    assert_eq!(osts.value(3).as_primitive::<Int32Type>().values(), &[12]);
    assert!(osts.value(4).is_empty() && !osts.is_null(4));

    let files = &read(&place, "files", "a")[0];
    let at = texts(files, "file").iter().position(|file| file.as_deref() == Some("/lus/shared")).unwrap();
    let of = |name: &str| numbers(files, name)[at].unwrap();
    assert_eq!(files.num_rows(), 7);
    // Bytes count once: those of MPI-IO count, those of nested system calls do not.
    assert_eq!((of("bytes_written"), of("operations"), of("processes")), (240 << 20, 246, 6));
    assert_eq!((of("write_ns"), of("other_ns")), (40 * (5 * 1_000_500 + 4_000_500), 6 * 500));
    assert_eq!((of("stripe_size"), of("stripe_count"), numbers(files, "stripe_size")[0]), (1 << 20, 4, None));

    let ranks = &read(&place, "ranks", "a")[0];
    assert_eq!(numbers(ranks, "rank"), (0..6).map(Some).collect::<Vec<_>>());
    assert_eq!(numbers(ranks, "segments"), [Some(121); 6]);
    assert_eq!((numbers(ranks, "missing")[0], numbers(ranks, "end_ns")[0]), (Some(0), Some(60_000_000_000)));
    assert_eq!(numbers(ranks, "bytes_written")[1], Some((40 << 20) + 4000));

    let findings = &read(&place, "findings", "a")[0];
    assert!(findings.num_rows() > 0);
    assert!(texts(findings, "code").iter().flatten().all(|code| code.starts_with("DXT-")));
}

#[test]
fn jobs_are_added_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (shared(folder.path(), "a"), shared(folder.path(), "b 7"));
    let place = folder.path().join("export");
    export("parquet", &place, &[&a], 0);
    let first = contents(&place);
    export("parquet", &place, &[&b], 0);
    assert_eq!(count(&read(&place, "segments", "b%207")), SHARED);
    export("parquet", &place, &["--ranks", "0:2", &a], 0);
    assert_eq!(count(&read(&place, "segments", "a")), SHARED / 2);
    export("parquet", &place, &[&a], 0);
    let both = contents(&place);
    assert_eq!((first.len(), both.len()), (5, 10), "nothing else is left there");
    assert!(first.iter().all(|file| both.contains(file)), "the same bytes again");
}

#[test]
fn long_traces_are_cut_into_parts_and_rows_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let one = |rank: i32| {
        let mut one: Builder = process(rank, "n");
        let stream = one.stream("/a", op::POSIX_WRITE, 0);
        let segment = |at: u64| {
            let id = trace_format::segment::StreamId(stream);
            trace_format::segment::Segment::new(id, (at * 10) as i64, 10, at * 100, at * 100 + 50)
        };
        one.threads[0].1 = (0..400_000).map(segment).collect();
        one
    };
    let path = put(folder.path(), "a.dxt", &trace(&job("long", 4), (0..4).map(one).collect()));
    let place = folder.path().join("export");
    export("parquet", &place, &[&path], 0);
    assert_eq!(std::fs::read_dir(place.join("segments/job=long")).unwrap().count(), 2);
    let batches = read(&place, "segments", "long");
    let column = |name| batches.iter().flat_map(|batch| numbers(batch, name)).flatten().collect::<Vec<i64>>();
    let (ranks, starts) = (column("rank"), column("start_ns"));
    assert_eq!(ranks.len(), 1_600_000);
    assert!(ranks.iter().zip(&starts).is_sorted());
    assert_eq!(starts.iter().sum::<i64>(), 4 * (0..400_000_i64).map(|at| at * 100).sum::<i64>());
}

#[test]
fn a_trace_without_segments_has_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job("none", 0), vec![process(-1, "n")]));
    let place = folder.path().join("export");
    export("parquet", &place, &[&path], 0);
    let schema = |table: &str| {
        let path = place.join(table).join("job=none/part-0000.parquet");
        let file = std::fs::File::open(path).unwrap();
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().fields().len()
    };
    assert_eq!(["segments", "files", "ranks", "findings", "sites"].map(schema), [24, 14, 19, 6, 12]);
    assert_eq!((count(&read(&place, "segments", "none")), count(&read(&place, "ranks", "none"))), (0, 1));
}
