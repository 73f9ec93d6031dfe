//! Tests of repeated and fragmented work, and of the choice between two patterns that explain the same calls.

use super::{
    BARRIER, GATHER, H5_OPEN, H5_WRITE, MPIIO_OPEN, MPIIO_SYNC, MPIIO_WRITE, MS, STAT, SYNC, report, saves_ms, stepped,
};
use crate::common::facts::{assert_found, assert_quiet, assert_saves_ms, assert_says, assert_stated, brief, text_has};
use crate::common::{self, Builder, op, process};
use serde_json::json;
use trace_format::meta::DataSetDef;
use trace_format::meta::stream_flags::{IN_HDF5, NESTED};

#[test]
fn names_that_are_asked_for_again_are_reported_and_many_names_are_not() {
    let asks = |names: u64| {
        let mut one = process(-1, "n");
        for call in 0..2000_u64 {
            let at = call * MS / 2;
            one.add(&format!("/include/{}", call % names), STAT, 0, -1, 0, at, at + MS / 4);
        }
        report(vec![one], 1000)
    };
    let found = asks(20);
    let queries = assert_stated(&found, "DXT-V017", &json!({}));
    assert_says(queries, &["2,000", "stat", "20 names"]);
    assert!(text_has(&queries["evidence"].to_string(), &["100 times"]), "{queries}");
    assert_eq!(saves_ms(&found, "DXT-V017"), Some(495));
    assert_eq!(saves_ms(&asks(2000), "DXT-V017"), None);
    // Other ranks query the same names: these are no additional names.
    let rank = |rank: u64| {
        let mut one = process(rank as i32, "n");
        for call in 0..400_u64 {
            let at = call * MS + rank * MS / 8;
            one.add(&format!("/include/{}", call % 20), STAT, 0, -1, 0, at, at + MS / 2);
        }
        one
    };
    let found = report((0..4).map(rank).collect(), 410);
    let queries = assert_stated(&found, "DXT-V017", &json!({}));
    assert_says(queries, &["1,600", "stat", "4 ranks", "20 names"]);
    assert!(text_has(&queries["evidence"].to_string(), &["20 times"]), "{queries}");
}

#[test]
fn an_hdf5_file_that_is_opened_again_is_reported_with_what_is_read_anew() {
    let opens = |again: bool| {
        let mut one = process(-1, "n");
        for step in 0..40_u64 {
            let from = step * 20 * MS;
            if again || step == 0 {
                one.add("/data/series.h5", common::op::POSIX_OPEN, IN_HDF5, -1, 0, from, from + 2 * MS);
                for read in 0..4 {
                    let at = from + (2 + read) * MS;
                    one.add("/data/series.h5", common::op::POSIX_READ, IN_HDF5, read as i64 * 512, 512, at, at + MS);
                }
                one.add("/data/series.h5", H5_OPEN, 0, -1, 0, from, from + 6 * MS);
            }
            let at = from + 6 * MS;
            one.add("/data/series.h5", common::op::POSIX_WRITE, IN_HDF5, (step << 20) as i64, 1 << 20, at, at + MS);
        }
        report(vec![one], 800)
    };
    let found = opens(true);
    assert_stated(&found, "DXT-V018", &json!({"file": "/data/series.h5", "calls": 40}));
    assert_eq!(saves_ms(&found, "DXT-V018"), Some(234));
    assert_eq!(saves_ms(&opens(false), "DXT-V018"), None);
}

