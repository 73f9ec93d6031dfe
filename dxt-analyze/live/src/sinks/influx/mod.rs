//! Sums of calls per interval in InfluxDB's line protocol, over HTTP or UDP; VictoriaMetrics, Telegraf and others accept it as well.

#[cfg(feature = "http")]
mod http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod http;
mod line;

use super::Sink;
use super::courier::Courier;
use super::sent::{Cargo, Sent};
use crate::interval::Interval;
use crate::shown;
use anyhow::{Context, Result};
use line::Lines;
use std::net::UdpSocket;

/// Maximum number of lines waiting to be sent; each takes some 250 bytes.
const MOST_LINES: usize = 50_000;
/// Maximum number of bytes per datagram, small enough to avoid fragmentation.
const DATAGRAM: usize = 1400;

/// Destination over UDP, which has no acknowledgements.
pub(crate) struct Udp {
    socket: UdpSocket,
    lines: Lines,
    lost: u64,
}

/// Opens the destination `url`: posts lines to `http://...`, or sends them in datagrams to `udp://HOST:PORT`. Fails if `url` has neither
/// form, or if this build has no HTTP.
pub(crate) fn open(url: &str) -> Result<Box<dyn Sink>> {
    if let Some(address) = url.strip_prefix("udp://") {
        // UDP has no user names, so text before an `@` is a misplaced password and is removed.
        let address = address.rsplit('@').next().unwrap_or_default();
        let failed = || format!("failed to send to {}", shown::url(address));
        let socket = UdpSocket::bind(if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" });
        let socket = socket.with_context(failed)?;
        socket.connect(address.trim_end_matches('/')).with_context(failed)?;
        // Datagrams that do not fit into the socket buffer are lost, like datagrams that the network drops.
        socket.set_nonblocking(true).with_context(failed)?;
        return Ok(Box::new(Udp { socket, lines: Lines::new(), lost: 0 }));
    }
    Ok(Box::new(Sent::new(Courier::new(MOST_LINES, http::Post::new(url)?)?, Lines::new())))
}

impl Cargo for Lines {
    type Item = String;
    const OF_EVENTS: bool = false;

    fn of_interval(&mut self, interval: &Interval, lost: u64) -> Vec<String> {
        self.of(interval, lost)
    }
}

impl Sink for Udp {
    fn wants_events(&self) -> bool {
        false
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        let lines = self.lines.of(interval, self.lost);
        let mut result = Ok(());
        for datagram in datagrams(&lines) {
            if let Err(error) = self.socket.send(datagram.as_bytes()) {
                self.lost += datagram.lines().count() as u64;
                result = Err(error).context("failed to send");
            }
        }
        result
    }
}

/// Packs lines into datagrams, as many whole lines into each as fit.
fn datagrams(lines: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if last.len() + line.len() <= DATAGRAM => last.push_str(line),
            _ => all.push(line.clone()),
        }
    }
    all
}
