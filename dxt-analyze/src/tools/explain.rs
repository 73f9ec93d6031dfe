//! Command `explain`: explains the codes of findings.

use crate::exit::UsageError;
use crate::findings::{Code, Explanation};
use crate::render::Format;
use crate::render::{Cell, Part, Report, Table, View};
use crate::thresholds::{Threshold, Thresholds, names_in};
use crate::topics::codes;
use anyhow::Result;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Code of a finding, such as DXT-O001 or o001; without it, all codes are listed
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// TOML file with thresholds that are shown instead of the defaults (docs/analyses.md lists them)
    #[arg(long, value_name = "FILE")]
    pub thresholds: Option<PathBuf>,
}

/// Explanation of one code of findings, or of all codes.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// Explanation of the requested code, or of all codes if none was requested.
    pub codes: Vec<Explanation>,
    /// Thresholds in the rule of the requested code, with the values in effect; empty if no code was requested.
    pub thresholds: Vec<Threshold>,
    /// Rule by which the saving of the requested code's findings gives their severity; `None` if they have no saving, or for all codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// True if the user requested a single code.
    #[serde(skip)]
    pub one: bool,
}

/// Returns the explanation of the requested code, or of all codes if none was requested.
///
/// # Errors
/// Fails with [`UsageError`] if there is no such code, or the thresholds are invalid.
pub fn explain(args: &Args) -> Result<Explained> {
    let Some(name) = &args.code else {
        let codes = codes().into_iter().map(Code::explanation).collect();
        return Ok(Explained { codes, thresholds: Vec::new(), severity: None, one: false });
    };
    let found = find(name).ok_or_else(|| {
        UsageError(format!("there is no finding {}: `dxt-analyze explain` lists them all", name.escape_debug()))
    })?;
    let explanation = found.explanation();
    let in_force = crate::session::thresholds(args.thresholds.as_deref())?;
    let severity = explanation.computed.contains("Saving:").then(|| severity(&in_force));
    let mut thresholds = in_force.all();
    thresholds.retain(|threshold| names_in(explanation.computed).any(|word| word == threshold.name));
    Ok(Explained { codes: vec![explanation], thresholds, severity, one: true })
}

/// Returns the rule by which the severity of a finding follows from its saving, and what else holds for all findings with one.
fn severity(thresholds: &Thresholds) -> String {
    let percent = |share: f64| share * 100.0;
    format!(
        "high if it saves >= {} % of the run time, warn from {} %, else info, unless the rule says otherwise; a finding about calls that \
         another one explains is listed with that one. Outliers are calls that take far longer than their peers (DXT-V002, DXT-V003)",
        percent(thresholds.high_run_share),
        percent(thresholds.warn_run_share)
    )
}

/// Finds a code by its name, in upper or lower case, with or without `DXT-`; `None` if there is none.
fn find(name: &str) -> Option<Code> {
    let upper = name.to_ascii_uppercase();
    let short = upper.strip_prefix("DXT-").unwrap_or(&upper);
    codes().into_iter().find(|code| code.name().strip_prefix("DXT-") == Some(short))
}

impl Report for Explained {
    fn view(&self) -> View {
        let table = Table::of("codes", "", &self.codes)
            .column("Code", "code", |code| Cell::text(code.code))
            .column("Meaning", "meaning", |code| Cell::text(code.meaning))
            .csv("computed", |code| Cell::text(code.computed))
            .csv("what_to_do", |code| Cell::text(code.remedy))
            .csv("source", |code| Cell::text(code.source))
            .most(if self.one { 0 } else { usize::MAX })
            .done();
        let mut parts = vec![Part::Table(table)];
        if let ([code], true) = (self.codes.as_slice(), self.one) {
            parts.push(Part::Pairs(vec![
                ("code", code.code.into()),
                ("meaning", code.meaning.into()),
                ("computed", code.computed.into()),
                ("what to do", code.remedy.into()),
                ("source", code.source.into()),
                ("severity", self.severity.clone().unwrap_or_else(|| "given by the rule".into())),
            ]));
            let table = Table::of("thresholds", "Thresholds in force", &self.thresholds)
                .column("Threshold", "name", |threshold| Cell::text(threshold.name))
                .column("Value", "value", |threshold| Cell::text(threshold.value.to_string()))
                .column("Unit", "unit", |threshold| Cell::text(threshold.unit))
                .column("Meaning", "threshold_meaning", |threshold| Cell::text(threshold.meaning))
                .done();
            parts.push(Part::Table(table));
        }
        View { parts, max_width: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_every_way_to_write_it() {
        for code in codes() {
            assert_eq!(find(&code.name().to_lowercase()), Some(code));
        }
        assert_eq!(find("o001"), Some(Code::SLOW_OPERATIONS));
        assert_eq!(find("O999"), None);
    }
}
