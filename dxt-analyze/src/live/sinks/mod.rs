//! Destinations of events and intervals. What a destination does not take is counted, and none of them delays the agent for long.

mod connector;
mod courier;
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "text of a destination that this build is made without"))]
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
#[cfg(feature = "nats")]
pub(crate) use place::plain;

use super::event::Event;
use super::interval::Interval;
use crate::exit::is_closed_pipe;
use anyhow::Result;

/// Error message if the system has no certificates to verify a server's certificate with.
#[cfg(any(feature = "live-http", feature = "postgres"))]
const NO_CERTIFICATES: &str = "failed to find certificates that this system trusts: name a file with that of the server's authority in SSL_CERT_FILE";

/// Destination.
pub trait Sink {
    /// True if it wants single calls.
    fn wants_events(&self) -> bool {
        true
    }

    /// Opens the destination; a position from [`Self::settle`] of an earlier agent makes it resume there.
    ///
    /// # Errors
    /// If the destination cannot be used.
    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        Ok(())
    }

    /// Takes events, each process's in order.
    ///
    /// # Errors
    /// If it does not take them: they count as lost, unless [`Self::dropped`] says otherwise.
    fn events(&mut self, _events: &[Event]) -> Result<()> {
        Ok(())
    }

    /// Takes the sums of an interval.
    ///
    /// # Errors
    /// If it does not take them.
    fn interval(&mut self, _interval: &Interval) -> Result<()> {
        Ok(())
    }

    /// Flushes what was given; returns the position from which a later agent can resume.
    ///
    /// # Errors
    /// If that fails.
    fn settle(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Confirms that the state file holds the position of the latest [`Self::settle`], or that there is no state file.
    fn saved(&mut self) {}

    /// Completes the output; nothing more is given.
    ///
    /// # Errors
    /// If something could not be completed.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Passes on what still waits, for a bounded time: nothing more will be given.
    fn end(&mut self) {}

    /// True if something given has not arrived: a resumed agent must be given it again.
    fn is_behind(&self) -> bool {
        false
    }

    /// Takes messages for the user, besides returned errors.
    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of events that it could not pass on, besides those for which it returned an error.
    fn dropped(&self) -> u64 {
        0
    }

    /// True if it lost any calls or sums, besides those for which it returned an error.
    fn has_lost(&self) -> bool {
        self.dropped() > 0
    }

    /// Returns the number of events whose operations have no name in its format.
    fn other_operations(&self) -> u64 {
        0
    }
}

/// Destination with its name, losses and messages.
pub struct Outlet {
    name: String,
    sink: Box<dyn Sink>,
    dropped: u64,
    /// True if it failed the last time; a failure is reported once.
    failing: bool,
    /// True if it ever failed, so that something is missing there.
    has_failed: bool,
    said: Vec<String>,
}

impl Outlet {
    /// Wraps the destination `sink`, which the user calls `name`.
    #[must_use]
    pub fn new(name: String, sink: Box<dyn Sink>) -> Self {
        Self { name, sink, dropped: 0, failing: false, has_failed: false, said: Vec::new() }
    }

    /// Returns the name that the user gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// See [`Sink::begin`].
    ///
    /// # Errors
    /// If the destination cannot be used.
    pub fn begin(&mut self, position: Option<u64>) -> Result<()> {
        self.sink.begin(position)
    }

    /// See [`Sink::wants_events`].
    #[must_use]
    pub fn wants_events(&self) -> bool {
        self.sink.wants_events()
    }

    /// Passes events on.
    pub fn events(&mut self, events: &[Event]) {
        if self.sink.wants_events() {
            let result = self.sink.events(events);
            if !self.went(result) {
                self.dropped += events.len() as u64;
            }
        }
    }

    /// Passes an interval on.
    pub fn interval(&mut self, interval: &Interval) {
        let result = self.sink.interval(interval);
        // Destinations of events are judged by their events: only an error counts here.
        if result.is_err() || !self.sink.wants_events() {
            self.went(result);
        }
    }

    /// See [`Sink::settle`].
    pub fn settle(&mut self) -> Option<u64> {
        match self.sink.settle() {
            Ok(position) => position,
            Err(error) => {
                self.went(Err(error));
                None
            }
        }
    }

    /// See [`Sink::finish`].
    pub fn finish(&mut self) {
        if let Err(error) = self.sink.finish() {
            self.went(Err(error));
        }
    }

    /// See [`Sink::saved`].
    pub fn saved(&mut self) {
        self.sink.saved();
    }

    /// See [`Sink::end`].
    pub fn end(&mut self) {
        self.sink.end();
    }

    /// See [`Sink::is_behind`].
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.sink.is_behind()
    }

    /// Returns the number of events lost to it.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped + self.sink.dropped()
    }

    /// True if something is missing there. A reader that closed its pipe does not count.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.has_failed || self.sink.has_lost()
    }

    /// See [`Sink::other_operations`].
    #[must_use]
    pub fn other_operations(&self) -> u64 {
        self.sink.other_operations()
    }

    /// Takes its messages for the user.
    pub fn messages(&mut self) -> Vec<String> {
        let more = self.sink.messages();
        self.said.extend(more.into_iter().map(|message| format!("{}: {message}", self.name)));
        std::mem::take(&mut self.said)
    }

    fn went(&mut self, result: Result<()>) -> bool {
        match result {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    self.said.push(format!("{}: it takes events again", self.name));
                }
                true
            }
            Err(error) => {
                self.has_failed |= !is_closed_pipe(&error);
                if !std::mem::replace(&mut self.failing, true) {
                    self.said.push(format!("{}: {error:#}; what it does not take is counted as dropped", self.name));
                }
                false
            }
        }
    }
}
