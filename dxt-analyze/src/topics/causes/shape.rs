//! What costs the job time by the shape of its I/O, whoever does it: uneven shares, queues at few targets, waiting for locks, late ranks.

use super::claim::{Claim, files, finding};
use super::class::Class;
use super::grid::Grid;
use super::kind_of_file::dearest;
use super::late::late;
use super::locks::{SHARED_POINTER, for_shared_pointer, waited};
use super::phases::Gaps;
use super::queue::queues;
use super::replay::Shortened;
use super::shared_block::{SharedBlock, shared_blocks};
use super::small_calls::{filling, is_metadata, long_syncs, slow_metadata, syncs};
use super::tails::{Held, held};
use super::uneven::{Uneven, uneven};
use crate::findings::{About, Code, Evidence};
use crate::text::units as show;
use rustc_hash::FxHashSet;
use trace_format::op::Layer;

/// All of it.
#[must_use]
pub fn claims(grid: &Grid<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut out = all_uneven(grid);
    let mut blocks = shared_blocks(grid);
    let queues: Vec<_> = queues(grid).into_iter().filter(|queue| !is_of_block(&mut blocks, &queue.shortened)).collect();
    for queue in queues {
        let what = queue.class.plural();
        let targets =
            if queue.targets == 1 { format!("OST {}", queue.target) } else { format!("{} OSTs", queue.targets) };
        let title = format!(
            "{what} queue at {targets}: {:.0} in flight on each, and they take {:.1} times as long as the fastest",
            queue.in_flight, queue.slower
        );
        let hint = format!(
            "spread the files over more OSTs: `lfs setstripe -c {:.0} DIR` for shared files, `lfs setstripe -c 1 -i -1 DIR` for a file per rank",
            queue.enough
        );
        let about = About { ost: (queue.targets == 1).then_some(queue.target), ..About::default() };
        let evidence = Evidence::of(
            format!("{} used, {:.0} would do", show::counted(queue.targets as u64, "OST"), queue.enough),
            about,
        );
        let evidence = std::iter::once(evidence).chain(files(grid, &queue.shortened)).collect();
        out.push(Claim::new(finding(Code::FEW_TARGETS, title, evidence, &hint), queue.shortened));
    }
    for inside in [false, true] {
        let (calls, shortened) = waited(grid, inside);
        let time: f64 = shortened.iter().map(|(_, ns)| ns).sum();
        if time > 0.0 {
            let pointer = inside && for_shared_pointer(grid, &shortened);
            let whose = if inside { "MPI-IO waits" } else { "processes wait" };
            let what = if pointer { SHARED_POINTER } else { "file locks" };
            let title =
                format!("{whose} {} for {what}, in {}", show::duration(time as u64), show::counted(calls, "call"));
            let hint = if pointer {
                "ranks take the pointer one after another: give each an offset of its own (MPI_File_write_at, offsets by MPI_Exscan), or use MPI_File_write_ordered"
            } else if inside {
                "collective writes, or no data sieving on writes (hint romio_ds_write=disable), need no locks"
            } else {
                "lock the bytes that are written rather than the whole file, hold locks for less, or write through one process"
            };
            let evidence = files(grid, &shortened).into_iter().collect();
            let code = if inside { Code::LOCK_TIME } else { Code::LOCK_WAITS };
            out.push(Claim::new(finding(code, title, evidence, hint), shortened));
        }
    }
    out.extend(small(grid, blocks));
    out.extend(super::shared_records::claims(grid.run));
    out.extend(super::longer::claims(grid));
    out.extend(super::tiny::claims(grid));
    out.extend(super::past_cache::claims(grid));
    out.extend(super::asked_again::claim(grid));
    out.extend(super::many_files::claims(grid));
    out.extend(super::reopened::claim(grid));
    out.extend(super::rewritten::claim(grid));
    out.extend(super::independent::claims(grid));
    out.extend(super::seeks::claim(grid));
    out.extend(super::hdf5_amplified::claims(grid));
    out.extend(super::hdf5_reopened::claim(grid));
    out.extend(super::one_aggregator::claims(grid));
    out.extend(super::meeting_late::claim(grid));
    for held in held(grid) {
        let file = grid.run.file_name(held.file).to_owned();
        // What the slowest rank did in system calls meanwhile has findings of its own.
        let inside = grid.longest_inside(held.at, held.took_ns, held.file);
        let less = held.took_ns - held.usual_ns - inside;
        let (shortened, read, written) = meanwhile(grid, &held);
        let title = format!(
            "one collective {} held {} ranks for {}, {} after the job's start; such calls usually take {}",
            held.class.singular(),
            show::count(held.ranks as u64),
            show::duration(held.took_ns as u64),
            show::moment(held.at),
            show::duration(held.usual_ns as u64)
        );
        let words = format!(
            "on {file}; beneath it {} were read and {} written, at most {} of it by one rank",
            show::bytes(read),
            show::bytes(written),
            show::duration(inside as u64)
        );
        let about = About {
            file: Some(file),
            span_ns: Some((held.at, held.at.saturating_add(held.took_ns as u64))),
            ..About::default()
        };
        let hint = "see what this call does (the first or last on a file allocates, fills or flushes it: HDF5 fill values, H5Pset_alloc_time, \
                    metadata flushes), and whether it comes again";
        let claim =
            Claim::new(finding(Code::LONG_COLLECTIVE, title, vec![Evidence::of(words, about)], hint), shortened);
        out.push(Claim { waiting_ns: less.max(0.0), ..claim });
    }
    if let Some(late) = late(gaps) {
        let name = grid.run.process_name(late.process);
        let process = grid.run.process(late.process);
        let title = format!(
            "{name} comes late to {} of {} collective calls: {} after the one before, others after {}",
            show::count(late.last),
            show::count(late.calls),
            show::duration(late.own_ns as u64),
            show::duration(late.usual_ns as u64)
        );
        let about = About {
            rank: process.map(|process| process.rank).filter(|&rank| rank >= 0),
            node: process.map(|process| grid.run.node(process).to_owned()),
            calls: Some(late.calls),
            ..About::default()
        };
        let words = format!("all others wait {} in all for it", show::duration(late.saves_ns as u64));
        let hint = "give it less to compute, or see what slows its computing: the calls themselves are not slow";
        let claim = Claim::new(finding(Code::LATE_RANKS, title, vec![Evidence::of(words, about)], hint), Vec::new());
        out.push(Claim { waiting_ns: late.saves_ns, ..claim });
    }
    out
}

