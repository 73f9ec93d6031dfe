//! Round trips: the reader must return the data that the writer wrote.

use crate::samples;
use darshan_log::dxt::SegmentKind;
use darshan_log::header::Version;
use darshan_log::text::darshan_parser;
use darshan_log::write::{DxtVersion, Error, LustreVersion, Writer};
use darshan_log::{
    Api, CounterRecord, DxtRecord, HeatmapRecord, Job, Log, LustreRecord, Module, Mount, Operation, Segment, lustre,
    record_id,
};
use std::io::{Cursor, Read, Seek};

const FILE: &str = "/scratch/run/out.h5";
const APIS: [Api; 2] = [Api::Posix, Api::MpiIo];

/// Records of all kinds that the writer supports.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    pub(crate) posix: Vec<CounterRecord>,
    pub(crate) mpi_io: Vec<CounterRecord>,
    pub(crate) stdio: Vec<CounterRecord>,
    pub(crate) lustre: Vec<LustreRecord>,
    pub(crate) dxt: [Vec<(DxtRecord, Vec<Segment>)>; 2],
    pub(crate) heatmaps: Vec<HeatmapRecord>,
    /// Counter records of the modules in [`LIBRARIES`], then of the modules in [`DAOS`].
    pub(crate) others: Vec<(Module, Vec<CounterRecord>)>,
}

const LIBRARIES: [Module; 4] = [Module::H5F, Module::H5D, Module::PnetcdfFile, Module::PnetcdfVar];
const DAOS: [Module; 2] = [Module::Dfs, Module::Daos];

fn content<R: Read + Seek>(log: &mut Log<R>) -> Content {
    let dxt = APIS.map(|api| {
        let mut records = Vec::new();
        let Some(mut dxt) = log.dxt(api) else { return records };
        while let Some(record) = dxt.next_record() {
            let mut segments = Vec::new();
            while let Some(piece) = dxt.next_piece() {
                segments.extend_from_slice(piece.segments);
            }
            records.push((record, segments));
        }
        records
    });
    let mut counters = |module| log.counters(module).into_iter().flatten().collect();
    let (posix, mpi_io, stdio) = (counters(Module::Posix), counters(Module::MpiIo), counters(Module::Stdio));
    let others = LIBRARIES.into_iter().chain(DAOS).map(|module| (module, counters(module))).collect();
    let lustre = log.lustre().into_iter().flatten().collect();
    let heatmaps = log.heatmaps().into_iter().flatten().collect();
    assert!(log.problems().is_empty(), "{:?}", log.problems());
    Content { posix, mpi_io, stdio, lustre, dxt, heatmaps, others }
}

pub(crate) fn write<W: std::io::Write + Seek>(
    out: W,
    job: &Job,
    mounts: &[Mount],
    names: &[Vec<u8>],
    content: &Content,
    version: LustreVersion,
) -> Result<W, Error> {
    let mut writer = Writer::new(out, job, mounts, names)?;
    writer.counters(Module::Posix, &content.posix)?;
    writer.counters(Module::MpiIo, &content.mpi_io)?;
    let others = |writer: &mut Writer<W>, modules: &[Module]| {
        let of = content.others.iter().filter(|(module, _)| modules.contains(module));
        of.into_iter().try_for_each(|(module, records)| writer.counters(*module, records))
    };
    others(&mut writer, &LIBRARIES)?;
    writer.lustre(version, &content.lustre)?;
    writer.counters(Module::Stdio, &content.stdio)?;
    for (api, records) in APIS.into_iter().zip(&content.dxt) {
        let has_thread = |segment: &Segment| segment.thread.is_some();
        let with_threads = records.iter().flat_map(|(_, segments)| segments).any(has_thread);
        let version = if with_threads { DxtVersion::WithThreads } else { DxtVersion::Plain };
        writer.dxt(api, version, |dxt| {
            for (record, segments) in records {
                dxt.record(record)?;
                // Pieces of 7 segments, some of which contain both the last writes and the first reads.
                segments.chunks(7).try_for_each(|piece| dxt.segments(piece))?;
            }
            Ok::<(), Error>(())
        })?;
    }
    writer.heatmaps(&content.heatmaps)?;
    others(&mut writer, &DAOS)?;
    writer.finish()
}

