//! Parquet tables `jobs`, `job_files` and `job_findings`, one file each. Rows of files and findings are written in order as jobs arrive.
//! The files get their final names once all of them are complete.

use crate::columnar::{
    self, Column, Writer, batch, finding_columns, numbers, some_numbers, some_texts, sum_columns, texts,
};
use crate::findings::Finding;
use crate::text::signed::signed;
use crate::topics::corpus::{INTERFACES, Interface, InterfaceSum, JobFile, JobRow, Sharing};
use crate::written::{Ours, Target, workshop};
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const NAMES: [&str; 3] = ["jobs", "job_files", "job_findings"];
const BATCH: usize = 1 << 14;

/// Parquet tables under construction.
pub(crate) struct Tables {
    place: PathBuf,
    partial: TempDir,
    force: bool,
    files: Growing<(String, JobFile)>,
    findings: Growing<(String, u64, Finding)>,
}

impl Tables {
    /// Starts the tables in directory `place`, creating it if missing.
    pub(crate) fn new(place: &Path, force: bool) -> Result<Self> {
        let failed = || format!("failed to write {}", place.display());
        for name in NAMES {
            Target::new(&named(place, name), Ours::Never, force).check()?;
        }
        std::fs::create_dir_all(place).with_context(failed)?;
        let partial = workshop(place).with_context(failed)?;
        let [_, files, findings] = NAMES.map(|name| named(partial.path(), name));
        Ok(Self {
            place: place.to_path_buf(),
            files: Growing::new(&files, file_batch).with_context(failed)?,
            findings: Growing::new(&findings, finding_batch).with_context(failed)?,
            partial,
            force,
        })
    }

    pub(crate) fn add(&mut self, job: &JobRow, files: &[JobFile], findings: &[Finding]) -> Result<()> {
        let failed = || format!("failed to write {}", self.place.display());
        for file in files {
            self.files.add((job.job.clone(), file.clone())).with_context(failed)?;
        }
        for (number, finding) in (1..).zip(findings) {
            self.findings.add((job.job.clone(), number, finding.clone())).with_context(failed)?;
        }
        Ok(())
    }

    /// Completes the tables, and writes the table `jobs`.
    pub(crate) fn finish(self, jobs: &[JobRow]) -> Result<()> {
        let failed = || format!("failed to write {}", self.place.display());
        self.files.finish().with_context(failed)?;
        self.findings.finish().with_context(failed)?;
        let mut all = Growing::new(&named(self.partial.path(), "jobs"), job_batch).with_context(failed)?;
        jobs.iter().try_for_each(|job| all.add(job)).with_context(failed)?;
        all.finish().with_context(failed)?;
        for name in NAMES {
            let target = named(&self.place, name);
            Target::new(&target, Ours::Never, self.force).take(&named(self.partial.path(), name))?;
        }
        Ok(())
    }
}

fn named(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}

struct Growing<T> {
    writer: Writer,
    rows: Vec<T>,
    batch: fn(&[T]) -> Result<RecordBatch>,
}

impl<T> Growing<T> {
    fn new(path: &Path, batch: fn(&[T]) -> Result<RecordBatch>) -> Result<Self> {
        let schema = batch(&[])?.schema();
        let writer = columnar::writer(path, schema, columnar::properties().build())?;
        Ok(Self { writer, rows: Vec::new(), batch })
    }

    fn add(&mut self, row: T) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() >= BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.writer.write(&(self.batch)(&self.rows)?)?;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.write()?;
        }
        columnar::finish(self.writer)
    }
}

