//! Tests of counters mode under MPICH and Open MPI for files shared by some of the ranks, with or without rank 0. The common record
//! includes these files and lists the ranks. No call is counted twice or lost.

use crate::calls_of_a_flush::{at_most_eight, program};
use crate::counters_mpi::{BOTH, calls, counters, run};
use crate::harness::{Launch, ProcessTrace, Scratch, Traces, workload_with};
use std::path::{Path, PathBuf};
use trace_format::spread::Spread;

fn common(traces: &Traces) -> Option<&ProcessTrace> {
    traces.processes.iter().find(|process| process.reduced.0 > 0)
}

fn spread(traces: &Traces, layer: &str, file: &Path) -> Option<Spread> {
    common(traces)?.reduced.1.get(&(layer.to_owned(), file.display().to_string())).copied()
}

/// Returns the path of the file of one half of the ranks (`half`: 0 or 1) whose path is too long for one rank to send to another.
fn deep(data: &Path, half: u32) -> PathBuf {
    (0..3).fold(data.to_owned(), |path, i| path.join(format!("{i:0200}"))).join(format!("deep.{half}"))
}

/// Asserts that writes to each file are counted exactly once: to files used by all four ranks, to files used by either half of the ranks,
/// and to each rank's own file. `what`: text of the failure message.
fn reported_once(traces: &Traces, data: &Path, what: &str) {
    let writes = |path: &Path| traces.totals(&["POSIX"], "write", path);
    assert_eq!(writes(&data.join("all.0")), (46, 4600), "{what}");
    for (half, of_half) in [(0, 3), (1, 7)] {
        assert_eq!(writes(&data.join(format!("half.{half}"))), (of_half, of_half * 50), "{what}");
        assert_eq!(traces.totals(&["POSIX"], "read", &data.join(format!("half.{half}"))), (1, 1), "{what}");
        assert_eq!(writes(&deep(data, half)), (2, 10), "{what}");
    }
    assert_eq!(traces.totals(&["MPIIO"], "write", &data.join("part")), (2, 200), "{what}");
    for rank in 0..4 {
        assert_eq!(calls(traces, rank, "POSIX", "write", &data.join(format!("own.{rank}"))), (1, 7), "{what}");
    }
}