#[test]
fn a_rank_that_collects_and_writes_all_is_one_finding() {
    let steps = |gathers: bool| {
        let calls = move |one: &mut Builder, rank: u64, step: u64| {
            let from = step * 100 * MS;
            if gathers {
                one.add("", GATHER, 0, 0, 0, from, from + if rank == 0 { 40 } else { 1 } * MS);
            }
            if rank == 0 {
                one.write("/scratch/all", (step << 24) as i64, 1 << 24, from + 40 * MS, from + 70 * MS);
            }
            from + if rank == 0 { 90 } else { 5 } * MS
        };
        report(stepped(&calls), 1000)
    };
    let found = steps(true);
    let finding = assert_stated(&found, "DXT-C013", &json!({"rank": 0, "bytes": 160 << 20}));
    // Rank 0 could save 225 ms of writes that four ranks could share, and 160 ms until it has the data that it collects.
    assert_saves_ms(finding, 366.0..=404.0);
    assert_says(finding, &["gathers"]);
    let reported =
        found["verdict"]["findings"].as_array().is_some_and(|all| all.iter().any(|one| one["code"] == "DXT-V013"));
    assert!(!reported, "{found}");
    // Without a call that transfers data, it is unknown what rank 0 does before a step.
    let found = steps(false);
    assert_stated(&found, "DXT-V013", &json!({"rank": 0, "calls": 10}));
    assert_eq!(saves_ms(&found, "DXT-C013"), Some(225));
}

#[test]
fn writes_that_stay_slow_are_reported_however_short_the_fast_part_was() {
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        // The first half of the calls takes a tenth of the time.
        let (from, each) = if step < 5 { (step * 15, 2) } else { (75 + (step - 5) * 185, 44) };
        for call in 0..4 {
            let at = ((rank * 10 + step) * 4 + call) << 20;
            let begin = (from + call * each) * MS + (rank * 7 + call * 3) % 5 * MS / 50;
            one.write("/scratch/shared", at as i64, 1 << 20, begin, begin + each * MS);
        }
        (from + 4 * each) * MS
    };
    let ranks = (0..4_u64).map(|rank| {
        let mut one = process(rank as i32, "n");
        for step in 0..10 {
            let until = calls(&mut one, rank, step);
            one.add("", BARRIER, 0, 0, 0, until, until + MS);
        }
        one
    });
    let found = report(ranks.collect(), 1010);
    // In five slow steps, four ranks make four calls each that last 44 ms instead of 2.
    let finding = assert_stated(&found, "DXT-V001", &json!({"calls": 80, "operation": "writes"}));
    assert_saves_ms(finding, 800.0..=880.0);
}

#[test]
fn runs_are_of_their_part_of_the_calls_only() {
    // A small part of the file is read in order, the rest at random offsets.
    let mut one = process(-1, "n");
    let mut state = 7_u64;
    for call in 0..6000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = if call < 1100 { call } else { (state >> 33) % 100_000 * 3 + 5000 };
        one.add(
            "/data/table",
            common::op::POSIX_READ,
            0,
            place as i64 * 4096,
            4096,
            call * MS / 8,
            (call + 1) * MS / 8,
        );
    }
    let found = report(vec![one], 800);
    assert_stated(&found, "DXT-C008", &json!({"operation": "reads"}));
    assert!(saves_ms(&found, "DXT-C029").is_some_and(|saves| saves <= 145), "{found:?}");
}

#[test]
fn steps_of_a_script_are_not_blamed_for_what_others_do_not() {
    let mut one = process(-1, "n");
    let mut other = process(-1, "n");
    other.process.info.pid = 77;
    for call in 0..100_u64 {
        one.write("/data/out", (call << 20) as i64, 1 << 20, call * 5 * MS, (call * 5 + 4) * MS);
    }
    other.add("/data/list", common::op::POSIX_READ, 0, 0, 100, 0, MS);
    let found = report(vec![one, other], 600);
    assert!(saves_ms(&found, "DXT-C013").is_none_or(|saves| saves == 0), "{}", brief(&found));
    for code in ["DXT-C012", "DXT-C013", "DXT-C014", "DXT-C015"] {
        assert_quiet(&found, code);
    }
}

