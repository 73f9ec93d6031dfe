//! Address of a NATS JetStream stream, and connections to it.

use super::shown::{self, plain};
use anyhow::{Context as _, Result, bail};
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self};
use std::time::Duration;

/// Timeout of requests to a NATS server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Time window in which the server drops messages with a repeated id.
const DUPLICATES: Duration = Duration::from_secs(10 * 60);
/// Maximum age of messages in NATS streams that this program creates.
const KEEPS: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum number of unacknowledged messages: larger than any batch sent without waiting for acknowledgements.
const UNDER_WAY: usize = 1 << 14;

/// Server, credentials and subject of a NATS stream.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    server: String,
    who: Who,
    pub(crate) subject: String,
}

#[derive(Clone, PartialEq, Eq)]
enum Who {
    Anybody,
    Token(String),
    User(String, String),
}

impl Who {
    /// Returns the credentials in a URL's user info, else the credentials in the environment.
    fn of(userinfo: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Self {
        match userinfo.map(|info| info.split_once(':').ok_or(info)) {
            Some(Ok((user, password))) => Self::User(plain(user), plain(password)),
            Some(Err(user)) => match variable("NATS_PASSWORD") {
                Some(password) => Self::User(plain(user), password),
                None => Self::Token(plain(user)),
            },
            None => match (variable("NATS_TOKEN"), variable("NATS_USER")) {
                (Some(token), _) => Self::Token(token),
                (None, Some(user)) => Self::User(user, variable("NATS_PASSWORD").unwrap_or_default()),
                (None, None) => Self::Anybody,
            },
        }
    }
}

pub(crate) struct Connection {
    pub(crate) context: jetstream::Context,
    pub(crate) stream: Stream,
}

impl Address {
    /// Parses `nats://HOST:PORT/SUBJECT`; the default subject is `dxt.events`. Fails if the URL does not have this form, or if the subject
    /// is invalid.
    pub(crate) fn new(url: &str) -> Result<Self> {
        let Some((scheme @ ("nats" | "tls"), rest)) = url.split_once("://") else {
            bail!("`{}` is not the address of a stream: use nats://HOST:PORT/SUBJECT", shown::url(url));
        };
        // Splits the URL at the last `@`, since a password may contain any delimiter.
        let (who, rest) = rest.rsplit_once('@').map_or((None, rest), |(who, rest)| (Some(who), rest));
        let (server, subject) = rest.split_once('/').unwrap_or((rest, ""));
        let subject = if subject.is_empty() { "dxt.events" } else { subject };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !subject.chars().all(is_plain) || subject.split('.').any(str::is_empty) {
            bail!("`{subject}` is not a subject: use letters, digits, - and _, separated by single dots");
        }
        let who = Who::of(who, |name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        Ok(Self { server: format!("{scheme}://{server}"), who, subject: subject.to_owned() })
    }

    /// Connects to the stream of this subject, e.g. `dxt_events` for `dxt.events`. Creates the stream if missing; never changes an existing
    /// stream. Fails if the server cannot be reached or has no JetStream.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        let mut options = async_nats::ConnectOptions::new().connection_timeout(PATIENCE).name("dxt-analyze live");
        options = match self.who.clone() {
            Who::Anybody => options,
            Who::Token(token) => options.token(token),
            Who::User(user, password) => options.user_and_password(user, password),
        };
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

/// Creates the async runtime for connections: one thread, which answers the server's pings while the program has nothing to send. Fails if
/// the system refuses a new thread.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().thread_name("nats").build().context("failed to start a thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_server_and_a_subject() {
        let of = |url: &str| Address::new(url).map(|address| (address.server, address.subject)).ok();
        assert_eq!(of("nats://a:1/x.y"), Some(("nats://a:1".into(), "x.y".into())));
        assert_eq!(of("nats://u:p/@a:1"), Some(("nats://a:1".into(), "dxt.events".into())));
        for bad in ["a:1", "http://a:1", "nats://a:1/x.*", "nats://a:1/x..y", "nats://a:1/x y"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }

    #[test]
    fn who_asks_stands_in_the_url_or_in_the_environment() {
        let none = |_: &str| None;
        let set = |name: &str| Some(format!("{name} set"));
        assert!(Who::of(None, none) == Who::Anybody);
        assert!(Who::of(Some("u:p%40%"), set) == Who::User("u".into(), "p@%".into()));
        assert!(Who::of(Some("secret"), none) == Who::Token("secret".into()));
        assert!(Who::of(Some("u"), set) == Who::User("u".into(), "NATS_PASSWORD set".into()));
        assert!(Who::of(None, set) == Who::Token("NATS_TOKEN set".into()));
        let without_token = |name: &str| set(name).filter(|_| name != "NATS_TOKEN");
        assert!(Who::of(None, without_token) == Who::User("NATS_USER set".into(), "NATS_PASSWORD set".into()));
    }
}
