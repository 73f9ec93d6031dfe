//! All ranks write one file. Each encodes its own part; one Exscan tells where it goes; a collective write puts
//! the parts there; when no MPI writes any more, each rank mends its part and adds its index entries ([`super::mend`]); all agree on
//! the outcome. A rank whose own part failed still joins every call.
//!
//! Should the last agreement fail on one rank, it looks whether rank 0 has given the file its name; rank 0 gives it, if its own part is
//! there. A part that is told twice all the same, since two things went wrong at once, is the same in both: process, epoch and end.
//!
//! The preamble (header, job block) goes with rank 0's part and the trailer with the last rank's index entry, so nobody has a write
//! more than the others, and no rank ever holds what grows with the number of ranks.
//!
//! The calls that all ranks make together are dear where ranks outnumber processors: each is a wait for the slowest. There are
//! at most eight, whatever is recorded; a test counts them (`calls_of_a_flush.rs`). In trace mode:
//!
//! | call | what for |
//! |---|---|
//! | `MPI_Bcast` | the plan: which file, which names the job block has ([`plan`]) |
//! | `MPI_Exscan` | bytes and regions of the ranks before this one |
//! | `MPI_File_open` | |
//! | `MPI_Allreduce` | sizes of the whole; has any rank failed until here |
//! | `MPI_File_write_at_all` | the parts |
//! | `MPI_File_close` | |
//! | `MPI_Allreduce` | no rank's MPI writes to the file any more |
//! | `MPI_Allreduce` | has any rank failed since |
//!
//! In counters mode few ranks have anything to write when the records of shared files have been reduced, so those that have do it by
//! themselves, and nobody else opens the file:
//!
//! | call | what for |
//! |---|---|
//! | `MPI_Bcast` | the plan |
//! | `MPI_Bcast` | if rank 0 has more than some 1,500 names: the hashes of the others |
//! | `MPI_Allreduce` | which of rank 0's files others have too; has anybody files that rank 0 has not; can all reduce ([`reduce`]) |
//! | `MPI_Allreduce` | if so, and if there was one broadcast: which of those several ranks have |
//! | `MPI_Reduce` | if several ranks have any file: the sums of these files |
//! | `MPI_Allreduce` | then too: has any rank failed; which files found room |
//! | `MPI_Exscan` | bytes and regions of the ranks before this one |
//! | `MPI_Allreduce` | sizes of the whole; has any rank failed until here |
//! | `MPI_Allreduce` | has any rank failed since |

use super::counted::Counted;
use super::gather::{Gathered, all_notes, calibrate};
use super::plan::{self, Plan};
use super::stages::{self, during};
use super::together::{Sink, Spans};
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

/// What this rank contributes.
#[derive(Default)]
struct Part {
    preamble: Vec<u8>,
    regions: Vec<Region>,
}

impl Part {
    fn bytes(&self) -> u64 {
        (self.preamble.len() + self.regions.iter().map(|region| region.bytes.len()).sum::<usize>()) as u64
    }

