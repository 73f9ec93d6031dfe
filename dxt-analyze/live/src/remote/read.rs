//! Thread that reads a NATS stream from its beginning, message by message. Resumes once an unreachable server can be reached again.

use crate::event::Event;
use crate::nats::{Address, runtime};
use crate::sinks::full;
use anyhow::{Context, Result};
use async_nats::jetstream::consumer::{DeliverPolicy, pull::OrderedConfig};
use futures_util::StreamExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Maximum number of messages queued in this process; all others stay on the server.
const MOST_WAITING: usize = 1 << 14;
/// Pause before another attempt to connect to the server.
const PAUSE: Duration = Duration::from_secs(1);

/// Item that the reading thread passes on: a message of the NATS stream, or a change in the stream's state.
pub(super) enum Came {
    Event(Event),
    /// Number of calls that an agent has dropped since it started.
    Dropped {
        agent: String,
        count: u64,
    },
    /// Number of processes on an agent's node that ended before they could be observed.
    Unseen {
        /// Id of the agent; a resumed agent keeps its predecessor's id.
        watcher: String,
        count: u64,
    },
    /// Number of messages that the NATS stream discarded before they could be read.
    Gone(u64),
    Unknown,
    /// Reason why the NATS stream cannot be read at present.
    Failed(String),
    /// Marker that all messages now in the stream were read; more may follow.
    End,
}

/// Receiving end of the thread that reads a NATS stream.
pub(super) struct Reader {
    came: Receiver<Came>,
}

struct Progress {
    address: Address,
    sender: SyncSender<Came>,
    /// Sequence number of the next message to read.
    next: u64,
    failing: bool,
}

impl Reader {
    /// Starts the reading thread. Fails if the system refuses a new thread.
    pub(super) fn new(address: Address) -> Result<Self> {
        let (sender, came) = sync_channel(MOST_WAITING);
        let runtime = runtime()?;
        let mut progress = Progress { address, sender, next: 1, failing: false };
        let name = std::thread::Builder::new().name("stream".into());
        name.spawn(move || runtime.block_on(progress.run())).context("failed to start a thread")?;
        Ok(Self { came })
    }

    /// Returns the next item from the thread; `None` if none arrives before `until`.
    pub(super) fn next(&self, until: Instant) -> Option<Came> {
        self.came.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}

impl Progress {
    async fn run(&mut self) {
        loop {
            let why = match self.read().await {
                // The receiver of the messages was dropped, so the thread ends.
                Ok(()) => return,
                Err(why) => why,
            };
            let is_first = !std::mem::replace(&mut self.failing, true);
            if is_first && !self.pass(Came::Failed(format!("{why:#}; retrying"))) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends an item to the receiver, waiting for room; returns false if the receiver was dropped.
    fn pass(&self, came: Came) -> bool {
        tokio::task::block_in_place(|| self.sender.send(came).is_ok())
    }

    async fn read(&mut self) -> Result<()> {
        let mut connection = self.address.connect().await?;
        let state = connection.stream.info().await.context("failed to ask for the stream's state")?.state.clone();
        // If the stream was deleted and recreated, its sequence numbers restart.
        if state.last_sequence.saturating_add(1) < self.next {
            self.next = 1;
        }
        if state.last_sequence < self.next && !self.pass(Came::End) {
            return Ok(());
        }
        let config = OrderedConfig {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.next },
            filter_subject: self.address.subject.clone(),
            ..OrderedConfig::default()
        };
        let consumer = connection.stream.create_consumer(config).await.context("failed to read the stream")?;
        let mut messages = consumer.messages().await.context("failed to read the stream")?;
        while let Some(message) = messages.next().await {
            let message = message.context("failed to read the stream")?;
            let info = message.info().map_err(anyhow::Error::from_boxed).context("failed to read the stream")?;
            let (number, is_last) = (info.stream_sequence, info.pending == 0);
            self.failing = false;
            if number < self.next {
                continue;
            }
            let gone = number - self.next;
            self.next = number.saturating_add(1);
            let goes_on = (gone == 0 || self.pass(Came::Gone(gone)))
                && self.pass(meaning(&message.payload))
                && (!is_last || self.pass(Came::End));
            if !goes_on {
                return Ok(());
            }
        }
        anyhow::bail!("the stream ended")
    }
}

fn meaning(text: &[u8]) -> Came {
    if let Ok(event) = full::parse(text) {
        return Came::Event(event);
    }
    if let Ok(dropped) = serde_json::from_slice::<full::Dropped<'_>>(text) {
        return Came::Dropped { agent: dropped.agent.into_owned(), count: dropped.dropped };
    }
    match serde_json::from_slice::<full::Unseen<'_>>(text) {
        Ok(unseen) => Came::Unseen { watcher: unseen.watcher.into_owned(), count: unseen.unseen },
        Err(_) => Came::Unknown,
    }
}
