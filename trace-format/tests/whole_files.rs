//! Round trips of whole files: job, processes and segments are read as they were written.

mod common;

use common::{Rank, read};
use proptest::prelude::*;
use trace_format::counters::Counters;
use trace_format::meta::{
    ChunkDef, ClockSource, Combiner, CpuSample, DataSetAccess, DataSetDef, DatatypeExtents, DatatypeUse, DimensionDef,
    FileDef, FileKind, HintDef, HintOrigin, Job, JobInfo, LayoutDef, LayoutMoment, LayoutSource, Missing, Mount, Mpi,
    Note, Process, ProcessInfo, ProcessorDef, SharedName, StreamDef, ThreadDef, ThreadTimes, ViewDef,
};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};
use trace_format::segment::{MAX_LENGTH, MAX_STREAMS};
use trace_format::{Segment, StreamId};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

fn few<T: std::fmt::Debug>(element: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(element, 0..4)
}

prop_compose! {
    fn any_op()(code: u16, layer in 0..5_u32, class in 0..10_u32, mode in 0..7_u32, name: String) -> OpDef {
        OpDef { code, layer: Layer::from(layer), class: OpClass::from(class), mode: OpMode::from(mode), name }
    }
}

prop_compose! {
    fn any_job()(
        (key, scheduler, tracer, family, version) in any::<(String, String, String, String, String)>(),
        (uid, start_unix_ns, ranks, parallel) in any::<(u32, i64, u32, bool)>(),
        (exe, cwd, args) in (bytes(), bytes(), few(bytes())),
        ops in few(any_op()),
        names in few((any::<u64>(), bytes())),
        settings in few(any::<(String, String)>()),
        mounts in few((bytes(), any::<String>())),
    ) -> Job {
        let mpi = parallel.then_some(Mpi { ranks, family, version });
        Job {
            info: JobInfo { key, scheduler, uid, exe, args, cwd, start_unix_ns, mpi, tracer },
            ops,
            names: names.into_iter().map(|(hash, path)| SharedName { hash, path }).collect(),
            settings,
            mounts: mounts.into_iter().map(|(path, kind)| Mount { path, kind }).collect(),
        }
    }
}

prop_compose! {
    fn any_info()(
        (rank, node, pid, ppid, exe) in (any::<i32>(), any::<String>(), any::<u32>(), any::<u32>(), bytes()),
        (epoch_unix_ns, clock, clock_hz, sync_ns, end_ns) in any::<(i64, bool, u64, Option<u64>, u64)>(),
        ended_by: String,
    ) -> ProcessInfo {
        let clock = if clock { ClockSource::Counter } else { ClockSource::Monotonic };
        let info = ProcessInfo::default();
        ProcessInfo { rank, node, pid, ppid, exe, epoch_unix_ns, clock, clock_hz, sync_ns, end_ns, ended_by, ..info }
    }
}

prop_compose! {
    fn any_file()(
        (hash, device, inode, block_size, kind) in (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>(), 0..4_u32),
        path in prop::option::of(bytes()),
    ) -> FileDef {
        FileDef { hash, path, kind: FileKind::from(kind), device, inode, block_size }
    }
}

prop_compose! {
    fn any_missing()(
        stream: u32,
        (segments, bytes, duration, max_duration) in (0..u64::MAX >> 8, any::<u64>(), any::<u64>(), any::<u64>()),
        (first_start, last_end, min_offset, max_end_offset) in any::<(u64, u64, i64, i64)>(),
        (consecutive, sequential, sizes) in any::<(u64, u64, [u64; 10])>(),
    ) -> Missing {
        Missing { stream, counters: Counters {
            segments, bytes, duration, max_duration, first_start, last_end, min_offset, max_end_offset, consecutive,
            sequential, sizes,
        } }
    }
}

