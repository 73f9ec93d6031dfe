//! Collective writing of one trace file by all ranks.
//!
//! Each rank encodes its own part, one MPI_Exscan yields the part's file offset, and a collective write stores the parts. Once no rank's
//! MPI writes to the file any more, each rank verifies and repairs its part and adds its index entries ([`super::repair`]). Then all ranks
//! agree on the outcome. A rank whose own part failed still takes part in every call.
//!
//! If the last agreement fails on one rank, that rank checks if rank 0 has given the file its final name; rank 0 does so if its own part is
//! complete. If a part is written twice because two things failed at once, both copies have the same process, epoch and end time.
//!
//! The preamble (header, job block) is written with rank 0's part. The trailer is written with the last rank's index entries in trace mode,
//! so that no rank has an extra write, and by rank 0 in counters mode. No rank holds data that grows with the number of ranks.
//!
//! Collective calls are expensive where ranks outnumber processors, since each call waits for the slowest rank. There are at most eight,
//! independent of the recorded data; a test counts them (`calls_of_a_flush.rs`). In trace mode:
//!
//! | call | purpose |
//! |---|---|
//! | `MPI_Bcast` | the plan: the file, and the names that the job block holds ([`plan`]) |
//! | `MPI_Exscan` | bytes and regions of lower ranks |
//! | `MPI_File_open` | |
//! | `MPI_Allreduce` | total sizes; failures so far |
//! | `MPI_File_write_at_all` | the parts |
//! | `MPI_File_close` | |
//! | `MPI_Allreduce` | failures so far; after this call, no rank's MPI writes to the file any more |
//! | `MPI_Allreduce` | failures since the previous call |
//!
//! In counters mode few ranks have data left to write once the records of shared files are reduced. These ranks write independently, and no
//! other rank opens the file:
//!
//! | call | purpose |
//! |---|---|
//! | `MPI_Bcast` | the plan |
//! | `MPI_Bcast` | if rank 0 has more than some 1,500 names: the remaining hashes |
//! | `MPI_Allreduce` | rank 0's files that other ranks have too; any files that rank 0 lacks; can all ranks reduce ([`reduce`]) |
//! | `MPI_Allreduce` | if all ranks can reduce, rank 0 lacks files, and there was one broadcast: shared files that rank 0 lacks |
//! | `MPI_Reduce` | if any file is shared: sums of the shared files |
//! | `MPI_Allreduce` | if any file is shared: failures; number of shared files that fit into the common record |
//! | `MPI_Exscan` | bytes and regions of lower ranks |
//! | `MPI_Allreduce` | total sizes; failures so far |
//! | `MPI_Allreduce` | failures since the total sizes were known |

use super::counted::Counted;
use super::gather::{Gathered, all_notes, calibrate};
use super::plan::{self, Plan};
use super::shared_file::{Sink, Spans};
use super::stages::{self, during};
use super::{output, reduce};
use crate::config::Config;
use crate::describe;
use crate::mounts::mounts;
use crate::mpi::{SUCCESS, World, api};
use crate::record;
use crate::say::say;
use crate::stack;
use trace_format::frame::{FLUSH_FRAME_BYTES, FlushStage, INDEX_ENTRY_BYTES, IndexEntry};
use trace_format::meta::SharedName;
use trace_format::write::{Region, count_regions, preamble, trailer};

/// Encoded records that this rank contributes to the trace file.
#[derive(Default)]
struct Part {
    preamble: Vec<u8>,
    regions: Vec<Region>,
}

impl Part {
    fn bytes(&self) -> u64 {
        (self.preamble.len() + self.regions.iter().map(|region| region.bytes.len()).sum::<usize>()) as u64
    }

