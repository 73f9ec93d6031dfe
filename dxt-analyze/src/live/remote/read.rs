//! A thread that reads a stream from its beginning, message by message, and goes on where it was when the server was away.

use crate::live::event::Event;
use crate::live::nats::{Address, runtime};
use crate::live::sinks::full;
use anyhow::{Context, Result};
use async_nats::jetstream::consumer::{DeliverPolicy, pull::OrderedConfig};
use futures_util::StreamExt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Messages that wait to be taken; the stream keeps the others meanwhile.
const MOST_WAITING: usize = 1 << 14;
/// Pause before a server is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// What was in a stream.
pub(super) enum Came {
    /// A call.
    Event(Event),
    /// So many calls were dropped by an agent since it began.
    Dropped {
        /// Which agent.
        agent: String,
        /// How many.
        count: u64,
    },
    /// So many processes came and went unseen where an agent looks.
    Unseen {
        /// Which agent, and those in whose place it is.
        watcher: String,
        /// How many so far.
        count: u64,
    },
    /// So many messages were gone before they could be read.
    Gone(u64),
    /// A message of another kind.
    Unknown,
    /// The stream cannot be read for now.
    Failed(String),
    /// Everything that was there has come; more may.
    End,
}

/// The other end of the thread.
pub(super) struct Reader {
    came: Receiver<Came>,
}

/// How far it has come.
struct Progress {
    address: Address,
    sender: SyncSender<Came>,
    /// Number of the next message.
    next: u64,
    failing: bool,
}

impl Reader {
    /// # Errors
    /// If the system has no thread for it.
    pub(super) fn new(address: Address) -> Result<Self> {
        let (sender, came) = sync_channel(MOST_WAITING);
        let runtime = runtime()?;
        let mut progress = Progress { address, sender, next: 1, failing: false };
        let name = std::thread::Builder::new().name("stream".into());
        name.spawn(move || runtime.block_on(progress.run())).context("failed to begin a thread")?;
        Ok(Self { came })
    }

    /// The next thing, if one comes until then.
    pub(super) fn next(&self, until: Instant) -> Option<Came> {
        self.came.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }
}

impl Progress {
    async fn run(&mut self) {
        loop {
            let why = match self.read().await {
                // Nobody is there any more who wants it.
                Ok(()) => return,
                Err(why) => why,
            };
            let is_first = !std::mem::replace(&mut self.failing, true);
            if is_first && !self.pass(Came::Failed(format!("{why:#}; it is tried again"))) {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for room; false if nobody takes it.
    fn pass(&self, came: Came) -> bool {
        tokio::task::block_in_place(|| self.sender.send(came).is_ok())
    }

    async fn read(&mut self) -> Result<()> {
        let mut connection = self.address.connect().await?;
        let state = connection.stream.info().await.context("failed to ask for the stream's state")?.state.clone();
        // A stream that was made anew counts from the beginning.
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

/// What a message says.
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