#[test]
fn syncs_inside_collective_calls_are_no_turns() {
    // By design, one rank moves the bytes of all; the ranks' syncs then follow one after another.
    let calls = |one: &mut Builder, rank: u64, step: u64| {
        let from = step * 100 * MS;
        if rank == 0 {
            one.add("/scratch/shared", common::op::POSIX_WRITE, NESTED, (step << 20) as i64, 1 << 20, from, from + MS);
        }
        one.add("/scratch/shared", common::op::MPIIO_WRITE_ALL, 0, (step << 20) as i64, 1 << 18, from, from + 2 * MS);
        let sync = from + (2 + rank * 20) * MS;
        one.add("/scratch/shared", SYNC, NESTED, -1, 0, sync, sync + 20 * MS);
        one.add("/scratch/shared", MPIIO_SYNC, 0, -1, 0, from + 2 * MS, from + 82 * MS);
        from + 82 * MS
    };
    let found = report(stepped(&calls), 1000);
    assert_stated(&found, "DXT-C032", &json!({}));
    assert!(saves_ms(&found, "DXT-C039").is_none_or(|saves| saves < 50), "{}", brief(&found));
}

#[test]
fn pieces_of_hdf5s_data_are_not_its_metadata() {
    let columns = |bytes: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for piece in 0..200_u64 {
                let (at, from) = (((piece * 8 + rank) * 256) as i64, piece * 4 * MS);
                one.add("/data/a.h5", common::op::POSIX_WRITE, NESTED | IN_HDF5, at, 256, from, from + 3 * MS);
                one.add("/data/a.h5", MPIIO_WRITE, IN_HDF5, at, 256, from, from + 3 * MS);
            }
            one.add("/data/a.h5", H5_WRITE, 0, -1, bytes, 0, 800 * MS);
            one
        };
        report((0..8).map(rank).collect(), 900)
    };
    assert_quiet(&columns(200 * 256), "DXT-V010");
    // The calls are the same, but data sets hardly get any data.
    assert_stated(&columns(64), "DXT-V010", &json!({"file": "/data/a.h5"}));
}

/// Returns the JSON report on a synthetic process that appends records of 32 KiB, and rewrites the first 512 bytes after every `every`-th record.
fn with_header(every: u64) -> serde_json::Value {
    let mut one = process(-1, "n");
    for record in 0..60_u64 {
        let (from, at) = (record * 16 * MS, (512 + (record << 15)) as i64);
        one.write("/data/log", at, 1 << 15, from, from + 5 * MS);
        if record % every == 0 {
            one.write("/data/log", 0, 512, from + 5 * MS, from + 12 * MS);
        }
    }
    report(vec![one], 960)
}

#[test]
fn a_header_that_is_written_after_each_record_is_reported_rather_than_random_writes() {
    let found = with_header(1);
    let header = assert_stated(&found, "DXT-V029", &json!({"file": "/data/log", "offset": 0, "calls": 60}));
    assert_says(header, &["60 times", "60 other"]);
    assert!(text_has(&header["evidence"].to_string(), &["512 B"]), "{header}");
    assert_eq!(saves_ms(&found, "DXT-V029"), Some(412));
    assert_eq!(saves_ms(&found, "DXT-C009"), None);
    assert_eq!(saves_ms(&with_header(10), "DXT-V029"), None);
}

#[test]
fn a_state_that_is_written_in_place_is_reported_with_and_without_records() {
    for records in [0_u64, 20] {
        let mut one = process(-1, "n");
        for call in 0..800_u64 {
            one.write("/data/log", 0, 256, call * MS, (call + 1) * MS);
        }
        for record in 0..records {
            let from = (800 + record) * MS;
            one.write("/data/log", (256 + (record << 15)) as i64, 1 << 15, from, from + MS);
        }
        let found = report(vec![one], 800 + records);
        let header = assert_stated(&found, "DXT-V029", &json!({"file": "/data/log", "offset": 0, "calls": 800}));
        assert_says(header, &["800 times"]);
        assert_saves_ms(header, 795.0..=800.0);
    }
}

