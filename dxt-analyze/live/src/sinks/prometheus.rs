//! Sums of calls since the agent started, served over HTTP in Prometheus's text format.

use super::Sink;
use super::exposition::Exposition;
use crate::interval::Interval;
use crate::names;
use crate::time::unix_ns;
use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use dxt_base::exit::UsageError;
use dxt_base::web::{self, Hosts};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which a generated metrics text is reused, since it may have tens of thousands of lines.
const FRESH: Duration = Duration::from_millis(500);

#[derive(Default)]
struct Shown {
    sums: Exposition,
    text: Option<(Instant, Bytes)>,
}

impl Shown {
    /// Returns the metrics text, shared by all requests within [`FRESH`].
    fn text(&mut self) -> Bytes {
        let fresh = self.text.as_ref().filter(|(made, _)| made.elapsed() < FRESH).map(|(_, text)| text.clone());
        fresh.unwrap_or_else(|| {
            let text = Bytes::from(self.sums.text(unix_ns()));
            self.text = Some((Instant::now(), text.clone()));
            text
        })
    }
}

/// HTTP server that answers each request with the sums of all calls.
pub(crate) struct Prometheus {
    address: String,
    shown: Arc<Mutex<Shown>>,
}

impl Prometheus {
    /// Parses `ADDRESS:PORT`, or only a port, which then is on the loopback address. Fails if the address contains a user name, since there
    /// is no authentication.
    pub(crate) fn new(address: &str) -> Result<Self> {
        if address.contains('@') {
            bail!(UsageError("prometheus takes an address to listen at, ADDRESS:PORT, and no user".into()));
        }
        let port = address.trim_start_matches(':');
        let loopback = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let address = if loopback { format!("127.0.0.1:{port}") } else { address.to_owned() };
        Ok(Self { address, shown: Arc::default() })
    }
}

impl Sink for Prometheus {
    fn wants_events(&self) -> bool {
        false
    }

    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        let failed = || format!("failed to listen at {}", self.address);
        let addresses: Vec<SocketAddr> = self.address.to_socket_addrs().with_context(failed)?.collect();
        let listener = TcpListener::bind(&addresses[..]).with_context(failed)?;
        let shown = Arc::clone(&self.shown);
        let port = listener.local_addr().with_context(failed)?.port();
        let named = self.address.rsplit_once(':').map_or("", |(named, _)| named);
        let hosts = Hosts::new(port).with(named, &names::node());
        listener.set_nonblocking(true).with_context(failed)?;
        let runtime = web::runtime()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener).with_context(failed)?
        };
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/", get(metrics))
            .fallback(|| async { (StatusCode::NOT_FOUND, "only /metrics is served\n") })
            .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed\n") })
            .with_state(shown);
        let name = std::thread::Builder::new().name("prometheus".into());
        name.spawn(move || runtime.block_on(web::serve(listener, routes, hosts)))
            .context("failed to start a thread")?;
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.sums.add(interval);
        shown.text = None;
        Ok(())
    }
}

async fn metrics(State(shown): State<Arc<Mutex<Shown>>>) -> impl IntoResponse {
    let text = shown.lock().unwrap_or_else(PoisonError::into_inner).text();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_loopbacks() {
        for (given, expected) in [
            ("9101", "127.0.0.1:9101"),
            (":9101", "127.0.0.1:9101"),
            ("0.0.0.0:9101", "0.0.0.0:9101"),
            ("[::1]:9101", "[::1]:9101"),
        ] {
            assert_eq!(Prometheus::new(given).unwrap().address, expected);
        }
    }
}
