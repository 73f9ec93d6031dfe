//! HDF5 moves far more bytes than the program requests: chunks that its cache cannot hold are loaded, and written back, for each call that
//! touches them; columns of a row-major data set bring whole rows; few elements of a data set without chunks bring a sieve buffer.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, DataSet, FileId, ProcessId, Run};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Calls of one direction (reads or writes), and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    calls: u64,
    bytes: u64,
}

impl Traffic {
    fn add(&mut self, cell: &Cell) {
        add(&mut self.calls, cell.sums.calls);
        add(&mut self.bytes, cell.sums.bytes);
    }
}

/// Reads (or writes) of a file through HDF5, at three layers: program, MPI-IO, system calls.
#[derive(Debug, Default)]
struct Way {
    /// Transfers of data set elements that the program requests from HDF5.
    asked: Traffic,
    /// Requests of HDF5 to MPI-IO.
    of_mpi: Traffic,
    /// System calls that move bytes inside HDF5.
    moved: Traffic,
    savings: Savings,
}

impl Way {
    /// Returns the calls and bytes that HDF5 moves: its MPI-IO calls if it makes any, else its system calls. (Bytes that MPI-IO adds have
    /// findings of their own.)
    const fn through(&self) -> Traffic {
        if self.of_mpi.bytes > 0 { self.of_mpi } else { self.moved }
    }
}

#[derive(Debug, Default)]
struct Found {
    reads: Way,
    writes: Way,
    /// Number of flushes of the file by the program.
    flushes: u64,
    /// True if the run creates a data set in the file: its chunks need not be read before they are written.
    creates: bool,
    /// File offset of the end of the last byte that HDF5 moves.
    until: u64,
    /// By process: time of the program's HDF5 reads and writes outside of the system calls inside them, ns.
    outside_ns: BTreeMap<ProcessId, f64>,
}

/// Chunks of the data set of a file with most transferred elements, and the cache that HDF5 keeps for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks<'a> {
    pub(crate) set: &'a DataSet,
    /// Bytes of one chunk of the data set.
    pub(crate) bytes: u64,
    /// Number of chunks that the cache holds; `None` if unknown.
    pub(crate) held: Option<u64>,
    /// Mean number of chunks that HDF5 moves for one call of the program.
    pub(crate) touched: u64,
}

impl Chunks<'_> {
    /// True if the cache of chunks is known to be too small for the chunks of one call.
    pub(crate) fn exceed_cache(&self) -> bool {
        self.held.is_some_and(|held| held < self.touched)
    }

    /// Returns the size of a chunk cache that holds the chunks of one call: a power of two, in bytes.
    pub(crate) fn wanted_bytes(&self) -> u64 {
        self.touched.saturating_mul(self.bytes).checked_next_power_of_two().unwrap_or(u64::MAX)
    }

    /// Returns the dimension along which the calls run: its extent equals the elements per call, and its number of chunks the chunks
    /// touched per call. `None` if no dimension fits.
    pub(crate) fn along(&self) -> Option<usize> {
        let calls = self.set.reads.selections.iter().chain(&self.set.writes.selections).sum::<u64>();
        let each = self.set.reads.elements.saturating_add(self.set.writes.elements).checked_div(calls)?;
        let is = |(extent, chunk): (&u64, &u64)| *extent == each && extent.div_ceil((*chunk).max(1)) == self.touched;
        // Takes the last of equal dimensions: rows are more common than columns.
        self.set.extent.iter().zip(&self.set.chunk).rposition(is)
    }
}

/// Returns one claim (finding with its saving) per file of which HDF5 moves far more bytes than the program requests.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    by_file(cube, |_| true).into_iter().filter_map(|(file, found)| claim(cube, file, found)).collect()
}

/// Returns the chunks that HDF5 moves for the program's calls on `file`; `None` if no chunks of its data sets are on record.
pub(crate) fn chunks<'a>(cube: &Cube<'a>, file: FileId) -> Option<Chunks<'a>> {
    of_file(cube.run, file, by_file(cube, |of| of == file).get(&file)?)
}

