//! Collects the settings that are worth applying from all findings, each once. Of two different values for a setting, the one that saves
//! more is used.

use super::names::name_of;
use super::windows::sparse;
use crate::findings::{About, Code, Saving};
use crate::model::Run;
use crate::shared::ratio::share;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::remedy::{Destination, Remedy, key};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;

/// Remedy of a finding, and the run time that it saves.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    pub(super) code: Code,
    pub(super) title: String,
    /// Machine-readable facts (rank, file, calls) of the finding that leads to the remedy.
    pub(super) about: About,
    /// Run time that the remedy would save.
    #[serde(flatten)]
    pub(super) saving: Saving,
    /// Commands or settings that the remedy consists of.
    #[serde(flatten)]
    pub(super) remedy: Remedy,
    /// Name of the file to which the setting is written; `None` if the user has to act or decide.
    pub(super) file: Option<&'static str>,
    /// Reason why the setting is not written to a file; `None` if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_written: Option<String>,
}

/// MPI-IO hints with their default values: (hint, value).
const DEFAULTS: [(&str, &str); 8] = [
    ("romio_cb_read", "automatic"),
    ("romio_cb_write", "automatic"),
    ("romio_ds_read", "automatic"),
    ("romio_ds_write", "automatic"),
    ("romio_no_indep_rw", "false"),
    ("cb_buffer_size", "16777216"),
    ("ind_rd_buffer_size", "4194304"),
    ("ind_wr_buffer_size", "524288"),
];

/// Returns hints to repeat in the new hints file: hints that were in effect on all files, were not requested by the program, and are not in
/// `advice`. Such hints must come from an earlier hints file, which the new file replaces.
pub(super) fn kept(run: &Run, advice: &[Item]) -> Vec<String> {
    let is_advised = |key: &str| {
        advice
            .iter()
            .filter(|item| item.file.is_some())
            .flat_map(|item| &item.remedy.lines)
            .any(|line| line.starts_with(&format!("{key} ")))
    };
    let of = |origin: HintOrigin, key: &'static str| {
        run.hints.iter().filter(move |hint| hint.origin == origin && hint.key == key)
    };
    let other = |(key, default): (&'static str, &str)| {
        let values: BTreeSet<&str> = of(HintOrigin::InEffect, key).map(|hint| hint.value.trim()).collect();
        let is_one = values.len() == 1 && of(HintOrigin::Asked, key).next().is_none() && !is_advised(key);
        // Hints are written only if their value is a single word.
        let is_word = |value: &&&str| !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric());
        let value = values.first().filter(|value| is_one && **value != default).filter(is_word)?;
        Some(format!("{key} {value}"))
    };
    DEFAULTS.into_iter().filter_map(other).collect()
}

/// Returns the advice in the order of the findings; empty if I/O takes too little time to matter.
pub(super) fn collect(run: &Run, verdict: &Verdict) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let mut set: BTreeMap<(Destination, String), (String, Code)> = BTreeMap::new();
    let mut shown = BTreeSet::new();
    let least = run.thresholds.least_run_share;
    for weighed in verdict.findings.iter().filter(|_| verdict.io_matters) {
        let Some(saving) = weighed.finding.saving.filter(|saving| share(saving.saves_ns, verdict.run_ns) >= least)
        else {
            continue;
        };
        let of = |remedy: Remedy, file, not_written| Item {
            code: remedy.of.unwrap_or(weighed.finding.code),
            about: weighed.finding.about.clone(),
            title: weighed.finding.title.to_string(),
            saving,
            remedy,
            file,
            not_written,
        };
        for remedy in &weighed.commands {
            if !shown.insert((remedy.what, remedy.lines.clone())) {
                continue;
            }
            let Some(file) = name_of(remedy.what) else {
                out.push(of(remedy.clone(), None, None));
                continue;
            };
            if let Some(when) = remedy.only_if
                && !sparse(run, weighed.finding.about.file.as_deref())
            {
                out.push(of(
                    remedy.clone(),
                    None,
                    Some(format!("the setting pays only if {when}, which the trace does not show; try it by hand")),
                ));
                continue;
            }
            // Keeps lines that are new; `against` collects lines that conflict with settings of earlier findings.
            let mut against = Vec::new();
            let fresh = remedy.clone().of_new(|place, line| {
                let known = set.entry((place, key(line))).or_insert_with(|| (line.to_owned(), weighed.finding.code));
                let mine = known.1 == weighed.finding.code && known.0 == line;
                if known.0 != line {
                    against.push((
                        line.to_owned(),
                        format!("the advice for {} sets `{}`, which saves more", known.1.name(), known.0),
                    ));
                }
                mine
            });
            out.extend(fresh.map(|remedy| of(remedy, Some(file), None)));
            for (line, why) in against {
                out.push(of(Remedy::of(remedy.what, vec![line], remedy.why.clone()), None, Some(why)));
            }
        }
    }
    out
}
