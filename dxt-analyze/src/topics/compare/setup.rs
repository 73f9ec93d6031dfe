//! Differences in non-numeric properties: program, MPI, tracer, settings, and striping and hints of files.

use super::files::Matched;
use super::result::Changed;
use crate::model::{FileId, FileLayout, Run, Users};
use crate::text::units;
use std::collections::{BTreeMap, BTreeSet};

fn differing(what: &str, before: String, after: String) -> Option<Changed> {
    (before != after).then(|| Changed { what: what.into(), before, after })
}

/// Returns the differences in program, MPI, tracer and settings.
#[must_use]
pub fn setup(before: &Run, after: &Run) -> Vec<Changed> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let args = |run: &Run| run.info.args.iter().map(|arg| text(arg)).collect::<Vec<String>>().join(" ");
    let mpi = |run: &Run| {
        run.info.mpi.as_ref().map_or_else(|| "none".to_owned(), |mpi| format!("{} {}", mpi.family, mpi.version))
    };
    let of = |what: &str, get: &dyn Fn(&Run) -> String| differing(what, get(before), get(after));
    let mut out: Vec<Changed> = [
        of("program", &|run| text(&run.info.exe)),
        of("arguments", &args),
        of("ranks", &|run| run.ranks().to_string()),
        of("processes", &|run| run.process_count().to_string()),
        of("nodes", &|run| units::nodes(run.node_count())),
        of("MPI", &mpi),
        of("tracer", &|run| run.info.tracer.clone()),
    ]
    .into_iter()
    .flatten()
    .collect();
    out.extend(differing("ranks per node", ranks_per_node(before), ranks_per_node(after)));
    let settings = |run: &Run| run.settings.iter().cloned().collect::<BTreeMap<String, String>>();
    let (ours, theirs) = (settings(before), settings(after));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    out.extend(names.into_iter().filter_map(|name| {
        let value = |of: &BTreeMap<String, String>| of.get(name).cloned().unwrap_or_default();
        differing(name, value(&ours), value(&theirs))
    }));
    out
}

/// Returns the difference in the number of aggregators (processes that read or write on behalf of MPI-IO); `None` if equal.
#[must_use]
pub fn aggregators(before: &Users, after: &Users) -> Option<Changed> {
    differing(
        "aggregators (processes that read or write for MPI-IO)",
        before.count().to_string(),
        after.count().to_string(),
    )
}

/// Formats the number of ranks per node, such as `32` or `1 to 32`; `unknown` if the trace does not record the ranks' nodes.
fn ranks_per_node(run: &Run) -> String {
    let mut all: BTreeMap<u32, u64> = BTreeMap::new();
    let known = |process: &&crate::model::Process| process.rank >= 0 && (process.node as usize) < run.nodes.len();
    for process in run.processes.iter().filter(known) {
        *all.entry(process.node).or_default() += 1;
    }
    match (all.values().min(), all.values().max()) {
        (Some(least), Some(most)) if least == most => most.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "unknown".to_owned(),
    }
}

/// Returns the differences in striping between matched files (`matched`: indices into the lists of files `kept`). OST numbers are ignored:
/// they differ with every file.
#[must_use]
pub fn layouts(before: &Run, after: &Run, kept: (&[FileId], &[FileId]), matched: &Matched) -> Vec<Changed> {
    let of = |run: &Run, file: FileId| {
        let file = run.file(file)?;
        Some((file.name.clone(), file.layout.as_ref().filter(|layout| !layout.is_guess()).map(words)?))
    };
    let pairs = matched.pairs.iter().filter_map(|(one, two, _)| {
        let ((name, ours), (_, theirs)) = (of(before, *kept.0.get(*one)?)?, of(after, *kept.1.get(*two)?)?);
        differing(&name, ours, theirs)
    });
    pairs.collect()
}

fn words(layout: &FileLayout) -> String {
    let component = |part: &trace_format::layout::Component| {
        let from = if part.start > 0 { format!(" from {}", units::size_option(part.start)) } else { String::new() };
        let pool = if part.pool.is_empty() { String::new() } else { format!(" in {}", part.pool) };
        format!("{} x {}{from}{pool}", units::size_option(part.stripe_size), part.stripe_count)
    };
    layout.layout.components.iter().map(component).collect::<Vec<String>>().join(", ")
}

/// Returns the differences in MPI-IO hints between matched files (`matched`: indices into the lists of files `kept`).
#[must_use]
pub fn hints(before: &Run, after: &Run, kept: (&[FileId], &[FileId]), matched: &Matched) -> Vec<Changed> {
    type Hints<'a> = BTreeMap<FileId, BTreeMap<(&'a str, &'static str), Vec<&'a str>>>;
    fn by_file(run: &Run) -> Hints<'_> {
        let mut out = Hints::new();
        for hint in &run.hints {
            let values = out.entry(hint.file).or_default().entry((hint.key.as_str(), hint.origin.name())).or_default();
            values.push(&hint.value);
        }
        out
    }
    let (ours, theirs) = (by_file(before), by_file(after));
    let mut out = Vec::new();
    for (one, two, _) in &matched.pairs {
        let (Some(one), Some(two)) = (kept.0.get(*one), kept.1.get(*two)) else { continue };
        let (Some(first), Some(second)) = (ours.get(one), theirs.get(two)) else { continue };
        let name = before.file_name(*one);
        let keys: BTreeSet<_> = first.keys().chain(second.keys()).collect();
        out.extend(keys.into_iter().filter_map(|key| {
            let value = |of: &BTreeMap<_, Vec<&str>>| of.get(key).map(|values| values.join(" or ")).unwrap_or_default();
            differing(&format!("{name}: {} ({})", key.0, key.1), value(first), value(second))
        }));
    }
    out
}
