//! Lines by POST.

use crate::live::sinks::courier::{Carrier, Refused};
use anyhow::{Context, Result, anyhow, bail};
use std::time::Duration;

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are shown.
const MOST_SHOWN: usize = 200;

/// Posts lines to a URL.
pub(super) struct Post {
    agent: ureq::Agent,
    url: String,
    /// `INFLUX_TOKEN`, as a header's value.
    token: Option<String>,
}

impl Post {
    /// # Errors
    /// If it is no URL of HTTP.
    pub(super) fn new(url: &str) -> Result<Self> {
        let parsed: ureq::http::Uri = url.parse().context("no URL")?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none() {
            bail!("influx takes http://HOST:PORT/PATH, https://... or udp://HOST:PORT");
        }
        let is_here = matches!(parsed.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        // A proxy reaches another machine's loopback.
        let proxy = if is_here { None } else { ureq::Proxy::try_from_env() };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .proxy(proxy)
            .build();
        let token = std::env::var("INFLUX_TOKEN").ok().map(|token| format!("Token {token}"));
        Ok(Self { agent: config.into(), url: url.to_owned(), token })
    }
}

impl Carrier for Post {
    type Item = String;

    fn carry(&mut self, lines: &[String], _lost: u64) -> Result<(), Refused> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "text/plain; charset=utf-8");
        if let Some(token) = &self.token {
            request = request.header("Authorization", token);
        }
        let mut response = request.send(lines.concat()).context("failed to send")?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let said = response.body_mut().with_config().limit(MOST_SHOWN as u64).read_to_string().unwrap_or_default();
        let error = anyhow!("the server answered {status} {}", said.trim());
        // Those lines are what it does not like; others may be fine. Everything else may pass.
        Err(if matches!(status.as_u16(), 400 | 413 | 422) { Refused::ForGood(error) } else { Refused::ForNow(error) })
    }
}
