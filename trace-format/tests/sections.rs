//! Tests of metadata sections that are omitted if empty: hints, datatypes, data sets, communicators, mounts.

use trace_format::meta::{
    ChunkDef, Combiner, CommunicatorDef, CpuSample, DataSetAccess, DataSetDef, DatatypeExtents, DatatypeRole,
    DatatypeUse, DimensionDef, FrameDef, FunctionDef, HeatDef, HintDef, HintOrigin, Job, ModuleDef, Mount, Order,
    Process, ProcessorDef, Selection, SitesDef, StreamSite, ThreadTimes, ViewDef, WholeDef,
};
use trace_format::op::Layer;
use trace_format::profile::Profile;

fn sample() -> Process {
    let hint = |origin, key: &str, value: &str| HintDef { file: 3, origin, key: key.into(), value: value.into() };
    let mut selections = [0; Selection::COUNT];
    selections[Selection::RegularHyperslab as usize] = 7;
    Process {
        hints: vec![
            hint(HintOrigin::Asked, "cb_nodes", "2"),
            hint(HintOrigin::InEffect, "romio_ds_write", "automatic"),
        ],
        datatypes: vec![DatatypeUse {
            file: 3,
            role: DatatypeRole::Filetype,
            combiner: Combiner::Subarray,
            count: 1 << 40,
        }],
        datatype_extents: vec![DatatypeExtents {
            file: 3,
            role: DatatypeRole::ReadBuffer,
            extents: [1, 0, 0, 1 << 40, 0, 0, 0, 0, 0, 2],
        }],
        views: vec![
            ViewDef {
                file: 3,
                calls: 1000,
                etype_bytes: 8,
                size: 1 << 20,
                extent: 1 << 33,
                first: -16,
                block: 4096,
                dimensions: vec![DimensionDef { count: 256, stride: 1 << 14 }],
            },
            ViewDef { file: 3, calls: 1, size: 100, extent: 200, ..ViewDef::default() },
        ],
        data_sets: vec![
            DataSetDef {
                file: 1,
                path: b"/step000/temperature".to_vec(),
                element_bytes: 8,
                extent: vec![1 << 33, 512],
                accesses: vec![DataSetAccess { stream: 12, selections, elements: 7 * 4096 }],
            },
            DataSetDef::default(),
        ],
        chunks: vec![ChunkDef { data_set: 0, shape: vec![1 << 20, 64], cache_bytes: 1 << 20 }],
        sites: SitesDef {
            modules: vec![ModuleDef { path: b"/bin/app".to_vec(), build_id: vec![1, 2] }],
            frames: vec![FrameDef { caller: 0, module: 1, address: 1 << 40 }],
            streams: vec![StreamSite { stream: 12, frame: 0 }],
            functions: vec![FunctionDef { module: 1, name: b"main.<locals>.save".to_vec() }],
        },
        heat: vec![HeatDef {
            layer: Layer::Stdio,
            writes: true,
            width_ns: 100_000_000,
            first_bin: 3,
            bytes: vec![0, 1 << 40],
        }],
        whole: vec![WholeDef {
            file: 2,
            layer: Layer::Posix,
            reads: Order { known: 9, consecutive: 4, sequential: 8 },
            writes: Order::default(),
            memory_alignment: 64,
            profile: Profile { accesses: 12, alignment: 1 << 20, file_unaligned: 3, ..Profile::default() },
        }],
        communicators: vec![
            CommunicatorDef { number: 0, size: 1 << 20, rank: 70_000, first: 0, members: u64::MAX, remote_size: 0 },
            CommunicatorDef { number: 7, size: 2, rank: 0, first: -1, members: 0, remote_size: 3 },
        ],
        processor: ProcessorDef {
            cpus: vec![0b11, 0, 0x80],
            threads: vec![ThreadTimes {
                tid: 70_000,
                knows_waits: 1,
                samples: vec![
                    CpuSample { time_ns: 1 << 40, run_ns: 7, wait_ns: 8, voluntary: 9, involuntary: 10 },
                    CpuSample::default(),
                ],
            }],
        },
        ..Process::default()
    }
}

#[test]
fn what_is_written_is_read_again() {
    let process = sample();
    assert_eq!(Process::decode(&process.encode(), 0).expect("it decodes"), process);
}

#[test]
fn a_section_without_entries_takes_no_room() {
    let tags = |block: &[u8]| {
        let (mut at, mut tags) = (0, Vec::new());
        while let Some(head) = block.get(at..at + 6) {
            tags.push(u16::from_le_bytes([head[0], head[1]]));
            at += 6 + u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        }
        tags
    };
    let (with, without) = (tags(&sample().encode()), tags(&Process::default().encode()));
    assert!(
        [10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22].iter().all(|tag| with.contains(tag) && !without.contains(tag)),
        "{with:?} {without:?}"
    );
}

