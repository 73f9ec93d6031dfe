//! Measures one run: computes the values that are compared between runs.

use crate::model::Run;
use crate::progress::Bar;
use crate::scan::{scan, together};
use crate::shared::bandwidth::{self, LayerRow};
use crate::shared::layer_calls::Made;
use crate::shared::totals::{StreamTotal, Totals, with_missing};
use crate::topics::corpus::{JobRow, Read, job};
use crate::topics::counters::result::{AccessRow, PatternRow};
use crate::topics::counters::steps::Steps;
use crate::topics::counters::{Fold, characterize};
use crate::topics::layers::dissection::calls;
use crate::topics::layers::pass::Pass;
use crate::topics::summary::view::summary_from;
use serde::Serialize;
use trace_format::op::{Layer, OpMode};

together!(
    /// Analyses that share the pass over a trace.
    Reading, Partials { totals, counters, layers }
);

/// Measured values of one run.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// Data about the job, as in the command `corpus`.
    #[serde(flatten)]
    pub job: JobRow,
    /// Command line arguments of the program, without its name.
    pub args: Vec<String>,
    /// MPI library with its version, such as `MPICH 4.0.2`; `None` without MPI.
    pub mpi: Option<String>,
    /// True if calls were not timed, so that values that depend on times are unknown.
    pub untimed: bool,
    /// Bandwidths of the run's reads and writes, by layer and caller.
    pub layers: Vec<LayerRow>,
    /// Bandwidths of the run's reads and writes by layer, regardless of the caller.
    pub whole_layers: Vec<LayerRow>,
    /// Number and time of all POSIX calls, regardless of the caller.
    pub posix: Calls,
    /// Recorded MPI-IO writes, and calls made inside the writes.
    pub mpiio_writes: Made,
    /// Number of MPI-IO reads and writes by call variant (independent, collective, nonblocking).
    pub forms: Forms,
    /// Request sizes of reads and writes, and numbers of sequential and consecutive calls, by layer and direction.
    pub accesses: Vec<AccessRow>,
    /// Alignment of reads and writes (file offsets and memory buffers), by layer.
    pub patterns: Vec<PatternRow>,
}

/// Number of calls and time in a set of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Number of calls in the set (such as all POSIX calls).
    pub calls: u64,
    /// Time in the calls of the set (such as all POSIX calls), ns, summed over processes.
    pub time_ns: u64,
}

/// Number of MPI-IO reads and writes by call variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forms {
    /// Number of independent (blocking) MPI-IO reads and writes.
    pub independent: u64,
    /// Number of collective MPI-IO reads and writes.
    pub collective: u64,
    /// Number of nonblocking and split collective calls.
    pub nonblocking: u64,
}

/// Computes the measured values of a run in one pass.
#[must_use]
pub fn measure(run: &Run, read: Read) -> RunRow {
    let bar = Bar::new(run.segments(), "reading");
    let (partials, lost) =
        scan(run, &Reading { totals: Totals, counters: (Fold, Steps), layers: Pass::new(run) }, &bar);
    drop(bar);
    let totals = with_missing(run, partials.totals);
    let summary = summary_from(run, &totals, &lost, 0, None);
    let found = characterize(run, partials.counters, &totals, &lost, 0);
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let mut row = RunRow {
        job: job(run, &summary, &totals, read),
        args: run.info.args.iter().skip(1).map(text).collect(),
        mpi: run
            .info
            .mpi
            .as_ref()
            .map(|mpi| format!("{} {}", mpi.family, number_of(&mpi.version)).trim_end().to_owned()),
        untimed: run.untimed(),
        layers: bandwidth::layers(run, &totals),
        whole_layers: bandwidth::whole_layers(run, &totals),
        posix: Calls::default(),
        mpiio_writes: Made::default(),
        forms: Forms::default(),
        accesses: found.accesses,
        patterns: found.patterns,
    };
    totals.iter().for_each(|total| row.add(run, total));
    let writes =
        calls(run, &partials.layers).into_iter().filter(|of| of.layer == Layer::Mpiio.name() && of.op == "write");
    writes.for_each(|of| row.mpiio_writes.add(&of.made));
    row
}

impl RunRow {
    /// Returns the totals of a layer's reads or writes, regardless of the caller; `op` is `read` or `write`. `None` if there were none.
    #[must_use]
    pub fn data(&self, layer: Layer, op: &str) -> Option<&LayerRow> {
        self.whole_layers.iter().find(|row| row.layer == layer.name() && row.op == op)
    }

    fn add(&mut self, run: &Run, total: &StreamTotal) {
        let process = run.process(total.process);
        let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { return };
        let op = run.op(stream);
        if op.layer == Some(Layer::Posix) {
            self.posix.calls = self.posix.calls.saturating_add(total.all.segments);
            self.posix.time_ns = self.posix.time_ns.saturating_add(total.all.duration);
        }
        if op.layer == Some(Layer::Mpiio) && op.is_data() && !stream.failed {
            let form = match op.mode {
                OpMode::Collective | OpMode::Ordered => &mut self.forms.collective,
                OpMode::Nonblocking | OpMode::Split => &mut self.forms.nonblocking,
                _ => &mut self.forms.independent,
            };
            *form = form.saturating_add(total.all.segments);
        }
    }
}

/// Extracts the version number, such as `4.1.4`, from an MPI library's version text, which may be a paragraph.
fn number_of(version: &str) -> &str {
    let words = version.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    let is_number =
        |word: &&str| word.contains('.') && word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    words.map(|word| word.trim_end_matches('.')).find(is_number).map_or("", |word| word.trim_start_matches('v'))
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn a_version_is_its_number() {
        let says = [
            "MPICH Version:\t4.0.2",
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, May 26, 2022",
            "4.0",
            "unknown",
            "",
        ];
        assert_eq!(says.map(number_of), ["4.0.2", "4.1.4", "4.0", "", ""]);
    }
}
