//! Database connection: copies batches of calls to a staging table, then inserts the new calls into the table of calls, in one transaction.

use super::tls::Tls;
use super::{row, schema, view};
use crate::event::Event;
use crate::sinks::courier::{Carrier, Refused};
use anyhow::{Result, anyhow};
use dxt_base::progress::tell;
use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

/// Timeout for connecting, and for unacknowledged data (TCP user timeout).
const PATIENCE: Duration = Duration::from_secs(10);
const DAY_NS: i64 = 86_400_000_000_000;

/// Table of calls on a PostgreSQL server; reconnects when needed.
pub(super) struct Table {
    config: Config,
    /// TLS settings; `None` unless the URL has `sslmode=require`.
    tls: Option<Tls>,
    client: Option<Client>,
    /// Days (since 1970-01-01) that have a partition, or for which no partition can be created.
    days: BTreeSet<i64>,
    text: String,
    /// True if a problem with the view was already reported.
    said: bool,
}

impl Table {
    /// Parses the URL and the environment; does not connect yet. Fails if the URL is not valid, or TLS is required without certificates.
    pub(super) fn new(url: &str) -> Result<Self> {
        // Certificates are verified in any case, so the modes are equivalent.
        let url = url.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = url.parse()?;
        let tls = (config.get_ssl_mode() == SslMode::Require).then(Tls::new).transpose()?;
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        config.application_name("dxt-analyze live");
        config.connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE);
        Ok(Self { config, tls, client: None, days: BTreeSet::new(), text: String::new(), said: false })
    }

    /// Connects to the server, and creates the missing tables and columns.
    fn connect(&mut self) -> Result<Client, postgres::Error> {
        let mut client = match &self.tls {
            Some(tls) => self.config.connect(tls.clone()),
            None => self.config.connect(NoTls),
        }?;
        // A user without the right to create tables may use an existing table.
        let is_made = "SELECT exists(SELECT FROM pg_attribute WHERE attrelid = to_regclass('dxt_events') AND attname = 'npoints')";
        if !client.query_one(is_made, &[])?.get::<_, bool>(0) {
            let mut transaction = client.transaction()?;
            transaction.batch_execute(schema::LOCK)?;
            transaction.batch_execute(schema::TABLE)?;
            transaction.batch_execute(schema::NEW)?;
            transaction.commit()?;
        }
        if let Some(why) = view::make(&mut client)?.filter(|_| !self.said) {
            self.said = true;
            tell(format_args!(
                "dxt-analyze: the view dxt_connector is not brought up to date: {why}; rows are still inserted into dxt_events"
            ));
        }
        client.batch_execute(schema::STAGING)?;
        Ok(client)
    }

    fn pass(&mut self, events: &[Event]) -> Result<()> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.connect()?,
        };
        for event in events {
            let day = event.process.epoch_unix_ns.div_euclid(DAY_NS);
            if self.days.insert(day) {
                make_partition(&mut client, day).inspect_err(|_| {
                    self.days.remove(&day);
                })?;
            }
        }
        self.text.clear();
        events.iter().for_each(|event| row::add(event, &mut self.text));
        let mut transaction = client.transaction()?;
        let mut copy = transaction.copy_in("COPY dxt_new FROM STDIN")?;
        copy.write_all(self.text.as_bytes())?;
        copy.finish()?;
        transaction.batch_execute(schema::INSERT)?;
        transaction.commit()?;
        self.client = Some(client);
        Ok(())
    }
}

/// Creates the partition for processes whose tracing started on `day`. If the default partition has rows of that day, or this user may not
/// create tables, all rows of the day go to the default partition.
fn make_partition(client: &mut Client, day: i64) -> Result<(), postgres::Error> {
    let Some((name, sql)) = schema::partition(day) else { return Ok(()) };
    if client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&name])?.get(0) {
        return Ok(());
    }
    let mut transaction = client.transaction()?;
    transaction.batch_execute(schema::LOCK)?;
    match transaction.batch_execute(&sql) {
        Ok(()) => transaction.commit(),
        Err(error) if error.code() == Some(&SqlState::CHECK_VIOLATION) => transaction.rollback(),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => transaction.rollback(),
        Err(error) => Err(error),
    }
}

impl Carrier for Table {
    type Item = Event;

    fn carry(&mut self, events: &[Event], _lost: u64) -> Result<(), Refused> {
        let Err(error) = self.pass(events) else { return Ok(()) };
        let Some(error) = error.chain().find_map(|error| error.downcast_ref::<postgres::Error>()) else {
            return Err(Refused::ForNow(error.context("failed to insert")));
        };
        // Error classes 22 (data exception) and 23 (integrity constraint violation): the rows themselves are invalid.
        let for_good = error.code().is_some_and(|code| matches!(code.code().get(..2), Some("22" | "23")));
        let why = match (error.as_db_error(), std::error::Error::source(error)) {
            (Some(said), _) => anyhow!("failed to insert: PostgreSQL said: {}", said.message()),
            (None, Some(why)) => anyhow!("failed to insert: {error}: {why}"),
            (None, None) => anyhow!("failed to insert: {error}"),
        };
        Err(if for_good { Refused::ForGood(why) } else { Refused::ForNow(why) })
    }
}
