//! Report page and source of tiles (data of zoomed views), created by a thread while the server already answers requests.

use super::args::Args;
use super::tiles::Tiler;
use crate::model::Run;
use crate::page::make;
use crate::topics::report::Options;
use anyhow::{Context, Result, anyhow};
use axum::body::Bytes;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Stack size in bytes of the thread that creates the page: as much as a main thread has.
const STACK: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct Made {
    pub(super) page: Bytes,
    pub(super) tiler: Tiler,
}

/// Handle of the report page, whether still being created or finished.
#[derive(Clone, Debug)]
pub(super) struct Making {
    made: watch::Receiver<Option<Arc<Made>>>,
    /// Description of the inputs from which the page is created.
    what: Arc<str>,
}

/// Starts creating the page in a thread. The returned future resolves with the error if creating the page fails.
pub(super) fn begin(
    run: Run,
    args: &Args,
    what: String,
) -> Result<(Making, impl Future<Output = anyhow::Error> + use<>)> {
    let (says, made) = watch::channel(None);
    let (fails, failed) = oneshot::channel();
    let args = args.clone();
    let work = move || match of(run, &args) {
        Ok(made) => {
            says.send_replace(Some(Arc::new(made)));
        }
        // The receiver no longer exists if the server has already ended.
        Err(error) => drop(fails.send(error)),
    };
    std::thread::Builder::new().name("page".into()).stack_size(STACK).spawn(work).context("failed to start reading")?;
    let making = Making { made, what: what.into() };
    let watched = making.clone();
    let failed = async move {
        match failed.await {
            Ok(error) => error,
            Err(_) if watched.is_done() => std::future::pending().await,
            Err(_) => anyhow!("failed to make the page"),
        }
    };
    Ok((making, failed))
}

fn of(run: Run, args: &Args) -> Result<Made> {
    let debug_dirs = Some(args.debug.dirs.clone());
    let options = Options { layout: args.layout.clone(), top: args.top, draw: true, debug_dirs };
    let page = make(&run, &options, true)?.html;
    let layouts = crate::session::layouts(&run, args.layout.as_deref())?;
    Ok(Made { page: page.into(), tiler: Tiler::new(run, layouts) })
}

impl Making {
    pub(super) fn is_done(&self) -> bool {
        self.made.borrow().is_some()
    }

    /// Waits until the page is created; `None` if that will never happen.
    pub(super) async fn made(&self) -> Option<Arc<Made>> {
        self.made.clone().wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Returns the page that browsers get until the report page is finished.
    pub(super) fn waiting_page(&self) -> String {
        maud::html! {
            (maud::DOCTYPE)
            html lang="en" {
                head { meta charset="utf-8"; link rel="icon" href="data:,"; meta http-equiv="refresh" content="1"; meta name="color-scheme" content="light dark"; title { "reading" } }
                body style="font: 1.1rem system-ui, sans-serif; margin: 3rem" {
                    p { "Reading " (self.what) " …" }
                    @if let Some((work, percent)) = crate::progress::now() {
                        p { progress max="100" value=(percent) {} " " (work) ": " (percent) " %" }
                    }
                    p { "The trace is read at least twice. The report appears here when it is ready." }
                }
            }
        }
        .into_string()
    }
}
