//! Destinations of `live` as named on the command line (`--to`).

use super::intervals::Intervals;
use super::ldms::{Address, Ldms};
use super::lines::{Form, Lines};
use super::{Outlet, Sink, influx};
use crate::{names, shown};
use anyhow::{Result, bail};
use dxt_base::exit::UsageError;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Destination as given on the command line. A path of `None` means standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// Calls as JSON lines in the format of the LDMS-Darshan connector.
    Connector(Option<PathBuf>),
    /// Calls as CSV with the columns of the LDMS-Darshan connector.
    Csv(Option<PathBuf>),
    /// Calls as JSON lines with all fields.
    Events(Option<PathBuf>),
    /// Interval sums as JSON lines.
    Intervals(Option<PathBuf>),
    /// Calls as Parquet files with all fields; the value is the directory.
    Parquet(PathBuf),
    /// Calls sent to an LDMS daemon by LDMS's own publishing program; the value is the text after `ldms:`.
    Ldms(String),
    /// Interval sums for Prometheus; the value is the address to listen on.
    Prometheus(String),
    /// Interval sums in InfluxDB's line protocol; the value is a URL.
    Influx(String),
    /// Calls as rows of a PostgreSQL table; the value is a URL.
    Postgres(String),
    /// Calls as messages of a NATS JetStream stream; the value is a URL.
    Nats(String),
    /// Unknown destination; the value is the text before the first colon, since the rest may hold a password.
    Unknown(String),
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(address) = text.strip_prefix("ldms").filter(|rest| rest.is_empty() || rest.starts_with(':')) {
            let address = address.trim_start_matches(':');
            return Ok(Self::Ldms(address.to_owned()));
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
            _ => Ok(Self::Unknown(kind.to_owned())),
        }
    }
}

impl To {
    /// Creates the destination. A Parquet file is completed once per `rotate`; other destinations ignore it.
    ///
    /// # Errors
    /// Fails if the text is not a valid destination, or this build does not support the destination.
    pub fn open(&self, rotate: Duration) -> Result<Outlet> {
        let here = self.here();
        let this = &here;
        let named = |kind: &str, path: &Option<PathBuf>| file_name(kind, path.as_deref());
        this.check()?;
        let (name, sink): (String, Box<dyn Sink>) = match this {
            Self::Connector(path) => (named("connector", path), Box::new(Lines::new(Form::Json, path.clone()))),
            Self::Csv(path) => (named("csv", path), Box::new(Lines::new(Form::Csv, path.clone()))),
            Self::Events(path) => (named("events", path), Box::new(Lines::new(Form::Full, path.clone()))),
            Self::Intervals(path) => (named("intervals", path), Box::new(Intervals::new(path.clone()))),
            Self::Parquet(directory) => (file_name("parquet", Some(directory)), parquet(directory, rotate)?),
            Self::Ldms(address) => {
                Address::check(address)?;
                let address = Address::of(address, |name| std::env::var(name).ok());
                (address.name(), Box::new(Ldms::new(address)))
            }
            Self::Prometheus(address) => (format!("prometheus:{}", shown::url(address)), prometheus(address)?),
            Self::Influx(url) => (format!("influx:{}", shown::url(url)), influx::open(url)?),
            Self::Postgres(url) => (format!("postgres:{}", shown::url(url)), postgres(url)?),
            Self::Nats(url) => (format!("nats:{}", shown::url(url)), nats(url)?),
            Self::Unknown(kind) => return Err(unknown(kind)),
        };
        Ok(Outlet::new(name, sink))
    }

    /// True if the output has exactly the fields of the LDMS-Darshan connector.
    #[must_use]
    pub const fn is_of_connectors_form(&self) -> bool {
        matches!(self, Self::Connector(_) | Self::Csv(_) | Self::Ldms(_))
    }

    /// Returns the destination with the placeholders in its path replaced for this node and process.
    fn here(&self) -> Self {
        let one = |path: &Option<PathBuf>| path.as_deref().map(names::here);
        match self {
            Self::Connector(path) => Self::Connector(one(path)),
            Self::Csv(path) => Self::Csv(one(path)),
            Self::Events(path) => Self::Events(one(path)),
            Self::Intervals(path) => Self::Intervals(one(path)),
            Self::Parquet(directory) => Self::Parquet(names::here(directory)),
            other => other.clone(),
        }
    }

    /// Rejects invalid addresses before anything else is done. The error message shows nothing that may be a password.
    fn check(&self) -> Result<()> {
        match self {
            Self::Connector(path) | Self::Csv(path) | Self::Events(path) | Self::Intervals(path) => {
                path.as_deref().map_or(Ok(()), no_url)
            }
            Self::Parquet(directory) => no_url(directory),
            Self::Influx(url) | Self::Postgres(url) if url.contains("://") && is_odd(url) => {
                bail!(UsageError(format!("`{}`: {ODD}", shown::url(url))))
            }
            _ => Ok(()),
        }
    }
}

