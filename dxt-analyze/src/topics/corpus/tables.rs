//! Tables that `corpus` shows: jobs, then sums over jobs, then unreadable files.

use super::sums_tables as sums;
use super::view::CorpusReport;
use crate::render::{Cell, Part, Report, Table, View};
use crate::text::units;
use crate::topics::corpus::{Corpus, INTERFACES, JobRow, SlowCalls, SlowRun};

/// Maximum number of unreadable files shown in the terminal; CSV has all.
const LEFT_OUT: usize = 50;

impl Report for CorpusReport {
    fn view(&self) -> View {
        let corpus = &self.result;
        let mut parts = vec![Part::Pairs(whole(corpus))];
        let sentences = corpus.slow_runs.iter().take(self.shown).map(|slow| slow.sentence.clone());
        parts.extend(Some(sentences.collect()).filter(|lines: &Vec<String>| !lines.is_empty()).map(Part::Lines));
        parts.push(Part::Table(jobs(corpus, self.shown)));
        parts.extend([
            Part::Table(slow_runs(&corpus.slow_runs, self.shown)),
            Part::Table(sums::users(&corpus.users, self.shown)),
            Part::Table(sums::programs(&corpus.programs, self.shown)),
            Part::Table(sums::interfaces(&corpus.interfaces)),
            Part::Table(sums::io_shares(&corpus.io_shares)),
            Part::Table(sums::directions(&corpus.directions)),
            Part::Table(sums::file_sizes(&corpus.file_sizes)),
            Part::Table(sums::files_per_job(&corpus.files_per_job)),
            Part::Table(sums::sharing(&corpus.sharing)),
            Part::Table(sums::findings(&corpus.findings, self.shown)),
            Part::Table(left_out(corpus)),
        ]);
        parts.extend(Some(remarks(corpus)).filter(|lines| !lines.is_empty()).map(Part::Lines));
        View { parts, max_width: None }
    }
}

/// Formats a duration in ns that is summed over many jobs and can exceed 64 bits.
fn duration(ns: u128) -> String {
    match u64::try_from(ns) {
        Ok(ns) => units::duration(ns),
        Err(_) => format!("{} s", units::count(u64::try_from(ns / 1_000_000_000).unwrap_or(u64::MAX))),
    }
}

fn whole(corpus: &Corpus) -> Vec<(&'static str, String)> {
    let whole = &corpus.whole;
    let data = format!("{} read, {} written", units::bytes(whole.bytes_read), units::bytes(whole.bytes_written));
    let share =
        whole.io_share.map_or(String::new(), |share| format!(", {:.1} % of the ranks' run time", share * 100.0));
    vec![
        ("jobs", format!("{} of {}", units::count(whole.jobs), units::counted(corpus.users.len() as u64, "user"))),
        ("files", units::count(whole.files)),
        ("data", data),
        ("I/O", format!("{} of calls{share}", duration(whole.io_ns))),
    ]
}

/// Returns the table of slow runs with one row per type of slow calls (reads, writes, syncs); `shown` is the maximum number of rows.
fn slow_runs(runs: &[SlowRun], shown: usize) -> Table {
    let rows: Vec<(&SlowRun, &SlowCalls)> =
        runs.iter().flat_map(|slow| slow.calls.iter().map(move |calls| (slow, calls))).collect();
    Table::of("slow_runs", "Runs slower than other runs with the same I/O", rows)
        .column("Job", "job", |(slow, _)| Cell::text(&slow.job))
        .column("Program", "program", |(slow, _)| Cell::path(&slow.program))
        .column("Other runs", "others", |(slow, _)| Cell::Count(slow.others))
        .column("Calls", "does", |(_, calls)| Cell::text(calls.does.name()))
        .column("From", "from_s", |(_, calls)| Cell::Moment(calls.from_ns))
        .csv("slow_from_s", |(slow, _)| Cell::Moment(slow.from_ns))
        .csv("slow_from_unix_ns", |(slow, _)| Cell::Number(slow.from_unix_ns))
        .csv("slow_until_s", |(slow, _)| Cell::maybe(slow.until_ns, Cell::Moment))
        .csv("all_the_time", |(slow, _)| Cell::flag(slow.all_the_time))
        .column("Time", "time_s", |(_, calls)| Cell::Duration(calls.time_ns))
        .column("Usual time", "usual_s", |(_, calls)| Cell::Duration(calls.usual_ns))
        .column("Slowdown", "slower", |(_, calls)| Cell::Times(calls.slower))
        .csv("run_longer_s", |(slow, _)| Cell::Duration(slow.run_longer_ns))
        .csv("sentence", |(slow, _)| Cell::text(&slow.sentence))
        .column("Log", "source", |(slow, _)| Cell::path(&slow.source))
        .most(shown)
        .done()
}

/// Formats the short codes of a job's most costly findings, such as `S003`.
fn codes(row: &JobRow) -> String {
    let short = |name: &'static str| name.strip_prefix("DXT-").unwrap_or(name);
    row.top_findings.iter().map(|code| short(code.name())).collect::<Vec<&str>>().join(" ")
}

fn user(job: &JobRow) -> Option<String> {
    job.user_name.clone().or_else(|| job.uid.map(|uid| uid.to_string()))
}

