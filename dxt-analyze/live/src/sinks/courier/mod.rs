//! Queue and thread for a destination that may be slow or unreachable for a while, so that the agent never waits for it.
//!
//! The queue is bounded: if full, the oldest item is dropped and counted. Refused items are retried after growing pauses, so a carrier must
//! tolerate receiving an item twice.

use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const BATCH: usize = 4096;
/// Maximum number of parts into which a refused batch is split to find the permanently refused items.
const MOST_PIECES: usize = 64;
/// First and longest pause before refused items are sent again; each pause is twice as long as the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// Maximum time that a flush waits for queued items to arrive at the destination.
const SHORT: Duration = Duration::from_millis(200);
/// Maximum time that an agent's shutdown waits for queued items while none arrives at the destination.
const LONG: Duration = Duration::from_secs(10);

/// Reason why a destination refused items: temporarily, or for ever.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Temporary refusal: the destination may accept the items later.
    ForNow(anyhow::Error),
    /// Permanent refusal: the destination will never accept the items.
    #[cfg_attr(
        not(any(test, feature = "http", feature = "postgres")),
        expect(dead_code, reason = "NATS takes everything, sooner or later")
    )]
    ForGood(anyhow::Error),
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Self::ForNow(error)
    }
}

/// Sender of items to one destination; runs in the thread of a [`Courier`].
pub(crate) trait Carrier: Send + 'static {
    type Item: Send + 'static;

    /// Delivers all `items`, connecting first if needed. `lost` is the number of items dropped since the start. After a [`Courier::nudge`],
    /// `items` may be empty: the carrier then sends only its own messages.
    ///
    /// # Errors
    /// Fails if not all items arrived at the destination.
    fn carry(&mut self, items: &[Self::Item], lost: u64) -> Result<(), Refused>;
}

/// Agent's handle of a queue whose items a thread sends to a destination.
pub(crate) struct Courier<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<Queue<T>>,
    changed: Condvar,
    most: usize,
}

struct Queue<T> {
    waiting: VecDeque<T>,
    /// Number of items that the thread has taken from the queue but that have not arrived yet.
    under_way: usize,
    /// True if the carrier (sender to the destination) was asked to send its own messages (reports on missing data) and has not begun to.
    nudged: bool,
    /// True while the carrier (sender to the destination) sends its own messages, which report missing data.
    telling: bool,
    lost: u64,
    /// Counter that changes whenever items arrive at the destination.
    arrived: u64,
    failing: bool,
    said: Vec<String>,
    /// True if no more items will be queued or sent, so that the sending thread ends.
    closed: bool,
}