fn by_file(cube: &Cube<'_>, is: impl Fn(FileId) -> bool) -> BTreeMap<FileId, Found> {
    let mut by: BTreeMap<FileId, Found> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell.file)) {
        let (Some(stream), layer) = (cube.stream(cell), cube.layer(cell)) else { continue };
        let found = by.entry(cell.file).or_default();
        found.creates |= layer == Some(Layer::Hdf5) && cube.run.op(stream).name == "create_dataset";
        let way = match cell.class {
            Class::Read => &mut found.reads,
            Class::Write => &mut found.writes,
            Class::Sync if layer == Some(Layer::Hdf5) => {
                add(&mut found.flushes, cell.sums.calls);
                continue;
            }
            _ => continue,
        };
        let outside_ns = found.outside_ns.entry(cell.process).or_default();
        match layer {
            Some(Layer::Hdf5) => {
                *outside_ns += cell.time_ns();
                way.asked.add(cell);
            }
            Some(Layer::Mpiio) if stream.in_hdf5 => way.of_mpi.add(cell),
            _ if cell.leaf && stream.in_hdf5 => {
                *outside_ns -= cell.time_ns();
                way.moved.add(cell);
                way.savings.push((index, cell.time_ns()));
                found.until = found.until.max(cell.sums.range.1);
            }
            _ => {}
        }
    }
    by
}

fn of_file<'a>(run: &'a Run, file: FileId, found: &Found) -> Option<Chunks<'a>> {
    let sets = run.data_sets.iter().filter(|set| set.file == file && !set.chunk.is_empty() && set.element_bytes > 0);
    let set = sets.max_by_key(|set| set.reads.elements.saturating_add(set.writes.elements))?;
    let bytes = volume(&set.chunk, set.element_bytes);
    // A chunk that is loaded for a write is written back: the other loads are those of reads.
    let of_reads = found.reads.moved.calls.saturating_sub(found.writes.moved.calls);
    let each = |calls: u64, way: &Way| if way.asked.calls > 0 { calls as f64 / way.asked.calls as f64 } else { 0.0 };
    let touched = each(of_reads, &found.reads).max(each(found.writes.moved.calls, &found.writes)).round() as u64;
    let held = (set.cache_bytes > 0).then(|| set.cache_bytes / bytes.max(1));
    Some(Chunks { set, bytes, held, touched })
}

fn volume(shape: &[u64], element_bytes: u32) -> u64 {
    shape.iter().fold(element_bytes.into(), |all: u64, n| all.saturating_mul(*n))
}

/// Returns the bytes of all chunks of a data set, with chunks at the edges counted as whole.
fn in_chunks(set: &DataSet) -> u64 {
    let whole = |(extent, chunk): (&u64, &u64)| extent.div_ceil((*chunk).max(1)).saturating_mul(*chunk);
    volume(&set.extent.iter().zip(&set.chunk).map(whole).collect::<Vec<_>>(), set.element_bytes)
}

/// Returns the bytes that HDF5 would read and write if it moved each chunk once for each time that the program transfers the whole file;
/// `None` if chunks are not on record. `found`: the file's traffic through HDF5.
fn once(run: &Run, file: FileId, found: &Found) -> Option<(u64, u64)> {
    let sets = || run.data_sets.iter().filter(|set| set.file == file && !set.chunk.is_empty());
    let all = sets().map(in_chunks).fold(0, u64::saturating_add);
    // Compressed chunks take less of the file than their elements.
    let stored = if found.until > 0 { all.min(found.until) } else { all };
    let times = |way: &Way| (way.asked.bytes as f64 / all.max(1) as f64).max(1.0);
    let of = |way: &Way| if way.asked.bytes > 0 { (stored as f64 * times(way)) as u64 } else { 0 };
    let (mut reads, writes) = (of(&found.reads), of(&found.writes));
    if reads == 0 && !found.creates {
        reads = writes;
    }
    (all > 0).then_some((reads, writes))
}

