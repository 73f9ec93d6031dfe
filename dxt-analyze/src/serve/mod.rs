//! Command `serve`: the report page from a server on this machine, with finer time resolution and single calls for zoomed views.
//!
//! * `background`: creates the page while the server already answers; `line`: the order of requests; `tiles`: the data of zoomed views.

mod args;
mod background;
mod line;
mod tiles;

pub use args::Args;

use crate::exit::Exit;
use crate::progress::tell;
use crate::text::units;
use crate::web;
use anyhow::Result;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use background::Making;
use line::Line;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tiles::TileQuery;

#[derive(Clone)]
struct Served {
    making: Making,
    /// Queue that allows one scan of the traces at a time, since each scan uses all threads.
    line: Arc<Line>,
}

/// Opens the traces, prints the address on standard output, creates the page, and serves until interrupted.
///
/// # Errors
/// Fails if nothing can be loaded, the layouts are not valid, or the port is taken.
pub fn serve(args: &Args) -> Result<Exit> {
    if let Some(live) = args.live() {
        return crate::live::live(&live);
    }
    // Printed even if standard error is not a terminal, to show what takes time.
    tell(format_args!("opening {}", units::counted(args.inputs.traces.len() as u64, "input")));
    let run = crate::session::open(&args.inputs)?;
    // Checks the layouts, so that errors are reported before the address.
    crate::session::layouts(&run, args.layout.as_deref())?;
    let what =
        format!("{} of {}", units::counted(run.segments(), "segment"), units::counted(run.process_count(), "process"));
    tell(format_args!("reading {what}"));
    let (making, failed) = background::begin(run, args, what)?;
    let served = Served { making, line: Arc::default() };
    let routes = move |word: &str| {
        Router::new()
            .route(&format!("/{word}/"), get(page))
            .route(&format!("/{word}/tile"), get(tile))
            .with_state(served)
    };
    web::host_until(args.port, routes, failed).map(|()| Exit::Fine)
}

/// Answers a request for the page. Until the page is created, browsers get a page that reloads itself; other clients wait.
async fn page(State(served): State<Served>, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepts.contains("text/html") && !served.making.is_done() {
        return Html(served.making.waiting_page()).into_response();
    }
    match served.making.made().await {
        Some(made) => Html(made.page.clone()).into_response(),
        None => not_made(),
    }
}

fn not_made() -> Response {
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "dxt-analyze failed to make the report page; the terminal that it runs in shows the error\n",
    )
        .into_response()
}

/// Guard of a request: sets a flag when it is dropped, since nobody waits for the answer any longer.
#[derive(Default)]
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn tile(State(served): State<Served>, Query(query): Query<TileQuery>) -> Response {
    if let Err(wrong) = query.check() {
        return (StatusCode::BAD_REQUEST, format!("{wrong}\n")).into_response();
    }
    let Some(made) = served.making.made().await else { return not_made() };
    let turn = served.line.turn().await;
    let waits = Waits::default();
    let gone = Arc::clone(&waits.0);
    let json = tokio::task::spawn_blocking(move || {
        // The scan permission is held until the scan has ended, even if nobody waits for its result.
        let _turn = turn;
        made.tiler.json(&query, &gone)
    });
    match json.await {
        Ok(Ok(json)) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        _ => not_made(),
    }
}