prop_compose! {
    /// Generates random hints, datatypes, views and data sets.
    fn any_details()(
        hints in few((any::<u32>(), any::<bool>(), bytes(), bytes())),
        datatypes in few((any::<u32>(), 0..4_u32, 0..Combiner::COUNT as u32, any::<u64>())),
        extents in few((any::<u32>(), 0..4_u32, any::<[u64; 10]>())),
        views in few((any::<(u32, u64, u64, u64, i64, i64, u64)>(), few(any::<(u64, u64)>()))),
        data_sets in few((any::<u32>(), bytes(), any::<u32>(), few(any::<u64>()), few(any::<(u32, [u64; 6], u64)>()))),
        chunks in few((any::<u32>(), few(any::<u64>()), any::<u64>())),
    ) -> Process {
        let origin = |asked| if asked { HintOrigin::Asked } else { HintOrigin::InEffect };
        let access = |(stream, selections, elements)| DataSetAccess { stream, selections, elements };
        Process {
            hints: hints.into_iter()
                .map(|(file, asked, key, value)| HintDef { file, origin: origin(asked), key, value })
                .collect(),
            datatypes: datatypes.into_iter()
                .map(|(file, role, combiner, count)| {
                    DatatypeUse { file, role: role.into(), combiner: combiner.into(), count }
                })
                .collect(),
            datatype_extents: extents.into_iter()
                .map(|(file, role, extents)| DatatypeExtents { file, role: role.into(), extents })
                .collect(),
            views: views.into_iter()
                .map(|((file, calls, etype_bytes, size, extent, first, block), dimensions)| {
                    let dimensions = dimensions.into_iter().map(|(count, stride)| DimensionDef { count, stride }).collect();
                    ViewDef { file, calls, etype_bytes, size, extent, first, block, dimensions }
                })
                .collect(),
            data_sets: data_sets.into_iter()
                .map(|(file, path, element_bytes, extent, accesses)| {
                    let accesses = accesses.into_iter().map(access).collect();
                    DataSetDef { file, path, element_bytes, extent, accesses }
                })
                .collect(),
            chunks: chunks.into_iter()
                .map(|(data_set, shape, cache_bytes)| ChunkDef { data_set, shape, cache_bytes })
                .collect(),
            ..Process::default()
        }
    }
}

prop_compose! {
    fn any_processor()(
        cpus in bytes(),
        threads in few((any::<u32>(), 0..2_u8, few(any::<(u64, u64, u64, u64, u64)>()))),
    ) -> ProcessorDef {
        let sample = |(time_ns, run_ns, wait_ns, voluntary, involuntary)| {
            CpuSample { time_ns, run_ns, wait_ns, voluntary, involuntary }
        };
        let times = |(tid, knows_waits, samples): (_, _, Vec<_>)| {
            ThreadTimes { tid, knows_waits, samples: samples.into_iter().map(sample).collect() }
        };
        ProcessorDef { cpus, threads: threads.into_iter().map(times).collect() }
    }
}

prop_compose! {
    fn any_process()(
        info in any_info(),
        threads in few(any::<(u32, u32)>()),
        files in few(any_file()),
        streams in few(any::<(u32, u32, u16, u8, u16)>()),
        layouts in few((any::<u32>(), any::<bool>(), any::<bool>(), bytes())),
        missing in few(any_missing()),
        notes in few(any::<(String, u64)>()),
        details in any_details(),
        processor in any_processor(),
    ) -> Process {
        let layout = |(file, open, lustre, bytes)| LayoutDef {
            file,
            moment: if open { LayoutMoment::Open } else { LayoutMoment::Close },
            source: if lustre { LayoutSource::Lustre } else { LayoutSource::Ceph },
            bytes,
        };
        Process {
            info,
            threads: threads.into_iter().map(|(index, tid)| ThreadDef { index, tid }).collect(),
            files,
            streams: streams.into_iter().map(|(id, file, op, flags, errno)| StreamDef { id, file, op, flags, errno })
                .collect(),
            layouts: layouts.into_iter().map(layout).collect(),
            missing,
            notes: notes.into_iter().map(|(what, count)| Note { what, count }).collect(),
            processor,
            ..details
        }
    }
}

