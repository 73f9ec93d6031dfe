//! Where events and intervals go. Each destination takes what it can; what it does not take is counted, and nothing waits for it
//! for long.

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

/// Where there is nothing that a server's certificate could be verified by.
#[cfg(any(feature = "live-http", feature = "postgres"))]
const NO_CERTIFICATES: &str = "failed to find certificates that this system trusts: name a file with that of the server's authority in SSL_CERT_FILE";

/// A destination.
pub trait Sink {
    /// Whether it wants single calls.
    fn wants_events(&self) -> bool {
        true
    }

    /// Goes on where an earlier agent had come to, as [`Self::settle`] told it.
    ///
    /// # Errors
    /// If the destination cannot be used.
    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        Ok(())
    }

    /// Takes events, in the order of their processes.
    ///
    /// # Errors
    /// If it does not take them: they are lost to it, unless it says otherwise with [`Self::dropped`].
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

    /// Everything that was given is where it belongs; what an agent that goes on has to know.
    ///
    /// # Errors
    /// If it is not.
    fn settle(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The state that a later agent goes on with has what the latest [`Self::settle`] told, or there is none.
    fn saved(&mut self) {}

    /// Nothing more comes.
    ///
    /// # Errors
    /// If something could not be brought to its end.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Nothing more will be given: the last chance to pass on what waits, for a bounded time.
    fn end(&mut self) {}

    /// Whether something that was given has not arrived: an agent that goes on must be given it again.
    fn is_behind(&self) -> bool {
        false
    }

    /// What is to be said of it, beside the errors that it returned.
    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Events that it could not pass on, beside those that it returned an error for.
    fn dropped(&self) -> u64 {
        0
    }

    /// Whether anything was lost to it, calls or sums, beside what it returned an error for.
    fn has_lost(&self) -> bool {
        self.dropped() > 0
    }

    /// Events of operations that its form has no name for.
    fn other_operations(&self) -> u64 {
        0
    }
}

/// A destination, and what became of what it was given.
pub struct Outlet {
    name: String,
    sink: Box<dyn Sink>,
    dropped: u64,
    /// It failed the last time: said once.
    failing: bool,
    /// It failed once, so something is missing there.
    has_failed: bool,
    said: Vec<String>,
}

impl Outlet {
    /// The destination `sink`, which the user calls `name`.
    #[must_use]
    pub fn new(name: String, sink: Box<dyn Sink>) -> Self {
        Self { name, sink, dropped: 0, failing: false, has_failed: false, said: Vec::new() }
    }

    /// What the user calls it.
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
        // What takes events is judged by those.
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

    /// Events that were lost to it.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped + self.sink.dropped()
    }

    /// Whether something is missing there. A reader that went away wants no more.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        self.has_failed || self.sink.has_lost()
    }

    /// See [`Sink::other_operations`].
    #[must_use]
    pub fn other_operations(&self) -> u64 {
        self.sink.other_operations()
    }

    /// What is to be said of it.
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