/// Rejects a URL given as a path, which would create a file of that name.
fn no_url(path: &Path) -> Result<()> {
    let text = path.to_string_lossy();
    if text.starts_with("//") || text.contains("://") {
        let text =
            format!("`{}` looks like a URL: this destination takes the path of a file on this node", shown::path(path));
        bail!(UsageError(text));
    }
    Ok(())
}

/// Returns the unique name of a file destination for messages and the state. A path with `@` is redacted, so a digest is appended to it.
fn file_name(kind: &str, path: Option<&Path>) -> String {
    let Some(path) = path else { return format!("{kind}:-") };
    let name = format!("{kind}:{}", shown::path(path));
    if !path.as_os_str().as_encoded_bytes().contains(&b'@') {
        return name;
    }
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}#{digits}")
}

fn unknown(kind: &str) -> anyhow::Error {
    let text = format!(
        "unknown destination `{}`: use connector, csv, events, intervals, each with `:FILE` or alone; parquet:DIR, \
         prometheus:ADDRESS:PORT, influx:URL, postgres:URL, nats:URL, ldms[:XPRT,HOST,PORT,AUTH,STREAM]",
        shown::url(kind)
    );
    UsageError(text).into()
}

#[cfg(feature = "serve")]
fn prometheus(address: &str) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::prometheus::Prometheus::new(address)?))
}

#[cfg(not(feature = "serve"))]
fn prometheus(_address: &str) -> Result<Box<dyn Sink>> {
    let why = "this dxt-analyze was built without `serve`, which prometheus needs: build it with --features serve";
    bail!(UsageError(why.into()))
}

#[cfg(feature = "parquet")]
#[expect(clippy::unnecessary_wraps, reason = "a build without it has nothing to give")]
fn parquet(directory: &std::path::Path, every: Duration) -> Result<Box<dyn Sink>> {
    Ok(Box::new(super::parquet::Parquet::new(directory.to_owned(), every)))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_directory: &std::path::Path, _every: Duration) -> Result<Box<dyn Sink>> {
    let why = "this dxt-analyze was built without `parquet`: use events:FILE, or build it with --features parquet";
    Err(UsageError(why.into()).into())
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

/// Returns the error message for the destination `what`, which needs the build feature `feature`.
#[cfg(not(all(feature = "postgres", feature = "nats")))]
fn without(what: &str, feature: &str) -> anyhow::Error {
    let text = format!("this dxt-analyze was built without {what}: build it with --features {feature}");
    UsageError(text).into()
}

/// Returns the URL of a destination named like its URL scheme, so that `nats://...` and `nats:nats://...` mean one URL.
fn url(text: &str, rest: &str) -> String {
    if rest.starts_with("//") { text.to_owned() } else { rest.to_owned() }
}

/// True if an `@` follows the URL's authority part: a parser would take part of the user or password for the host.
pub(super) fn is_odd(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    !authority.is_empty() && behind.contains('@')
}

/// Error text for URLs that [`is_odd`] rejects.
pub(super) const ODD: &str = "an `@` follows a `/`, `?` or `#`: in a user or password, write %2F, %3F or %23 for these; elsewhere, %40 for the `@`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_url_and_its_name_in_a_state_tells_it_from_others() {
        let name =
            |to: &str| to.parse::<To>().unwrap().open(Duration::from_secs(60)).map(|outlet| outlet.name().to_owned());
        for url in ["parquet://me:secret@h", "events:nats://me:secret@h", "csv://h/a", "intervals:s3://h"] {
            let why = name(url).unwrap_err().to_string();
            assert!(why.contains("like a URL") && !why.contains("secret"), "{why}");
        }
        assert_eq!(name("events:/a/b").unwrap(), "events:/a/b");
        let [one, two] = ["events:/me:secret@h/a", "events:/you@h/a"].map(|to| name(to).unwrap());
        assert!(one.starts_with("events:...@h/a#") && two.starts_with("events:...@h/a#") && one != two, "{one} {two}");
    }

    #[test]
    fn an_at_too_late_is_odd() {
        for url in [
            "http://me:sec/ret@h/w",
            "http://me:sec?ret@h",
            "http://h/w?p=a@b",
            "http://me#a@h",
            "http://me@a:sec/ret@h",
        ] {
            assert!(is_odd(url), "{url}");
        }
        for url in ["http://me:se%2Fcret@h/w", "http://h/w?p=a%40b", "http://h", "postgres:///db?user=me@h"] {
            assert!(!is_odd(url), "{url}");
        }
    }
}
