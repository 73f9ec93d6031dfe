//! Waits for file locks: a lock that nobody holds is granted at once, so longer times are waits for its holder.

use crate::cube::{Cell, Cube};
use crate::findings::{Code, Reason};
use crate::model::{Class, FileId};
use crate::replay::Savings;
use crate::topics::causes::claim::Claim;
use crate::words::shape::{self as words, Locks};
use std::collections::BTreeSet;

/// Substring in the names of ROMIO's hidden files, which hold shared file pointers.
const POINTER_FILE: &str = ".shfp.";

/// Returns one claim (finding with its saving) for locks that the program takes and one for locks that MPI-IO takes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let mut out = Vec::new();
    for inside in [false, true] {
        let (calls, savings) = waited(cube, inside);
        let time: f64 = savings.iter().map(|(_, ns)| ns).sum();
        if time > 0.0 {
            let pointer = inside && for_shared_pointer(cube, &savings);
            let each = inside && !pointer && around_each_call(cube, &savings);
            let locks = match (pointer, each, inside) {
                (true, ..) => Locks::SharedPointer,
                (_, true, _) => Locks::EachCall,
                (.., true) => Locks::MpiIo,
                (.., false) => Locks::Program,
            };
            let code = if inside { Code::LOCK_TIME } else { Code::LOCK_WAITS };
            let words = |lost| words::lock_waits(locks, time, calls, lost);
            let mut claim = Claim::on_files(cube, code, savings, words);
            claim.finding.about.reason = match locks {
                Locks::SharedPointer => Some(Reason::SharedFilePointer),
                Locks::EachCall => Some(Reason::AtomicMode),
                Locks::MpiIo | Locks::Program => None,
            };
            out.push(claim);
        }
    }
    out
}

/// True if MPI-IO takes a lock around each read or write (atomic mode, NFS) of the files with waits for locks (`savings`, ns by cell). Data
/// sieving locks, too, but reads what it then writes.
fn around_each_call(cube: &Cube<'_>, savings: &[(u32, f64)]) -> bool {
    let files: BTreeSet<FileId> =
        savings.iter().filter_map(|(index, _)| Some(cube.cells.get(*index as usize)?.file)).collect();
    let calls = |class: Class| {
        let of = |cell: &&Cell| cell.leaf && cell.inside && cell.class == class && files.contains(&cell.file);
        cube.cells.iter().filter(of).fold(0_u64, |sum, cell| sum.saturating_add(cell.sums.calls))
    };
    let (reads, writes, locks) = (calls(Class::Read), calls(Class::Write), calls(Class::Lock));
    let each = reads.saturating_add(writes) > 0 && locks.saturating_mul(2) >= reads.saturating_add(writes);
    each && (reads <= writes / cube.run.thresholds.few_min || writes == 0)
}

/// True if most of the waiting time for locks (`savings`, ns by cell) is for the lock of a shared file pointer.
fn for_shared_pointer(cube: &Cube<'_>, savings: &[(u32, f64)]) -> bool {
    let is = |index: u32| {
        let cell = cube.cells.get(index as usize);
        cell.is_some_and(|cell| cube.run.file_name(cell.file).contains(POINTER_FILE))
    };
    let all: f64 = savings.iter().map(|(_, ns)| ns).sum();
    savings.iter().filter(|(index, _)| is(*index)).map(|(_, ns)| ns).sum::<f64>() > all / 2.0
}

/// Returns the number of locks taken by the program (or, if `inside`, by MPI-IO), and their time in excess of `server_ns` each, ns by cell
/// (group of similar calls).
fn waited(cube: &Cube<'_>, inside: bool) -> (u64, Savings) {
    let mut calls = 0_u64;
    let mut savings = Savings::new();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        if cell.leaf && cell.class == Class::Lock && cell.inside == inside {
            calls = calls.saturating_add(cell.sums.calls);
            let more = cell.time_ns() - cube.run.thresholds.server_ns * cell.sums.calls as f64;
            if more > 0.0 {
                savings.push((index, more));
            }
        }
    }
    (calls, savings)
}
