//! How `corpus` looks: the table of jobs, then what they are together, then what could not be read.

use super::sums_tables as sums;
use super::view::CorpusReport;
use crate::render::{Cell, Part, Report, Table, View};
use crate::text::units;
use crate::topics::corpus::{Corpus, INTERFACES, JobRow};

/// Files that could not be read, which people get to see; CSV has all.
const LEFT_OUT: usize = 50;

impl Report for CorpusReport {
    fn view(&self) -> View {
        let corpus = &self.result;
        let mut parts = vec![Part::Pairs(whole(corpus)), Part::Table(jobs(corpus, self.shown))];
        parts.extend([
            Part::Table(sums::groups("users", "Who does most I/O", ("User", "user"), &corpus.users, self.shown)),
            Part::Table(sums::groups("programs", "Programs", ("Program", "program"), &corpus.programs, self.shown)),
            Part::Table(sums::interfaces(&corpus.interfaces)),
            Part::Table(sums::io_shares(&corpus.io_shares)),
            Part::Table(sums::directions(&corpus.directions)),
            Part::Table(sums::file_sizes(&corpus.file_sizes)),
            Part::Table(sums::files_per_job(&corpus.files_per_job)),
            Part::Table(sums::sharing(&corpus.sharing)),
        ]);
        if !corpus.findings.is_empty() {
            parts.push(Part::Table(sums::findings(&corpus.findings, self.shown)));
        }
        parts.push(Part::Table(left_out(corpus)));
        parts.extend(Some(remarks(corpus)).filter(|lines| !lines.is_empty()).map(Part::Lines));
        View { parts, max_width: None }
    }
}

/// The time of many jobs can be more ns than 64 bits hold.
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
        whole.io_share.map_or(String::new(), |share| format!(", {:.1} % of the time that ranks had", share * 100.0));
    vec![
        ("jobs", format!("{} of {}", units::count(whole.jobs), units::counted(corpus.users.len() as u64, "user"))),
        ("files", units::count(whole.files)),
        ("data", data),
        ("I/O", format!("{} of calls{share}", duration(whole.io_ns))),
    ]
}

/// Codes as people call them: `S003`.
fn codes(row: &JobRow) -> String {
    let short = |name: &'static str| name.strip_prefix("DXT-").unwrap_or(name);
    row.top_findings.iter().map(|code| short(code.name())).collect::<Vec<&str>>().join(" ")
}

fn share(share: Option<f64>) -> Cell {
    share.map_or(Cell::None, Cell::Share)
}

fn jobs(corpus: &Corpus, shown: usize) -> Table {
    let row = |job: &JobRow| {
        let user = job.user_name.clone().or_else(|| job.uid.map(|uid| uid.to_string()));
        let mut cells = vec![
            Cell::Text(job.job.clone()),
            Cell::Text(job.batch.clone()),
            user.map_or(Cell::None, Cell::Text),
            job.uid.map_or(Cell::None, |uid| Cell::Count(uid.into())),
            Cell::Path(job.program.clone()),
            Cell::Text(job.exe.clone()),
            Cell::Text(job.start.clone()),
            Cell::Number(job.start_unix_ns),
            Cell::Count(job.ranks),
            Cell::Duration(job.runtime_ns),
            Cell::Bytes(job.bytes()),
            Cell::Count(job.called.bytes_read),
            Cell::Count(job.called.bytes_written),
            share(job.io_share),
            Cell::Duration(job.io_ns),
            share(job.slowest_share),
            Cell::Duration(job.slowest_ns),
            Cell::Duration(job.called.read_ns),
            Cell::Duration(job.called.write_ns),
            Cell::Duration(job.called.other_ns),
            Cell::Text(codes(job)),
            job.findings.map_or(Cell::None, Cell::Count),
            Cell::Count(job.files),
            Cell::Count(job.called.operations),
            Cell::Count(job.processes),
            job.nodes.map_or(Cell::None, Cell::Count),
            Cell::Count(u64::from(job.uses_mpiio())),
        ];
        for (interface, _) in INTERFACES {
            let sum = job.interface(interface);
            cells.extend([Cell::Count(u64::from(sum.used)), Cell::Count(sum.bytes), Cell::Duration(sum.time_ns)]);
        }
        cells.extend([
            Cell::Count(job.missing_segments),
            Cell::Count(u64::from(job.complete)),
            Cell::Count(job.problems),
            Cell::Text(job.form.name().into()),
            Cell::Count(job.sources),
            Cell::Path(job.source.clone()),
        ]);
        cells
    };
    let mut columns = vec![
        ("", "job"),
        ("", "batch"),
        ("User", "user_name"),
        ("", "uid"),
        ("Program", "program"),
        ("", "exe"),
        ("", "start"),
        ("", "start_unix_ns"),
        ("Ranks", "ranks"),
        ("Runtime", "runtime_s"),
        ("Bytes", "bytes"),
        ("", "bytes_read"),
        ("", "bytes_written"),
        ("I/O", "io_share"),
        ("", "io_s"),
        ("", "slowest_share"),
        ("", "slowest_s"),
        ("", "read_s"),
        ("", "write_s"),
        ("", "other_s"),
        ("Findings", "top_findings"),
        ("", "findings"),
        ("", "files"),
        ("", "operations"),
        ("", "processes"),
        ("", "nodes"),
        ("", "uses_mpiio"),
    ];
    columns.extend(INTERFACE_COLUMNS.iter().flatten().map(|name| ("", *name)));
    columns.extend([
        ("", "missing_segments"),
        ("", "complete"),
        ("", "problems"),
        ("", "form"),
        ("", "sources"),
        ("Log", "source"),
    ]);
    Table { name: "jobs", title: String::new(), columns, rows: corpus.jobs.iter().map(row).collect(), most: shown }
}

/// Columns of each interface, in the order of [`INTERFACES`].
const INTERFACE_COLUMNS: [[&str; 3]; INTERFACES.len()] = [
    ["uses_posix", "posix_bytes", "posix_s"],
    ["uses_stdio", "stdio_bytes", "stdio_s"],
    ["uses_mpiio_independent", "mpiio_independent_bytes", "mpiio_independent_s"],
    ["uses_mpiio_collective", "mpiio_collective_bytes", "mpiio_collective_s"],
    ["uses_hdf5", "hdf5_bytes", "hdf5_s"],
    ["uses_pnetcdf", "pnetcdf_bytes", "pnetcdf_s"],
];

/// For CSV only: a terminal has lines with whole paths.
fn left_out(corpus: &Corpus) -> Table {
    let rows = corpus.left_out.iter().map(|left| vec![Cell::Text(left.file.clone()), Cell::Text(left.why.clone())]);
    let columns = vec![("", "file"), ("", "why")];
    Table { name: "left_out", title: String::new(), columns, rows: rows.collect(), most: 0 }
}

fn remarks(corpus: &Corpus) -> Vec<String> {
    let mut out = Vec::new();
    if corpus.incomplete > 0 {
        out.push(format!(
            "Of {} something is damaged, absent or without segments (column `complete`): `dxt-analyze summary LOG` says what.",
            units::counted(corpus.incomplete, "job")
        ));
    }
    out.extend(corpus.remarks.iter().cloned());
    let count = corpus.left_out.len();
    if count > 0 {
        out.push(format!("Left out, because it could not be read ({}):", units::counted(count as u64, "file")));
        out.extend(corpus.left_out.iter().take(LEFT_OUT).map(|left| format!("  {}: {}", left.file, left.why)));
    }
    if count > LEFT_OUT {
        out.push(format!("  and {} more: --format csv --table left_out lists all", count - LEFT_OUT));
    }
    out
}
