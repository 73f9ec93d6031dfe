//! Options and report of `recover`, which makes traces from the spools of processes that could not write a trace.

use crate::exit::Exit;
use crate::render::Format;
use crate::render::{Cell, Part, Report, Table, View};
use crate::text::units::{agree, counted};
use crate::tools::recover::{self, Recovery, Stale};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `recover`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Spools (*.spool: calls that a process has recorded so far), or directories with them. With --stale: only directories, by default
    /// TMPDIR, /tmp and /dev/shm
    #[arg(required_unless_present = "stale", value_name = "SPOOL")]
    pub spools: Vec<PathBuf>,
    /// Trace to write (*.dxt), or a directory for traces named after their programs, created if absent
    #[arg(short, long, default_value = ".", value_name = "FILE")]
    pub output: PathBuf,
    /// Replace an existing file, even if dxt-analyze did not write it
    #[arg(long)]
    pub force: bool,
    /// Remove spools of ended processes once their trace is written
    #[arg(long)]
    pub remove: bool,
    /// Clean up spools of processes that ended long ago: make traces of them, in one directory per user below --output, and remove the
    /// spools
    #[arg(long, conflicts_with_all = ["force", "remove"])]
    pub stale: bool,
    /// With --stale: keep spools that a process has written to within this time, such as 12h or 7d
    #[arg(long, requires = "stale", value_name = "TIME", default_value = "1d", value_parser = age)]
    pub older_than: Duration,
    /// With --stale: delete the spools without making traces
    #[arg(long, requires = "stale")]
    pub delete: bool,
    /// Format of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Units of time with their length in seconds, longest first.
const UNITS: [(char, u64); 5] = [('w', 7 * 86_400), ('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// Parses a duration such as `90s`, `30m`, `12h`, `7d` or `2w`.
fn age(text: &str) -> Result<Duration, String> {
    let seconds = |unit: char| UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds);
    let parts = text.char_indices().next_back().and_then(|(at, unit)| Some((text.get(..at)?, seconds(unit)?)));
    let total = parts.and_then(|(number, unit)| number.parse::<u64>().ok()?.checked_mul(unit));
    total.map(Duration::from_secs).ok_or_else(|| "expected a number with s, m, h, d or w, such as 12h or 7d".to_owned())
}

/// Formats a duration in the longest unit of which the duration is a whole multiple.
fn age_text(time: Duration) -> String {
    let seconds = time.as_secs();
    let unit = UNITS.iter().find(|(_, unit)| seconds.is_multiple_of(*unit)).unwrap_or(&('s', 1));
    format!("{}{}", seconds / unit.1, unit.0)
}

/// Recovers the spools that the arguments name.
///
/// # Errors
/// Fails as [`recover::recover`] does.
pub fn recover(args: &Args) -> Result<Recovery> {
    if args.stale {
        let which = Stale { older_than: args.older_than, delete: args.delete };
        return recover::stale(&args.spools, &args.output, &which);
    }
    recover::recover(&recover::find(&args.spools)?, &args.output, args.remove, args.force)
}

impl Recovery {
    /// Returns the exit code: 3 if a spool is unreadable or truncated, or if recovered numbers are not exact.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let exact = self.spools.iter().all(|one| one.uncertain == 0 && one.missing_bytes == 0);
        if exact && self.failed.is_empty() && self.cut.is_empty() && self.without_header.is_empty() {
            Exit::Fine
        } else {
            Exit::Incomplete
        }
    }
}

impl Report for Recovery {
    fn view(&self) -> View {
        let mut parts = vec![Part::Table(table(self))];
        let mut lines: Vec<String> = self.written.iter().map(|path| format!("wrote {}", path.display())).collect();
        match self.empty.len() {
            0 => {}
            count => {
                lines.push(format!(
                    "{} had no calls, or only calls that are in a trace already",
                    counted(count as u64, "spool")
                ));
            }
        }
        match self.deleted.len() {
            0 => {}
            count => {
                let files = counted(count as u64, "file");
                lines.push(format!("deleted {files} of ended processes, without making traces"));
            }
        }
        if self.not_stale > 0 {
            let whose = agree(self.not_stale, "its process runs", "their processes run");
            let time = (!self.older_than.is_zero()).then(|| age_text(self.older_than));
            let ended = time.map_or_else(String::new, |time| format!(" or ended less than {time} ago"));
            lines.push(format!("kept {}: {whose}{ended}", counted(self.not_stale, "spool")));
        }
        lines.extend(self.failed.iter().map(|why| format!("failed to read {why}")));
        lines.extend(self.spools.iter().filter(|one| one.missing_bytes > 0).map(|one| {
            let (spool, missing) = (one.spool.display(), one.missing_bytes);
            format!(
                "kept spool {spool}: the file was truncated and lacks {missing} {} in use; calls recorded in these bytes are lost",
                agree(missing, "byte that was", "bytes that were")
            )
        }));
        lines.extend(self.without_header.iter().map(|(spool, why)| format!("removed {}: {why}", spool.display())));
        lines.extend(self.cut.iter().map(|why| format!("kept {why}")));
        if self.spools.iter().any(|one| one.running) {
            lines.push(
                "some processes still run: their traces have the calls made until now, and their spools are kept"
                    .into(),
            );
        }
        let uncertain: u64 = self.spools.iter().map(|one| one.uncertain).sum();
        if uncertain > 0 {
            let are = agree(uncertain, "call is", "calls are");
            lines.push(format!(
                "{uncertain} {are} recorded singly and may also be in the counters: sums may count such calls twice"
            ));
        }
        if lines.is_empty() {
            lines.push("no spools found".into());
        }
        parts.push(Part::Lines(lines));
        View { parts, max_width: None }
    }
}

fn table(recovery: &Recovery) -> Table {
    Table::of("spools", "", recovery.spools.iter())
        .column("Spool", "spool", |one| Cell::Path(one.spool.display().to_string()))
        .column("Job", "job", |one| Cell::text(&one.job))
        .column("Node", "node", |one| Cell::text(&one.node))
        .column("Pid", "pid", |one| Cell::number(one.pid))
        .column("Rank", "rank", |one| Cell::number(one.rank))
        .column("Process", "process", |one| Cell::text(if one.running { "runs" } else { "ended" }))
        .column("Segments", "segments", |one| Cell::Count(one.segments))
        .column("Only counted", "folded", |one| Cell::Count(one.folded))
        .most(20)
        .done()
}
