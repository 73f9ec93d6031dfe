//! Calls as rows of a table in PostgreSQL, each once, whatever is passed on twice.

mod row;
mod schema;
mod table;
mod tls;
mod view;

use super::courier::Courier;
use super::sent::{Calls, Sent};
use anyhow::{Context, Result};
use table::Table;

/// Calls that wait: each has some 150 bytes.
const MOST_EVENTS: usize = 1 << 17;

/// What brings calls to a server and database: `postgres://USER@HOST:PORT/DATABASE`, or in words, `host=... dbname=...`.
///
/// # Errors
/// If it is neither.
pub(crate) fn open(url: &str) -> Result<Sent<Calls>> {
    let table = Table::new(url).context("postgres takes postgres://USER@HOST:PORT/DATABASE")?;
    Ok(Sent::new(Courier::new(MOST_EVENTS, table)?, Calls))
}
