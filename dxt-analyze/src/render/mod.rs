//! From results to text. A result gives a [`View`] of itself (headings, tables, findings) for tables and CSV, and is
//! serialised as it is for JSON. Renderers see nothing else.

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

/// Output forms of every verb but `dump`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    #[default]
    Table,
    /// One JSON object.
    Json,
    /// The main table as CSV (RFC 4180); `--table` chooses another.
    Csv,
}

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// If standard output is a terminal and NO_COLOR is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorWhen {
    /// The answer for this process's standard output. `NO_COLOR`: <https://no-color.org>.
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

/// A part of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// Label and text, one per line.
    Pairs(Vec<(&'static str, String)>),
    /// Plain lines.
    Lines(Vec<String>),
    /// A table.
    Table(Table),
    /// Findings.
    Findings(Vec<Finding>),
    /// A figure, on the page only.
    Figure(Box<Figure>),
}

/// What a result looks like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// Widest that tables may get, in columns of the terminal; `None`: as wide as the terminal.
    pub max_width: Option<usize>,
}

/// A result that can be shown.
pub trait Report: Serialize {
    /// How it looks.
    fn view(&self) -> View;
}

/// How to write.
#[derive(Clone, Debug)]
pub struct Style {
    /// Form.
    pub format: Format,
    /// Whether to colour.
    pub color: bool,
    /// Columns of the terminal, if output goes to one.
    pub width: Option<usize>,
    /// Table to write as CSV; the first if `None`.
    pub table: Option<String>,
}

/// Writes `report`.
///
/// # Errors
/// If `out` cannot be written, or the table asked for does not exist.
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
