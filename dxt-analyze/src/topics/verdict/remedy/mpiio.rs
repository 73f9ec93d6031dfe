//! Settings of the library behind MPI-IO. Sources: ROMIO user's guide; MPI 4.0, 14.2.8 for portable hints; `ompi_info --param io,fcoll,fbtl all
//! --level 9` of Open MPI 4.1 and 5.0; intro_mpi(3) for Cray.

use super::facts::{Engine, Facts, OfFile, Storage, Way};
use super::{Destination, Remedy};
use crate::model::FileId;
use crate::text::units;
use crate::thresholds::fixed::{OMPIO_BUFFER, ROMIO_BUFFER};
use crate::topics::layers::rounds::{LARGEST, wanted as buffer};
use trace_format::meta::HintOrigin;

/// Condition under which disabling data sieving saves time.
const FEW_PIECES: &str = "the pieces of a call are few and large, with gaps larger than the pieces";

/// Returns the file that hints apply to: `file` if MPI-IO uses it, else the MPI-IO file with most bytes.
fn subject(facts: &Facts<'_, '_>, file: Option<FileId>) -> Option<(FileId, OfFile)> {
    let file = file.filter(|file| facts.file(*file).mpiio).or_else(|| facts.main(|file| file.mpiio))?;
    Some((file, facts.file(file)))
}

/// Returns remedies that set the hints `wanted` (name, value) on `file`, except those in effect: lines of a hints file; or, for hints to
/// which the program itself gives other values, calls of `MPI_Info_set` to put into its source, since hints files cannot override these.
fn hints(facts: &Facts<'_, '_>, file: FileId, wanted: &[(&str, String)], why: &str) -> Vec<Remedy> {
    let (mut lines, mut source) = (Vec::new(), Vec::new());
    for (key, value) in wanted {
        if facts.hint(file, HintOrigin::InEffect, key).is_some_and(|now| now == value) {
            continue;
        }
        match facts.hint(file, HintOrigin::Asked, key) {
            Some(asked) if asked == value => {}
            // The `MPI_Info` of the call that opens the file overrides hints files.
            Some(_) => source.push(format!("MPI_Info_set(info, \"{key}\", \"{value}\");")),
            None => lines.push(format!("{key} {value}")),
        }
    }
    let place = if facts.engine == Engine::Cray { Destination::CrayHints } else { Destination::RomioHints };
    let asked =
        format!("{why}; the program sets another value when it opens the file, which a hints file cannot override");
    vec![Remedy::new(place, lines, why), Remedy::new(Destination::Program, source, asked)]
}

/// True if the library reads hints, or may: a log does not tell which library ran, and ignored hints do no harm.
fn heeds_hints(engine: Engine) -> bool {
    matches!(engine, Engine::Romio | Engine::Cray | Engine::Unknown)
}

fn is_ompio(engine: Engine) -> bool {
    matches!(engine, Engine::Ompio | Engine::Unknown)
}

fn parameter(lines: Vec<String>, why: &str) -> Remedy {
    Remedy::new(Destination::OmpiMca, lines, why)
}

/// Disables data sieving, which moves the gaps between the pieces of a call.
pub(super) fn sieving(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    // In collective calls, only gaps count that the pieces of all ranks together leave.
    if of.writes.together.calls > of.writes.alone.calls && of.writes.inside.bytes > of.writes.together.bytes {
        return gaps_in_collective(facts, file);
    }
    let writes = of.writes.alone.calls > 0
        && of.writes.inside.bytes > of.writes.alone.bytes.saturating_add(of.writes.together.bytes);
    let reads_in_writes = of.writes.alone.calls > 0
        && of.reads.inside.calls > 0
        && of.reads.alone.calls == 0
        && of.reads.together.calls == 0;
    let reads = of.reads.alone.calls > 0
        && of.reads.inside.bytes > of.reads.alone.bytes.saturating_add(of.reads.together.bytes);
    let mut out = Vec::new();
    for (is, key, name) in [(writes || reads_in_writes, "romio_ds_write", "write"), (reads, "romio_ds_read", "read")] {
        if !is {
            continue;
        }
        if heeds_hints(facts.engine) {
            let why = format!(
                "each piece of a {name} then becomes its own request, without the gaps between the pieces and without a lock"
            );
            out.extend(hints(facts, file, &[(key, "disable".into())], &why));
        }
        if is_ompio(facts.engine) {
            let why =
                format!("each piece of a {name} then becomes its own request, without the gaps between the pieces");
            out.push(parameter(vec![format!("fbtl_posix_{name}_datasieving = 0")], &why));
        }
    }
    out.into_iter().map(|remedy| Remedy { only_if: Some(FEW_PIECES), ..remedy }).collect()
}