#[test]
fn files_of_some_ranks_are_in_the_common_record() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (traces, _) = run(&scratch, mpi, 4, "subsets", "collective");
        let data = scratch.data();
        assert_eq!(traces.files.len(), 1);
        reported_once(&traces, &data, &format!("{mpi:?}"));
        let record = common(&traces).expect("a common record");
        assert_eq!((record.info.rank, record.info.pid, record.reduced.0), (-1, 0, 4));

        let shared = [("all.0", 0..4, 100, 10), ("half.0", 0..2, 50, 1), ("half.1", 2..4, 50, 1)];
        for (name, ranks, length, base) in shared {
            let path = data.join(name);
            let (count, last) = (ranks.len() as u32, ranks.end - 1);
            let of_rank = |rank: u32| length * (base + u64::from(rank)) + u64::from(base == 1 && rank == last);
            let all: u64 = ranks.clone().map(of_rank).sum();
            let found = spread(&traces, "POSIX", &path).expect("a spread");
            assert_eq!(found.ranks, count, "{mpi:?} {name}");
            for share in [found.fastest, found.slowest] {
                assert!(ranks.contains(&share.rank), "{mpi:?} {name}: {found:?}");
                assert_eq!(share.bytes, of_rank(share.rank), "{mpi:?} {name}: {found:?}");
            }
            assert!(found.fastest.time_ns <= found.slowest.time_ns);
            assert!((found.bytes.mean * f64::from(count) - all as f64).abs() < 1e-6, "{mpi:?} {name}: {found:?}");
            let writes = counters(&traces, -1, "POSIX", "write", &path).expect("writes");
            let read = counters(&traces, -1, "POSIX", "read", &path).map_or(0, |reads| reads.bytes);
            assert_eq!(writes.bytes + read, all, "{mpi:?} {name}");
            assert_eq!(writes.min_offset, i64::from(ranks.start) * 4096);
            let end = (i64::from(base as u32 + last) - 1) * 64 * 4096 + i64::from(last) * 4096 + length as i64;
            assert_eq!(writes.max_end_offset, end, "{mpi:?} {name}");
            let opens = u64::from(count) + u64::from(base == 1);
            assert_eq!(calls(&traces, -1, "POSIX", "close", &path).0, opens, "{mpi:?} {name}");
            let profile = record.profiles[&("POSIX".to_owned(), path.display().to_string())];
            assert_eq!(profile.accesses, writes.segments + u64::from(base == 1), "{mpi:?} {name}");
            let def = record.paths.iter().zip(&record.block.files).find(|(reported, _)| Path::new(reported) == path);
            let (inode, kind) = def.map(|(_, def)| (def.inode, u32::from(def.kind))).expect("a description");
            let is = std::fs::metadata(&path).expect("the file is there");
            assert_eq!((inode, kind), (std::os::unix::fs::MetadataExt::ino(&is), 1), "{mpi:?} {name}");
            let (info, sync) = (&record.info, record.info.sync_ns.expect("an aligned clock"));
            assert!(sync <= writes.first_start && writes.last_end <= info.end_ns, "{writes:?} {info:?}");
            for rank in 0..4 {
                assert_eq!(calls(&traces, rank, "POSIX", "write", &path), (0, 0), "{mpi:?} {name} rank {rank}");
            }
        }
        // A path too long to be sent stays in its rank's record, unless rank 0 has the file.
        assert_eq!(spread(&traces, "POSIX", &deep(&data, 0)).map(|spread| spread.ranks), Some(2));
        assert_eq!(spread(&traces, "POSIX", &deep(&data, 1)), None);
        for rank in 0..4 {
            let expected = if rank < 2 { (0, 0) } else { (1, 5) };
            assert_eq!(calls(&traces, rank, "POSIX", "write", &deep(&data, 1)), expected, "{mpi:?} rank {rank}");
            assert_eq!(spread(&traces, "POSIX", &data.join(format!("own.{rank}"))), None);
        }

        let part = data.join("part");
        assert_eq!(spread(&traces, "MPIIO", &part).map(|spread| spread.ranks), Some(2), "{mpi:?}");
        // The lowest rank that opened the file provides the data that cannot be reduced.
        let asked = traces.processes.iter().flat_map(|process| {
            let hints =
                process.block.hints.iter().filter(|hint| hint.key == b"cb_buffer_size" && u32::from(hint.origin) == 0);
            hints.map(|hint| (process.info.rank, process.paths[hint.file as usize].clone(), hint.value.clone()))
        });
        let expected = (2, part.display().to_string(), b"65536".to_vec());
        assert_eq!(asked.collect::<Vec<_>>(), [expected], "{mpi:?}");
    }
}

#[test]
fn more_files_than_have_room_stay_with_their_ranks() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (traces, _) = run(&scratch, mpi, 4, "crowd", "collective");
        let mut reduced = 0;
        for i in 0..60 {
            let part = scratch.data().join(format!("part.{i}"));
            let ranks = spread(&traces, "POSIX", &part).map(|spread| spread.ranks);
            assert!(ranks.is_none_or(|ranks| ranks == 3), "{mpi:?}: part.{i} of {ranks:?} ranks");
            reduced += usize::from(ranks.is_some());
            let of_each = if ranks.is_some() { (0, 0) } else { (1, 1) };
            for rank in 1..4 {
                assert_eq!(calls(&traces, rank, "POSIX", "write", &part), of_each, "{mpi:?} rank {rank} part.{i}");
            }
            assert_eq!(traces.totals(&["POSIX"], "write", &part), (3, 3));
        }
        // 960 files compete for 256 places; the names decide which files get one.
        println!("{mpi:?}: {reduced} of 60 files found room");
        assert!((1..60).contains(&reduced), "{mpi:?}: {reduced}");
        for (rank, i) in (1..4).flat_map(|rank| (0..300).map(move |i| (rank, i))) {
            let own = scratch.data().join(format!("own.{}", rank * 1000 + i));
            assert_eq!(calls(&traces, rank, "POSIX", "write", &own), (1, 7), "{mpi:?} rank {rank}");
        }
    }
}

