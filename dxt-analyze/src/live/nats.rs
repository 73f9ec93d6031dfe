//! A stream of NATS JetStream: where it is, and a connection to it.

use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self};
use std::time::Duration;

/// How long a server may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How long the server knows a message by its id, so that it takes it once only.
const DUPLICATES: Duration = Duration::from_secs(10 * 60);
/// How long a stream that is made here keeps its messages.
const KEEPS: Duration = Duration::from_secs(7 * 24 * 3600);
/// Messages on their way: more than are sent before all are acknowledged.
const UNDER_WAY: usize = 1 << 14;

/// A server and a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    server: String,
    pub(crate) subject: String,
}

/// A connection.
pub(crate) struct Connection {
    pub(crate) context: jetstream::Context,
    pub(crate) stream: Stream,
}

impl Address {
    /// `nats://HOST:PORT/SUBJECT`; without a subject it is `dxt.events`.
    ///
    /// # Errors
    /// If it is not of this form, or no message can have such a subject.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let Some((scheme @ ("nats" | "tls"), rest)) = url.split_once("://") else {
            bail!("`{url}` is no address of a stream: nats://HOST:PORT/SUBJECT");
        };
        let (server, subject) = rest.split_once('/').unwrap_or((rest, ""));
        let subject = if subject.is_empty() { "dxt.events" } else { subject };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !subject.chars().all(is_plain) || subject.split('.').any(str::is_empty) {
            bail!("`{subject}` is no subject: letters, digits, - and _, with single dots between");
        }
        Ok(Self { server: format!("{scheme}://{server}"), subject: subject.to_owned() })
    }

    /// The stream that has this subject, made if there is none: `dxt_events` of `dxt.events`. One that is there stays as it is.
    ///
    /// # Errors
    /// If there is no server, or it has no JetStream.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        let mut options = async_nats::ConnectOptions::new().connection_timeout(PATIENCE).name("dxt-analyze live");
        if let Ok(token) = std::env::var("NATS_TOKEN") {
            options = options.token(token);
        }
        let client = options.connect(&self.server).await.context("failed to connect")?;
        let builder = ContextBuilder::new().timeout(PATIENCE).ack_timeout(PATIENCE).max_ack_inflight(UNDER_WAY);
        let context = builder.build(client);
        let config = Config {
            name: self.subject.replace('.', "_"),
            subjects: vec![self.subject.clone()],
            description: Some("Calls of programs, from dxt-analyze live".into()),
            duplicate_window: DUPLICATES,
            max_age: KEEPS,
            ..Config::default()
        };
        let stream = context.get_or_create_stream(config).await.context("failed to find or make the stream")?;
        Ok(Connection { context, stream })
    }
}

/// What runs connections: a thread, so that the server's questions are answered while there is nothing to send.
///
/// # Errors
/// If the system has no thread for it.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().thread_name("nats").build().context("failed to begin a thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_server_and_a_subject() {
        let of = |url: &str| Address::new(url).map(|address| (address.server, address.subject)).ok();
        assert_eq!(of("nats://a:1/x.y"), Some(("nats://a:1".into(), "x.y".into())));
        assert_eq!(of("nats://u:p@a:1"), Some(("nats://u:p@a:1".into(), "dxt.events".into())));
        for bad in ["a:1", "http://a:1", "nats://a:1/x.*", "nats://a:1/x..y", "nats://a:1/x y"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
