//! Calls as rows of a table in PostgreSQL, each once, whatever is passed on twice.

mod row;
mod schema;
mod table;

use super::Sink;
use super::courier::Courier;
use crate::live::event::Event;
use anyhow::{Context, Result};
use table::Table;

/// Calls that wait: each has some 150 bytes.
const MOST_EVENTS: usize = 1 << 17;

/// Calls on their way to a table, with a thread of their own.
pub(crate) struct Postgres {
    courier: Courier<Event>,
}

impl Postgres {
    /// The server and database of a URL, `postgres://USER@HOST:PORT/DATABASE`, or of its words, `host=... dbname=...`.
    ///
    /// # Errors
    /// If it is neither.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let table = Table::new(url).context("postgres takes postgres://USER@HOST:PORT/DATABASE")?;
        Ok(Self { courier: Courier::new(MOST_EVENTS, table)? })
    }
}

impl Sink for Postgres {
    fn events(&mut self, events: &[Event]) -> Result<()> {
        self.courier.give(events.iter().cloned());
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
        self.courier.lost()
    }
}
