//! Rendering of results. A result provides a [`View`] of itself (headings, tables, findings) for terminal, CSV and page; for JSON the
//! result itself is serialized. Renderers depend on nothing else of a result.

mod cell;
mod column;
mod csv;
pub mod figure;
pub mod flame;
pub mod svg;
pub mod table;
pub mod untimed;

pub use cell::Cell;
pub use column::{Head, Table, TableOf};
pub use figure::Figure;
pub use flame::FlameGraph;
pub use untimed::Untimed;

use crate::findings::Finding;
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// Name of the table of findings in CSV.
pub(crate) const FINDINGS: &str = "findings";

/// Output formats of every command except `dump`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people
    #[default]
    Table,
    /// One JSON object
    Json,
    /// Main table as CSV (RFC 4180); `--table` chooses another
    Csv,
}

/// Values of the option `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// If standard output is a terminal and NO_COLOR is not set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorWhen {
    /// Returns true if the standard output of this process is to be coloured. `NO_COLOR`: <https://no-color.org>.
    #[must_use]
    pub fn decide(self) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !set("NO_COLOR") && !dumb && std::io::stdout().is_terminal(),
        }
    }
}

/// Element of a view, such as a heading or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Heading of the parts that follow.
    Heading(String),
    /// Pairs of label and text, one pair per line.
    Pairs(Vec<(&'static str, String)>),
    /// Lines of text.
    Lines(Vec<String>),
    /// Table whose cells know their kind (bytes, duration, path, ...).
    Table(Table),
    /// List of findings, with evidence and advice.
    Findings(Vec<Finding>),
    /// Figure, shown on the page only.
    Figure(Box<Figure>),
    /// Flame graph, shown on the page only.
    Flames(Box<FlameGraph>),
    /// Text for other programs, never wrapped.
    Verbatim(String),
}

/// Presentation of a result for people: its headings, tables, findings and figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Elements of the view, in order.
    pub parts: Vec<Part>,
    /// Maximum table width in terminal columns; `None` for the terminal's width.
    pub max_width: Option<usize>,
}

/// Result of a command that can be shown as a view or as JSON.
pub trait Report: Serialize {
    /// Returns the result as a view for people: headings, tables and findings.
    fn view(&self) -> View;
}

/// Output settings of a command: format, colours, width.
#[derive(Clone, Debug)]
pub struct Style {
    /// Output format.
    pub format: Format,
    /// True to use colours.
    pub color: bool,
    /// Width of the terminal in columns; `None` if output does not go to a terminal.
    pub width: Option<usize>,
    /// Name of the table to write as CSV; `None` for the main table.
    pub table: Option<String>,
}

/// Writes `report` to `out`, in the format that `style` names.
///
/// # Errors
/// Fails if `out` cannot be written, or the requested table does not exist.
pub fn write(report: &impl Report, style: &Style, out: &mut dyn Write) -> Result<()> {
    match style.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, report)?;
            writeln!(out)?;
        }
        Format::Table => table::write(&report.view(), style, out)?,
        Format::Csv => csv::write(&report.view(), style, out)?,
    }
    Ok(())
}
