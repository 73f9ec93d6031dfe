//! File locks that ranks wait for: a lock that nobody holds is taken at once.

use super::class::Class;
use super::grid::Grid;
use super::replay::Shortened;

/// Time that a lock takes that nobody holds, ns: a round trip to a lock server.
const FREE_NS: f64 = 200_000.0;

/// In the names of the hidden files that hold shared file pointers (ROMIO).
const POINTER_FILE: &str = ".shfp.";
/// What is waited for there.
pub const SHARED_POINTER: &str = "the lock of a shared file pointer";

/// Whether most of the waiting is for a shared file pointer.
#[must_use]
pub fn for_shared_pointer(grid: &Grid<'_>, shortened: &[(u32, f64)]) -> bool {
    let is = |index: u32| {
        let entry = grid.entries.get(index as usize);
        entry.is_some_and(|entry| grid.run.file_name(entry.file).contains(POINTER_FILE))
    };
    let all: f64 = shortened.iter().map(|(_, ns)| ns).sum();
    shortened.iter().filter(|(index, _)| is(*index)).map(|(_, ns)| ns).sum::<f64>() > all / 2.0
}

/// What waiting for locks costs: those that the program takes, and those that MPI-IO takes.
#[must_use]
pub fn waited(grid: &Grid<'_>, inside: bool) -> (u64, Shortened) {
    let mut calls = 0_u64;
    let mut shortened = Shortened::new();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if entry.leaf && entry.class == Class::Lock && entry.inside == inside {
            calls = calls.saturating_add(entry.cell.calls);
            let more = entry.left_ns - FREE_NS * entry.cell.calls as f64;
            if more > 0.0 {
                shortened.push((index, more));
            }
        }
    }
    (calls, shortened)
}