/// Stops aggregators reading and writing back the gaps of a collective write; only ROMIO's Lustre driver has a hint for it.
fn gaps_in_collective(facts: &Facts<'_, '_>, file: FileId) -> Vec<Remedy> {
    let lustre = facts.storage(file) == Storage::Lustre;
    if !lustre || !matches!(facts.engine, Engine::Romio | Engine::Unknown) {
        return Vec::new();
    }
    let why = "aggregators then write each piece separately, without reading the gaps between the pieces";
    let found = hints(facts, file, &[("romio_lustre_ds_in_coll", "disable".into())], why);
    found.into_iter().map(|remedy| Remedy { only_if: Some(FEW_PIECES), ..remedy }).collect()
}

/// Asks for as many aggregators as can work at once.
pub(super) fn aggregators(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    let stripes = facts.stripes(file).map_or(0, |(_, count)| count);
    let wanted = if stripes > 1 { stripes } else { facts.nodes }.min(facts.ranks).max(1);
    if of.movers(&facts.run.thresholds) == wanted {
        return Vec::new();
    }
    let each = wanted.div_ceil(facts.nodes);
    let why = format!(
        "{wanted} {}, {}, instead of {}: {} on each of {}",
        units::agree(wanted, "aggregator", "aggregators"),
        if stripes > 1 { "one per stripe" } else { "one per node" },
        of.movers(&facts.run.thresholds),
        units::count(each),
        units::counted(facts.nodes, "node")
    );
    let mut out = Vec::new();
    if heeds_hints(facts.engine) {
        let mut all = vec![("cb_nodes", wanted.to_string())];
        // ROMIO's default is one process per node.
        let list = facts.hint(file, HintOrigin::InEffect, "cb_config_list");
        if each > 1 || list.is_some_and(|list| list != "*:1") {
            all.push(("cb_config_list", format!("*:{each}")));
        }
        out.extend(hints(facts, file, &all, &why));
    }
    if is_ompio(facts.engine) {
        out.push(parameter(vec![format!("io_ompio_num_aggregators = {wanted}")], &why));
    }
    out
}

/// Asks for a single aggregator, which combines small pieces into one request.
pub(super) fn one_aggregator(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    let why = format!(
        "one aggregator makes one request in place of one from each of {} aggregators",
        of.movers(&facts.run.thresholds)
    );
    let mut out = Vec::new();
    if heeds_hints(facts.engine) {
        let reads = of.reads.together.calls > of.writes.together.calls;
        let gather = if reads { "romio_cb_read" } else { "romio_cb_write" };
        out.extend(hints(facts, file, &[("cb_nodes", "1".into()), (gather, "enable".into())], &why));
    }
    if is_ompio(facts.engine) {
        out.push(parameter(vec!["io_ompio_num_aggregators = 1".into()], &why));
    }
    out
}

/// Enables collective buffering, which combines the pieces of all ranks.
pub(super) fn buffering(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    let ways = [(of.writes, "romio_cb_write"), (of.reads, "romio_cb_read")];
    let mut wanted: Vec<(&str, String)> = ways
        .iter()
        .filter(|(way, _)| way.together.calls > 0 && way.inside.calls >= way.together.calls)
        .map(|(_, key)| (*key, "enable".into()))
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let why = "aggregators combine the pieces of all ranks into few large requests";
    // If calls are split, collective buffering is on, with too many or too small buffers.
    let is_cut = |way: &Way| way.together.calls > 0 && way.inside.mean().saturating_mul(2) <= way.together.mean();
    let stripes = facts.stripes(file).map_or(0, |(_, count)| count);
    let aggregators = if stripes > 1 { stripes } else { facts.nodes }.min(facts.ranks).max(1);
    let too_many = ways.iter().any(|(way, _)| is_cut(way)) && of.movers(&facts.run.thresholds) > aggregators;
    let mut lines = vec!["fcoll = vulcan".to_owned()];
    if too_many {
        wanted.push(("cb_nodes", aggregators.to_string()));
        wanted.push(("cb_buffer_size", ROMIO_BUFFER.to_string()));
        lines.push(format!("io_ompio_num_aggregators = {aggregators}"));
    }
    let mut out = Vec::new();
    if heeds_hints(facts.engine) {
        out.extend(hints(facts, file, &wanted, why));
    }
    if is_ompio(facts.engine) {
        out.push(parameter(lines, why));
    }
    out
}

