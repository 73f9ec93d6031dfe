//! Options of `live`.

use super::sinks::To;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `live`
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Directories where running programs keep their spools (calls recorded so far) [default: DXT_SPOOL, TMPDIR, /tmp, /dev/shm, and
    /// the directories that dxt-run makes in them]
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// Watch only this process; may be given again
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Watch only this job, by the scheduler's number or DXT_JOB_ID; may be given again
    #[arg(long, value_name = "JOB")]
    pub job: Vec<String>,
    /// Destination of the calls or of their sums; may be given again; without it, `live` shows a view on the terminal. To standard output or,
    /// with `:FILE` added, to a file: connector or csv (calls as the LDMS-Darshan connector sends them, as JSON lines or CSV), events (calls
    /// with all fields, as JSON lines), intervals (sums of calls, as JSON lines). Calls also to parquet:DIR (a new file after each --rotate),
    /// postgres://USER@HOST:PORT/DATABASE, nats://HOST:PORT/SUBJECT, ldms[:XPRT,HOST,PORT,AUTH,STREAM] (an LDMS daemon, by LDMS's own
    /// program). Sums also to prometheus:ADDRESS:PORT, influx:http://HOST:PORT/write?..., influx:udp://HOST:PORT. In a file name, %h stands
    /// for the node and %p for the process id of this program
    #[arg(long, value_name = "WHERE")]
    pub to: Vec<To>,
    /// Also serve the live view as a web page on 127.0.0.1, on this port (without PORT: on any free port)
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub serve: Option<u16>,
    /// Show calls that `dxt-analyze live` publishes on other nodes with `--to nats:...`, from the start of their stream:
    /// nats://HOST:PORT/SUBJECT
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    /// Length of the time intervals over which calls are summed, such as 500ms or 5s
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = duration)]
    pub interval: Duration,
    /// With --to parquet:DIR: time after which a file is complete and the next one begins, such as 1m or 1h
    #[arg(long, default_value = "1m", value_name = "TIME", value_parser = duration)]
    pub rotate: Duration,
    /// Deliver all opens and closes, but only one of N other calls, with a field that says how many calls it stands for; sums over intervals
    /// stay exact
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: u32,
    /// Number of consecutive ranks whose calls are added to one sum (prometheus, influx, intervals)
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub group: u32,
    /// Include MPI's collective calls (MPI_Barrier, MPI_Allreduce, ...), where ranks wait for each other
    #[arg(long)]
    pub mpi: bool,
    /// Record in FILE what was delivered; if started again with the same FILE, `live` resumes there
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// End when all processes seen have ended; with --from, when all messages in the stream were read
    #[arg(long)]
    pub until_end: bool,
    /// Create FILE once all directories are watched and all destinations are open, so that no later process is missed; %h in FILE stands
    /// for the node
    #[arg(long, value_name = "FILE")]
    pub ready: Option<PathBuf>,
    /// End after this time, such as 30s or 2h
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

/// Parses a time between 10 ms and 10^7 s: `500ms`, `2s`, `1m`, `1h`; s without a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().map_err(|_| format!("`{text}` is not a time: use 500ms, 2s or 1m"))?;
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("`{other}` is not a unit: use ms, s, m or h")),
    };
    let seconds = value * unit;
    if (0.01..=1e7).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("the time must be 10 ms to 10,000,000 s".into())
    }
}
