//! `--to`: the destinations by their names on the command line.

use super::intervals::Intervals;
use super::ldms::{Address, Ldms};
use super::lines::{Form, Lines};
use super::prometheus::Prometheus;
use super::{Outlet, Sink, influx};
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
    /// Sums for Prometheus, by the address to listen at.
    Prometheus(String),
    /// Sums in InfluxDB's line protocol, by URL.
    Influx(String),
    /// Calls in PostgreSQL, by URL.
    Postgres(String),
    /// Calls in a stream of NATS JetStream, by URL.
    Nats(String),
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
            "prometheus" if path.is_some() => Ok(Self::Prometheus(rest.to_owned())),
            "prometheus" => Err("prometheus needs an address to listen at: prometheus:127.0.0.1:9101".to_owned()),
            "influx" => Ok(Self::Influx(rest.to_owned())),
            "postgres" => Ok(Self::Postgres(url(text, rest))),
            "nats" => Ok(Self::Nats(url(text, rest))),
            _ => Err(format!(
                "there is no destination `{kind}`: connector, csv, events, intervals, each with `:FILE` or alone; parquet:DIR, \
                 prometheus:ADDRESS:PORT, influx:URL, postgres:URL, nats:URL, ldms[:XPRT,HOST,PORT,AUTH,STREAM]"
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
            Self::Prometheus(address) => (format!("prometheus:{address}"), Box::new(Prometheus::new(address))),
            Self::Influx(url) => {
                let shown = without_password(url.split('?').next().unwrap_or(url));
                (format!("influx:{shown}"), influx::open(url)?)
            }
            Self::Postgres(url) => (format!("postgres:{}", without_password(url)), postgres(url)?),
            Self::Nats(url) => (format!("nats:{}", without_password(url)), nats(url)?),
        };
        Ok(Outlet::new(name, sink))
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

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::postgres::open(url)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_url: &str) -> Result<Box<dyn Sink>> {
    Err(without("PostgreSQL", "postgres"))
}

#[cfg(feature = "nats")]
fn nats(url: &str) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::nats::open(url)?))
}

#[cfg(not(feature = "nats"))]
fn nats(_url: &str) -> Result<Box<dyn Sink>> {
    Err(without("NATS", "nats"))
}

/// What a build without a destination says.
#[cfg(not(all(feature = "postgres", feature = "nats")))]
fn without(what: &str, feature: &str) -> anyhow::Error {
    let text = format!("this dxt-analyze was built without {what}: build it with --features {feature}");
    crate::exit::UsageError(text).into()
}

/// The URL of a destination that is called as the scheme of its URLs: `nats://...` and `nats:nats://...` are the same.
fn url(text: &str, rest: &str) -> String {
    if rest.starts_with("//") { text.to_owned() } else { rest.to_owned() }
}

/// A URL as it may be shown: who may read messages need not know passwords.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_password("nats://me:secret@host:4222/a.b"), "nats://me@host:4222/a.b");
        assert_eq!(without_password("http://host/write?db=a@b"), "http://host/write?db=a@b");
    }
}
