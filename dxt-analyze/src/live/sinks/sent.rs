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

    /// Whether what brings it has something to tell beside it, since the latest interval.
    fn has_word(&self) -> bool {
        false
    }

    /// What an agent that goes on has to know.
    fn position(&self) -> Option<u64> {
        None
    }

    /// Goes on where an earlier agent had come to, as [`Self::position`] told it.
    fn go_on(&mut self, _position: u64) {}
}

/// Calls as they are.
#[cfg(feature = "postgres")]
pub(super) struct Calls;

#[cfg(feature = "postgres")]
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

    fn begin(&mut self, position: Option<u64>) -> Result<()> {
        position.into_iter().for_each(|position| self.cargo.go_on(position));
        Ok(())
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        self.courier.give(self.cargo.of_events(events));
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.courier.give(self.cargo.of_interval(interval, self.courier.lost()));
        if self.cargo.has_word() {
            self.courier.nudge();
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        self.courier.settle();
        Ok(self.cargo.position())
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

    fn has_lost(&self) -> bool {
        self.courier.lost() > 0
    }

    fn dropped(&self) -> u64 {
        if C::OF_EVENTS { self.courier.lost() } else { 0 }
    }
}
