//! Writes the trace: all ranks into one file where that is possible, each process into its own otherwise. The program's
//! output, errno and exit code stay as they are, whatever happens here.

mod budget;
mod collective;
mod counted;
mod details;
mod directory;
mod gather;
mod left_out;
mod mend;
mod names;
mod output;
mod plan;
mod reduce;
mod sift;
mod stages;
mod together;
mod unfinished;
mod unpack;
mod worth;

use crate::buffer::Arena;
use crate::config::{self, Config, FlushMode};
use crate::mounts::mounts;
use crate::mpi::World;
use crate::say::say;
use crate::{buffer, built_in, describe, job, late, notes, record, registry, spool, stack};
use collective::NoTrace;
use counted::Counted;
use gather::Gathered;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use trace_format::frame::FlushStage;
use trace_format::write;

/// Has a directory that this process has just made the permissions `mode`, whatever its umask.
pub(crate) fn has_mode(directory: &std::ffi::CStr, mode: u32) {
    directory::give(libc::AT_FDCWD, directory, mode);
}

/// Holds the directory that traces go into.
pub(crate) fn hold_directory() {
    if let Some(config) = config::current() {
        output::hold(config);
    }
}

/// Where segments may be: those of the process, and those that come after its trace.
fn arenas() -> [&'static Arena; 3] {
    [&record::ARENA, &record::MEETINGS, late::arena()]
}

/// All that is on record or counted, and in no trace, belongs to the trace that is about to be written. The caller has the gate
/// alone. What is not on record by now is left for the next trace.
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

/// What was taken is in a trace now, or (`written` is false) is not.
pub(crate) fn settle(written: bool) {
    if written {
        spool::cut_is_done();
    }
    buffer::settle(arenas(), written);
    registry::settle_counts(written);
    if written {
        registry::memory::settle_told();
    }
    notes::settle(written);
    budget::settle(written);
    worth::settle(written);
    spool::cut_is_over();
    if written && !buffer::counting::is_on() {
        registry::forget_counts();
    }
}

/// At MPI_Finalize. Every rank comes here and takes part in every collective call, whatever its own part's fate. Returns whether
/// what was taken is in a trace.
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
                    say(&[b"no collective trace (", why.as_bytes(), b"): each rank writes its own"]);
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

/// Says how long everything took, to those who want to know.
fn tell(config: &Config) {
    if config.verbose > 1 {
        // Without memory for the text there is none.
        let _ = stack::at_end(stages::tell);
    }
}

/// What became of what was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is in a trace, or was nothing.
    Written,
    /// It could not be written.
    Failed,
    /// There shall be no trace of a process that did no more than that.
    LeftOut,
}

/// Writes what was taken into a file of this process's own, unless that is nothing or not worth one.
pub(crate) fn one_process(config: &Config, by: &'static str) -> Outcome {
    // Without memory to find out it fails below.
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

/// Whether a process that did no more than what was taken is to have no trace.
pub(crate) fn is_left_out(config: &Config) -> bool {
    config.site.judges_processes() && stack::at_end(|| worth::is_left_out(&config.site)) == Some(true)
}

/// In a forked child, which has written nothing.
pub(crate) fn in_child() {
    RANK_0_SPEAKS.store(false, Ordering::Relaxed);
    budget::in_child();
    worth::in_child();
}

fn give_back_unless(written: bool, counted: Option<&Counted>) {
    if let Some(counted) = counted.filter(|_| !written) {
        counted.give_back();
    }
}

const NO_MEMORY: &[u8] = b"not enough memory";

/// Runs `write` on a stack of the tracer's own; false if it fails, also for want of memory.
fn elsewhere(write: impl FnOnce() -> bool) -> bool {
    stack::at_end(write).unwrap_or_else(|| {
        unfinished::in_work::given_up();
        say_failed(NO_MEMORY);
        false
    })
}

/// Rank 0 could make no file for all, and has said so: of thousands of ranks it is heard best alone.
static RANK_0_SPEAKS: AtomicBool = AtomicBool::new(false);

/// Says that there is no trace, and what to do; once, though at the end it may be tried again.
fn say_failed(why: &[u8]) {
    if RANK_0_SPEAKS.load(Ordering::Relaxed) && config::current().is_none_or(|config| config.verbose == 0) {
        return;
    }
    /// The process that has said it: a forked child says so for itself.
    static SAID_BY: AtomicU32 = AtomicU32::new(0);
    let process = job::process_ids().0;
    if SAID_BY.swap(process, Ordering::Relaxed) == process {
        return;
    }
    match spool::path() {
        None => say(&[b"failed to write the trace: ", why]),
        Some(path) => say(&[b"failed to write the trace: ", why, b"; dxt-analyze recover can, from ", path]),
    }
}

/// What is known of the trace before it is written, for a program that closes standard error first: that its directory cannot be had, or, to
/// those who want to know, where it will be.
pub(crate) fn say_beforehand(config: &Config) {
    match output::look(config) {
        Err(why) => say_failed(why.as_bytes()),
        Ok(directory) if config.verbose > 0 => {
            say(&[b"a trace will be written in ", &directory, b" (standard error is closed before that)"]);
        }
        Ok(_) => {}
    }
}

fn alone(config: &Config, by: &str, counted: Option<&Counted>) -> bool {
    // What all ranks were about to write together may have failed.
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