    /// Returns the encoded bytes and the index entries of this rank's part. `before`: file offset of the part. `first`: number of the
    /// part's first region (encoded data of one process). `all`: number of regions in the file.
    fn laid_out(mut self, before: u64, first: u32, all: u32) -> Result<(Vec<u8>, Vec<u8>), String> {
        if !self.preamble.is_empty() {
            count_regions(&mut self.preamble, all).map_err(|error| error.to_string())?;
        }
        let (mut body, mut index) = (self.preamble, Vec::new());
        for (number, mut region) in (first..).zip(self.regions) {
            region.renumber(number).map_err(|error| error.to_string())?;
            index.extend_from_slice(&IndexEntry { offset: before + body.len() as u64, ..region.entry }.encode());
            body.extend_from_slice(&region.bytes);
        }
        Ok((body, index))
    }
}

/// Reason why no trace of all ranks was written.
pub(super) struct NoTrace {
    pub(super) why: String,
    /// True if rank 0 could not even create the file. Rank 0 reports this for all ranks.
    pub(super) no_file: bool,
}

impl From<String> for NoTrace {
    fn from(why: String) -> Self {
        Self { why, no_file: false }
    }
}

/// Writes one trace file of all ranks. `by`: function that ends recording. `counted`: this rank's counts in counters mode. Collective.
///
/// # Errors
/// Returns the reason why there is no trace of all ranks. All ranks reach the same decision.
pub(super) fn write(world: &World, config: &Config, by: &str, counted: Option<&Counted>) -> Result<(), NoTrace> {
    let muted = record::is_muted();
    let (plan, file, shared) = during(FlushStage::Agree, || plan::share(world, config, counted, muted));
    if !plan.has_file() {
        // All ranks know from the plan that there is no file.
        let why = file.err().unwrap_or_else(|| "rank 0 could not create the file".into());
        return Err(NoTrace { why, no_file: true });
    }
    let mut mine = Mine { rank: world.rank, trouble: None };
    let gathered = gather(world, by, &plan, counted, &mut mine);
    let job = (world.rank == 0).then_some(shared);
    let part = mine.note(here(|| encode(job, gathered)).and_then(std::convert::identity)).unwrap_or_default();
    let (bytes, regions) = (part.bytes(), part.regions.len() as u64);
    let scanned = during(FlushStage::Agree, || scan(world, [bytes, regions]));
    let [before, first_region] = mine.note(scanned).unwrap_or_default();
    let file = mine.note(file).flatten();
    let mut sink = during(FlushStage::Open, || match plan.counting {
        true => Sink::of_few(&plan, file, bytes > 0, &mut mine),
        false => Sink::of_all(world, &plan, file, &mut mine),
    });

    let state = [before + bytes, first_region + regions, u64::from(!muted), mine.failed()];
    let [total, all_regions, recorded, failed] = during(FlushStage::Agree, || mine.agree(world, state));
    if failed > 0 || recorded == 0 {
        sink.give_up();
        let failed = failed.max(mine.failed());
        return if failed > 0 { Err(mine.why(failed).into()) } else { Ok(()) };
    }
    let (first, all) = (first_region as u32, all_regions as u32);
    let laid_out = here(|| part.laid_out(before, first, all)).and_then(std::convert::identity);
    let (body, mut index) = mine.note(laid_out).unwrap_or_default();
    let index_at = total + first_region * INDEX_ENTRY_BYTES as u64;
    let trailer_at = total + all_regions * INDEX_ENTRY_BYTES as u64;
    let end = trailer(total, all);
    super::budget::goes_into(body.len() + index.len());
    let mut spans = Spans { body: (before, body), index: (index_at, Vec::new()), ..Spans::default() };
    // This rank's last region ends with a flush frame, at the end of the rank's part.
    spans.flush = regions.checked_sub(1).map(|last| {
        let end = spans.body.0 + spans.body.1.len() as u64;
        (first + last as u32, end.saturating_sub(FLUSH_FRAME_BYTES as u64))
    });
    if plan.counting {
        spans.trailer = (world.rank == 0).then_some((trailer_at, end.to_vec()));
    } else if world.rank + 1 == world.size {
        index.extend_from_slice(&end);
        spans.length = Some(trailer_at + end.len() as u64);
    }
    spans.index.1 = index;
    if mine.failed() > 0 {
        // After a failure the file offsets of the other ranks' bytes are unknown.
        spans = Spans::default();
    }
    // Records in the spool that all data taken is in that file, once the file has its final name.
    crate::spool::cut_goes_to(&plan.trace_path(), plan.epoch_unix_ns);
    if plan.counting {
        mine.note(during(FlushStage::Write, || sink.write(&spans)).and_then(|()| sink.describe(&spans)));
    } else {
        mine.note(during(FlushStage::Write, || sink.write_together(world, &spans)));
        // A rank that learns of a failure still takes part in the last agreement, since another rank may not know of it.
        let [failed] = during(FlushStage::Write, || mine.agree(world, [mine.failed()]));
        if failed.max(mine.failed()) == 0 {
            let repaired = during(FlushStage::Repair, || here(|| sink.repair(&spans)).and_then(std::convert::identity));
            let repaired = mine.note(repaired.and_then(|bytes| sink.describe(&spans).map(|()| bytes)));
            if let Some(bytes @ 1..) = repaired.filter(|_| config.verbose > 0) {
                say(&[
                    b"MPI-IO had not written all bytes of the trace to its file; the tracer wrote the missing bytes again: up to ",
                    bytes.to_string().as_bytes(),
                    b" bytes",
                ]);
            }
        }
    }
    mine.note(sink.close());
    let (all, agreed) = during(FlushStage::Agree, || greatest(world, &[mine.failed()]));
    // If MPI does not deliver the other ranks' results, this rank's part is complete, and most likely theirs are too.
    let failed = mine.failed().max(if agreed { all.first().copied().unwrap_or(0) } else { 0 });
    if failed > 0 {
        sink.give_up();
        return Err(mine.why(failed).into());
    }
    match sink.finish(&output::job_stem(world.size)) {
        Some(Ok(name)) if config.verbose > 0 => say(&[b"wrote ", &name]),
        // The other ranks regard the trace as written by now. They are right: only the file's name is wrong.
        Some(Err(why)) => say(&[why.as_bytes(), output::WHOLE]),
        // Rank 0 decides: if it has renamed the file, all parts are in the file; otherwise each rank writes a trace of its own.
        None if !agreed && here(|| plan.file_has_its_name()) != Ok(true) => {
            return Err("MPI_Allreduce failed".to_owned().into());
        }
        _ => {}
    }
    Ok(())
}

