//! HTTP servers of the analyzer: report pages on 127.0.0.1, and metrics for Prometheus.
//!
//! - No client can block a server: a connection carries one request of bounded size and time. At the connection limit, the oldest connection
//!   is closed unless its answer is still being computed.
//! - A server answers only requests for its own host names, so that no web page can read a trace by resolving its own name to this address
//!   (DNS rebinding).
//! - Page paths begin with a random word, so that other users of the machine cannot read a trace by trying ports.

use crate::progress::say;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Maximum number of simultaneous connections of one server.
pub const MOST_CONNECTIONS: usize = 32;
/// Maximum size of a request's header, in bytes.
const HEAD_BYTES: usize = 16 << 10;
/// Timeout for receiving a request's header.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// Timeout for sending an answer, counted from when the answer is ready.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Pause after a failure to accept a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves pages on 127.0.0.1 until interrupted, under paths that begin with a random word, and prints the address on standard output. Fails
/// if the port is in use.
pub fn host(port: u16, routes: impl FnOnce(&str) -> Router) -> Result<()> {
    host_until(port, routes, std::future::pending())
}

/// Serves like [`host`] until `failed` resolves, because the data behind the pages can no longer be read; then ends with the error that
/// `failed` returns.
pub fn host_until(
    port: u16,
    routes: impl FnOnce(&str) -> Router,
    failed: impl Future<Output = anyhow::Error>,
) -> Result<()> {
    let runtime = runtime()?;
    let result = runtime.block_on(listen(port, routes, failed));
    // Does not wait for running scans, whose results are no longer needed.
    runtime.shutdown_background();
    result
}

/// Returns a single-threaded asynchronous runtime; fails if the system cannot create it.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")
}

async fn listen(
    port: u16,
    routes: impl FnOnce(&str) -> Router,
    failed: impl Future<Output = anyhow::Error>,
) -> Result<()> {
    let word = random_word()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await.with_context(|| format!("failed to listen on {address}"))?;
    let port = listener.local_addr().context("failed to determine the port")?.port();
    // Installed before the address is printed, because a program that reads the address may end the server immediately.
    let mut interrupts = signal(SignalKind::interrupt()).context("failed to wait for Ctrl-C")?;
    let mut out = std::io::stdout();
    writeln!(out, "http://127.0.0.1:{port}/{word}/")
        .and_then(|()| out.flush())
        .context("failed to print the address")?;
    say!("press Ctrl-C to stop");
    tokio::select! {
        ended = serve(listener, routes(&word), Hosts::new(port)) => ended,
        _ = interrupts.recv() => Ok(()),
        error = failed => Err(error),
    }
}

/// Returns 128 random bits as hexadecimal digits.
fn random_word() -> Result<String> {
    let mut bits = [0; 16];
    let got = rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty());
    anyhow::ensure!(got.context("failed to get random bits")? == bits.len(), "failed to get random bits");
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Host names for which a server accepts requests: the loopback names with the server's port, and names added by [`Self::with`].
#[derive(Clone, Debug)]
pub struct Hosts {
    port: u16,
    names: Vec<String>,
    /// True if any numeric address is accepted. Numeric addresses are safe, because DNS rebinding needs a name.
    numbers: bool,
}

impl Hosts {
    /// Creates a set that contains the loopback names with `port`.
    pub fn new(port: u16) -> Self {
        Self { port, names: ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned).into(), numbers: false }
    }

    /// Adds `named`, the address on which the server listens. If `named` is the wildcard address, adds all numeric addresses and `node`,
    /// the name of this node.
    pub fn with(mut self, named: &str, node: &str) -> Self {
        let number = number(named);
        self.numbers = number.is_some_and(|number| number.is_unspecified());
        self.names.push(if self.numbers { node } else { named }.to_owned());
        self
    }

    fn has(&self, host: &str) -> bool {
        let Some(name) = host.strip_suffix(&format!(":{}", self.port)) else { return false };
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name)) || self.numbers && number(name).is_some()
    }
}

