//! Destinations whose things a courier brings: calls, or lines made of sums.

use super::Sink;
use super::courier::Courier;
use crate::live::event::Event;
use crate::live::interval::Interval;
use anyhow::Result;

/// What is brought.
pub(super) trait Cargo {
    /// One of it.
    type Item: Send + 'static;
    /// Whether it is made of calls, rather than of sums.
    const OF_EVENTS: bool;

    /// Made of calls.
    fn of_events(&mut self, _events: &[Event]) -> Vec<Self::Item> {
        Vec::new()
    }

    /// Made of an interval's sums; `lost` things were not brought so far.
    fn of_interval(&mut self, _interval: &Interval, _lost: u64) -> Vec<Self::Item> {
        Vec::new()
    }
}

/// Calls as they are.
#[cfg(any(feature = "nats", feature = "postgres"))]
pub(super) struct Calls;

#[cfg(any(feature = "nats", feature = "postgres"))]
impl Cargo for Calls {
    type Item = Event;
    const OF_EVENTS: bool = true;

    fn of_events(&mut self, events: &[Event]) -> Vec<Event> {
        events.to_vec()
    }
}

/// A destination, with a thread of its own.
pub(super) struct Sent<C: Cargo> {
    courier: Courier<C::Item>,
    cargo: C,
}

impl<C: Cargo> Sent<C> {
    /// What `courier` brings.
    pub(super) const fn new(courier: Courier<C::Item>, cargo: C) -> Self {
        Self { courier, cargo }
    }
}

impl<C: Cargo> Sink for Sent<C> {
    fn wants_events(&self) -> bool {
        C::OF_EVENTS
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        self.courier.give(self.cargo.of_events(events));
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.courier.give(self.cargo.of_interval(interval, self.courier.lost()));
        Ok(())
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        self.courier.settle();
        Ok(None)
    }

    fn end(&mut self) {
        self.courier.end();
    }

    fn is_behind(&self) -> bool {
        self.courier.is_behind()
    }

    fn messages(&mut self) -> Vec<String> {
        self.courier.messages()
    }

    fn dropped(&self) -> u64 {
        if C::OF_EVENTS { self.courier.lost() } else { 0 }
    }
}