/// Failure state of this rank. After a failure the rank still takes part in all collective calls, until the ranks agree on the outcome.
pub(super) struct Mine {
    rank: i32,
    trouble: Option<String>,
}

impl Mine {
    /// Returns the value of `result`, or stores its error and returns `None`. Only the first error is kept.
    pub(super) fn note<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(why) => {
                self.trouble.get_or_insert(why);
                None
            }
        }
    }

    /// Returns 0, or rank + 1 if this rank has failed to do its part.
    fn failed(&self) -> u64 {
        if self.trouble.is_some() { u64::from(self.rank.unsigned_abs()) + 1 } else { 0 }
    }

    /// Returns the element-wise maximum of `values` over all ranks. The last element is rank + 1 of a failed rank, or 0. Collective.
    fn agree<const N: usize>(&mut self, world: &World, values: [u64; N]) -> [u64; N] {
        let (all, agreed) = greatest(world, &values);
        if !agreed {
            // This rank decides by the values that arrived; the other ranks learn of the failure at the next agreement.
            self.note::<()>(Err("MPI_Allreduce failed".into()));
        }
        std::array::from_fn(|i| all.get(i).copied().unwrap_or(0))
    }

    /// Returns the reason why there is no trace of all ranks. `failed`: rank + 1 of a rank that failed.
    fn why(&self, failed: u64) -> String {
        match &self.trouble {
            Some(why) => why.clone(),
            None => format!("rank {} could not take part", failed.saturating_sub(1)),
        }
    }
}

