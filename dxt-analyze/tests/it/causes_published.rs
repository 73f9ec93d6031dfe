//! Tests of causes described in papers on parallel I/O, on traces in which every call is known: every rank handles HDF5 metadata itself;
//! ranks hit the same storage targets one after another; small buffers split collective calls into rounds. Each faulty case has a healthy
//! counterpart.

use crate::common::facts::{assert_saves_ms, assert_says, assert_stated, of_code, text_has};
use crate::common::{Builder, job, json, op, process, put, trace};
use dxt_synth::lustre::attribute as lustre;
use serde_json::{Value, json as value};
use trace_format::meta::{HintDef, HintOrigin, LayoutDef, LayoutMoment, LayoutSource, stream_flags};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

const READ_AT: u16 = 30;
const WRITE_AT: u16 = 31;
const MS: u64 = 1_000_000;
const US: u64 = 1000;
const MIB: u64 = 1 << 20;
const IN_HDF5: u8 = stream_flags::IN_HDF5;
const NESTED: u8 = stream_flags::NESTED;
const FILE: &str = "/scratch/data.h5";

/// Writes a trace of these processes with a run time of `run_ms` ms; returns the JSON output of `report`.
fn report(mut processes: Vec<Builder>, run_ms: u64) -> Value {
    let mut job = job("published", processes.len() as u32);
    let def =
        |code, class, name: &str| OpDef { code, layer: Layer::Mpiio, class, mode: OpMode::Plain, name: name.into() };
    job.ops.extend([def(READ_AT, OpClass::Read, "read"), def(WRITE_AT, OpClass::Write, "write")]);
    processes.iter_mut().for_each(|one| one.process.info.end_ns = run_ms * MS);
    let folder = tempfile::tempdir().unwrap();
    json(&["report", "--format", "json", &put(folder.path(), "a.dxt", &trace(&job, processes))], 0)
}

/// Returns the JSON report on eight synthetic ranks. Each makes `small` reads of 512 bytes in the first 20 KiB, 2 ms each, and ten large
/// reads of HDF5 data sets. If `data` is true, the program requested the small reads from a data set; otherwise HDF5 reads its metadata by
/// them.
fn hdf5(small: u64, data: bool) -> Value {
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        for i in 0..small {
            let (from, at) = (i * 3 * MS, (i % 40 * 512) as i64);
            one.add(FILE, op::POSIX_READ, IN_HDF5 | NESTED, at, 512, from + 100 * US, from + 1900 * US);
            one.add(FILE, READ_AT, IN_HDF5, at, 512, from, from + 2 * MS);
            if data {
                one.add(FILE, op::HDF5_READ, 0, -1, 512, from, from + 2 * MS);
            }
        }
        for i in 0..10_u64 {
            let (from, at) = ((500 + i * 40) * MS, ((i * 8 + rank as u64 + 1) * MIB) as i64);
            one.add(FILE, op::POSIX_READ, IN_HDF5 | NESTED, at, MIB, from, from + 2 * MS);
            one.add(FILE, READ_AT, IN_HDF5, at, MIB, from, from + 2 * MS);
            one.add(FILE, op::HDF5_READ, 0, -1, MIB, from, from + 3 * MS);
        }
        one
    };
    report((0..8).map(rank).collect(), 1000)
}

#[test]
fn metadata_of_hdf5_that_each_rank_reads_is_named() {
    let sick = hdf5(100, false);
    let found = assert_stated(&sick, "DXT-V010", &value!({"file": FILE, "calls": 8 * 100, "processes": 8}));
    assert!(found["hint"].as_str().unwrap().contains("H5Pset_all_coll_metadata_ops"));
    // The small reads take 180 ms on each rank, of which an eighth would remain.
    assert_saves_ms(found, 140.0..=170.0);
    assert!(of_code(&hdf5(3, false), "DXT-V010").is_none(), "three reads of each rank are no burden");
    assert!(of_code(&hdf5(100, true), "DXT-V010").is_none(), "these are the data sets' own reads");
}

/// Returns the JSON report on eight synthetic ranks that write 1 MiB every 10 ms to a file on eight OSTs, each rank into its own block of
/// 64 MiB. If `shift` is true, ranks begin at different OSTs, otherwise all at the same one. If `queues` is true, writes queue on their
/// OST; otherwise each takes 1 ms.
fn striped(shift: bool, queues: bool) -> Value {
    let at = |rank: u64, step: u64| (rank * 64 + if shift { step / 8 * 8 + (step + rank) % 8 } else { step }) * MIB;
    striped_at(&at, MIB, queues)
}

/// Returns a JSON report as [`striped`] does, for requests of `length` bytes at offset `at(rank, step)`.
fn striped_at(at: &dyn Fn(u64, u64) -> u64, length: u64, queues: bool) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..64_u64 {
            let takes = if queues { rank + 1 } else { 1 };
            let from = step * 10 * MS + rank * 3 * US;
            one.write("/lustre/shared", at(rank, step) as i64, length, from, from + takes * MS);
        }
        let file = one.file("/lustre/shared");
        let bytes = lustre(1 << 20, &[0, 1, 2, 3, 4, 5, 6, 7]);
        one.process.layouts.push(LayoutDef { file, moment: LayoutMoment::Open, source: LayoutSource::Lustre, bytes });
        one
    };
    report((0..8).map(rank).collect(), 640)
}