fn number(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// State of a connection on which the server waits for the request.
const ASKS: u8 = 0;
/// State of a connection for whose request the answer is computed.
const WAITS: u8 = 1;
/// State of a connection to which the answer is sent.
const TAKES: u8 = 2;

struct Connection {
    task: AbortHandle,
    is_at: Arc<AtomicU8>,
}

impl Connection {
    fn is_at(&self, state: u8) -> bool {
        self.is_at.load(Ordering::Relaxed) == state
    }
}

/// Accepts connections and answers requests with `app`, forever. Never fails: an error on a connection closes only that connection.
pub async fn serve(listener: TcpListener, app: Router, hosts: Hosts) -> Result<()> {
    let app = app.layer(middleware::from_fn(move |request, next| guarded(hosts.clone(), request, next)));
    let mut open: VecDeque<Connection> = VecDeque::new();
    loop {
        let accepted = listener.accept().await;
        open.retain(|one| !one.task.is_finished());
        match accepted {
            Ok((stream, _)) if has_room(&mut open) => open.push_back(begin(stream, app.clone())),
            // Drops the new connection, because answers are being computed for all open connections.
            Ok(_) => {}
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Returns true if another connection may be accepted. If the limit is reached, first closes the oldest connection that has sent no
/// request, or else the oldest that is receiving its answer.
fn has_room(open: &mut VecDeque<Connection>) -> bool {
    if open.len() < MOST_CONNECTIONS {
        return true;
    }
    let oldest = |state: u8| open.iter().position(|one| one.is_at(state));
    let goes = oldest(ASKS).or_else(|| oldest(TAKES)).and_then(|at| open.remove(at));
    goes.is_some_and(|one| {
        one.task.abort();
        true
    })
}

fn begin(stream: TcpStream, app: Router) -> Connection {
    let is_at = Arc::new(AtomicU8::new(ASKS));
    let answered = Arc::new(Notify::new());
    let (state, done) = (Arc::clone(&is_at), Arc::clone(&answered));
    let follow = move |request: Request, next: Next| {
        let (state, done) = (Arc::clone(&state), Arc::clone(&done));
        async move {
            state.store(WAITS, Ordering::Relaxed);
            let answer = next.run(request).await;
            state.store(TAKES, Ordering::Relaxed);
            done.notify_one();
            answer
        }
    };
    let app = TowerToHyperService::new(app.layer(middleware::from_fn(follow)));
    let task = tokio::spawn(async move {
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES).keep_alive(false);
        let late = async {
            answered.notified().await;
            sleep(ANSWER_TIME).await;
        };
        tokio::select! {
            // Fails if the client disconnects, which needs no handling.
            _ = server.serve_connection(TokioIo::new(stream), app) => {}
            () = late => {}
        }
    });
    Connection { task: task.abort_handle(), is_at }
}

/// Rejects requests for host names outside `hosts`, and adds security headers to all answers.
async fn guarded(hosts: Hosts, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let mut answer = if hosts.has(host) {
        next.run(request).await
    } else {
        let names = hosts.names.join(", ");
        let port = hosts.port;
        (StatusCode::MISDIRECTED_REQUEST, format!("this server answers only to these names, with :{port}: {names}\n"))
            .into_response()
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_to_its_own_names() {
        let page = Hosts::new(80);
        let named = page.clone().with("n7.cluster", "n7");
        let all = page.clone().with("0.0.0.0", "n7");
        let one = page.clone().with("10.0.0.7", "n7");
        for (host, expected) in [
            ("127.0.0.1:80", [true; 4]),
            ("localhost:80", [true; 4]),
            ("LOCALHOST:80", [true; 4]),
            ("[::1]:80", [true; 4]),
            ("n7.cluster:80", [false, true, false, false]),
            ("n7:80", [false, false, true, false]),
            ("10.0.0.7:80", [false, false, true, true]),
            ("[fe80::1]:80", [false, false, true, false]),
            ("0.0.0.0:80", [false, false, true, false]),
            ("localhost", [false; 4]),
            ("localhost:81", [false; 4]),
            ("localhost:80:80", [false; 4]),
            ("evil.example:80", [false; 4]),
            ("n7.evil.example:80", [false; 4]),
            (":80", [false; 4]),
            ("", [false; 4]),
        ] {
            assert_eq!([&page, &named, &all, &one].map(|hosts| hosts.has(host)), expected, "{host}");
        }
    }
}
