//! Tests of the destinations of `live` (databases, message servers) with real servers. Each server runs on loopback, with its data in a
//! folder of the test. Tests of a destination are built only with its cargo feature (`live-http`, `postgres`, `nats`).

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
pub(crate) mod server;
mod values;
mod without;