/// Returns a synthetic job of two ranks: job description, mounts, names and records.
pub(crate) fn made_up() -> (Job, Vec<Mount>, Vec<Vec<u8>>, Content) {
    let mut job = Job::default();
    (job.uid, job.nprocs, job.jobid) = (1000, 2, 4711);
    (job.start_sec, job.start_nsec, job.end_sec, job.end_nsec) =
        (1_700_000_000, 250_000_000, 1_700_000_003, 750_000_000);
    job.exe = "./simulate --steps 3".into();
    job.metadata =
        vec![("lib_ver".into(), "3.5.0".into()), ("h".into(), "a=b;c=d".into()), ("made_by".into(), "a test".into())];
    let mount = |point: &str, fs_type: &str| Mount { point: point.into(), fs_type: fs_type.into() };
    let mounts = vec![mount("/scratch", "lustre"), mount("/", "ext4")];
    let names = [FILE, "<STDOUT>", "heatmap:POSIX"].map(|name| name.as_bytes().to_vec()).to_vec();
    let counters = |module: Module, name: &str, rank: i64| {
        let mut record = CounterRecord::zero(module, record_id(name.as_bytes()), rank).expect("a module with counters");
        for (index, value) in record.ints.iter_mut().enumerate() {
            *value = 1000 * rank + index as i64;
        }
        for (index, value) in record.floats.iter_mut().enumerate() {
            *value = rank as f64 + index as f64 / 64.0;
        }
        record
    };
    let other = |module: Module, name: &str, rank: i64| {
        let mut record = counters(module, name, rank);
        record.file_id = record.file_id.map(|_| record_id(FILE.as_bytes()));
        if let Some(daos) = &mut record.daos {
            (daos.pool, daos.container) = ([0x5a; 16], [7; 16]);
            daos.object = daos.object.map(|_| (rank as u64 + 1, 99));
        }
        record
    };
    let segment = |number: i64| Segment {
        offset: number * 1_000_003,
        length: 4096 + number,
        start: number as f64 / 128.0,
        end: number as f64 / 128.0 + 1e-3,
        thread: None,
    };
    let dxt = |rank: i64, writes: i64, reads: i64| {
        let head = DxtRecord {
            id: record_id(FILE.as_bytes()),
            rank,
            hostname: "node1".into(),
            write_count: writes as u64,
            read_count: reads as u64,
        };
        (head, (0..writes + reads).map(segment).collect::<Vec<_>>())
    };
    let component = lustre::Component {
        stripe_size: 1 << 20,
        stripe_count: 3,
        flags: 16,
        extent_end: -1,
        pool: "flash".into(),
        osts: vec![5, 9, 2],
        ..lustre::Component::default()
    };
    let content = Content {
        posix: vec![counters(Module::Posix, FILE, 0), counters(Module::Posix, FILE, 1)],
        mpi_io: vec![counters(Module::MpiIo, FILE, -1)],
        stdio: vec![counters(Module::Stdio, "<STDOUT>", 0)],
        lustre: vec![LustreRecord {
            id: record_id(FILE.as_bytes()),
            rank: -1,
            components: vec![component],
            stripes: 3,
        }],
        dxt: [vec![dxt(0, 5000, 0), dxt(1, 40, 30)], vec![dxt(1, 0, 3)]],
        heatmaps: vec![HeatmapRecord {
            id: record_id(b"heatmap:POSIX"),
            rank: 0,
            bin_width_seconds: 0.1,
            write_bytes: vec![10, 20, 30],
            read_bytes: vec![1, 2, 3],
        }],
        others: LIBRARIES
            .into_iter()
            .chain(DAOS)
            .map(|module| (module, vec![other(module, FILE, 0), other(module, FILE, 1)]))
            .collect(),
    };
    (job, mounts, names, content)
}

#[test]
fn a_made_up_log_is_read_back_the_same() {
    let (job, mounts, names, content_in) = made_up();
    for version in [LustreVersion::V1, LustreVersion::V2] {
        let bytes = write(Cursor::new(Vec::new()), &job, &mounts, &names, &content_in, version).expect("a log");
        let mut log = Log::new(bytes).expect("a log");
        assert_eq!(log.header().version, Version::V3_41);
        assert_eq!(log.job().run_time, 3.5);
        let fields = |job: &Job| (job.uid, job.start_sec, job.end_nsec, job.nprocs, job.jobid);
        assert_eq!(fields(log.job()), fields(&job));
        assert_eq!((&log.job().exe, &log.job().metadata), (&job.exe, &job.metadata));
        assert_eq!(log.mounts().iter().cloned().collect::<Vec<_>>(), mounts);
        let read: Vec<_> = log.names().iter().map(|(_, name)| name.as_bytes().to_vec()).collect();
        assert_eq!(read, names);
        let mut content_out = content(&mut log);
        if version == LustreVersion::V1 {
            // Layout records of version 1 have no pool, pattern, flags or mirror.
            let part = &mut content_out.lustre[0].components[0];
            assert_eq!((part.pattern, part.flags, part.mirror_id), (-1, -1, -1));
            (part.pattern, part.flags, part.mirror_id, part.pool) = (0, 16, 0, "flash".into());
        }
        assert_eq!(content_out, content_in);
    }
}