/// Part of what queues that reads of one block are, from which the others wait for these.
const OF_BLOCK: f64 = 0.5;

/// Whether a queue is one of reads of a block that all want; then what waits behind them is the block's.
fn is_of_block(blocks: &mut [SharedBlock], queue: &[(u32, f64)]) -> bool {
    let all: f64 = queue.iter().map(|(_, ns)| ns).sum();
    for block in blocks {
        let theirs: FxHashSet<u32> = block.shortened.iter().map(|(index, _)| *index).collect();
        let (mine, others): (Shortened, Shortened) = queue.iter().partition(|(index, _)| theirs.contains(index));
        if mine.iter().map(|(_, ns)| ns).sum::<f64>() >= all * OF_BLOCK {
            block.shortened.extend(others);
            return true;
        }
    }
    false
}

/// System calls inside a collective call that took long, and the bytes that they read and wrote, as far as slots tell.
fn meanwhile(grid: &Grid<'_>, held: &Held) -> (Shortened, u64, u64) {
    let slots = grid.slots.of(held.at)..=grid.slots.of(held.at.saturating_add(held.took_ns as u64));
    let (mut shortened, mut read, mut written) = (Shortened::new(), 0_u64, 0_u64);
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if entry.leaf && entry.inside && entry.file == held.file && slots.contains(&usize::from(entry.slot)) {
            shortened.push((index, entry.left_ns));
            match entry.class {
                Class::Read => read = read.saturating_add(entry.cell.bytes),
                Class::Write => written = written.saturating_add(entry.cell.bytes),
                _ => {}
            }
        }
    }
    (shortened, read, written)
}

