//! Calls as rows of a PostgreSQL table. Each call is stored once, even if delivered twice.

mod row;
mod schema;
mod table;
mod tls;
mod view;

use super::courier::Courier;
use super::sent::{Calls, Sent};
use anyhow::{Context, Result};
use table::Table;

/// Maximum number of calls waiting to be sent; each takes some 150 bytes.
const MOST_EVENTS: usize = 1 << 17;

/// Opens the destination `url`: `postgres://USER@HOST:PORT/DATABASE`, or the keyword form `host=... dbname=...`. Fails if `url` has neither
/// form.
pub(crate) fn open(url: &str) -> Result<Sent<Calls>> {
    let table = Table::new(url).context("postgres takes postgres://USER@HOST:PORT/DATABASE")?;
    Ok(Sent::new(Courier::new(MOST_EVENTS, table)?, Calls))
}
