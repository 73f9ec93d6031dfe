//! Calls as messages of a NATS JetStream stream. Each message is a JSON line as in `--to events`, with the call's id as message id, so that
//! the server drops duplicates. Other messages report the number of dropped calls, and of processes that ended before the agent could
//! observe them.

use super::courier::{Carrier, Courier, Refused};
use super::full;
use super::sent::{Cargo, Sent};
use crate::event::Event;
use crate::interval::Interval;
use crate::names;
use crate::nats::{Address, Connection, PATIENCE, runtime};
use crate::time::unix_ns;
use anyhow::{Context, Result};
use async_nats::jetstream::message::PublishMessage;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Runtime;

/// Maximum number of calls waiting to be sent; each takes some 150 bytes.
const MOST_EVENTS: usize = 1 << 17;
/// Timeout for sending a batch of messages, as a multiple of [`PATIENCE`].
const TIMES: u32 = 4;

/// Sender of messages to a NATS stream.
struct Publisher {
    address: Address,
    runtime: Runtime,
    connection: Option<Connection>,
    /// Number of dropped calls already reported in messages to the NATS stream.
    reported: u64,
    /// Number of unobserved processes already reported in messages to the NATS stream.
    reported_unseen: u64,
    unseen: Arc<Unseen>,
    /// Name of this agent, used in messages about the agent itself.
    agent: String,
}

/// Number of processes that ended before the agent could observe them, shared with the sending thread. It is not queued as a message, since
/// queued messages may be dropped.
struct Unseen {
    /// Id of this agent, which agents that resume it keep.
    watcher: AtomicU64,
    count: AtomicU64,
}

pub(crate) struct Messages {
    unseen: Arc<Unseen>,
    /// True if the number of unobserved processes grew in the latest interval.
    has_word: bool,
}

impl Cargo for Messages {
    type Item = Event;
    const OF_EVENTS: bool = true;

    fn of_events(&mut self, events: &[Event]) -> Vec<Event> {
        events.to_vec()
    }

    fn of_interval(&mut self, interval: &Interval, _lost: u64) -> Vec<Event> {
        let count = interval.not_seen.spools;
        self.has_word = count > self.unseen.count.fetch_max(count, Ordering::Relaxed);
        Vec::new()
    }

    fn has_word(&self) -> bool {
        self.has_word
    }

    fn position(&self) -> Option<u64> {
        Some(self.unseen.watcher.load(Ordering::Relaxed))
    }

    fn go_on(&mut self, position: u64) {
        self.unseen.watcher.store(position, Ordering::Relaxed);
    }
}

/// Opens the destination `url`, e.g. `nats://HOST:PORT/SUBJECT`. Fails if `url` is not the address of a NATS stream.
pub(crate) fn open(url: &str) -> Result<Sent<Messages>> {
    let agent = format!("{}-{}-{}", names::node(), std::process::id(), unix_ns());
    let unseen = Arc::new(Unseen { watcher: watcher(&agent).into(), count: 0.into() });
    let messages = Messages { unseen: Arc::clone(&unseen), has_word: false };
    let publisher = Publisher {
        address: Address::new(url)?,
        runtime: runtime()?,
        connection: None,
        reported: 0,
        reported_unseen: 0,
        unseen,
        agent,
    };
    Ok(Sent::new(Courier::new(MOST_EVENTS, publisher)?, messages))
}

/// Returns a random id for this agent, which is unique with near certainty.
fn watcher(agent: &str) -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(agent)
}

impl Publisher {
    /// Sends `messages`, and waits until the NATS stream has stored all of them.
    async fn send(address: &Address, connection: &Connection, messages: Vec<(String, Vec<u8>)>) -> Result<()> {
        let mut awaited = Vec::with_capacity(messages.len());
        for (id, text) in messages {
            let message = PublishMessage::build().message_id(id).payload(text.into());
            let sent = connection.context.send_publish(address.subject.clone(), message).await;
            awaited.push(sent.context("failed to send")?);
        }
        for acknowledged in awaited {
            acknowledged.await.context("failed to store")?;
        }
        Ok(())
    }

    fn pass(&mut self, events: &[Event], lost: u64) -> Result<()> {
        let mut messages = Vec::with_capacity(events.len() + 2);
        if lost > self.reported {
            let message = full::Dropped { dropped: lost, agent: (&self.agent).into() };
            messages.push((format!("dropped-{}-{lost}", self.agent), serde_json::to_vec(&message)?));
        }
        let (unseen, watcher) =
            (self.unseen.count.load(Ordering::Relaxed), self.unseen.watcher.load(Ordering::Relaxed));
        if unseen > self.reported_unseen {
            let message = full::Unseen { unseen, watcher: watcher.to_string().into() };
            messages.push((format!("unseen-{watcher}-{unseen}"), serde_json::to_vec(&message)?));
        }
        for event in events {
            let mut text = Vec::with_capacity(1024);
            full::line(event, &mut text)?;
            text.pop();
            messages.push((header(&event.id()), text));
        }
        // Reconnects after a failure, since the server may have lost its streams.
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.runtime.block_on(self.address.connect())?,
        };
        let sends = Self::send(&self.address, &connection, messages);
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE * TIMES, sends).await })
            .context("the server takes too long")??;
        self.connection = Some(connection);
        (self.reported, self.reported_unseen) = (lost, unseen);
        Ok(())
    }
}

/// Returns an id as a header value: node names may contain any character, but headers only printable ASCII.
fn header(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_graphic() { c } else { '_' }).collect()
}

impl Carrier for Publisher {
    type Item = Event;

    fn carry(&mut self, events: &[Event], lost: u64) -> Result<(), Refused> {
        Ok(self.pass(events, lost)?)
    }
}
