//! HDF5 reads far more bytes than the program requests: chunks that exceed HDF5's chunk cache are reread for each piece of them, and
//! reading a column of a row-major dataset fetches whole rows.

use crate::cube::Cube;
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Least ratio of bytes read from storage to bytes requested by the program.
const MORE: u64 = 2;
/// Least excess of bytes read over bytes requested.
const LEAST: u64 = 1 << 20;

#[derive(Debug, Default)]
struct Found {
    /// Bytes of dataset elements that the program requests.
    asked: u64,
    /// Number of the program's dataset reads.
    calls: u64,
    /// Bytes that HDF5 requests from MPI-IO.
    of_mpi: u64,
    /// Bytes that system calls inside HDF5 read.
    moved: u64,
    savings: Savings,
    time_ns: f64,
}

/// Returns one claim (finding with its saving) per file.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| cell.class == Class::Read) {
        let Some(stream) = cube.stream(cell) else { continue };
        let found = by.entry(cell.file).or_default();
        match cube.layer(cell) {
            Some(Layer::Hdf5) => {
                add(&mut found.asked, cell.sums.bytes);
                add(&mut found.calls, cell.sums.calls);
            }
            Some(Layer::Mpiio) if stream.in_hdf5 => add(&mut found.of_mpi, cell.sums.bytes),
            _ if cell.leaf && stream.in_hdf5 => {
                add(&mut found.moved, cell.sums.bytes);
                found.time_ns += cell.time_ns();
                found.savings.push((index, cell.time_ns()));
            }
            _ => {}
        }
    }
    by.into_iter().filter_map(|(file, found)| claim(cube, file, found)).collect()
}

fn claim(cube: &Cube<'_>, file: FileId, mut found: Found) -> Option<Claim> {
    // Bytes that MPI-IO adds have findings of their own.
    let moved = if found.of_mpi > 0 { found.of_mpi } else { found.moved };
    let more = moved.checked_sub(found.asked)?;
    if found.asked == 0 || moved < found.asked.saturating_mul(MORE) || more < LEAST {
        return None;
    }
    let needless = more as f64 / moved as f64;
    found.savings.iter_mut().for_each(|(_, ns)| *ns *= needless);
    let name = cube.run.file(file)?.name.clone();
    let about = About { file: Some(name.clone()), calls: Some(found.calls), bytes: Some(moved), ..About::default() };
    let words = words::hdf5_amplified(&name, (found.asked, moved), found.calls, found.time_ns as u64, about);
    Some(Claim::new(Finding::new(Code::HDF5_AMPLIFIED, words), found.savings))
}
