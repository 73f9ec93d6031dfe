//! Settings of all findings that are worth it, each once: where two findings ask for different values, the one that saves more counts.

use super::files;
use super::windows::sparse;
use crate::findings::{Code, Saving};
use crate::model::Run;
use crate::shared::ratio::share;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::remedy::{Place, Remedy, key};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A remedy of a finding.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Item {
    /// The finding.
    pub(super) code: Code,
    /// What it says.
    pub(super) title: String,
    /// What the job would save.
    #[serde(flatten)]
    pub(super) saving: Saving,
    /// What to type.
    #[serde(flatten)]
    pub(super) remedy: Remedy,
    /// File that it is written to as a setting; `None` of what is for the user to do or to decide.
    pub(super) file: Option<&'static str>,
    /// Why it is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_written: Option<String>,
}

/// What is advised, in the order of the findings. Nothing where I/O does not matter.
pub(super) fn collect(run: &Run, verdict: &Verdict) -> Vec<Item> {
    let mut out: Vec<Item> = Vec::new();
    let mut set: BTreeMap<(Place, String), (String, Code)> = BTreeMap::new();
    let mut shown = BTreeSet::new();
    let least = run.thresholds.least_run_share;
    for weighed in verdict.findings.iter().filter(|_| verdict.io_matters) {
        let Some(saving) = weighed.finding.saving.filter(|saving| share(saving.saves_ns, verdict.run_ns) >= least) else {
            continue;
        };
        let of = |remedy: Remedy, file, not_written| Item {
            code: weighed.finding.code,
            title: weighed.finding.title.clone(),
            saving,
            remedy,
            file,
            not_written,
        };
        for remedy in &weighed.commands {
            if !shown.insert((remedy.what, remedy.lines.clone())) {
                continue;
            }
            let Some(file) = files::name_of(remedy.what) else {
                out.push(of(remedy.clone(), None, None));
                continue;
            };
            if let Some(when) = remedy.only_if
                && !sparse(run, weighed.about.file.as_deref())
            {
                out.push(of(remedy.clone(), None, Some(format!("it pays only if {when}, which the trace does not show; try it by hand"))));
                continue;
            }
            // Which lines are new, and what is said against those that are not.
            let mut against = Vec::new();
            let fresh = remedy.clone().of_new(|place, line| {
                let known = set.entry((place, key(line))).or_insert_with(|| (line.to_owned(), weighed.finding.code));
                let mine = known.1 == weighed.finding.code && known.0 == line;
                if known.0 != line {
                    against.push((line.to_owned(), format!("{} asks for `{}`, which saves more", known.1.name(), known.0)));
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
