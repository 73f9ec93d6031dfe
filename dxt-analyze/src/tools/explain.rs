//! `explain`: what codes of findings mean.

use crate::cli::args::ExplainArgs;
use crate::exit::UsageError;
use crate::findings::{Code, Explanation};
use crate::render::{Cell, Part, Report, Table, View};
use anyhow::Result;
use serde::Serialize;

/// One explanation, or all.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// What was asked for, or all codes.
    pub codes: Vec<Explanation>,
    /// Whether one was asked for.
    #[serde(skip)]
    pub one: bool,
}

/// Looks up what was asked for.
///
/// # Errors
/// [`UsageError`] if there is no such code.
pub fn explain(args: &ExplainArgs) -> Result<Explained> {
    let Some(name) = &args.code else {
        return Ok(Explained { codes: Code::ALL.iter().map(|code| code.explanation()).collect(), one: false });
    };
    let found = Code::find(name).ok_or_else(|| {
        UsageError(format!("there is no finding {}: `dxt-analyze explain` lists them all", name.escape_debug()))
    })?;
    Ok(Explained { codes: vec![found.explanation()], one: true })
}

impl Report for Explained {
    fn view(&self) -> View {
        let part = match self.codes.as_slice() {
            [code] if self.one => Part::Pairs(vec![
                ("code", code.code.into()),
                ("meaning", code.meaning.into()),
                ("computed", code.computed.into()),
                ("what to do", code.remedy.into()),
                ("source", code.source.into()),
            ]),
            codes => Part::Table(Table {
                name: "codes",
                title: String::new(),
                columns: vec![("Code", "code"), ("Meaning", "meaning")],
                rows: codes.iter().map(|code| vec![code.code, code.meaning]).map(texts).collect(),
                most: usize::MAX,
            }),
        };
        View { parts: vec![part], max_width: None }
    }
}

fn texts(row: Vec<&'static str>) -> Vec<Cell> {
    row.into_iter().map(|text| Cell::Text(text.into())).collect()
}
