//! Terminal view, redrawn once per interval: I/O rates, slowest processes, files with most I/O time.

use super::board::{Board, Point, Rates, Row};
use super::interval::NotSeen;
use dxt_base::text::printable::printable;
use dxt_base::text::{spark, units};
use std::fmt::Write as _;

const ROWS: usize = 8;

/// Returns the terminal view as text. `clear`: true to clear the terminal first.
#[must_use]
pub fn draw(board: &Board, clear: bool) -> String {
    let mut out = String::new();
    if clear {
        out.push_str("\x1b[H\x1b[J");
    }
    let Some(now) = board.points.back() else {
        let _ = writeln!(out, "{} watched; no calls yet", units::counted(board.watched, "process"));
        not_seen(&board.not_seen, &mut out);
        return out;
    };
    let time = units::wall_clock(now.begin_unix_ns);
    let _ = writeln!(out, "{time}  {} watched, {} ended", units::counted(board.watched, "process"), board.ended);
    rates(board, now, &mut out);
    if board.nodes.len() > 1 {
        list("Nodes by I/O time in this interval", &board.nodes, |row| &row.now, &mut out);
    }
    list("Processes by I/O time in this interval", &board.processes, |row| &row.now, &mut out);
    list("Files by I/O time since the start", &board.files, |row| &row.all, &mut out);
    not_seen(&board.not_seen, &mut out);
    out
}

fn rates(board: &Board, now: &Point, out: &mut String) {
    let seconds = board.interval_ns as f64 / 1e9;
    let _ =
        writeln!(out, "\n{:<18}{:>12}{:>14}{:>12}{:>12}  the last minute", "", "calls/s", "bytes/s", "mean", "longest");
    for (name, Rates { calls, bytes, time_ns, longest_ns }) in &now.rates {
        let name_shown = printable(name);
        let mean = time_ns.checked_div(*calls).unwrap_or(0);
        let past = board.points.len().saturating_sub(60);
        let of = |point: &Point| point.rates.get(name).map(|rates| rates.calls as f64);
        let history: Vec<Option<f64>> = board.points.iter().skip(past).map(of).collect();
        let _ = writeln!(
            out,
            "{name_shown:<18}{:>12}{:>14}{:>12}{:>12}  {}",
            units::count((*calls as f64 / seconds) as u64),
            units::rate(*bytes as f64 / seconds),
            units::duration(mean),
            units::duration(*longest_ns),
            spark::line(&history),
        );
    }
}

fn list(title: &str, rows: &[Row], of: impl Fn(&Row) -> &super::tally::Tally, out: &mut String) {
    let rows: Vec<&Row> = rows.iter().filter(|row| of(row).calls > 0).take(ROWS).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title:<40}{:>10}{:>12}{:>12}{:>12}", "calls", "bytes", "time", "longest");
    for row in rows {
        let tally = of(row);
        // File names are chosen by the traced program, so they must be escaped.
        let name = if row.node.is_empty() { row.name.clone() } else { format!("{} on {}", row.name, row.node) };
        let _ = writeln!(
            out,
            "{:<40}{:>10}{:>12}{:>12}{:>12}",
            tail(&printable(&name), 39),
            units::count(tally.calls),
            units::bytes(tally.bytes),
            units::duration(tally.time_ns),
            units::duration(tally.longest_ns),
        );
    }
}

fn not_seen(not_seen: &NotSeen, out: &mut String) {
    for (count, what) in words(not_seen) {
        let _ = writeln!(out, "{} {what}", units::count(count));
    }
}

/// Returns the numbers of calls that the agent missed, lost or saw twice, with a description for each cause.
#[must_use]
pub fn words(not_seen: &NotSeen) -> Vec<(u64, &'static str)> {
    let all = [
        (
            not_seen.counted,
            "call was only counted by the tracer: sums include it, lists of single calls do not",
            "calls were only counted by the tracer: sums include them, lists of single calls do not",
        ),
        (not_seen.spools, "process started and ended unobserved", "processes started and ended unobserved"),
        (
            not_seen.taken_back,
            "call was shown twice: it returned after its process had written its trace",
            "calls were shown twice: they returned after their process had written its trace",
        ),
        (
            not_seen.damaged,
            "block of recorded calls was damaged, so dxt-analyze skipped this block",
            "blocks of recorded calls were damaged, so dxt-analyze skipped these blocks",
        ),
        (not_seen.dropped, "event was not accepted by a destination", "events were not accepted by a destination"),
        (
            not_seen.names,
            "file path was dropped, since its process uses too many files: later calls on the file count as <other files>",
            "file paths were dropped, since their processes use too many files: later calls on these files count as <other files>",
        ),
        (
            not_seen.too_large,
            "process is no longer watched: its recorded calls take too much memory",
            "processes are no longer watched: their recorded calls take too much memory",
        ),
        (
            not_seen.other_operations,
            "call is missing in the connector's format, which has no name for its operation",
            "calls are missing in the connector's format, which has no name for their operations",
        ),
    ];
    let counted = all.into_iter().filter(|(count, ..)| *count > 0);
    counted.map(|(count, one, several)| (count, units::agree(count, one, several))).collect()
}

/// Returns the end of a text, at most `most` characters, marked by an ellipsis if the text is longer.
fn tail(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length - most + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    #[test]
    fn a_name_does_nothing_to_a_terminal() {
        let row = |name: &str| Row {
            name: name.into(),
            node: "n\x1b[1m".into(),
            now: Tally::of(1, 1),
            all: Tally::of(1, 1),
            ..Row::default()
        };
        let point = Point { rates: [("POSIX \x1b[2J".to_owned(), Rates::default())].into(), ..Point::default() };
        let (mut board, rows) = (Board::default(), vec![row("/a\x1b[2J\nb"), row("/c")]);
        board.points.push_back(point);
        (board.nodes, board.processes, board.files) = (rows.clone(), rows.clone(), rows);
        let text = draw(&board, false);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(text.matches("/a\\u{1b}[2J\\nb on n\\u{1b}[1m").count(), 3, "{text}");
        assert!(draw(&board, true).starts_with("\x1b[H\x1b[J"));
    }
}
