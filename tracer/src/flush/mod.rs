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

use crate::buffer::Arena;
use crate::config::{Config, FlushMode};
use crate::mounts::mounts;
use crate::mpi::World;
use crate::say::say;
use crate::{buffer, describe, late, record, registry, spool};
use counted::Counted;
use gather::Gathered;
use trace_format::write::{self, Encoder};

/// Where segments may be: those of the process, and those that come after its trace.
fn arenas() -> [&'static Arena; 2] {
    [&record::ARENA, late::arena()]
}

/// All that is on record or counted, and in no trace, belongs to the trace that is about to be written. The caller has the gate
/// alone. What is not on record by now is left for the next trace.
pub(crate) fn take() {
    spool::cut_begins();
    if buffer::counting::is_on() {
        buffer::counting::fold_all();
    }
    buffer::take(arenas());
    registry::take_counts();
}

/// What was taken is in a trace now, or (`written` is false) is not.
pub(crate) fn settle(written: bool) {
    if written {
        spool::cut_is_done();
    }
    buffer::settle(arenas(), written);
    registry::settle_counts(written);
    spool::cut_is_over();
    if written && !buffer::counting::is_on() {
        registry::forget_counts();
    }
}

/// At MPI_Finalize. Every rank comes here and takes part in every collective call, whatever its own part's fate. Returns whether
/// what was taken is in a trace.
pub(crate) fn all_ranks(world: &'static World, config: &Config) -> bool {
    let by = "MPI_Finalize";
    let counted = Counted::taken();
    let together = config.flush != FlushMode::Process && gather::can_be_collective();
    let written = if together {
        match collective::write(world, config, by, counted.as_ref()) {
            Ok(()) => true,
            Err(why) => {
                if world.rank == 0 && (config.verbose > 0 || config.flush == FlushMode::Collective) {
                    say(&[b"no collective trace (", why.as_bytes(), b"): each rank writes its own"]);
                }
                alone(config, by, counted.as_ref())
            }
        }
    } else {
        alone(config, by, counted.as_ref())
    };
    give_back_unless(written, counted.as_ref());
    written
}

/// Writes what was taken into a file of this process's own, unless that is nothing. False if it could not be written.
pub(crate) fn one_process(config: &Config, by: &'static str) -> bool {
    let counted = Counted::taken();
    let written = alone(config, by, counted.as_ref());
    give_back_unless(written, counted.as_ref());
    written
}

fn give_back_unless(written: bool, counted: Option<&Counted>) {
    if let Some(counted) = counted.filter(|_| !written) {
        counted.give_back();
    }
}

fn alone(config: &Config, by: &str, counted: Option<&Counted>) -> bool {
    let gathered = Gathered::new(by, None, counted);
    if gathered.is_empty() {
        return true;
    }
    let written = write_process(config, gathered);
    if let Err(why) = &written {
        match spool::path() {
            None => say(&[b"failed to write the trace: ", why.as_bytes()]),
            Some(path) => {
                say(&[b"failed to write the trace: ", why.as_bytes(), b"; dxt-analyze recover can, from ", path]);
            }
        }
    }
    written.is_ok()
}

fn write_process(config: &Config, mut gathered: Gathered) -> Result<(), String> {
    let mut encoder = Encoder::new().map_err(|error| error.to_string())?;
    let job = describe::job(Vec::new(), mounts());
    let region = gathered.region(&mut encoder, 0).map_err(|error| error.to_string())?;
    let bytes = write::file(&mut encoder, &job, vec![region]).map_err(|error| error.to_string())?;
    let path = output::process_path(config, gathered.place());
    spool::cut_goes_to(&path);
    let written = output::write(&path, &bytes)?;
    if config.verbose > 0 {
        say(&[b"wrote ", &written]);
    }
    Ok(())
}
