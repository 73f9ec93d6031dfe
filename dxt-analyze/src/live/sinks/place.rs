//! `--to`: the destinations by their names on the command line.

use super::intervals::Intervals;
use super::ldms::{Address, Ldms};
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
    /// LDMS's own program; what stands behind `ldms:`.
    Ldms(String),
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(address) = text.strip_prefix("ldms").filter(|rest| rest.is_empty() || rest.starts_with(':')) {
            let address = address.trim_start_matches(':');
            return Address::check(address).map(|()| Self::Ldms(address.to_owned()));
        }
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
                "there is no destination `{kind}`: connector, csv, events, intervals, each with `:FILE` or alone, parquet:DIR, or \
                 ldms[:XPRT,HOST,PORT,AUTH,STREAM]"
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
        let named = |kind: &str, path: &Option<PathBuf>| {
            let shown = path.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string());
            format!("{kind}:{shown}")
        };
        let (name, sink): (String, Box<dyn Sink>) = match self {
            Self::Connector(path) => (named("connector", path), Box::new(Lines::new(Form::Json, path.clone()))),
            Self::Csv(path) => (named("csv", path), Box::new(Lines::new(Form::Csv, path.clone()))),
            Self::Events(path) => (named("events", path), Box::new(Lines::new(Form::Full, path.clone()))),
            Self::Intervals(path) => (named("intervals", path), Box::new(Intervals::new(path.clone()))),
            Self::Parquet(directory) => (format!("parquet:{}", directory.display()), parquet(directory)?),
            Self::Ldms(address) => {
                let address = Address::of(address, |name| std::env::var(name).ok());
                (address.name(), Box::new(Ldms::new(address)))
            }
        };
        Ok(Outlet::new(name, sink))
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
