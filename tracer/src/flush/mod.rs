//! Writes the trace: all ranks into one file where that is possible, each process into its own otherwise. The program's
//! output, errno and exit code stay as they are, whatever happens here.

mod collective;
mod counted;
mod details;
mod gather;
mod left_out;
mod names;
mod output;
mod reduce;
mod sift;
mod unpack;

use crate::config::{Config, FlushMode};
use crate::mounts::mounts;
use crate::mpi::World;
use crate::say::say;
use crate::{buffer, clock, describe, job, registry, spool, stack};
use counted::Counted;
use gather::Gathered;
use std::sync::atomic::{AtomicU32, Ordering};
use trace_format::write::{self, Encoder};

/// At MPI_Finalize. Every rank comes here and takes part in every collective call, whatever its own part's fate.
pub(crate) fn all_ranks(world: &'static World, config: &Config) {
    let by = "MPI_Finalize";
    let until = clock::now();
    let counted = stack::at_end(Counted::take).flatten();
    let together = config.flush != FlushMode::Process && gather::can_be_collective();
    let done = if together {
        match collective::write(world, config, by, counted.as_ref()) {
            Ok(()) => true,
            Err(why) => {
                if world.rank == 0 && (config.verbose > 0 || config.flush == FlushMode::Collective) {
                    say(&[b"no collective trace (", why.as_bytes(), b"): each rank writes its own"]);
                }
                written_elsewhere(|| alone(config, by, counted.as_ref()))
            }
        }
    } else {
        written_elsewhere(|| alone(config, by, counted.as_ref()))
    };
    // Else it is still to be written, when the process ends or by whoever recovers its spool.
    if done {
        written(until);
    }
}

/// What ended before `until` is in a trace. What was counted in counters mode was taken, and is not there any more.
pub(crate) fn written(until: u64) {
    if !buffer::counting::is_on() {
        buffer::set_written_until(until);
        registry::forget_counts();
    }
}

/// Writes this process's trace into a file of its own, unless there is nothing to write. False if it could not be written.
pub(crate) fn one_process(config: &Config, by: &'static str) -> bool {
    written_elsewhere(|| alone(config, by, Counted::take().as_ref()))
}

/// Runs `write` on a stack of the tracer's own; false if it fails, also for want of memory.
fn written_elsewhere(write: impl FnOnce() -> bool) -> bool {
    stack::at_end(write).unwrap_or_else(|| {
        say_failed(b"not enough memory");
        false
    })
}

/// Says that there is no trace, and what to do; once, though at the end it may be tried again.
fn say_failed(why: &[u8]) {
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

fn alone(config: &Config, by: &str, counted: Option<&Counted>) -> bool {
    let gathered = Gathered::new(by, None, counted);
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
    let mut encoder = Encoder::new().map_err(|error| error.to_string())?;
    let job = describe::job(Vec::new(), mounts());
    let region = gathered.region(&mut encoder, 0).map_err(|error| error.to_string())?;
    let bytes = write::file(&mut encoder, &job, vec![region]).map_err(|error| error.to_string())?;
    let path = output::process_path(config, gathered.place());
    let written = output::write(&path, &bytes)?;
    if config.verbose > 0 {
        say(&[b"wrote ", &written]);
    }
    Ok(())
}
