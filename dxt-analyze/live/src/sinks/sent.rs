//! Destinations served by a [`Courier`] (queue and sending thread). Their items are calls, or lines made of interval sums.

use super::Sink;
use super::courier::Courier;
use crate::event::Event;
use crate::interval::Interval;
use anyhow::Result;

/// Conversion of calls or interval sums to the items that a destination receives.
pub(super) trait Cargo {
    type Item: Send + 'static;
    /// True if the items are made of calls; false if they are made of interval sums.
    const OF_EVENTS: bool;

    fn of_events(&mut self, _events: &[Event]) -> Vec<Self::Item> {
        Vec::new()
    }

    /// Returns the items for the sums of an interval. `lost` is the number of items that could not be delivered so far.
    fn of_interval(&mut self, _interval: &Interval, _lost: u64) -> Vec<Self::Item> {
        Vec::new()
    }

    /// True if data of the latest interval are missing, so that the carrier (sender to the destination) must also send a message that says
    /// so.
    fn has_word(&self) -> bool {
        false
    }

    /// Returns the output position from which a later agent can resume; `None` if the destination cannot resume.
    fn position(&self) -> Option<u64> {
        None
    }

    /// Resumes at output position `_position`, which an earlier agent got from [`Self::position`].
    fn go_on(&mut self, _position: u64) {}
}

/// Conversion for destinations whose items are the calls themselves.
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

/// Destination to which a separate courier thread delivers.
pub(super) struct Sent<C: Cargo> {
    courier: Courier<C::Item>,
    cargo: C,
}

impl<C: Cargo> Sent<C> {
    /// Combines a courier with the conversion that makes its items.
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
