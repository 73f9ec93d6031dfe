//! All ranks write one file. Each encodes its own part; one Exscan tells where it goes; two collective writes put the
//! parts and the index entries there; all agree on the outcome. A rank whose own part failed still joins every call.
//!
//! The preamble (header, job block) goes with rank 0's part and the trailer with the last rank's index entry, so nobody
//! writes alone, and no rank ever holds what grows with the number of ranks.

use super::counted::Counted;
use super::gather::{Gathered, all_notes};
use super::{names, output, reduce};
use crate::clock;
use crate::config::Config;
use crate::describe;
use crate::mounts::mounts;
use crate::mpi::{Handle, SUCCESS, World, api};
use crate::record;
use crate::say::say;
use crate::stack;
use std::ffi::{CStr, CString};
use trace_format::frame::{INDEX_ENTRY_BYTES, IndexEntry};
use trace_format::meta::Job;
use trace_format::write::{Encoder, Region, preamble, trailer};

/// Most bytes of one collective write call and rank: counts are C ints.
const ROUND_BYTES: usize = 1 << 30;
/// Most bytes of the output path.
const PATH_BYTES: usize = 4096;

/// What this rank contributes.
struct Part {
    preamble: Vec<u8>,
    regions: Vec<Region>,
}

impl Part {
    fn bytes(&self) -> usize {
        self.preamble.len() + self.regions.iter().map(|region| region.bytes.len()).sum::<usize>()
    }

    /// Its bytes and its index entries, for a part that begins at `before`.
    fn laid_out(self, before: u64) -> (Vec<u8>, Vec<u8>) {
        let (mut body, mut index) = (self.preamble, Vec::new());
        for region in self.regions {
            index.extend_from_slice(&IndexEntry { offset: before + body.len() as u64, ..region.entry }.encode());
            body.extend_from_slice(&region.bytes);
        }
        (body, index)
    }
}

/// Writes the trace of all ranks. Collective.
///
/// # Errors
/// Why there is none; the same decision on all ranks.
pub(super) fn write(world: &World, config: &Config, by: &str, counted: Option<&Counted>) -> Result<(), String> {
    let muted = record::is_muted();
    let shared =
        if world.rank == 0 && !muted { stack::at_end(names::of_rank_0).unwrap_or_default() } else { Vec::new() };
    let hashes = names::broadcast(world, &shared)?;
    // Ranks may have been started with different settings; all must make the same calls.
    let [tracing, _] = reduce(world, world.abi.max, [u64::from(counted.is_none()), 0])?;
    let mut gathered = gather(world, by, &hashes, counted, tracing == 0);
    let own = gathered.len() as u64;
    let first_region = scan(world, own)?;
    let [regions, _] = reduce(world, world.abi.sum, [own, 0])?;
    let job = (world.rank == 0).then(|| describe::job(shared, mounts()));
    let part = stack::at_end(|| encode(job, &mut gathered, first_region as u32, regions as u32)).flatten();
    let length = part.as_ref().map_or(0, Part::bytes) as u64;
    let failed = u64::from(part.is_none());
    let before = scan(world, length)?;
    let [total, failures, left_out] = reduce(world, world.abi.sum, [length, failed, u64::from(muted)])?;
    if left_out == u64::from(world.size.unsigned_abs()) {
        return Ok(());
    }
    let [largest, _] = reduce(world, world.abi.max, [length, 0])?;
    if failures > 0 {
        return Err(format!("{failures} ranks could not encode their part"));
    }
    let path = share_path(world, config)?;
    let Some(part) = part else { return Err("this rank has no part".into()) };
    let (body, mut index) = part.laid_out(before);
    if world.rank + 1 == world.size {
        index.extend_from_slice(&trailer(total, regions as u32));
    }
    let index_at = total + first_region * INDEX_ENTRY_BYTES as u64;
    let rounds = usize::try_from(largest).unwrap_or(0).div_ceil(ROUND_BYTES).max(1);
    put(world, &path, before, &body, rounds, index_at, &index)?;
    if world.rank == 0 {
        match output::finish(path.to_bytes()) {
            Ok(name) if config.verbose > 0 => say(&[b"wrote ", &name]),
            Ok(_) => {}
            Err(why) => say(&[why.as_bytes()]),
        }
    }
    Ok(())
}

/// What this rank has to write: its own record, and on rank 0 the one of files that all ranks share, if there is one. Then a
/// rank that has nothing besides writes nothing. Collective if `all_count`.
fn gather(world: &World, by: &str, hashes: &[u64], counted: Option<&Counted>, all_count: bool) -> Vec<Gathered> {
    let Some(counted) = counted else { return vec![Gathered::new(by, Some(hashes), None)] };
    let calibration = clock::calibrate();
    let (notes, info) = (all_notes(), describe::process(by, &calibration));
    let reduce = || reduce::shared_files(world, counted, hashes, &notes, &calibration, &info);
    let mut reduced = all_count.then(reduce).flatten();
    let own = Gathered::counted(by, &calibration, Some(hashes), counted, reduced.as_ref());
    let common = reduced.as_mut().and_then(|reduced| reduced.process.take());
    let mut all: Vec<Gathered> = common.into_iter().map(|process| Gathered::common(process, &calibration)).collect();
    if reduced.is_none() || !own.is_empty() {
        all.push(own);
    }
    all
}

