//! Rendering of results. A result provides a [`View`] of itself (headings, tables, findings) for tables and CSV, and is serialized as it
//! is for JSON. Renderers see nothing else.

mod cell;
mod column;
mod csv;
pub mod figure;
pub mod svg;
pub mod table;
pub mod untimed;

pub use cell::Cell;
pub use column::{Head, Table, TableOf};
pub use figure::Figure;
pub use untimed::Untimed;

use crate::findings::Finding;
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// Output formats of every command but `dump`.
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

/// Colour setting.
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
    /// Decides for this process's standard output. `NO_COLOR`: <https://no-color.org>.
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

/// Part of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Heading.
    Heading(String),
    /// Label and text, one pair per line.
    Pairs(Vec<(&'static str, String)>),
    /// Plain lines.
    Lines(Vec<String>),
    /// Table.
    Table(Table),
    /// Findings.
    Findings(Vec<Finding>),
    /// Figure, shown on the page only.
    Figure(Box<Figure>),
}

/// Presentation of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Parts, in order.
    pub parts: Vec<Part>,
    /// Maximum table width in terminal columns; `None` for the terminal's width.
    pub max_width: Option<usize>,
}

/// Result that can be shown.
pub trait Report: Serialize {
    /// Returns the presentation.
    fn view(&self) -> View;
}

/// Output settings.
#[derive(Clone, Debug)]
pub struct Style {
    /// Output format.
    pub format: Format,
    /// True to use colours.
    pub color: bool,
    /// Width of the terminal in columns, if output goes to one.
    pub width: Option<usize>,
    /// Table to write as CSV; the main table if `None`.
    pub table: Option<String>,
}

/// Writes `report` to `out`.
///
/// # Errors
/// If `out` cannot be written, or the requested table does not exist.
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