/// Blocks of 4 KiB are written twice each. If `before`, a read of the block comes before each write; else all are read back afterwards, twice.
#[test]
fn reads_that_writes_need_are_not_reported_as_data_read_back() {
    let run = |before: bool| {
        let (mut one, mut now) = (process(-1, "n"), 0);
        let mut call = |one: &mut Builder, op: u16, block: u64| {
            one.add("/data/nc", op, 0, (block * 4096) as i64, 4096, now, now + MS / 2);
            now += MS / 2;
        };
        for pass in 0..4_u64 {
            for block in 0..400 {
                if before && pass < 2 || !before && pass >= 2 {
                    call(&mut one, common::op::POSIX_READ, block);
                }
                if pass < 2 {
                    call(&mut one, common::op::POSIX_WRITE, block);
                }
            }
        }
        let found = report(vec![one], now / MS);
        assert_quiet(&found, "DXT-C026");
        saves_ms(&found, "DXT-V007")
    };
    assert_eq!([true, false].map(run), [Some(400), None]);
}

#[test]
fn hdf5_that_moves_a_buffer_for_each_element_is_reported() {
    let run = |elements: u64| {
        let mut one = process(-1, "n");
        for call in 0..100_u64 {
            let (from, bytes) = (call * 10 * MS, elements * 8);
            let at = (call << 17) as i64;
            one.add("/data/a.h5", common::op::POSIX_WRITE, IN_HDF5, at, 65536.max(bytes), from, from + 8 * MS);
            one.add("/data/a.h5", H5_WRITE, 0, -1, bytes, from, from + 9 * MS);
        }
        let (file, path) = (one.process.files.len() as u32 - 1, b"/x".to_vec());
        one.process.data_sets.push(DataSetDef {
            file,
            path,
            element_bytes: 8,
            extent: vec![100],
            accesses: Vec::new(),
        });
        report(vec![one], 1000)
    };
    let found = run(1);
    let facts = json!({"file": "/data/a.h5", "calls": 100, "bytes": 100 << 16});
    assert_says(assert_stated(&found, "DXT-V024", &facts), &["8,192 times"]);
    assert_eq!(saves_ms(&found, "DXT-V024"), Some(799));
    assert_eq!(saves_ms(&run(4096), "DXT-V024"), None, "fill values may take as much");
}

#[test]
fn a_small_buffer_of_a_c_stream_is_reported_by_the_calls_that_empty_it() {
    let run = |every: u64, empties_us: u64, disturbed: bool| {
        let mut one = process(-1, "n");
        let mut at = 0;
        for call in 0..4000_u64 {
            let takes = if call % every == every - 1 { empties_us * 1000 } else { 200 };
            // Some copies are interrupted for a little, and few calls stall.
            let takes = if disturbed && call % 9 == 1 { takes.max(3000) } else { takes };
            let takes = if disturbed && call % 2500 == 7 { 20 * MS } else { takes };
            one.add("/data/log", common::op::STDIO_WRITE, 0, (call * 96) as i64, 96, at, at + takes);
            at += takes + 20_000;
        }
        report(vec![one], at / MS)
    };
    let found = run(5, 1500, false);
    // A buffer of 480 bytes is emptied by 800 of 4,000 calls.
    assert_stated(&found, "DXT-V030", &json!({"calls": 800, "bytes": 800 * 480}));
    let saves = saves_ms(&found, "DXT-V030").unwrap_or(0);
    assert!((1150..=1200).contains(&saves), "{saves} of 1,200 ms");
    assert_eq!(saves_ms(&run(1000, 1500, false), "DXT-V030"), None, "a large one");
    // A buffer of 4 KiB, with interrupted copies and stalls: 93 calls empty it.
    let found = run(43, 1500, true);
    assert_saves_ms(assert_stated(&found, "DXT-V030", &json!({"bytes": 4000 * 96})), 125.0..=190.0);
}

