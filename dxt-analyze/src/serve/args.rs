//! Options of `serve`.

use crate::live;
use crate::session::Inputs;
use crate::symbols::DebugDirs;
use std::path::PathBuf;

/// Options of `serve`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Options that name the inputs and select a part of the job
    #[command(flatten)]
    pub inputs: Inputs,
    /// Port on 127.0.0.1; 0 for any free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Stripe layouts: `lfs getstripe -y` text, or lines `GLOB size=4M count=8`
    #[arg(long, value_name = "FILE")]
    pub layout: Option<PathBuf>,
    /// Directories with debug information
    #[command(flatten)]
    pub debug: DebugDirs,
    /// Show running programs instead of traces, as `live --serve` does; TRACE then names directories with spools (calls recorded so far)
    /// and may be left out
    #[arg(long)]
    pub live: bool,
    /// With --live: show calls that `dxt-analyze live` publishes on any number of nodes with `--to nats:...`: nats://HOST:PORT/SUBJECT
    #[arg(long, value_name = "URL", requires = "live")]
    pub from: Option<String>,
    /// Maximum number of rows in each table; the most important rows are kept
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub top: usize,
}

impl Args {
    /// Returns the equivalent options of `live` if `--live` was given; `None` otherwise.
    #[must_use]
    pub fn live(&self) -> Option<live::Args> {
        self.live.then(|| self.of_live())
    }

    #[cfg(feature = "live")]
    fn of_live(&self) -> live::Args {
        let (directories, from) = (self.inputs.traces.clone(), self.from.clone());
        let job = self.inputs.job.iter().cloned().collect();
        live::Args { directories, from, job, serve: Some(self.port), ..live::Args::default() }
    }

    #[cfg(not(feature = "live"))]
    fn of_live(&self) -> live::Args {
        live::Args::default()
    }
}