/// Compares encoded sections with FORMAT.md, byte by byte.
#[test]
fn bytes_are_those_of_the_specification() {
    let section = |tag: u8, bytes: &[u8]| [&[tag, 0, bytes.len() as u8, 0, 0, 0][..], bytes].concat();
    let block = [
        section(10, &[1, 3, 1, 2, b'c', b'b', 1, b'4']),
        section(11, &[1, 3, 3, 3, 250]),
        section(12, &[1, 0, 2, b'/', b'x', 8, 2, 5, 251, 0, 1, 1, 9, 0, 1, 2, 0, 0, 0, 200]),
        section(13, &[1, 2, 1, 100, 7, 2, 0, 251, 0, 1]),
        section(14, &[1, 2, 0, 9, 4, 8, 0, 0, 0, 64, 12, 250, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        section(15, &[2, 0, 4, 2, 0, 251, 0, 1, 0, 9, 2, 3, 1, 0, 5]),
        section(17, &[1, 3, 1, 4, 0, 251, 0, 1, 0, 0, 0, 0, 0, 0, 9]),
        section(18, &[1, 3, 2, 8, 64, 251, 0, 4, 3, 32, 2, 2, 48, 5, 200]),
        section(19, &[2, 3, 128, 1, 9, 1, 2, 5, 6, 7, 8, 0, 251, 0, 1, 0, 4, 0, 1]),
        section(20, &[1, 0, 2, 65, 251, 0, 4, 251, 0, 16]),
        section(21, &[1, 2, b'/', b'a', 1, 9, 2, 0, 1, 251, 0, 1, 1, 0, 7, 1, 9, 1]),
        section(22, &[1, 1, 2, b'f', b'n']),
    ];
    let process = Process::decode(&block.concat(), 0).expect("it decodes");
    let hint = HintDef { file: 3, origin: HintOrigin::InEffect, key: b"cb".to_vec(), value: b"4".to_vec() };
    assert_eq!(process.hints, [hint]);
    let (role, combiner) = (DatatypeRole::WriteBuffer, Combiner::Vector);
    assert_eq!(process.datatypes, [DatatypeUse { file: 3, role, combiner, count: 250 }]);
    let extents = [4, 0, 256, 0, 0, 0, 0, 0, 0, 9];
    assert_eq!(process.datatype_extents, [DatatypeExtents { file: 3, role: DatatypeRole::Filetype, extents }]);
    let dimensions = [(2, 48), (5, 200)].map(|(count, stride)| DimensionDef { count, stride }).to_vec();
    let sizes = (8, 64, 512, -2, 32);
    let (etype_bytes, size, extent, first, block) = sizes;
    assert_eq!(process.views, [ViewDef { file: 3, calls: 2, etype_bytes, size, extent, first, block, dimensions }]);
    let first = CpuSample { time_ns: 5, run_ns: 6, wait_ns: 7, voluntary: 8, involuntary: 0 };
    let samples = vec![first, CpuSample { time_ns: 256, run_ns: 0, wait_ns: 4, voluntary: 0, involuntary: 1 }];
    let threads = vec![ThreadTimes { tid: 9, knows_waits: 1, samples }];
    assert_eq!(process.processor, ProcessorDef { cpus: vec![3, 128], threads });
    let access = DataSetAccess { stream: 9, selections: [0, 1, 2, 0, 0, 0], elements: 200 };
    let set =
        DataSetDef { file: 0, path: b"/x".to_vec(), element_bytes: 8, extent: vec![5, 256], accesses: vec![access] };
    assert_eq!(process.data_sets, [set]);
    let module = ModuleDef { path: b"/a".to_vec(), build_id: vec![9] };
    let frames = [(0, 1, 256), (1, 0, 7)].map(|(caller, module, address)| FrameDef { caller, module, address });
    let streams = vec![StreamSite { stream: 9, frame: 1 }];
    let functions = vec![FunctionDef { module: 1, name: b"fn".to_vec() }];
    assert_eq!(process.sites, SitesDef { modules: vec![module], frames: frames.to_vec(), streams, functions });
    assert_eq!(process.chunks, [ChunkDef { data_set: 0, shape: vec![65, 1024], cache_bytes: 4096 }]);
    let heat = HeatDef { layer: Layer::Mpiio, writes: true, width_ns: 100, first_bin: 7, bytes: vec![0, 256] };
    assert_eq!(process.heat, [heat]);
    let order = Order { known: 9, consecutive: 4, sequential: 8 };
    let profile = Profile { accesses: 12, alignment: 250, file_unaligned: 3, ..Profile::default() };
    let whole = WholeDef {
        file: 2,
        layer: Layer::Posix,
        reads: order,
        writes: Order::default(),
        memory_alignment: 64,
        profile,
    };
    assert_eq!(process.whole, [whole]);
    let world = CommunicatorDef { number: 0, size: 4, rank: 1, first: 0, members: 256, remote_size: 0 };
    let between = CommunicatorDef { number: 9, size: 2, rank: -2, first: -1, members: 0, remote_size: 5 };
    assert_eq!(process.communicators, [world, between]);
}

#[test]
fn mounts_are_those_of_the_specification() {
    let bytes = [5, 0, 16, 0, 0, 0, 1, 7, b'/', b's', b'c', b'r', b'a', b't', b'c', 6];
    let bytes = [&bytes[..], b"lustre"].concat();
    assert!(Job::decode(&bytes[..bytes.len() - 1], 0).is_err(), "one byte short");
    let job = Job::decode(&bytes, 0).expect("it decodes");
    assert_eq!(job.mounts, [Mount { path: b"/scratc".to_vec(), kind: "lustre".into() }]);
    assert!(job.encode().windows(bytes.len()).any(|window| window == bytes));
}
