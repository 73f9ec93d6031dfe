//! Writes the trace: one file for all ranks if possible, else one file per process. Never changes the program's output, errno or exit code.

mod budget;
mod collective;
mod counted;
mod details;
mod gather;
mod keep;
mod left_out;
mod names;
mod output;
mod output_filter;
mod plan;
mod reduce;
mod repair;
mod shared_file;
mod stages;
mod unfinished;
mod unpack;

use crate::buffer::Arena;
use crate::config::{self, Config, FlushMode};
use crate::mounts::mounts;
use crate::mpi::World;
use crate::say::say;
use crate::{buffer, built_in, cpu_times, describe, job, late_calls, notes, record, registry, spool, stack};
use collective::NoTrace;
use counted::Counted;
use gather::Gathered;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace_format::frame::FlushStage;
use trace_format::write;

/// Keeps a descriptor of the output directory, for use after path names may lead elsewhere (chroot(2)).
pub(crate) fn hold_directory() {
    if let Some(config) = config::current() {
        output::hold(config);
    }
}

/// Returns all arenas with segments: of I/O calls, of collective calls, and of calls made after the trace was written.
fn arenas() -> [&'static Arena; 3] {
    [&record::ARENA, &record::SYNC_POINTS, late_calls::arena()]
}

/// Marks all data recorded or counted since the last trace as taken for the trace about to be written. The caller must have exclusive
/// access to segment memory (`gate`). Later data goes into the next trace.
pub(crate) fn take() {
    spool::cut_begins();
    gather::begin_part();
    if buffer::counting::is_on() {
        buffer::counting::fold_all();
    }
    buffer::take(arenas());
    registry::take_counts();
    built_in::note();
    notes::take();
}

/// Ends writing of a trace with the data marked by [`take`]: marks it as written, or (if `written` is false) returns it for the next trace.
pub(crate) fn settle(written: bool) {
    if written {
        spool::cut_is_done();
    }
    buffer::settle(arenas(), written);
    registry::settle_counts(written);
    if written {
        registry::memory::settle_reported();
    }
    notes::settle(written);
    budget::settle(written);
    keep::settle(written);
    cpu_times::settle(written);
    spool::cut_is_over();
    if written && !buffer::counting::is_on() {
        registry::forget_counts();
    }
}

/// Writes the trace at MPI_Finalize. Every rank must call this function, and takes part in every collective call even if its own part
/// fails. Returns true if all data marked by [`take`] is in a trace.
pub(crate) fn all_ranks(world: &'static World, config: &Config) -> bool {
    let by = "MPI_Finalize";
    stages::begin();
    let taken = stages::during(FlushStage::Gather, || stack::at_end(Counted::taken));
    let counted = taken.as_ref().and_then(Option::as_ref);
    let together = config.flush != FlushMode::Process && gather::can_be_collective();
    let mut written = if together {
        match collective::write(world, config, by, counted) {
            Ok(()) => true,
            Err(NoTrace { why, no_file }) => {
                RANK_0_SPEAKS.store(no_file && world.rank != 0, Ordering::Relaxed);
                if world.rank == 0 && (config.verbose > 0 || config.flush == FlushMode::Collective) {
                    say(&[b"no collective trace (", why.as_bytes(), b"): each rank writes its own trace"]);
                }
                elsewhere(|| alone(config, by, counted))
            }
        }
    } else {
        elsewhere(|| alone(config, by, counted))
    };
    if taken.is_none() {
        say_failed(NO_MEMORY);
        written = false;
    }
    give_back_unless(written, counted);
    tell(config);
    written
}

/// Prints the time of each stage of the flush (writing of the trace) at verbosity 2 and higher.
fn tell(config: &Config) {
    if config.verbose > 1 {
        // Prints nothing if there is no memory for the text.
        let _ = stack::at_end(stages::tell);
    }
}

/// Result of writing the trace of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All records are in a trace, or there were none.
    Written,
    Failed,
    /// The process did too little to get a trace by the site's settings.
    LeftOut,
}