/// Runs `work`, which must make no MPI calls, on a stack of the tracer's own, where the work can be abandoned if memory runs out.
fn here<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    stack::at_end(work).ok_or_else(|| "not enough memory".into())
}

/// Returns the records that this rank writes: its own and, on rank 0, the common record of files shared by several ranks, if any. If there
/// is a common record, a rank with no other data returns no record. Collective in counters mode.
fn gather(world: &World, by: &str, plan: &Plan, counted: Option<&Counted>, mine: &mut Mine) -> Vec<Gathered> {
    let traced = |mine: &mut Mine| {
        let all = during(FlushStage::Gather, || here(|| vec![Gathered::new(by, Some(&plan.hashes), None)]));
        mine.note(all).unwrap_or_default()
    };
    if counted.is_none() && !plan.counting {
        return traced(mine);
    }
    let calibration = calibrate();
    let (notes, info) = (all_notes(), describe::process(by, &calibration));
    let reduce = || reduce::shared_files(world, counted, plan, &notes, &calibration, &info);
    let mut reduced =
        plan.counting.then(|| during(FlushStage::Agree, reduce)).and_then(|reduced| mine.note(reduced)).flatten();
    let Some(counted) = counted else { return traced(mine) };
    let own = || Gathered::counted(by, &calibration, Some(&plan.hashes), counted, reduced.as_ref());
    let own = mine.note(during(FlushStage::Gather, || here(own)));
    let common = reduced.as_mut().and_then(|reduced| reduced.process.take());
    let mut all: Vec<Gathered> = common.into_iter().map(|process| Gathered::common(process, &calibration)).collect();
    all.extend(own.filter(|own| reduced.is_none() || !own.is_empty()));
    all
}

/// Encodes this rank's part of the trace. `names`: file names stored once for the whole job, on rank 0. Region numbers and their total are set later.
fn encode(names: Option<Vec<SharedName>>, gathered: Vec<Gathered>) -> Result<Part, String> {
    if crate::sys::is_shut() {
        return Err("this rank has confined itself by seccomp(2); its calls are in its spool, from which dxt-analyze recover makes a trace".into());
    }
    stages::encode_again();
    let encoded = stages::encoding(|encoder| {
        let job = names.map(|names| describe::job(names, mounts()));
        let preamble = job.map(|job| preamble(encoder, &job, 0)).transpose()?.unwrap_or_default();
        let packed = gathered.iter().map(Gathered::packed_segments).sum();
        let regions = gathered.into_iter().map(|mut one| one.region(encoder, 0));
        let mut regions = regions.collect::<trace_format::Result<Vec<_>>>()?;
        stages::describe(&mut regions, packed);
        Ok(Part { preamble, regions })
    });
    encoded.map_err(|error| error.to_string())
}

/// Returns the element-wise sums of `values` over all lower ranks (exclusive prefix sum). Collective.
fn scan<const N: usize>(world: &World, values: [u64; N]) -> Result<[u64; N], String> {
    let (mut before, abi) = ([0_u64; N], &world.abi);
    let (from, to) = (values.as_ptr().cast(), before.as_mut_ptr().cast());
    let result = api().exscan(from, to, N as i32, abi.uint64, abi.sum, abi.comm_world);
    // MPI leaves the result on rank 0 undefined.
    let before = if world.rank == 0 { [0; N] } else { before };
    if result == SUCCESS { Ok(before) } else { Err("MPI_Exscan failed".into()) }
}

/// Returns the element-wise maximum of `values` over all ranks, and true if MPI reported success. Collective.
pub(super) fn greatest(world: &World, values: &[u64]) -> (Vec<u64>, bool) {
    let (mut all, abi) = (vec![0_u64; values.len()], &world.abi);
    let (from, to) = (values.as_ptr().cast(), all.as_mut_ptr().cast());
    let result = api().allreduce(from, to, values.len() as i32, abi.uint64, abi.max, abi.comm_world);
    (all, result == SUCCESS)
}
