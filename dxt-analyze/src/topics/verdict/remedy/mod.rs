//! Remedies: commands, settings or lines of source that fix a finding, with this run's numbers.
//!
//! * [`facts`]: facts of the run that decide which remedy fits.
//! * [`mpiio`]: hints of ROMIO, and parameters of OMPIO, Open MPI's own component, which ignores hints.
//! * [`striping`]: striping of files; excluded nodes and targets.
//! * [`program`]: lines of source.
//!
//! Advice fits the system: `lfs` on Lustre only, hints only for the library that ran. A value that the program sets by `MPI_Info` overrides any
//! hints file, so the remedy changes the program.

pub(crate) mod facts;
mod mpiio;
mod program;
mod striping;

use crate::findings::{Code, Finding, Reason};
use crate::hypotheses::Hypothesis;
use crate::sum::Sum;
use crate::text::units;
use facts::Facts;
use serde::Serialize;
use std::collections::BTreeSet;

/// Place where a remedy is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Destination {
    /// A file of hints that ROMIO_HINTS names: lines `key value`.
    RomioHints,
    /// Cray's MPICH_MPIIO_HINTS: lines `key value`.
    CrayHints,
    /// Parameters of Open MPI: lines `name = value`.
    OmpiMca,
    /// Variables of the job: lines `NAME=value`.
    Environment,
    /// Commands to type before the job.
    Shell,
    /// Options of the command that submits the job.
    Job,
    Program,
}

impl Destination {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RomioHints => "in a ROMIO hints file",
            Self::CrayHints | Self::Environment => "in the job's environment",
            Self::OmpiMca => "as Open MPI parameters",
            Self::Shell => "in the shell, before the job",
            Self::Job => "when submitting the job",
            Self::Program => "in the program",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Remedy {
    /// Place where the lines are applied.
    pub(crate) what: Destination,
    /// Settings, commands or source lines of the remedy, as text.
    pub(crate) lines: Vec<String>,
    /// `lines` as shell commands, if they are settings; else empty.
    pub(crate) typed: Vec<String>,
    /// Reason for the remedy and for its numbers.
    pub(crate) why: String,
    /// Condition under which the remedy pays; `None` if the findings show that it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) only_if: Option<&'static str>,
    /// Code of the finding that the remedy fixes, if it is not the card's first finding (a card holds a finding and its duplicates).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) of: Option<Code>,
}

impl Remedy {
    pub(crate) fn of(what: Destination, lines: Vec<String>, why: String) -> Self {
        Self::new(what, lines, why)
    }

    fn new(what: Destination, lines: Vec<String>, why: impl Into<String>) -> Self {
        let typed = typed(what, &lines);
        Self { what, lines, typed, why: why.into(), only_if: None, of: None }
    }