impl<T: Send + 'static> Courier<T> {
    /// Starts a courier whose queue holds at most `most` items. Fails if the system refuses a thread.
    pub(crate) fn new(most: usize, carrier: impl Carrier<Item = T>) -> Result<Self> {
        let state = Queue {
            waiting: VecDeque::new(),
            under_way: 0,
            nudged: false,
            telling: false,
            lost: 0,
            arrived: 0,
            failing: false,
            said: Vec::new(),
            closed: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), most });
        let thread = Arc::clone(&shared);
        let name = std::thread::Builder::new().name("courier".into());
        name.spawn(move || thread.run(carrier)).context("failed to start a thread")?;
        Ok(Self { shared })
    }

    /// Queues items for delivery; never waits.
    pub(crate) fn give(&self, things: impl IntoIterator<Item = T>) {
        let mut state = self.shared.lock();
        for thing in things {
            if state.waiting.len() == self.shared.most {
                state.waiting.pop_front();
                state.lost += 1;
            }
            state.waiting.push_back(thing);
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Asks the carrier (sender to the destination) to send its own messages (reports on missing data), even without items; never waits.
    /// Unlike an item, this request is never dropped.
    pub(crate) fn nudge(&self) {
        self.shared.lock().nudged = true;
        self.shared.changed.notify_all();
    }

    /// Waits up to [`SHORT`] for the queued items to arrive; does not wait while the destination refuses items.
    pub(crate) fn settle(&self) {
        let until = Instant::now() + SHORT;
        let mut state = self.shared.lock();
        while state.is_behind() && !state.failing {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.shared.wait(state, left);
        }
    }

    /// Waits until all queued items have arrived, as long as items keep arriving with gaps of at most [`LONG`]. All other items are then lost.
    pub(crate) fn end(&self) {
        let mut state = self.shared.lock();
        let (mut arrived, mut until) = (state.arrived, Instant::now() + LONG);
        while state.is_behind() && Instant::now() < until {
            state = self.shared.wait(state, until.saturating_duration_since(Instant::now()));
            if state.arrived != arrived {
                (arrived, until) = (state.arrived, Instant::now() + LONG);
            }
        }
        state.closed = true;
        state.lost += (state.waiting.len() + state.under_way) as u64;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// True if queued items have not arrived yet.
    pub(crate) fn is_behind(&self) -> bool {
        self.shared.lock().is_behind()
    }

    pub(crate) fn lost(&self) -> u64 {
        self.shared.lock().lost
    }

    /// Returns the messages for the user since the last call.
    pub(crate) fn messages(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().said)
    }
}

impl<T> Drop for Courier<T> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl<T> Queue<T> {
    fn is_behind(&self) -> bool {
        self.under_way > 0 || !self.waiting.is_empty() || self.nudged || self.telling
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Queue<T>>, most: Duration) -> MutexGuard<'a, Queue<T>> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    fn run(&self, mut carrier: impl Carrier<Item = T>) {
        while let Some((batch, lost)) = self.take() {
            let least = batch.len().div_ceil(MOST_PIECES);
            if !self.deliver(&mut carrier, &batch, lost, least) {
                return;
            }
        }
    }

    /// Retries `things` until they are accepted or permanently refused. Halves refused batches, since a part may be acceptable. Returns
    /// false if the courier ends meanwhile.
    fn deliver(&self, carrier: &mut impl Carrier<Item = T>, things: &[T], lost: u64, least: usize) -> bool {
        let mut pause = PAUSES[0];
        loop {
            let result = carrier.carry(things, lost);
            if matches!(result, Err(Refused::ForGood(_))) && things.len() > least {
                let (first, second) = things.split_at(things.len() / 2);
                return self.deliver(carrier, first, lost, least) && self.deliver(carrier, second, lost, least);
            }
            if self.went(result, things.len()) {
                return true;
            }
            if self.pause(pause) {
                return false;
            }
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// Waits for queued items and returns them with the number of items lost so far; `None` if no more items will be queued.
    fn take(&self) -> Option<(Vec<T>, u64)> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.nudged && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        let count = state.waiting.len().min(BATCH);
        let batch = state.waiting.drain(..count).collect();
        state.under_way = count;
        state.telling = std::mem::take(&mut state.nudged);
        Some((batch, state.lost))
    }

    /// Records the outcome of sending a batch of `count` items; returns true if the batch needs no retry.
    fn went(&self, result: Result<(), Refused>, count: usize) -> bool {
        let mut state = self.lock();
        let dealt_with = !matches!(result, Err(Refused::ForNow(_)));
        match result {
            Ok(()) => {
                if std::mem::take(&mut state.failing) {
                    let lost = state.lost;
                    state
                        .said
                        .push(format!("the destination accepts data again; {lost} calls or sums were dropped so far"));
                }
            }
            Err(Refused::ForNow(error)) => {
                if !std::mem::replace(&mut state.failing, true) {
                    state.said.push(format!(
                        "{error:#}; retrying; data for which the buffer has no room are dropped and counted"
                    ));
                }
            }
            Err(Refused::ForGood(error)) => {
                state.lost += count as u64;
                // Failures are reported now and then rather than for each batch.
                if state.said.len() < 3 {
                    state.said.push(format!("{error:#}; {count} calls or sums were dropped"));
                }
            }
        }
        if dealt_with {
            state.under_way = state.under_way.saturating_sub(count);
            state.telling = false;
            state.arrived += 1;
        }
        drop(state);
        self.changed.notify_all();
        dealt_with
    }

    /// Sleeps for `pause`; returns true if the courier ended meanwhile.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        while !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.wait(state, left);
        }
        true
    }
}

#[cfg(test)]
mod tests;
