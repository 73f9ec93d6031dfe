//! Destinations of events and interval sums. Data that a destination does not accept counts as lost. No destination delays the agent for long.

mod connector;
mod courier;
#[cfg_attr(
    not(any(feature = "serve", test)),
    expect(dead_code, reason = "text of a destination that this build is made without")
)]
mod exposition;
mod file;
pub(crate) mod full;
mod influx;
mod intervals;
mod ldms;
mod lines;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "parquet")]
mod parquet;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "serve")]
mod prometheus;
mod publisher;
mod sent;

pub use place::To;

use super::event::Event;
use super::interval::Interval;
use anyhow::Result;
use dxt_base::exit::is_closed_pipe;

/// Error message if the system has no certificates to verify a server's certificate.
#[cfg(any(feature = "http", feature = "postgres"))]
const NO_CERTIFICATES: &str = "failed to find certificates that this system trusts: set SSL_CERT_FILE to a file with the certificate of the server's authority";

/// Destination of events (single calls), of sums of calls per interval, or of both.
pub trait Sink {
    /// True if the destination wants events (single calls) besides interval sums.
    fn wants_events(&self) -> bool {
        true
    }

    /// Opens the destination. `_position`, returned by [`Self::settle`] of an earlier agent, is where the output resumes.
    ///
    /// # Errors
    /// Fails if the destination cannot be used.
    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        Ok(())
    }

    /// Delivers events; the events of one process come in order.
    ///
    /// # Errors
    /// Fails if the events are not accepted: they count as lost, unless [`Self::dropped`] excludes them.
    fn events(&mut self, _events: &[Event]) -> Result<()> {
        Ok(())
    }

    /// Delivers the sums of an interval.
    ///
    /// # Errors
    /// Fails if the sums are not accepted.
    fn interval(&mut self, _interval: &Interval) -> Result<()> {
        Ok(())
    }

    /// Flushes the delivered data. Returns the position at which a later agent can resume; `None` if it cannot.
    ///
    /// # Errors
    /// Fails if the flush fails.
    fn settle(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Informs the destination that the position from the latest [`Self::settle`] is in the state file, or that there is no state file.
    fn saved(&mut self) {}

    /// Completes the output after the last delivery.
    ///
    /// # Errors
    /// Fails if part of the output could not be completed.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Sends queued data, for a bounded time, after the last delivery.
    fn end(&mut self) {}

    /// True if delivered data has not arrived yet, so that a resumed agent must deliver it again.
    fn is_behind(&self) -> bool {
        false
    }

    /// Returns the messages for the user since the last call, other than returned errors.
    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of lost events, besides those for which [`Self::events`] returned an error.
    fn dropped(&self) -> u64 {
        0
    }

    /// True if calls or sums were lost, besides those for which an error was returned.
    fn has_lost(&self) -> bool {
        self.dropped() > 0
    }

    /// Returns the number of events omitted because their operations have no name in the output format.
    fn other_operations(&self) -> u64 {
        0
    }
}

/// Destination with its name on the command line, its loss counters and its messages.
pub struct Outlet {
    name: String,
    sink: Box<dyn Sink>,
    dropped: u64,
    /// True if the latest delivery failed; of repeated failures, only the first is reported.
    failing: bool,
    /// True if any delivery failed, so that data is missing in the output.
    has_failed: bool,
    said: Vec<String>,
}

impl Outlet {
    /// Wraps the destination `sink`, which the user calls `name`.
    #[must_use]
    pub fn new(name: String, sink: Box<dyn Sink>) -> Self {
        Self { name, sink, dropped: 0, failing: false, has_failed: false, said: Vec::new() }
    }

    /// Returns the name by which the user refers to the destination.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Forwards to [`Sink::begin`], which opens the destination.
    ///
    /// # Errors
    /// Fails if the destination cannot be used.
    pub fn begin(&mut self, position: Option<u64>) -> Result<()> {
        self.sink.begin(position)
    }

    /// Forwards to [`Sink::wants_events`]: true if the destination wants single calls.
    #[must_use]
    pub fn wants_events(&self) -> bool {
        self.sink.wants_events()
    }

    /// Delivers events (single calls) to the destination; counts them as lost if it does not accept them.
    pub fn events(&mut self, events: &[Event]) {
        if self.sink.wants_events() {
            let result = self.sink.events(events);
            if !self.went(result) {
                self.dropped += events.len() as u64;
            }
        }
    }

    /// Delivers the sums of an interval to the destination; reports a failure to the user.
    pub fn interval(&mut self, interval: &Interval) {
        let result = self.sink.interval(interval);
        // An error counts for all destinations, but success clears an earlier failure only for destinations of sums.
        if result.is_err() || !self.sink.wants_events() {
            self.went(result);
        }
    }

    /// Forwards to [`Sink::settle`], which flushes the destination; reports a failure to the user.
    pub fn settle(&mut self) -> Option<u64> {
        match self.sink.settle() {
            Ok(position) => position,
            Err(error) => {
                self.went(Err(error));
                None
            }
        }
    }

    /// Forwards to [`Sink::finish`], which completes the output; reports a failure to the user.
    pub fn finish(&mut self) {
        if let Err(error) = self.sink.finish() {
            self.went(Err(error));
        }
    }

    /// Forwards to [`Sink::saved`], which informs the destination that the state file, if any, has its position.
    pub fn saved(&mut self) {
        self.sink.saved();
    }

    /// Forwards to [`Sink::end`], which sends queued data.
    pub fn end(&mut self) {
        self.sink.end();
    }

    /// Forwards to [`Sink::is_behind`]: true if delivered data has not arrived yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.sink.is_behind()
    }

    /// Returns the number of events that the destination lost.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped + self.sink.dropped()
    }

    /// True if data is missing in the destination; a reader that closed its pipe does not count.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.has_failed || self.sink.has_lost()
    }

    /// Forwards to [`Sink::other_operations`]: number of events whose operations have no name in the output format.
    #[must_use]
    pub fn other_operations(&self) -> u64 {
        self.sink.other_operations()
    }

    /// Returns the destination's messages for the user since the last call.
    pub fn messages(&mut self) -> Vec<String> {
        let more = self.sink.messages();
        self.said.extend(more.into_iter().map(|message| format!("{}: {message}", self.name)));
        std::mem::take(&mut self.said)
    }

    fn went(&mut self, result: Result<()>) -> bool {
        match result {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    self.said.push(format!("{}: the destination accepts data again", self.name));
                }
                true
            }
            Err(error) => {
                self.has_failed |= !is_closed_pipe(&error);
                if !std::mem::replace(&mut self.failing, true) {
                    self.said.push(format!(
                        "{}: {error:#}; data that the destination does not accept are dropped and counted",
                        self.name
                    ));
                }
                false
            }
        }
    }
}