#[test]
fn ranks_that_meet_on_one_target_after_another_are_named() {
    let sick = striped(false, true);
    let found = assert_stated(&sick, "DXT-V011", &value!({"file": "/lustre/shared"}));
    assert!(text_has(&found["evidence"].to_string(), &["100 %"]), "{found}");
    // Rank r waits for r of every r + 1 ms; the others wait for rank 7.
    assert_saves_ms(found, 400.0..=450.0);
    assert_eq!(found["cost_ns"], 64 * (0..8).sum::<u64>() * MS);
    // Blocks are 64 stripes apart, so on 7 targets each rank begins at another one.
    assert_eq!(found["commands"][0]["lines"][0], "lfs setstripe -c 7 -S 1M /lustre", "{found}");
    assert!(of_code(&striped(true, true), "DXT-V011").is_none(), "each rank begins at another target");
    assert!(of_code(&striped(false, false), "DXT-V011").is_none(), "nobody waits");
    // All requests of a step lie in one stripe, which is then shared.
    let shared = striped_at(&|rank, step| step * MIB + rank * MIB / 8, MIB / 8, true);
    assert_eq!(of_code(&shared, "DXT-V011"), None);
}

/// Returns the JSON report on four synthetic ranks with ten collective writes of 16 MiB per rank. Rank 0 writes the 64 MiB of all ranks to
/// the file, `buffer` bytes at a time.
fn collective(buffer: u64) -> Value {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for step in 0..10_u64 {
            let from = step * 500 * MS;
            for piece in 0..(64 * MIB / buffer) {
                let (at, pieces) = (from + 5 * MS + piece * 400 * MS / (64 * MIB / buffer), 64 * MIB / buffer);
                if rank == 0 {
                    let offset = (step * 64 * MIB + piece * buffer) as i64;
                    one.add(FILE, op::POSIX_WRITE, NESTED, offset, buffer, at, at + 64 * MS / pieces);
                }
            }
            one.add(
                FILE,
                op::MPIIO_WRITE_ALL,
                0,
                ((step * 4 + rank) * 16 * MIB) as i64,
                16 * MIB,
                from,
                from + 450 * MS,
            );
        }
        let file = one.file(FILE);
        let value = buffer.to_string().into_bytes();
        one.process.hints = vec![HintDef { file, origin: HintOrigin::InEffect, key: "cb_buffer_size".into(), value }];
        one
    };
    report((0..4).map(rank).collect(), 5000)
}

#[test]
fn a_buffer_that_cuts_collective_calls_is_named_with_the_size_to_set() {
    let sick = collective(4 * MIB);
    let facts = value!({"file": FILE, "operation": "write", "bytes": 64 * MIB});
    let found = assert_stated(&sick, "DXT-L009", &facts);
    assert_says(found, &["cb_buffer_size", "4.00 MiB", "16 rounds"]);
    assert!(found["hint"].as_str().unwrap().contains("cb_buffer_size=67108864"), "{found}");
    // Rank 0 writes for 64 of 450 ms per call, and needs 67 ms to move 64 MiB at 1 GB/s; of the rest, 15 of 16 rounds are saved.
    assert_saves_ms(found, 2950.0..=3000.0);
    assert!(of_code(&collective(64 * MIB), "DXT-L009").is_none(), "one round is enough");
}

#[test]
fn a_sieving_block_smaller_than_the_extent_is_named_with_the_size_to_set() {
    let sieved = |buffer: u64| {
        let mut one = process(0, "n");
        for call in 0..20_u64 {
            let from = call * 100 * MS;
            for piece in 0..(8 * MIB / buffer) {
                let (at, offset) = (from + (1 + piece * 4) * MS, (call * 8 * MIB + piece * buffer) as i64);
                one.add(FILE, op::POSIX_READ, NESTED, offset, buffer, at, at + MS);
                one.add(FILE, op::POSIX_WRITE, NESTED, offset, buffer, at + MS, at + 2 * MS);
            }
            one.add(FILE, WRITE_AT, 0, (call * 8 * MIB) as i64, 4 * MIB, from, from + 80 * MS);
        }
        let file = one.file(FILE);
        let value = buffer.to_string().into_bytes();
        one.process.hints =
            vec![HintDef { file, origin: HintOrigin::InEffect, key: "ind_wr_buffer_size".into(), value }];
        report(vec![one], 2000)
    };
    let sick = sieved(MIB / 2);
    let found = assert_stated(&sick, "DXT-L010", &value!({"file": FILE, "operation": "write", "bytes": 8 * MIB}));
    assert!(found["hint"].as_str().unwrap().contains("ind_wr_buffer_size=8388608"), "{found}");
    assert!(of_code(&sieved(8 * MIB), "DXT-L010").is_none());
}