fn jobs(corpus: &Corpus, shown: usize) -> Table {
    let mut table = Table::of("jobs", "", &corpus.jobs)
        .csv("job", |job| Cell::text(&job.job))
        .csv("batch", |job| Cell::text(&job.batch))
        .column("User", "user_name", |job| Cell::maybe(user(job), Cell::Text))
        .csv("uid", |job| Cell::maybe(job.uid, |uid| Cell::Count(uid.into())))
        .column("Program", "program", |job| Cell::path(&job.program))
        .csv("exe", |job| Cell::text(&job.exe))
        .csv("start", |job| Cell::text(&job.start))
        .csv("start_unix_ns", |job| Cell::Number(job.start_unix_ns))
        .column("Ranks", "ranks", |job| Cell::Count(job.ranks))
        .column("Runtime", "runtime_s", |job| Cell::Duration(job.runtime_ns))
        .column("Bytes", "bytes", |job| Cell::Bytes(job.bytes()))
        .csv("bytes_read", |job| Cell::Count(job.called.bytes_read))
        .csv("bytes_written", |job| Cell::Count(job.called.bytes_written))
        .column("I/O", "io_share", |job| Cell::maybe(job.io_share, Cell::Share))
        .csv("io_s", |job| Cell::Duration(job.io_ns))
        .csv("slowest_share", |job| Cell::maybe(job.slowest_share, Cell::Share))
        .csv("slowest_s", |job| Cell::Duration(job.slowest_ns))
        .csv("read_s", |job| Cell::Duration(job.called.read_ns))
        .csv("write_s", |job| Cell::Duration(job.called.write_ns))
        .csv("other_s", |job| Cell::Duration(job.called.other_ns))
        .column("Findings", "top_findings", |job| Cell::Text(codes(job)))
        .csv("findings", |job| Cell::maybe(job.findings, Cell::Count))
        .csv("files", |job| Cell::Count(job.files))
        .csv("operations", |job| Cell::Count(job.called.operations))
        .csv("processes", |job| Cell::Count(job.processes))
        .csv("nodes", |job| Cell::maybe(job.nodes, Cell::Count))
        .csv("uses_mpiio", |job| Cell::flag(job.uses_mpiio()));
    for ((interface, _), [used, bytes, time]) in INTERFACES.into_iter().zip(INTERFACE_COLUMNS) {
        table = table
            .csv(used, move |job| Cell::flag(job.interface(interface).used))
            .csv(bytes, move |job| Cell::Count(job.interface(interface).bytes))
            .csv(time, move |job| Cell::Duration(job.interface(interface).time_ns));
    }
    table
        .csv("posix_in_mpiio_s", |job| Cell::Duration(job.posix_in_mpiio_ns))
        .csv("lock_s", |job| Cell::maybe(job.lock_ns, Cell::Duration))
        .csv("unlock_s", |job| Cell::maybe(job.unlock_ns, Cell::Duration))
        .csv("missing_segments", |job| Cell::Count(job.missing_segments))
        .csv("complete", |job| Cell::flag(job.complete))
        .csv("problems", |job| Cell::Count(job.problems))
        .csv("form", |job| Cell::text(job.form.name()))
        .csv("sources", |job| Cell::Count(job.sources))
        .column("Log", "source", |job| Cell::path(&job.source))
        .most(shown)
        .done()
}

/// Names of the columns of each interface, in the order of [`INTERFACES`].
const INTERFACE_COLUMNS: [[&str; 3]; INTERFACES.len()] = [
    ["uses_posix", "posix_bytes", "posix_s"],
    ["uses_stdio", "stdio_bytes", "stdio_s"],
    ["uses_mpiio_independent", "mpiio_independent_bytes", "mpiio_independent_s"],
    ["uses_mpiio_collective", "mpiio_collective_bytes", "mpiio_collective_s"],
    ["uses_hdf5", "hdf5_bytes", "hdf5_s"],
    ["uses_pnetcdf", "pnetcdf_bytes", "pnetcdf_s"],
];

/// Returns the table of unreadable files, for CSV only: terminals get lines with full paths.
fn left_out(corpus: &Corpus) -> Table {
    Table::of("left_out", "", corpus.left_out.iter())
        .csv("file", |left| Cell::text(&left.file))
        .csv("why", |left| Cell::text(&left.why))
        .most(0)
        .done()
}

fn remarks(corpus: &Corpus) -> Vec<String> {
    let mut out = Vec::new();
    if corpus.incomplete > 0 {
        out.push(format!(
            "Incomplete: {} with damaged or absent data, or with operations that have only counters (column `complete`): `dxt-analyze summary LOG` shows the details.",
            units::counted(corpus.incomplete, "job")
        ));
    }
    out.extend(corpus.remarks.iter().cloned());
    let count = corpus.left_out.len();
    if count > 0 {
        out.push(format!("Left out, because not readable ({}):", units::counted(count as u64, "file")));
        out.extend(corpus.left_out.iter().take(LEFT_OUT).map(|left| format!("  {}: {}", left.file, left.why)));
    }
    if count > LEFT_OUT {
        out.push(format!("  and {} more: --format csv --table left_out lists all", count - LEFT_OUT));
    }
    out
}