    /// Keeps the lines that `is_new` accepts; `None` if no line is left. Lines of source are kept or dropped together.
    pub(crate) fn of_new(self, mut is_new: impl FnMut(Destination, &str) -> bool) -> Option<Self> {
        let Self { what, lines, why, only_if, of, .. } = self;
        let fresh: Vec<bool> = lines.iter().map(|line| is_new(what, line)).collect();
        let kept: Vec<String> = match what {
            Destination::Program => {
                if fresh.contains(&true) {
                    lines
                } else {
                    Vec::new()
                }
            }
            _ => lines.into_iter().zip(fresh).filter_map(|(line, fresh)| fresh.then_some(line)).collect(),
        };
        (!kept.is_empty()).then(|| Self { only_if, of, ..Self::new(what, kept, why) })
    }
}

/// Returns settings as shell commands.
pub(crate) fn typed(what: Destination, lines: &[String]) -> Vec<String> {
    match what {
        Destination::RomioHints => {
            let quoted: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
            vec![
                format!("printf '%s\\n' {} > romio_hints", quoted.join(" ")),
                "export ROMIO_HINTS=$PWD/romio_hints".into(),
            ]
        }
        Destination::CrayHints => vec![format!("export {}", cray(lines))],
        Destination::OmpiMca => {
            lines.iter().map(|line| format!("export OMPI_MCA_{}", line.replacen(" = ", "=", 1))).collect()
        }
        Destination::Environment => lines.iter().map(|line| format!("export {line}")).collect(),
        Destination::Shell | Destination::Job | Destination::Program => lines.to_vec(),
    }
}

/// Returns hints for Cray's environment variable: `*:key=value:key=value`, for all files.
pub(crate) fn cray(lines: &[String]) -> String {
    let pairs: Vec<String> = lines.iter().map(|line| line.replacen(' ', "=", 1)).collect();
    format!("MPICH_MPIIO_HINTS='*:{}'", pairs.join(":"))
}

/// Returns remedies for a finding, least effort first.
pub(crate) fn remedies(facts: &Facts<'_, '_>, finding: &Finding) -> Vec<Remedy> {
    let code = finding.code;
    let is = |codes: &[Code]| codes.contains(&code);
    let named = finding.evidence.iter().find_map(|evidence| evidence.about.file.as_deref());
    let file = named.and_then(|name| facts.named(name));
    let reason = finding.about.reason;
    let mut out = Vec::new();
    if is(&[Code::LOCK_TIME]) && reason == Some(Reason::SharedFilePointer) {
        out.extend(program::own_offsets());
    } else if is(&[Code::LOCK_TIME]) && reason == Some(Reason::AtomicMode) {
        out.extend(program::not_atomic());
    } else if is(&[Code::SIEVING, Code::UNASKED, Code::LOCK_TIME]) {
        out.extend(mpiio::sieving(facts, file));
        out.extend(program::collective(facts, file));
    } else if is(&[Code::AGGREGATORS, Code::FEW_AGGREGATORS, Code::SERIAL]) {
        out.extend(mpiio::aggregators(facts, file));
    } else if is(&[Code::MANY_AGGREGATORS]) {
        out.extend(mpiio::one_aggregator(facts, file));
    } else if is(&[Code::NO_BUFFERING]) {
        out.extend(mpiio::buffering(facts, file));
    } else if is(&[Code::COMMUNICATION]) {
        out.extend(mpiio::rounds(facts, file));
    } else if is(&[Code::BUFFER_SIZE]) {
        out.extend(mpiio::buffer_size(facts, file, finding.about.bytes));
    } else if is(&[
        Code::INDEPENDENT,
        Code::NO_COLLECTIVE_READS,
        Code::NO_COLLECTIVE_WRITES,
        Code::SHARED_INDEPENDENT,
        Code::NO_MPIIO,
        Code::SMALL_SHARED_READS,
        Code::SMALL_SHARED_WRITES,
        Code::SERIALISED,
        Code::ONE_RANK,
        Code::OUTSIDE_POSIX,
        Code::ONE_CALL,
    ]) {
        out.extend(program::collective(facts, file));
    } else if is(&[Code::STRIDED_READS, Code::STRIDED_WRITES]) {
        out.extend(program::collective(facts, file));
        if out.is_empty() {
            out.extend(program::larger(facts, file, code == Code::STRIDED_WRITES));
        }
    } else if is(&[Code::TINY_COLLECTIVE]) {
        out.extend(program::steps_together(finding));
    } else if is(&[Code::READ_AHEAD]) {
        out.extend(program::ahead(facts, finding));
    } else if is(&[Code::SMALL_READS, Code::READ_RUNS, Code::RANDOM_READS]) {
        out.extend(program::larger(facts, file, false));
    } else if is(&[
        Code::SMALL_WRITES,
        Code::WRITE_RUNS,
        Code::RANDOM_WRITES,
        Code::SLOW_SMALL_WRITES,
        Code::STDIO_SHARE,
    ]) {
        out.extend(program::larger(facts, file, true));
    } else if is(&[Code::FALSE_SHARING, Code::LOCAL_SHARING, Code::UNALIGNED, Code::CROSSING, Code::READ_MODIFY_WRITE])
    {
        out.extend(mpiio::alignment(facts, file));
        out.extend(program::alignment(facts, file));
    } else if is(&[Code::FEW_TARGETS, Code::IMBALANCE]) {
        out.extend(striping::wider(facts, file));
    } else if is(&[Code::ALIASING]) {
        out.extend(striping::askew(facts, file));
    } else if is(&[Code::SLOW_TARGET]) {
        out.extend(striping::around(facts, finding));
    } else if is(&[Code::SLOW_NODE]) {
        out.extend(striping::without_nodes(facts, finding));
    } else if is(&[Code::COMMON_READS, Code::REREAD, Code::SAME_BYTES]) {
        out.extend(program::read_once(facts, file, code != Code::REREAD));
    } else if is(&[
        Code::SYNC_PER_WRITE,
        Code::HDF5_FLUSHED,
        Code::WRITTEN_THROUGH,
        Code::PAST_CACHE,
        Code::SEEK_PER_ACCESS,
        Code::LOCK_WAITS,
        Code::IDLE_GAPS,
        Code::BLOCKING_ONLY,
    ]) {
        out.extend(program::calls(facts, file, code));
    } else if is(&[
        Code::HDF5_METADATA,
        Code::REPEATED_OPENS,
        Code::OPEN_PER_ACCESS,
        Code::METADATA_TIME,
        Code::METADATA_SHARE,
        Code::METADATA_RATE,
    ]) {
        out.extend(program::metadata(facts, file, code));
    } else if is(&[Code::HDF5_AMPLIFIED]) {
        out.extend(program::chunk_cache(facts, file));
    } else if is(&[Code::LONG_COLLECTIVE]) {
        out.extend(program::first_call(facts, file));
    } else if is(&[Code::FOLDED]) {
        out.extend(more_buffer(facts));
    }
    out.retain(|remedy| !remedy.lines.is_empty());
    out
}

/// Returns the remedies of a finding or, if it has none, of the first of its duplicates (`also`) that has any; each setting once.
pub(crate) fn of_card(facts: &Facts<'_, '_>, finding: &Finding, also: &[Finding]) -> Vec<Remedy> {
    // Another form of the calls does not help if they are slower than their peers.
    let also = if Hypothesis::of(finding.code).is_slower_unit() { &[] } else { also };
    let of_finding = |other: &Finding| {
        let of = (other.code != finding.code).then_some(other.code);
        remedies(facts, other).into_iter().map(|remedy| Remedy { of, ..remedy }).collect::<Vec<Remedy>>()
    };
    let mut all = std::iter::once(finding).chain(also).map(of_finding);
    let mut known = BTreeSet::new();
    let first = all.find(|found| !found.is_empty()).unwrap_or_default();
    first.into_iter().filter_map(|remedy| remedy.of_new(|place, line| known.insert((place, key(line))))).collect()
}

/// Returns the key of a setting: two lines with one key set the same thing.
pub(crate) fn key(line: &str) -> String {
    // The layout of a directory is one setting.
    if line.starts_with("lfs setstripe")
        && let Some(at) = line.find(" /").or_else(|| line.find(" '/"))
    {
        return format!("lfs setstripe{}", line.get(at..).unwrap_or_default());
    }

    let is_setting = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match line.split_once([' ', '=']) {
        Some((key, value)) if is_setting(key) && !value.contains(['(', ';', '/']) => key.to_owned(),
        _ => line.to_owned(),
    }
}

/// Returns a setting that enlarges the tracer's buffer, so that it records all calls: 16 bytes (twice a packed segment) for each call of
/// the busiest process. `None` for logs, and if no calls are missing.
fn more_buffer(facts: &Facts<'_, '_>) -> Option<Remedy> {
    let run = facts.run;
    if run.was_log() || run.missing_segments() == 0 {
        return None;
    }
    let most = run.processes.iter().map(|process| {
        let kept = process.blocks.iter().map(|block| u64::from(block.head.segments)).sum::<Sum>().get();
        run.missing_of(process).fold(kept, |sum, (_, counters)| sum.saturating_add(counters.segments))
    });
    let bytes = most
        .max()?
        .saturating_mul(run.thresholds.many_calls_min)
        .clamp(8 << 20, 1 << 40)
        .checked_next_power_of_two()?;
    let lines = vec![format!("DXT_BUFFER_MAX={}", units::size_option(bytes))];
    Some(Remedy::new(Destination::Environment, lines, "space to record all calls of the busiest process"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_commands() {
        let lines = ["cb_nodes 4".to_owned(), "romio_cb_write enable".to_owned()];
        let hints = typed(Destination::RomioHints, &lines);
        assert_eq!(hints[0], "printf '%s\\n' 'cb_nodes 4' 'romio_cb_write enable' > romio_hints");
        assert_eq!(
            typed(Destination::CrayHints, &lines),
            ["export MPICH_MPIIO_HINTS='*:cb_nodes=4:romio_cb_write=enable'"]
        );
        assert_eq!(typed(Destination::OmpiMca, &["fcoll = vulcan".into()]), ["export OMPI_MCA_fcoll=vulcan"]);
    }

    #[test]
    fn the_same_setting_has_the_same_key_and_other_lines_are_themselves() {
        assert_eq!(key("cb_nodes 4"), key("cb_nodes 8"));
        assert_eq!(key("fcoll = vulcan"), "fcoll");
        assert_eq!(key("DXT_BUFFER_MAX=8M"), "DXT_BUFFER_MAX");
        assert_eq!(key("lfs setstripe -c 4 -S 1M /a b"), key("lfs setstripe -c 1 -o 3 /a b"));
        for line in ["setfattr -n a -v 4 /a", "MPI_Info_set(info, \"cb_nodes\", \"4\");", "fsync(fd);"] {
            assert_eq!(key(line), line);
        }
    }
}