fn shares(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

fn flags(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

/// Converts times in ns to timestamps in µs, which every query engine can read.
fn moments(ns: impl Iterator<Item = i64>) -> ArrayRef {
    let micros = TimestampMicrosecondArray::from_iter_values(ns.map(|ns| ns.div_euclid(1000)));
    Arc::new(micros.with_timezone("UTC"))
}

fn job_batch(jobs: &[&JobRow]) -> Result<RecordBatch> {
    let all = || jobs.iter();
    let mut columns: Vec<Column> = vec![
        ("job", texts(all().map(|job| &job.job))),
        ("source", texts(all().map(|job| &job.source))),
        ("sources", numbers(all().map(|job| job.sources))),
        ("form", texts(all().map(|job| job.form.name()))),
        ("batch", texts(all().map(|job| &job.batch))),
        ("uid", some_numbers(all().map(|job| job.uid.map(u64::from)))),
        ("user_name", some_texts(all().map(|job| job.user_name.as_ref()))),
        ("program", texts(all().map(|job| &job.program))),
        ("exe", texts(all().map(|job| &job.exe))),
        ("start", moments(all().map(|job| job.start_unix_ns))),
        ("start_unix_ns", Arc::new(all().map(|job| Some(job.start_unix_ns)).collect::<Int64Array>())),
        ("runtime_ns", numbers(all().map(|job| job.runtime_ns))),
        ("ranks", numbers(all().map(|job| job.ranks))),
        ("processes", numbers(all().map(|job| job.processes))),
        ("nodes", some_numbers(all().map(|job| job.nodes))),
        ("files", numbers(all().map(|job| job.files))),
    ];
    columns.extend(sum_columns(all().map(|job| &job.called)));
    columns.extend([
        ("io_ns", numbers(all().map(|job| job.io_ns))),
        ("io_share", shares(all().map(|job| job.io_share))),
        ("slowest_ns", numbers(all().map(|job| job.slowest_ns))),
        ("slowest_share", shares(all().map(|job| job.slowest_share))),
        ("uses_mpiio", flags(all().map(|job| job.uses_mpiio()))),
    ]);
    for ((interface, _), names) in INTERFACES.iter().zip(INTERFACE_COLUMNS) {
        let of = |part: fn(InterfaceSum) -> u64| numbers(jobs.iter().map(move |job| part(job.interface(*interface))));
        let [uses, calls, bytes, time] = names;
        columns.push((uses, flags(all().map(|job| job.interface(*interface).used))));
        columns.push((calls, of(|sum| sum.calls)));
        columns.push((bytes, of(|sum| sum.bytes)));
        columns.push((time, of(|sum| sum.time_ns)));
    }
    columns.extend([
        ("posix_in_mpiio_ns", numbers(all().map(|job| job.posix_in_mpiio_ns))),
        ("lock_ns", some_numbers(all().map(|job| job.lock_ns))),
        ("unlock_ns", some_numbers(all().map(|job| job.unlock_ns))),
        ("missing_segments", numbers(all().map(|job| job.missing_segments))),
        ("complete", flags(all().map(|job| job.complete))),
        ("problems", numbers(all().map(|job| job.problems))),
        ("findings", some_numbers(all().map(|job| job.findings))),
    ]);
    batch(columns)
}

/// Names of the columns of each interface, in the order of [`INTERFACES`].
const INTERFACE_COLUMNS: [[&str; 4]; INTERFACES.len()] = [
    ["uses_posix", "posix_calls", "posix_bytes", "posix_ns"],
    ["uses_stdio", "stdio_calls", "stdio_bytes", "stdio_ns"],
    ["uses_mpiio_independent", "mpiio_independent_calls", "mpiio_independent_bytes", "mpiio_independent_ns"],
    ["uses_mpiio_collective", "mpiio_collective_calls", "mpiio_collective_bytes", "mpiio_collective_ns"],
    ["uses_hdf5", "hdf5_calls", "hdf5_bytes", "hdf5_ns"],
    ["uses_pnetcdf", "pnetcdf_calls", "pnetcdf_bytes", "pnetcdf_ns"],
];

fn file_batch(rows: &[(String, JobFile)]) -> Result<RecordBatch> {
    let all = || rows.iter().map(|(_, file)| file);
    let mut columns: Vec<Column> = vec![
        ("job", texts(rows.iter().map(|(job, _)| job))),
        ("file", texts(all().map(|file| &file.file))),
        ("place", texts(all().map(|file| &file.place))),
        ("size", some_numbers(all().map(|file| file.size))),
        ("processes", numbers(all().map(|file| file.processes))),
        ("sharing", some_texts(all().map(|file| file.sharing.map(Sharing::name)))),
        ("interface", some_texts(all().map(|file| file.interface.map(Interface::name)))),
        ("stripe_size", some_numbers(all().map(|file| file.stripe.map(|stripe| stripe.0)))),
        ("stripe_count", some_numbers(all().map(|file| file.stripe.map(|stripe| stripe.1.into())))),
    ];
    columns.extend(sum_columns(all().map(|file| &file.called)));
    batch(columns)
}

fn finding_batch(rows: &[(String, u64, Finding)]) -> Result<RecordBatch> {
    let findings: Vec<&Finding> = rows.iter().map(|(_, _, finding)| finding).collect();
    let mut columns: Vec<Column> = vec![
        ("job", texts(rows.iter().map(|(job, _, _)| job))),
        ("number", Arc::new(rows.iter().map(|(_, number, _)| Some(signed(*number))).collect::<Int64Array>())),
    ];
    columns.extend(finding_columns(&findings));
    batch(columns)
}
