//! `--to`: the destinations by their names on the command line.

use super::intervals::Intervals;
use super::lines::{Form, Lines};
use super::{Outlet, Sink};
use anyhow::Result;
use std::path::PathBuf;
use std::str::FromStr;

/// A destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// JSON lines in the connector's form.
    Connector(Option<PathBuf>),
    /// CSV in the connector's columns.
    Csv(Option<PathBuf>),
    /// JSON lines with all that is known.
    Events(Option<PathBuf>),
    /// JSON lines of sums over intervals.
    Intervals(Option<PathBuf>),
    /// Parquet files in a directory, with all that is known.
    Parquet(PathBuf),
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, "-"));
        let path = (rest != "-" && !rest.is_empty()).then(|| PathBuf::from(rest));
        match kind {
            "connector" => Ok(Self::Connector(path)),
            "csv" => Ok(Self::Csv(path)),
            "events" => Ok(Self::Events(path)),
            "intervals" => Ok(Self::Intervals(path)),
            "parquet" => {
                path.map(Self::Parquet).ok_or_else(|| "parquet: it needs a directory, `parquet:DIR`".to_owned())
            }
            _ => Err(format!(
                "there is no destination `{kind}`: connector, csv, events, intervals, each with `:FILE` or alone, and parquet:DIR"
            )),
        }
    }
}

impl To {
    /// Makes it.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn open(&self) -> Result<Outlet> {
        let lines = |form, path: &Option<PathBuf>| Box::new(Lines::new(form, path.clone()));
        let (name, path, sink): (&str, Option<&PathBuf>, Box<dyn Sink>) = match self {
            Self::Connector(path) => ("connector", path.as_ref(), lines(Form::Json, path)),
            Self::Csv(path) => ("csv", path.as_ref(), lines(Form::Csv, path)),
            Self::Events(path) => ("events", path.as_ref(), lines(Form::Full, path)),
            Self::Intervals(path) => ("intervals", path.as_ref(), Box::new(Intervals::new(path.clone()))),
            Self::Parquet(directory) => ("parquet", Some(directory), parquet(directory)?),
        };
        let shown = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        Ok(Outlet::new(format!("{name}:{shown}"), sink))
    }

    /// Whether it is standard output.
    #[must_use]
    pub const fn is_standard_output(&self) -> bool {
        matches!(self, Self::Connector(None) | Self::Csv(None) | Self::Events(None) | Self::Intervals(None))
    }
}

#[cfg(feature = "parquet")]
#[expect(clippy::unnecessary_wraps, reason = "a build without it has nothing to give")]
fn parquet(directory: &std::path::Path) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::parquet::Parquet::new(directory.to_owned())))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_directory: &std::path::Path) -> Result<Box<dyn Sink>> {
    let why = "this dxt-analyze was built without `parquet`: use events:FILE, or build it with --features parquet";
    Err(crate::exit::UsageError(why.into()).into())
}
