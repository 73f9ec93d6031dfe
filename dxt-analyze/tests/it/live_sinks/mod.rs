//! Where `live` sends calls and sums, against the real servers: each is started by the test on loopback, with its data in a folder of
//! the test's. Without a destination's feature (`live-http`, `postgres`, `nats`) its tests are not there.

#![expect(clippy::unwrap_used, reason = "tests end where something fails")]

#[cfg(feature = "postgres")]
mod grafana;
#[cfg(feature = "live-http")]
mod influx;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod nodes;
#[cfg(feature = "postgres")]
mod postgres;
mod program;
mod prometheus;
#[cfg(all(feature = "live-http", feature = "postgres", feature = "nats"))]
mod secrets;
mod server;
mod values;
mod without;