/// Calls that cost by their number or their place.
fn small(grid: &Grid<'_>, blocks: Vec<SharedBlock>) -> Vec<Claim> {
    let mut out = Vec::new();
    for block in blocks {
        let file = grid.run.file_name(block.file).to_owned();
        let title = format!(
            "all ranks read the same {} at byte {} of {file}: {} reads by {}",
            show::bytes(block.range.1 - block.range.0),
            block.range.0,
            show::count(block.calls),
            show::processes(block.processes as u64)
        );
        let hint = "let one rank read it and broadcast it (MPI_Bcast), or read it collectively; HDF5: H5Pset_all_coll_metadata_ops";
        let about =
            About { file: Some(file), offset: Some(block.range.0), calls: Some(block.calls), ..About::default() };
        let words = "the block is small, and its server answers one after another".to_owned();
        out.push(Claim::new(
            finding(Code::COMMON_READS, title, vec![Evidence::of(words, about)], hint),
            block.shortened,
        ));
    }
    if let Some(found) = syncs(grid) {
        let (syncs, on) = (show::counted(found.syncs, "sync"), show::counted(found.files as u64, "file"));
        let what = match found.writes {
            0 => format!("{syncs} on {on} that no call writes (mapped files, or files that others write)"),
            writes => format!("{syncs} follow {} on {on}", show::counted(writes, "write")),
        };
        let streams = found.shortened.iter().filter_map(|(index, _)| grid.entries.get(*index as usize));
        let flushes =
            streams.clone().filter(|entry| grid.layer(entry) == Some(Layer::Stdio)).count() * 2 > streams.count();
        let (title, hint) = if flushes {
            (
                format!(
                    "{}: the stream's buffer is emptied again and again",
                    what.replace("syncs", "flushes").replace("sync", "flush")
                ),
                "do not flush a stream (fflush, std::endl, an unbuffered log) after each write: its buffer is written when it is full",
            )
        } else {
            (
                format!("{what}: data are forced to storage again and again"),
                "sync once, when a file is complete; do not flush a stream after each write",
            )
        };
        let evidence = files(grid, &found.shortened).into_iter().collect();
        out.push(Claim::new(finding(Code::SYNC_PER_WRITE, title, evidence, hint), found.shortened));
    }
    if let Some(found) = long_syncs(grid, grid.run.thresholds.uncovered_share) {
        let title = format!(
            "{} take {} in all, {} each: the program waits until its data are on storage",
            show::counted(found.syncs, "sync"),
            show::duration(found.time_ns as u64),
            show::duration((found.time_ns / found.syncs.max(1) as f64) as u64)
        );
        let hint = "sync only what must outlive a crash of the node, and while the program computes (a thread of its own); closing a file or ending the \
                    program needs no fsync";
        let evidence = files(grid, &found.shortened).into_iter().collect();
        out.push(Claim::new(finding(Code::SYNC_TIME, title, evidence, hint), found.shortened));
    }
    if let Some(found) = slow_metadata(grid) {
        let on = dearest(grid, &found.shortened, is_metadata);
        let title = format!(
            "metadata calls take {} each, {} most of it{}: {} in all",
            show::duration((found.time_ns / found.calls.max(1) as f64) as u64),
            found.most,
            on.map_or_else(String::new, |on| format!(", on {on}")),
            show::counted(found.calls, "call")
        );
        let hint = match found.most.as_str() {
            "stat" | "access" => {
                "ask fewer times, from fewer ranks (one rank, then broadcast): remember the answer, or list the folder once"
            }
            "unlink" | "rename" | "mkdir" | "rmdir" => {
                "make and remove fewer files: temporary ones in memory (/dev/shm) or in one file, old ones aside while the program computes"
            }
            "close" => {
                "close fewer files, and aside (a thread of its own): closing waits until what was written is on its way"
            }
            _ => {
                "open fewer files from fewer ranks (many small ones packed into one; one rank, then broadcast), and not all at once"
            }
        };
        let evidence = files(grid, &found.shortened).into_iter().collect();
        out.push(Claim::new(finding(Code::METADATA_SHARE, title, evidence, hint), found.shortened));
    }
    if let Some(found) = filling(grid) {
        let title = format!(
            "{} only fill up the blocks that {} change in part (read-modify-write of unaligned writes)",
            show::counted(found.reads, "small read"),
            show::counted(found.writes, "write")
        );
        let hint =
            "write whole blocks: align offsets and lengths to the file system's blocks or stripes (H5Pset_alignment)";
        let evidence = files(grid, &found.shortened).into_iter().collect();
        out.push(Claim::new(finding(Code::READ_MODIFY_WRITE, title, evidence, hint), found.shortened));
    }
    out
}