/// Asks for a larger buffer of aggregators, so that a collective call exchanges its data in fewer rounds; or for more aggregators, if the
/// rounds are few.
pub(super) fn rounds(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = subject(facts, file) else { return Vec::new() };
    let mean = of.writes.together.mean().max(of.reads.together.mean());
    let movers = (of.movers(&facts.run.thresholds)).max(1);
    let default = if facts.engine == Engine::Ompio { OMPIO_BUFFER } else { ROMIO_BUFFER };
    let in_effect =
        facts.hint(file, HintOrigin::InEffect, "cb_buffer_size").and_then(|value| value.parse::<u64>().ok());
    let now = in_effect.filter(|bytes| *bytes > 0).unwrap_or(default);
    // Bytes of an aggregator in one call of all ranks.
    let part = mean.saturating_mul(of.processes.len() as u64) / movers;
    let stripe = facts.stripes(file).map_or(1, |(size, _)| size);
    let wanted = buffer(part).max(stripe).min(LARGEST);
    if part <= now || wanted <= now {
        // The rounds are few: the cost is the number of aggregators or calls.
        return if movers < facts.nodes { aggregators(facts, Some(file)) } else { Vec::new() };
    }
    let why = format!(
        "an aggregator moves {} of a collective call: {} of {} instead of {} of {}",
        units::bytes(part),
        units::counted(part.div_ceil(wanted), "round"),
        units::bytes(wanted),
        units::counted(part.div_ceil(now), "round"),
        units::bytes(now)
    );
    let mut out = Vec::new();
    if heeds_hints(facts.engine) {
        out.extend(hints(facts, file, &[("cb_buffer_size", wanted.to_string())], &why));
    }
    if is_ompio(facts.engine) && wanted > OMPIO_BUFFER {
        out.push(parameter(vec![format!("io_ompio_bytes_per_agg = {wanted}")], &why));
    }
    out
}

/// Asks for a buffer of `wanted` bytes, which holds all bytes of an aggregator in one call.
pub(super) fn buffer_size(facts: &Facts<'_, '_>, file: Option<FileId>, wanted: Option<u64>) -> Vec<Remedy> {
    let Some(((file, _), wanted)) = subject(facts, file).zip(wanted) else { return Vec::new() };
    let why = format!("an aggregator moves a collective call's bytes in one round of {}", units::bytes(wanted));
    hints(facts, file, &[("cb_buffer_size", wanted.to_string())], &why)
}

/// Makes aggregators write whole stripes.
pub(super) fn alignment(facts: &Facts<'_, '_>, file: Option<FileId>) -> Vec<Remedy> {
    let Some((file, of)) = file.map(|file| (file, facts.file(file))).filter(|(_, of)| of.mpiio) else {
        return Vec::new();
    };
    let Some((stripe, count)) = facts.stripes(file) else { return Vec::new() };
    // Offsets of independent calls are the program's.
    if !heeds_hints(facts.engine) || of.writes.together.calls == 0 {
        return Vec::new();
    }
    let why = format!(
        "aggregators divide the file at multiples of {}, so that each stripe has one writer",
        units::bytes(stripe)
    );
    let mut wanted = vec![("romio_cb_write", "enable".to_owned()), ("striping_unit", stripe.to_string())];
    if facts.storage(file) == Storage::Lustre {
        // `striping_unit` alone would give new files the file system's default count.
        wanted.push(("striping_factor", count.to_string()));
    }
    hints(facts, file, &wanted, &why)
}
