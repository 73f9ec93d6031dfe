//! Sender of InfluxDB lines by HTTP POST.

use crate::shown::{self, plain};
use crate::sinks::courier::{Carrier, Refused};
use crate::sinks::place::{ODD, is_odd};
use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dxt_base::exit::UsageError;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Timeout of one HTTP request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum bytes of a server's answer shown in messages.
const MOST_SHOWN: usize = 200;

/// HTTP client that posts lines to one URL.
pub(super) struct Post {
    agent: ureq::Agent,
    url: String,
    who: Option<String>,
    /// Passwords and tokens to remove from messages, since some servers quote the requests that they refuse.
    secrets: Vec<String>,
}

impl Post {
    /// Parses the URL. Credentials are taken from the URL, else from the environment. Fails if `url` is not an HTTP URL.
    pub(super) fn new(url: &str) -> Result<Self> {
        if is_odd(url) {
            bail!(UsageError(format!("`{}`: {ODD}", shown::url(url))));
        }
        let parsed: ureq::http::Uri = url.parse().context("not a URL")?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none() {
            bail!("influx takes http://HOST:PORT/PATH, https://... or udp://HOST:PORT");
        }
        let is_here = matches!(parsed.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        // No proxy for a loopback address: a proxy would reach the loopback address of another machine.
        let proxy = if is_here { None } else { ureq::Proxy::try_from_env() };
        let config = ureq::Agent::config_builder()
            .tls_config(trust(parsed.scheme_str() == Some("https"))?)
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .proxy(proxy)
            .build();
        let (userinfo, url) = without_userinfo(url);
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let named = || Some(format!("{}:{}", set("INFLUX_USERNAME")?, set("INFLUX_PASSWORD").unwrap_or_default()));
        let token = set("INFLUX_TOKEN").filter(|_| userinfo.is_none());
        let mut secrets = in_query(&url);
        let who = match token {
            Some(token) => {
                let header = format!("Token {token}");
                secrets.push(token);
                Some(header)
            }
            None => userinfo.or_else(named).map(|text| {
                let encoded = BASE64_STANDARD.encode(&text);
                let header = format!("Basic {encoded}");
                secrets.extend(text.split_once(':').map(|(_, password)| password.to_owned()));
                secrets.push(encoded);
                header
            }),
        };
        secrets.retain(|secret| !secret.is_empty());
        Ok(Self { agent: config.into(), url, who, secrets })
    }
}

/// Returns the values in a URL's query that may be passwords or tokens.
fn in_query(url: &str) -> Vec<String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parts = query.split('&').filter_map(|part| part.split_once('='));
    let secret = parts.filter(|(name, _)| matches!(*name, "p" | "password" | "token"));
    secret.flat_map(|(_, value)| [value.to_owned(), plain(value)]).collect()
}

/// Splits a URL into its user info, if any, and the URL without it.
fn without_userinfo(url: &str) -> (Option<String>, String) {
    let split = || {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.get(..rest.find(['/', '?', '#']).unwrap_or(rest.len()))?;
        let (who, _) = authority.rsplit_once('@')?;
        Some((plain(who), format!("{scheme}://{}", rest.get(who.len() + 1..)?)))
    };
    split().map_or((None, url.to_owned()), |(who, url)| (Some(who), url))
}

/// Returns the certificates with which servers are verified: the system's, or those of `SSL_CERT_FILE`; none if `is_asked_for` is false.
/// Fails if certificates are asked for but missing.
fn trust(is_asked_for: bool) -> Result<TlsConfig> {
    let found = if is_asked_for { rustls_native_certs::load_native_certs().certs } else { Vec::new() };
    if is_asked_for && found.is_empty() {
        bail!(crate::sinks::NO_CERTIFICATES);
    }
    let certificates = found.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    Ok(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(certificates))).build())
}

impl Carrier for Post {
    type Item = String;

    fn carry(&mut self, lines: &[String], _lost: u64) -> Result<(), Refused> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "text/plain; charset=utf-8");
        if let Some(who) = &self.who {
            request = request.header("Authorization", who);
        }
        let mut response = request.send(lines.concat()).context("failed to send")?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let said = response.body_mut().with_config().limit(MOST_SHOWN as u64).read_to_string().unwrap_or_default();
        let said = self.secrets.iter().fold(said, |said, secret| said.replace(secret, "..."));
        let error = anyhow!("the server answered {status} {}", said.trim());
        // A server with one of these statuses rejects these lines, while other lines may be fine. Any other failure may be temporary.
        Err(if matches!(status.as_u16(), 400 | 413 | 422) { Refused::ForGood(error) } else { Refused::ForNow(error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_no_part_of_the_url() {
        let of = |url: &str| without_userinfo(url);
        assert_eq!(of("http://me:p%40ss@h:1/w?db=a@b"), (Some("me:p@ss".into()), "http://h:1/w?db=a@b".into()));
        assert_eq!(in_query("http://h:1/w?u=me&p=a%40b"), ["a%40b", "a@b"]);
        assert_eq!(of("http://h:1/w?p=a@b"), (None, "http://h:1/w?p=a@b".into()));
    }
}