/// Shares of reads and of writes; of one process that has more than its share of both, one claim.
fn all_uneven(grid: &Grid<'_>) -> Vec<Claim> {
    let found = uneven(grid);
    match found.as_slice() {
        [reads, writes] if reads.most.0 == writes.most.0 => {
            let (one, other) = if reads.one >= writes.one { (reads, writes) } else { (writes, reads) };
            let (mut claim, also) = (of_uneven(grid, one), of_uneven(grid, other));
            let name = grid.run.process_name(one.most.0);
            claim.finding.title = format!("{name} {} and {}, and the others wait", has(one), has(other));
            claim.finding.evidence.extend(also.finding.evidence);
            claim.shortened.extend(also.shortened);
            vec![claim]
        }
        _ => found.iter().map(|found| of_uneven(grid, found)).collect(),
    }
}

/// What a process does more of than others.
fn has(found: &Uneven) -> String {
    let does = if found.class == Class::Read { "reads" } else { "writes" };
    if found.one {
        format!("{does} {:.0} % of the bytes", found.most.1 as f64 * 100.0 / found.bytes.max(1) as f64)
    } else {
        format!("{does} {:.1} times the mean", found.most.1 as f64 * found.processes as f64 / found.bytes.max(1) as f64)
    }
}

fn of_uneven(grid: &Grid<'_>, found: &Uneven) -> Claim {
    let name = grid.run.process_name(found.most.0);
    let process = grid.run.process(found.most.0);
    let does = if found.class == Class::Read { "reads" } else { "writes" };
    let share = found.most.1 as f64 * 100.0 / found.bytes.max(1) as f64;
    let times = found.most.1 as f64 * found.processes as f64 / found.bytes.max(1) as f64;
    let all = if process.is_some_and(|process| process.rank >= 0) { "ranks" } else { "processes" };
    let about = About {
        rank: process.map(|process| process.rank).filter(|&rank| rank >= 0),
        node: process.map(|process| grid.run.node(process).to_owned()),
        bytes: Some(found.most.1),
        ..About::default()
    };
    let words = format!(
        "{} of {}, shared by {}",
        show::bytes(found.most.1),
        show::bytes(found.bytes),
        show::processes(found.processes)
    );
    let evidence = std::iter::once(Evidence::of(words, about)).chain(files(grid, &found.shortened)).collect();
    let (code, title, hint) = if found.one {
        (
            Code::ONE_RANK,
            format!("{name} {does} {share:.0} % of the bytes while the others wait"),
            "let all ranks take part: collective MPI-IO, or a parallel form of the library's calls",
        )
    } else {
        (
            Code::BYTE_IMBALANCE,
            format!("{name} {does} {times:.1} times as much as the mean of all {all}, and the others wait"),
            "share the bytes out evenly: another decomposition, or collective MPI-IO",
        )
    };
    Claim::new(finding(code, title, evidence, hint), found.shortened.clone())
}