    /// Its bytes and its index entries, for a part that begins at `before`, with regions from `first` on, of `all`.
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

/// Why there is no trace of all ranks.
pub(super) struct NoTrace {
    pub(super) why: String,
    /// Rank 0 could not even make the file: it says so for all.
    pub(super) no_file: bool,
}

impl From<String> for NoTrace {
    fn from(why: String) -> Self {
        Self { why, no_file: false }
    }
}

/// Writes the trace of all ranks. Collective.
///
/// # Errors
/// Why there is none; the same decision on all ranks.
pub(super) fn write(world: &World, config: &Config, by: &str, counted: Option<&Counted>) -> Result<(), NoTrace> {
    let muted = record::is_muted();
    let (plan, file, shared) = during(FlushStage::Agree, || plan::share(world, config, counted, muted));
    if !plan.has_file() {
        // So all know.
        let why = file.err().unwrap_or_else(|| "rank 0 could not make the file".into());
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
    // The last of this rank's regions ends with its part, and with a flush frame.
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
        // It is not known where the others' bytes are.
        spans = Spans::default();
    }
    // From the moment when the file has its name, it is known of all that was taken where it is.
    crate::spool::cut_goes_to(&plan.trace_path(), plan.epoch_unix_ns);
    if plan.counting {
        mine.note(during(FlushStage::Write, || sink.write(&spans)).and_then(|()| sink.describe(&spans)));
    } else {
        mine.note(during(FlushStage::Write, || sink.write_together(world, &spans)));
        // Who hears that somebody has failed joins the last agreement all the same: another may not have heard.
        let [failed] = during(FlushStage::Write, || mine.agree(world, [mine.failed()]));
        if failed.max(mine.failed()) == 0 {
            let mended = during(FlushStage::Mend, || here(|| sink.mend(&spans)).and_then(std::convert::identity));
            let mended = mine.note(mended.and_then(|bytes| sink.describe(&spans).map(|()| bytes)));
            if let Some(bytes @ 1..) = mended.filter(|_| config.verbose > 0) {
                say(&[
                    b"MPI left bytes of the trace other than they were given, which were written again: up to ",
                    bytes.to_string().as_bytes(),
                ]);
            }
        }
    }
    mine.note(sink.close());
    let (all, agreed) = during(FlushStage::Agree, || greatest(world, &[mine.failed()]));
    // Where MPI does not tell this rank what the others say, its own part is there, and most likely theirs.
    let failed = mine.failed().max(if agreed { all.first().copied().unwrap_or(0) } else { 0 });
    if failed > 0 {
        sink.give_up();
        return Err(mine.why(failed).into());
    }
    match sink.finish(&output::job_stem(world.size)) {
        Some(Ok(name)) if config.verbose > 0 => say(&[b"wrote ", &name]),
        // The others take it for written by now, and it is: only its name is not what it should be.
        Some(Err(why)) => say(&[why.as_bytes(), output::WHOLE]),
        // Rank 0 knows better: if it gives the file its name, all is there, and else everybody writes a trace alone.
        None if !agreed && here(|| plan.file_has_its_name()) != Ok(true) => {
            return Err("MPI_Allreduce failed".to_owned().into());
        }
        _ => {}
    }
    Ok(())
}

/// What went wrong on this rank, which goes on with the others to where all agree.
pub(super) struct Mine {
    rank: i32,
    trouble: Option<String>,
}

impl Mine {
    /// Takes note of a failure.
    pub(super) fn note<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(why) => {
                self.trouble.get_or_insert(why);
                None
            }
        }
    }

    /// 0, or the rank's number from 1 on.
    fn failed(&self) -> u64 {
        if self.trouble.is_some() { u64::from(self.rank.unsigned_abs()) + 1 } else { 0 }
    }

    /// The greatest of all ranks' values, one by one; the last of them says who has failed. Collective.
    fn agree<const N: usize>(&mut self, world: &World, values: [u64; N]) -> [u64; N] {
        let (all, agreed) = greatest(world, &values);
        if !agreed {
            // What the others do now can only be told from what came; they learn of it when all agree again.
            self.note::<()>(Err("MPI_Allreduce failed".into()));
        }
        std::array::from_fn(|i| all.get(i).copied().unwrap_or(0))
    }

    /// Why there is no trace of all ranks.
    fn why(&self, failed: u64) -> String {
        match &self.trouble {
            Some(why) => why.clone(),
            None => format!("rank {} could not take part", failed.saturating_sub(1)),
        }
    }
}

/// Runs a part of the work that is this rank's alone on a stack of the tracer's own, where it can be given up.
fn here<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    stack::at_end(work).ok_or_else(|| "not enough memory".into())
}

/// What this rank has to write: its own record, and on rank 0 the one of files that several ranks share, if there is one. Then a
/// rank that has nothing besides writes nothing. Collective in counters mode.
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

/// Which number a region has, and how many there are, is not known yet.
fn encode(names: Option<Vec<SharedName>>, gathered: Vec<Gathered>) -> Result<Part, String> {
    if crate::sys::is_shut() {
        return Err("this rank has confined itself by seccomp(2); its part is in its spool".into());
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

/// Sums of `values` over the ranks before this one. Collective.
fn scan<const N: usize>(world: &World, values: [u64; N]) -> Result<[u64; N], String> {
    let (mut before, abi) = ([0_u64; N], &world.abi);
    let (from, to) = (values.as_ptr().cast(), before.as_mut_ptr().cast());
    let result = api().exscan(from, to, N as i32, abi.uint64, abi.sum, abi.comm_world);
    // MPI leaves rank 0's result undefined.
    let before = if world.rank == 0 { [0; N] } else { before };
    if result == SUCCESS { Ok(before) } else { Err("MPI_Exscan failed".into()) }
}

/// The greatest of all ranks' values, one by one, and whether MPI says that it worked. Collective.
pub(super) fn greatest(world: &World, values: &[u64]) -> (Vec<u64>, bool) {
    let (mut all, abi) = (vec![0_u64; values.len()], &world.abi);
    let (from, to) = (values.as_ptr().cast(), all.as_mut_ptr().cast());
    let result = api().allreduce(from, to, values.len() as i32, abi.uint64, abi.max, abi.comm_world);
    (all, result == SUCCESS)
}
