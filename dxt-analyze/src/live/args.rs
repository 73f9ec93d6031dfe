//! The options of `live`.

use super::sinks::To;
use std::path::PathBuf;
use std::time::Duration;

/// `live`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directories with spools [default: DXT_SPOOL, TMPDIR, /tmp, /dev/shm, and in them those that dxt-run makes]
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Only this process; may be given again
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Only this job, by the scheduler's number or DXT_JOB_ID; may be given again
    #[arg(long, value_name = "JOB")]
    pub job: Vec<String>,
    /// Where it goes; %h in a file's name is the node, %p this process's id: connector, csv (each call as the LDMS-Darshan connector sends it), events (each call, with all that is known),
    /// intervals (sums), each with `:FILE` or to standard output; parquet:DIR (each call, a file a minute);
    /// sums also to prometheus:ADDRESS:PORT, influx:http://HOST:PORT/write?..., influx:udp://HOST:PORT; calls also to
    /// postgres://USER@HOST:PORT/DATABASE, nats://HOST:PORT/SUBJECT, ldms[:XPRT,HOST,PORT,AUTH,STREAM] (an LDMS daemon, by LDMS's own
    /// program); may be given again. Without: a view for people
    #[arg(long, value_name = "WHERE")]
    pub to: Vec<To>,
    /// A page on 127.0.0.1 as well, which shows the same in a browser; the port, or any that is free
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub serve: Option<u16>,
    /// Show what agents elsewhere pass on with `--to nats:...`: nats://HOST:PORT/SUBJECT. From the beginning of what is there
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// Length of an interval
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = duration)]
    pub interval: Duration,
    /// A Parquet file is ended after this time
    #[arg(long, default_value = "1m", value_name = "TIME", value_parser = duration)]
    pub rotate: Duration,
    /// Pass on one of N calls, which says that it stands for N, and all opens and closes; sums stay exact
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: u32,
    /// Ranks that are summed together
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub group: u32,
    /// MPI's collective calls too
    #[arg(long)]
    pub mpi: bool,
    /// Remember in FILE what was passed on: an agent that is started anew with it goes on there
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// End when all processes that were seen have ended; with --from, when everything was read that is there
    #[arg(long)]
    pub until_end: bool,
    /// Make FILE as soon as everything is watched and every destination is there: whatever starts then is seen. %h in it is the node
    #[arg(long, value_name = "FILE")]
    pub ready: Option<PathBuf>,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
}

impl Default for Args {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            pid: Vec::new(),
            job: Vec::new(),
            to: Vec::new(),
            serve: None,
            from: None,
            interval: Duration::from_secs(1),
            rotate: Duration::from_secs(60),
            sample: 1,
            group: 32,
            mpi: false,
            state: None,
            until_end: false,
            ready: None,
            time: None,
        }
    }
}

/// `500ms`, `2s`, `1m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().map_err(|_| format!("`{text}` is no time: 500ms, 2s, 1m"))?;
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("there is no unit `{other}`: ms, s, m, h")),
    };
    let seconds = value * unit;
    if (0.01..=1e7).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err("10 ms at least".into()) }
}