/// Writes all records to a file of this process alone, unless there are no records, or too few by the site's settings.
pub(crate) fn one_process(config: &Config, by: &'static str) -> Outcome {
    // If there is no memory for this check, the flush below fails.
    if is_left_out(config) {
        return Outcome::LeftOut;
    }
    stages::begin();
    let Some(counted) = stages::during(FlushStage::Gather, || stack::at_end(Counted::taken)) else {
        say_failed(NO_MEMORY);
        return Outcome::Failed;
    };
    let written = elsewhere(|| alone(config, by, counted.as_ref()));
    give_back_unless(written, counted.as_ref());
    if stages::has_written() {
        tell(config);
    }
    if written { Outcome::Written } else { Outcome::Failed }
}

/// True if the process has done too little to get a trace by the site's settings, judged by all records so far.
pub(crate) fn is_left_out(config: &Config) -> bool {
    config.site.judges_processes() && stack::at_end(|| keep::is_left_out(&config.site)) == Some(true)
}

/// Resets the state of trace writing in a forked child, which has written nothing.
pub(crate) fn in_child() {
    RANK_0_SPEAKS.store(false, Ordering::Relaxed);
    budget::in_child();
    keep::in_child();
}

fn give_back_unless(written: bool, counted: Option<&Counted>) {
    if let Some(counted) = counted.filter(|_| !written) {
        counted.give_back();
    }
}

const NO_MEMORY: &[u8] = b"not enough memory";

/// Runs `write` on a stack of the tracer's own. Returns false if `write` returns false or memory runs out.
fn elsewhere(write: impl FnOnce() -> bool) -> bool {
    stack::at_end(write).unwrap_or_else(|| {
        unfinished::in_work::given_up();
        say_failed(NO_MEMORY);
        false
    })
}

/// True if rank 0 could not create the trace file for all ranks. Rank 0 reports it; thousands of other ranks then print nothing.
static RANK_0_SPEAKS: AtomicBool = AtomicBool::new(false);

/// Prints that there is no trace, why, and how to recover the records. Prints once, even if writing is tried again at the end.
fn say_failed(why: &[u8]) {
    if RANK_0_SPEAKS.load(Ordering::Relaxed) && config::current().is_none_or(|config| config.verbose == 0) {
        return;
    }
    /// Id of the process that has reported that its trace could not be written. A forked child reports its own failures.
    static SAID_BY: AtomicU32 = AtomicU32::new(0);
    let process = job::process_ids().0;
    if SAID_BY.swap(process, Ordering::Relaxed) == process {
        return;
    }
    match spool::path() {
        None => say(&[b"failed to write the trace: ", why]),
        Some(path) => say(&[b"failed to write the trace: ", why, b"; dxt-analyze recover can write it from ", path]),
    }
}

/// Prints messages about the trace in advance, because the program is about to close standard error: that the output directory is unusable
/// or, if verbose, the directory's path.
pub(crate) fn say_beforehand(config: &Config) {
    match output::look(config) {
        Err(why) => say_failed(why.as_bytes()),
        Ok(directory) if config.verbose > 0 => {
            say(&[b"a trace will be written to ", &directory, b" (the program closes standard error before that)"]);
        }
        Ok(_) => {}
    }
}

fn alone(config: &Config, by: &str, counted: Option<&Counted>) -> bool {
    // Discards the size stored for a collective write, which may have failed.
    budget::goes_into(0);
    if crate::sys::is_shut() {
        return false;
    }
    let gathered = stages::during(FlushStage::Gather, || Gathered::new(by, None, counted));
    if gathered.is_empty() {
        return true;
    }
    let written = write_process(config, gathered);
    if let Err(why) = &written {
        say_failed(why.as_bytes());
    }
    written.is_ok()
}

fn write_process(config: &Config, mut gathered: Gathered) -> Result<(), String> {
    let job = describe::job(Vec::new(), mounts());
    stages::encode_again();
    let encoded = stages::encoding(|encoder| {
        let mut regions = vec![gathered.region(encoder, 0)?];
        stages::describe(&mut regions, gathered.packed_segments());
        write::file(encoder, &job, regions)
    });
    let bytes = encoded.map_err(|error| error.to_string())?;
    budget::goes_into(bytes.len());
    spool::cut_goes_to(&output::process_path(config, gathered.place()), 0);
    let written = output::write_process(config, gathered.place(), &bytes)?;
    if config.verbose > 0 {
        say(&[b"wrote ", &written]);
    }
    Ok(())
}