#[test]
fn a_file_that_ranks_open_together_again_and_again_is_reported() {
    let run = |opens: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..20_u64 {
                let from = step * 50 * MS;
                if step < opens {
                    one.add("/out/field", MPIIO_OPEN, 0, -1, 0, from, from + 20 * MS);
                    one.add("/out/field", common::op::POSIX_OPEN, NESTED, -1, 0, from + MS, from + 6 * MS);
                }
                let (from, at) = (from + 20 * MS, ((step * 4 + rank) << 20) as i64);
                one.add("/out/field", MPIIO_WRITE, 0, at, 1 << 20, from, from + 10 * MS);
                one.add("/out/field", common::op::POSIX_WRITE, NESTED, at, 1 << 20, from, from + 10 * MS);
            }
            one
        };
        report((0..4).map(rank).collect(), 1000)
    };
    let found = run(20);
    let opens = assert_stated(&found, "DXT-C034", &json!({"file": "/out/field", "calls": 20}));
    assert_says(opens, &["4 processes", "MPI_File_open"]);
    let saves = saves_ms(&found, "DXT-C034").unwrap_or(0);
    assert!((370..=385).contains(&saves), "{saves} of 380 ms");
    assert_eq!(saves_ms(&run(1), "DXT-C034"), None);
}

#[test]
fn what_each_rank_reads_again_is_reported_before_that_all_read_it() {
    // Eight ranks read 24 MiB in each of ten steps: either the same bytes each time, or the next ones.
    let readers = |again: bool| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            for step in 0..10_u64 {
                for call in 0..24_u64 {
                    let from = step * 200 * MS + call * 6 * MS;
                    let at = ((if again { call } else { step * 24 + call }) << 20) as i64;
                    one.add(
                        "/lus/in",
                        op::POSIX_READ,
                        0,
                        at,
                        1 << 20,
                        from,
                        from + 5 * MS + (rank + call) % 3 * MS / 4,
                    );
                }
                one.add("", BARRIER, 0, 0, 0, step * 200 * MS + 145 * MS, step * 200 * MS + 146 * MS);
            }
            one
        };
        report((0..8).map(rank).collect(), 2000)
    };
    let found = readers(true);
    // Of 1,920 MiB, 90 % are read again.
    assert_stated(&found, "DXT-C024", &json!({"bytes": 1728 << 20}));
    let (again, shared) = (saves_ms(&found, "DXT-C024").unwrap_or(0), saves_ms(&found, "DXT-I004").unwrap_or(0));
    assert!((1100..=1350).contains(&again) && (60..=140).contains(&shared), "{again} {shared} of 1280 ms");
    let facts = json!({"file": "/lus/in", "bytes": 1920 << 20});
    assert_says(assert_found(&found, "DXT-I004", &facts), &["8 ranks", "24.0 MiB", "10.0 times"]);
    let found = readers(false);
    assert_says(assert_stated(&found, "DXT-I004", &facts), &["8 ranks", "240 MiB"]);
    assert_eq!(saves_ms(&found, "DXT-C024"), None);
}

#[test]
fn bytes_that_only_some_ranks_read_are_priced_by_these_ranks_reads() {
    // Eight ranks read 16 MiB each: all of their own parts, or the first `same` of them one part.
    let run = |ranks: u64, same: u64| {
        let rank = |rank: u64| {
            let mut one = process(rank as i32, "n");
            let part = if rank < same { 0 } else { rank };
            for call in 0..16_u64 {
                let from = (call * 40 + rank) * MS;
                let takes = 30 * MS + (rank * 7 + call * 3) % 10 * MS / 5;
                one.add("/lus/in", op::POSIX_READ, 0, ((part * 16 + call) << 20) as i64, 1 << 20, from, from + takes);
            }
            one.add("", BARRIER, 0, 0, 0, 16 * 40 * MS, 16 * 40 * MS + MS);
            one
        };
        report((0..ranks).map(rank).collect(), 650)
    };
    let found = run(2, 2);
    let both = assert_stated(&found, "DXT-I004", &json!({"file": "/lus/in", "processes": 2, "bytes": 32 << 20}));
    assert_saves_ms(both, 190.0..=260.0);
    assert_eq!(saves_ms(&run(2, 0), "DXT-I004"), None);
    // Others' reads of their own parts are no part of it.
    let saves = saves_ms(&run(8, 2), "DXT-I004").unwrap_or(0);
    assert!(saves < 100, "{saves}");
}