/// Generates numbers of any magnitude, each number of bits equally often.
fn sized() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

fn any_segment() -> impl Strategy<Value = Segment> {
    (0..MAX_STREAMS, sized(), any::<bool>(), sized(), sized(), sized()).prop_map(
        |(stream, offset, negative, length, start, duration)| {
            let offset = if negative { (offset as i64).wrapping_neg() } else { offset as i64 };
            // The two highest bits of the end time are mark bits, which no clock reaches.
            let end = start.saturating_add(duration).clamp(1, (1 << 62) - 1);
            Segment::new(StreamId(stream), offset, length.min(MAX_LENGTH), start.min(end), end)
        },
    )
}

fn any_rank() -> impl Strategy<Value = Rank> {
    let threads = prop::collection::vec(prop::collection::vec(any_segment(), 0..200), 0..3);
    (any_process(), threads).prop_map(|(process, threads)| Rank { process, threads })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_trace_comes_back(job in any_job(), mut ranks in prop::collection::vec(any_rank(), 0..4)) {
        let bytes = common::file(&job, &mut ranks);
        let seen = read(&bytes).unwrap();
        prop_assert_eq!(&seen.job, &job);
        prop_assert!(seen.complete);
        prop_assert_eq!((seen.problems, seen.regions.len()), (0, ranks.len()));
        for (region, rank) in seen.regions.iter().zip(&ranks) {
            prop_assert_eq!(region.process.as_ref(), Some(&rank.process));
            prop_assert_eq!(region.lost, Some(0));
            for (thread, segments) in (0..).zip(&rank.threads) {
                let of_thread = region.blocks.iter().filter(|block| block.thread == thread);
                let back: Vec<Segment> = of_thread.flat_map(|block| block.segments.iter().copied()).collect();
                prop_assert_eq!(&back, segments);
            }
        }
    }
}

#[test]
fn a_thread_of_many_blocks_keeps_its_order() {
    let segments: Vec<Segment> = (0..100_000_u64)
        .map(|i| Segment::new(StreamId((i % 3) as u32), (i * 17 % 5000) as i64, i % 70, i * 100, i * 100 + i % 97 + 1))
        .collect();
    let mut ranks = [Rank { process: Process::default(), threads: vec![segments] }];
    let seen = read(&common::file(&Job::default(), &mut ranks)).unwrap();
    assert_eq!(seen.regions[0].blocks.len(), 100_000_usize.div_ceil(trace_format::write::TARGET_BLOCK_SEGMENTS));
    let back: Vec<Segment> = seen.regions[0].blocks.iter().flat_map(|block| block.segments.clone()).collect();
    assert!(back == ranks[0].threads[0]);
}

/// Checks the renumbering of regions: ranks encode their regions before they know the regions' numbers.
#[test]
fn a_region_with_another_number_is_the_one_that_was_encoded_with_it() {
    use trace_format::columns::TickScale;
    use trace_format::write::{Encoder, ThreadSegments, count_regions, preamble};
    let segments: Vec<Segment> = (0..70_000).map(|i| Segment::new(StreamId(0), i, 7, i as u64, i as u64 + 3)).collect();
    let mut encoder = Encoder::new().unwrap();
    let mut region = |number: u32| {
        let threads = [ThreadSegments { thread: 0, pieces: vec![segments.as_slice().into()] }];
        encoder.region(number, &mut Process::default(), &threads, &TickScale::IDENTITY).unwrap()
    };
    let (mut first, other) = (region(0), region(4_000_000_000));
    assert!(first.entry.blocks > 2);
    assert_ne!(first, other);
    first.renumber(4_000_000_000).unwrap();
    assert_eq!(first, other);
    first.bytes.pop();
    first.bytes.truncate(20);
    assert!(first.renumber(1).is_err());
    let (mut unknown, known) =
        (preamble(&mut encoder, &Job::default(), 0).unwrap(), preamble(&mut encoder, &Job::default(), 9).unwrap());
    count_regions(&mut unknown, 9).unwrap();
    assert_eq!(unknown, known);
}