#[test]
fn real_logs_are_the_same_when_they_are_written_again() {
    let mut written = 0;
    for sample in samples::all() {
        // In anonymized logs, record ids do not match the names.
        if sample.name().contains("anonymized") {
            continue;
        }
        let Ok(mut log) = Log::open(&sample.path) else { continue };
        let Ok(bytes) = written_again(&mut log) else { panic!("{} cannot be written", sample.name()) };
        let mut again = Log::new(bytes).expect("a log");
        let original = content(&mut log);
        assert!(original == content(&mut again), "{}", sample.name());
        let threads = original.dxt[0].iter().flat_map(|(_, segments)| segments).any(|segment| segment.thread.is_some());
        let kind = if threads { SegmentKind::Thread } else { SegmentKind::Plain };
        assert_eq!(again.dxt(Api::Posix).map_or(SegmentKind::Plain, |dxt| dxt.kind()), kind);
        let before = posix_rows(&mut Log::open(&sample.path).expect("a log"));
        let after = posix_rows(&mut again);
        assert!(before == after, "{}: rows differ", sample.name());
        written += 1;
    }
    assert!(written >= 6, "{written}");
}

fn posix_rows<R: Read + Seek>(log: &mut Log<R>) -> Vec<String> {
    let mut text = Vec::new();
    darshan_parser(log, &mut text).expect("writing to memory");
    String::from_utf8_lossy(&text).lines().filter(|line| line.starts_with("POSIX\t")).map(str::to_owned).collect()
}

fn written_again<R: Read + Seek>(log: &mut Log<R>) -> Result<Cursor<Vec<u8>>, Error> {
    let content = content(log);
    let names: Vec<_> = log.names().iter().map(|(_, name)| name.as_bytes().to_vec()).collect();
    let mounts: Vec<_> = log.mounts().iter().cloned().collect();
    write(Cursor::new(Vec::new()), log.job(), &mounts, &names, &content, LustreVersion::V2)
}

#[test]
fn what_the_format_cannot_have_is_an_error() {
    let (job, mounts, names, content) = made_up();
    let new = || Writer::new(Cursor::new(Vec::new()), &job, &mounts, &names).expect("a writer");
    let out = || Cursor::new(Vec::new());
    let long = vec![b'x'; 4096];
    assert!(matches!(Writer::new(out(), &job, &mounts, [&long]), Err(Error::TooLong { limit: 4095, .. })));
    assert!(matches!(Writer::new(out(), &job, &mounts, [b"a\0b"]), Err(Error::BadText { .. })));
    assert!(matches!(new().counters(Module::BgQ, &content.posix), Err(Error::NotWritten { module: Module::BgQ })));
    assert!(matches!(new().counters(Module::MpiIo, &content.posix), Err(Error::Shape { expected: 51, found: 69, .. })));
    let mut writer = new();
    writer.counters(Module::MpiIo, &content.mpi_io).expect("MPI-IO");
    assert!(matches!(writer.counters(Module::Posix, &content.posix), Err(Error::Order { .. })));
    let stranger = CounterRecord::zero(Module::Posix, 1, 0).expect("POSIX");
    assert!(matches!(new().counters(Module::Posix, [stranger]), Err(Error::NoName { id: 1, .. })));
    let (head, segments) = &content.dxt[0][1];
    let dxt = |count: usize| {
        new().dxt(Api::Posix, DxtVersion::Plain, |dxt| {
            dxt.record(head)?;
            dxt.segments(&segments[..count])?;
            dxt.segments(&segments[..1])
        })
    };
    assert!(matches!(dxt(70), Err(Error::Shape { expected: 0, found: 1, .. })));
    assert!(matches!(dxt(68), Err(Error::Shape { expected: 0, found: 1, .. })), "one is missing");
    assert!(dxt(69).is_ok());
    let huge = DxtRecord { write_count: 67_108_864, ..head.clone() };
    assert!(matches!(new().dxt(Api::Posix, DxtVersion::Plain, |dxt| dxt.record(&huge)), Err(Error::TooLong { .. })));
    let less = DxtRecord { write_count: 60_000_000, ..head.clone() };
    let with_threads = new().dxt(Api::Posix, DxtVersion::WithThreads, |dxt| dxt.record(&less));
    assert!(matches!(with_threads, Err(Error::TooLong { .. })));
}

/// Checks that writes are read before reads. Segments do not store their operation, which follows from the record's counts.
#[test]
fn writes_come_before_reads() {
    let (job, mounts, names, content) = made_up();
    let bytes = write(Cursor::new(Vec::new()), &job, &mounts, &names, &content, LustreVersion::V2).expect("a log");
    let mut log = Log::new(bytes).expect("a log");
    let mut dxt = log.dxt(Api::Posix).expect("segments");
    // Skips the record's segments.
    assert_eq!(dxt.next_record().expect("a record").write_count, 5000);
    let second = dxt.next_record().expect("another");
    assert_eq!((second.rank, second.write_count, second.read_count), (1, 40, 30));
    let piece = dxt.next_piece().expect("writes");
    assert_eq!((piece.operation, piece.first, piece.segments.len()), (Operation::Write, 0, 40));
    let piece = dxt.next_piece().expect("reads");
    assert_eq!((piece.operation, piece.first, piece.segments.len()), (Operation::Read, 0, 30));
    assert!(dxt.next_piece().is_none());
    assert!(dxt.next_record().is_none());
}
