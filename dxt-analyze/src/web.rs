//! Pages from a server on this machine. It listens on 127.0.0.1 only, and answers only requests that were sent to that address by name,
//! so that no web page can read a trace by giving its own name this address (DNS rebinding). Its paths begin with a random word, so that
//! other users of the machine cannot read a trace by trying ports.

use crate::progress::say;
use anyhow::{Context, Result};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves on 127.0.0.1 until it is interrupted, under paths that begin with a random word, and prints the address on standard output.
///
/// # Errors
/// If the port is taken.
pub(crate) fn host(port: u16, routes: impl FnOnce(&str) -> Router) -> Result<()> {
    host_until(port, routes, std::future::pending())
}

/// The same until `failed`, if that ever is anything: what pages are made of could not be read.
///
/// # Errors
/// If the port is taken, and what failed.
pub(crate) fn host_until(
    port: u16,
    routes: impl FnOnce(&str) -> Router,
    failed: impl Future<Output = anyhow::Error>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("failed to start")?;
    let result = runtime.block_on(listen(port, routes, failed));
    // A scan that nobody waits for any more is left to end with the process.
    runtime.shutdown_background();
    result
}

async fn listen(
    port: u16,
    routes: impl FnOnce(&str) -> Router,
    failed: impl Future<Output = anyhow::Error>,
) -> Result<()> {
    let word = random_word()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await.with_context(|| format!("failed to listen on {address}"))?;
    let port = listener.local_addr().context("failed to learn the port")?.port();
    // Before the address is out: from then on whoever has it may end the server.
    let mut interrupts = signal(SignalKind::interrupt()).context("failed to wait for Ctrl-C")?;
    let mut out = std::io::stdout();
    writeln!(out, "http://127.0.0.1:{port}/{word}/")
        .and_then(|()| out.flush())
        .context("failed to print the address")?;
    say!("Ctrl-C ends it");
    let app = routes(&word).layer(middleware::from_fn(move |request, next| guarded(port, request, next)));
    tokio::select! {
        ended = axum::serve(listener, app) => ended.context("failed to serve"),
        _ = interrupts.recv() => Ok(()),
        error = failed => Err(error),
    }
}

/// 128 random bits in hexadecimal digits.
fn random_word() -> Result<String> {
    let mut bits = [0; 16];
    let got = rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty());
    anyhow::ensure!(got.context("failed to get random bits")? == bits.len(), "failed to get random bits");
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses what was not meant for this server, and says how answers may be used.
async fn guarded(port: u16, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let known = ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{port}"));
    let mut answer = if known {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "this server answers to 127.0.0.1 only\n").into_response()
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
