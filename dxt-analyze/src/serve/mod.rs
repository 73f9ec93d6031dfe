//! `serve`: the report page from a server on this machine, which gives finer grids and single calls where the page is zoomed in.

mod args;
mod tiles;

pub use args::Args;

use crate::exit::Exit;
use crate::model::Run;
use crate::page::make;
use crate::web;
use anyhow::Result;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::sync::{Arc, Mutex};
use tiles::{TileQuery, Tiler};

/// What requests are answered from.
struct Served {
    page: String,
    tiler: Tiler,
    /// One scan at a time: each uses all threads.
    scanning: Mutex<()>,
}

/// Loads, serves until it is interrupted, and prints the address on standard output.
///
/// # Errors
/// If nothing can be loaded, the layouts make no sense, or the port is taken.
pub fn serve(args: &Args) -> Result<Exit> {
    if let Some(live) = args.live() {
        return crate::live::live(&live);
    }
    let run = crate::session::open(&args.inputs)?;
    let served = Arc::new(served(run, args)?);
    let routes = move |word: &str| {
        Router::new()
            .route(&format!("/{word}/"), get(page))
            .route(&format!("/{word}/tile"), get(tile))
            .with_state(served)
    };
    web::host(args.port, routes).map(|()| Exit::Fine)
}

fn served(run: Run, args: &Args) -> Result<Served> {
    let page = make(&run, args.layout.as_deref(), args.top, true)?.html;
    let layouts = crate::session::layouts(&run, args.layout.as_deref())?;
    Ok(Served { page, tiler: Tiler::new(run, layouts), scanning: Mutex::new(()) })
}

async fn page(State(served): State<Arc<Served>>) -> Html<String> {
    Html(served.page.clone())
}

async fn tile(State(served): State<Arc<Served>>, Query(query): Query<TileQuery>) -> Response {
    if let Err(wrong) = query.check() {
        return (StatusCode::BAD_REQUEST, format!("{wrong}\n")).into_response();
    }
    let made = tokio::task::spawn_blocking(move || {
        // A lock that a panic poisoned still keeps scans apart, which is all it is for.
        let _one = served.scanning.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        served.tiler.json(&query)
    });
    match made.await {
        Ok(Ok(json)) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "the tile could not be made\n").into_response(),
    }
}
