//! `live --serve`: the views as a web page, which polls for new data once per interval.

use super::board::Board;
use super::screen::words;
use anyhow::{Context, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use dxt_base::built_in::{self, ECHARTS, STYLE};
use dxt_base::progress::tell;
use dxt_base::web::host;
use serde::Serialize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

const PAGE: &str = include_str!("../../assets/live/page.html");
/// Scripts of the web page that shows the live views, in order of execution.
const SCRIPTS: [&str; 3] = [
    include_str!("../../assets/report/units.js"),
    include_str!("../../assets/report/theme.js"),
    include_str!("../../assets/live/live.js"),
];

/// Current data of the page as JSON text, shared by all requests.
#[derive(Clone, Default)]
pub(super) struct Shown(Arc<Mutex<Bytes>>);

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    board: &'a Board,
    /// Calls that the agent missed, lost or saw twice: number and description for each cause.
    words: Vec<(u64, &'static str)>,
}

impl Shown {
    pub(super) fn set(&self, board: &Board) {
        let answer = Answer { board, words: words(&board.not_seen) };
        // Serializing a board cannot fail, so the default is never used.
        let text = built_in::json(&answer).unwrap_or_default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }

    /// Starts serving on 127.0.0.1 in a thread, and prints the address on standard output. Fails if the thread cannot be created.
    pub(super) fn serve(&self, port: u16) -> Result<()> {
        let shown = self.clone();
        let serve = move || {
            let routes = move |word: &str| {
                Router::new()
                    .route(&format!("/{word}/"), get(page))
                    .route(&format!("/{word}/board"), get(board))
                    .with_state(shown)
            };
            if let Err(error) = host(port, routes) {
                tell(format_args!("dxt-analyze: {error:#}"));
                std::process::exit(1);
            }
        };
        std::thread::Builder::new().name("page".into()).spawn(serve).context("failed to start serving")?;
        Ok(())
    }
}

async fn page() -> Html<Bytes> {
    static MADE: LazyLock<Bytes> = LazyLock::new(|| html().into());
    Html(MADE.clone())
}

async fn board(State(shown): State<Shown>) -> Response {
    let text = shown.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

fn html() -> String {
    let parts = vec![
        ("title", "I/O now".to_owned()),
        ("style", [STYLE, include_str!("../../assets/live/live.css")].concat()),
        ("echarts", ECHARTS.to_owned()),
    ];
    built_in::page(PAGE, &SCRIPTS, built_in::policy, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_part_and_no_script_ends_itself() {
        assert!(SCRIPTS.iter().all(|script| !script.contains("</script")));
        assert!(!html().contains("{{"));
    }
}