fn encode(job: Option<Job>, gathered: &mut [Gathered], first_region: u32, regions: u32) -> Option<Part> {
    let mut encoder = Encoder::new().ok()?;
    let preamble = job.map(|job| preamble(&mut encoder, &job, regions)).transpose().ok()?.unwrap_or_default();
    let numbered = (first_region..).zip(gathered);
    let regions =
        numbered.map(|(number, gathered)| gathered.region(&mut encoder, number).ok()).collect::<Option<_>>()?;
    Some(Part { preamble, regions })
}

/// Sum of `length` over the ranks before this one.
fn scan(world: &World, length: u64) -> Result<u64, String> {
    let mut before = 0_u64;
    let abi = &world.abi;
    let result =
        api().exscan((&raw const length).cast(), (&raw mut before).cast(), 1, abi.uint64, abi.sum, abi.comm_world);
    // MPI leaves rank 0's result undefined.
    if result == SUCCESS { Ok(if world.rank == 0 { 0 } else { before }) } else { Err("MPI_Exscan failed".into()) }
}

fn reduce<const N: usize>(world: &World, op: Handle, values: [u64; N]) -> Result<[u64; N], String> {
    let mut all = [0_u64; N];
    let abi = &world.abi;
    let result =
        api().allreduce(values.as_ptr().cast(), all.as_mut_ptr().cast(), N as i32, abi.uint64, op, abi.comm_world);
    if result == SUCCESS { Ok(all) } else { Err("MPI_Allreduce failed".into()) }
}

/// Rank 0 names the file and makes its directory; all get the name.
fn share_path(world: &World, config: &Config) -> Result<CString, String> {
    let mut bytes = [0_u8; PATH_BYTES];
    if world.rank == 0 {
        let path = output::job_path(config, world.size);
        output::make_directories(&path);
        if path.len() < PATH_BYTES - 16 {
            bytes[..path.len()].copy_from_slice(&path);
        }
    }
    let abi = &world.abi;
    if api().bcast(bytes.as_mut_ptr().cast(), PATH_BYTES as i32, abi.byte, 0, abi.comm_world) != SUCCESS {
        return Err("the broadcast of the file's name failed".into());
    }
    let path = CStr::from_bytes_until_nul(&bytes).map_err(|error| error.to_string())?;
    if path.is_empty() { Err("the output path is too long".into()) } else { Ok(path.to_owned()) }
}

/// Opens, writes and closes the file together; all ranks come to the same result.
fn put(
    world: &World,
    path: &CStr,
    at: u64,
    body: &[u8],
    rounds: usize,
    index_at: u64,
    index: &[u8],
) -> Result<(), String> {
    let abi = &world.abi;
    // A program may have made errors on files fatal by default; in the tracer they are not.
    api().file_set_errhandler(abi.file_null, abi.errors_return);
    let mut partial = path.to_bytes().to_vec();
    partial.extend_from_slice(b".partial");
    let partial = CString::new(partial).map_err(|error| error.to_string())?;
    let mut file = abi.file_null;
    let opened = api().file_open(abi.comm_world, partial.as_ptr(), abi.create_write_only, abi.info_null, &raw mut file);
    let [_, unopened] = reduce(world, abi.sum, [0, u64::from(opened != SUCCESS)])?;
    if unopened > 0 {
        if opened == SUCCESS {
            api().file_close(&raw mut file);
        }
        abandon(world, path);
        return Err(format!("{unopened} ranks could not open {}", partial.to_string_lossy()));
    }
    let mut written = true;
    for round in 0..rounds {
        let from = (round * ROUND_BYTES).min(body.len());
        let piece = &body[from..(from + ROUND_BYTES).min(body.len())];
        written &= write_at_all(world, file, at + from as u64, piece);
    }
    written &= write_at_all(world, file, index_at, index);
    written &= api().file_close(&raw mut file) == SUCCESS;
    let [_, unwritten] = reduce(world, abi.sum, [0, u64::from(!written)])?;
    if unwritten > 0 {
        abandon(world, path);
        return Err(format!("{unwritten} ranks could not write to {}", partial.to_string_lossy()));
    }
    Ok(())
}

fn write_at_all(world: &World, file: Handle, at: u64, bytes: &[u8]) -> bool {
    let mut status = [0_u64; 16];
    let (offset, count) = (at as i64, bytes.len() as i32);
    let status = status.as_mut_ptr().cast::<std::ffi::c_void>();
    let result = api().file_write_at_all(file, offset, bytes.as_ptr().cast(), count, world.abi.byte, status);
    let mut transferred = 0;
    let known = api().get_elements(status, world.abi.byte, &raw mut transferred) == SUCCESS;
    result == SUCCESS && (!known || transferred == i64::from(count))
}

fn abandon(world: &World, path: &CStr) {
    if world.rank == 0 {
        output::abandon(path.to_bytes());
    }
}