fn claim(cube: &Cube<'_>, file: FileId, found: Found) -> Option<Claim> {
    let (least, run) = (&cube.run.thresholds, cube.run);
    let much = |moved: u64, needed: u64| {
        moved as f64 >= needed as f64 * least.hdf5_amplification
            && moved.saturating_sub(needed) >= least.traffic_min_bytes
    };
    // A file that is flushed after every few writes has its chunks written for that reason: another finding.
    let flushed = found.flushes >= least.calls_min
        && found.flushes.saturating_mul(least.repeated_min) >= found.writes.asked.calls;
    let [read, written] = [&found.reads, &found.writes].map(|way| way.through().bytes);
    let both = read.saturating_add(written);
    let again = once(run, file, &found).filter(|(reads, writes)| {
        !flushed && much(both, reads.saturating_add(*writes)) && found.reads.asked.bytes + found.writes.asked.bytes > 0
    });
    // Without chunks on record, or if each is moved once, bytes are compared with those that the program requests.
    let mut sets = run.data_sets.iter().filter(|set| set.file == file).peekable();
    let contiguous = sets.peek().is_some() && sets.all(|set| set.chunk.is_empty());
    // Small transfers are of HDF5's metadata.
    let large = |way: &Way| way.through().bytes >= way.through().calls.saturating_mul(least.metadata_bytes);
    let of_writes = || {
        let (way, calls) = (&found.writes, found.writes.asked.calls);
        // Fill values may be written before the program's elements are.
        let asked = way.asked.bytes.saturating_mul(2);
        let each = (calls / 2..=calls.saturating_mul(2)).contains(&way.through().calls);
        let is = !flushed && contiguous && calls >= least.calls_min && each && large(way) && much(written, asked);
        is.then_some((read, way.asked.bytes))
    };
    let of_reads = || {
        let asked = found.reads.asked.bytes;
        (asked > 0 && large(&found.reads) && much(read, asked)).then_some((asked, written))
    };
    let sieved = if again.is_none() { of_writes() } else { None };
    let (is_again, is_sieved) = (again.is_some() || sieved.is_some(), sieved.is_some());
    let (reads, writes) = again.or(sieved).or_else(of_reads)?;
    let chunks = of_file(run, file, &found).filter(|_| is_again && !is_sieved);
    let calls = found.reads.asked.calls + if is_again { found.writes.asked.calls } else { 0 };
    let asked = found.reads.asked.bytes + if is_again { found.writes.asked.bytes } else { 0 };
    let moved = if is_again { both } else { read };
    let (mut time_ns, mut needless_ns) = (0.0, 0.0);
    let mut savings = Savings::new();
    for (way, once) in [(found.reads, reads), (found.writes, writes)] {
        let all = way.through().bytes;
        let needless = 1.0 - once.min(all) as f64 / all.max(1) as f64;
        if needless > 0.0 {
            time_ns += way.savings.iter().map(|(_, ns)| ns).sum::<f64>();
            savings.extend(way.savings.into_iter().map(|(index, ns)| (index, ns * needless)));
            needless_ns = savings.iter().map(|(_, ns)| ns).sum();
        }
    }
    // Chunks that are loaded again are decompressed and converted again. (Ranks may wait for each other in HDF5 calls.)
    let part = if is_again && !is_sieved && run.ranks() < 2 { needless_ns / time_ns.max(1.0) } else { 0.0 };
    let outside = || found.outside_ns.values().map(|ns| ns.max(0.0) * part);
    let (waiting_ns, outside_ns) = (outside().fold(0.0, f64::max), outside().sum());
    let name = run.file(file)?.name.clone();
    let about = About { file: Some(name.clone()), calls: Some(calls), bytes: Some(moved), ..About::default() };
    let of = words::Amplified {
        file: &name,
        asked,
        moved,
        written: if is_again { written } else { 0 },
        sieved: is_sieved,
        calls,
        time_ns: time_ns as u64,
        chunks: chunks.filter(|chunks| chunks.exceed_cache()).map(|chunks| words::TooManyChunks {
            held: chunks.held.unwrap_or_default(),
            touched: chunks.touched,
            bytes: chunks.bytes,
            cache_bytes: chunks.set.cache_bytes,
            wanted_bytes: chunks.wanted_bytes(),
        }),
    };
    let finding = Finding::new(Code::HDF5_AMPLIFIED, words::hdf5_amplified(&of, about));
    Some(Claim { waiting_ns, outside_ns, ..Claim::new(finding, savings) })
}