#[test]
fn where_one_rank_keeps_segments_nothing_is_reduced() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("counters_mpi", mpi, &["-O1"]);
        let script = scratch.root().join("start.sh");
        let text = "#!/bin/sh\nrank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\n\
                    [ $rank != 3 ] || DXT_ENABLE=trace\nexport DXT_ENABLE\nexec \"$@\"\n";
        std::fs::write(&script, text).expect("failed to write a script");
        let launch = Launch::new(&scratch, "/bin/sh").arg(&script).arg(program).arg(scratch.data()).arg("subsets");
        let launch = launch.ranks(mpi, 4).env("DXT_ENABLE", "counters").env("DXT_INCLUDE", scratch.data());
        let outcome = launch.env("OMPI_MCA_io", "^ompio").run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert!(common(&traces).is_none(), "{mpi:?}");
        assert_eq!(calls(&traces, 2, "POSIX", "write", &scratch.data().join("half.1")), (3, 150), "{mpi:?}");
        let writes = traces.totals(&["POSIX"], "write", &scratch.data().join("half.1"));
        assert_eq!(writes, (7, 350), "{mpi:?}");
    }
}

#[test]
fn whichever_call_fails_on_one_rank_everything_is_reported_once() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for call in [
            "none:0",
            "Op_create:1",
            "Type_contiguous:1",
            "Allreduce:1",
            "Allreduce:2",
            "Reduce:1",
            "Allreduce:3",
            "Exscan:1",
            "Allreduce:4",
        ] {
            for rank in ["0", "3"] {
                let scratch = Scratch::new();
                let launch = program(&scratch, mpi, 4, "subsets").env("DXT_ENABLE", "counters");
                let outcome = launch.env("FAILING", call).env("FAILING_RANK", rank).run();
                let made = at_most_eight(&outcome, 4);
                let traces = Traces::read(&scratch.traces());
                let what = format!("{mpi:?} {call} on rank {rank}");
                println!("{what}: {} files", traces.files.len());
                reported_once(&traces, &scratch.data(), &what);
                if call == "none:0" {
                    let expected = "Bcast Allreduce Allreduce Reduce Allreduce Exscan Allreduce Allreduce";
                    assert_eq!(made.join(" "), expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_hashed_name_is_reported_by_one_rank_to_another_as_it_is_written() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let key = scratch.root().join("key");
        std::fs::write(&key, "a key of enough bytes").expect("failed to write a key");
        let program = workload_with("counters_mpi", mpi, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("subsets").ranks(mpi, 4);
        let launch = launch.env("DXT_ENABLE", "counters").env("DXT_INCLUDE", scratch.data());
        let outcome = launch.env("OMPI_MCA_io", "^ompio").env("DXT_ANONYMIZE", &key).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let record = common(&traces).expect("a common record");
        let of_two = record.reduced.1.iter().filter(|((layer, _), spread)| layer == "POSIX" && spread.ranks == 2);
        // Two files of each half (including long names, since hashes are shorter), and possibly the upper half's file used by MPI-IO.
        assert!((4..=5).contains(&of_two.count()), "{mpi:?}: {:?}", record.reduced.1);
        assert!(!format!("{:?}", record.paths).contains("half"), "{mpi:?}: {:?}", record.paths);
        let bytes: u64 = record
            .missing
            .iter()
            .filter(|one| one.op.name == "write" && one.op.layer == "POSIX" && !one.nested)
            .map(|one| one.counters.bytes)
            .sum();
        assert!(bytes >= 4600 + 150 + 350 + 10, "{mpi:?}: {bytes}");
    }
}
