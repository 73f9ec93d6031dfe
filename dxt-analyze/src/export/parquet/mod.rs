//! Output of `export --to parquet`: a directory that contains one Parquet data set for any number of jobs, with a Hive partition per job
//! (`segments/job=<key>/part-0000.parquet`). A job is written to a temporary directory inside, and then moved into place, so that a failure
//! leaves the data set unchanged. `segments` and `tables` write the files.

pub(crate) mod batches;
mod columns;
mod fill;
mod names;
mod segments;
pub(crate) mod sites;
pub(crate) mod tables;

use super::Job;
use crate::exit::UsageError;
use crate::model::Run;
use crate::scan::Lost;
use crate::topics::report::{self, Options};
use crate::written::{is_partition, workshop};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Names of the tables, each of which is a directory.
const TABLES: [&str; 5] = ["segments", "files", "ranks", "findings", "sites"];

pub(crate) fn write(job: &Job<'_>) -> Result<Lost> {
    let place = &job.args.output;
    if place.as_os_str() == "-" {
        return Err(UsageError("-o -: Parquet is written to a directory".into()).into());
    }
    let failed = || format!("failed to write {}", place.display());
    std::fs::create_dir_all(place).with_context(failed)?;
    let partition = format!("job={}", encoded(&job.run.info.key));
    for table in TABLES {
        let there = place.join(table).join(&partition);
        let replaceable = job.args.force || std::fs::symlink_metadata(&there).is_err() || is_partition(&there);
        ensure!(
            replaceable,
            "{}: other files than dxt-analyze's Parquet files are in {}; --force replaces it",
            failed(),
            there.display()
        );
    }
    let partial = workshop(place).with_context(failed)?;
    let partial = partial.path();
    for table in TABLES {
        std::fs::create_dir_all(partial.join(table)).with_context(failed)?;
    }
    let lost = segments::write(job, &partial.join("segments")).with_context(failed)?;
    tables::write(job, partial).with_context(failed)?;
    for table in TABLES {
        std::fs::create_dir_all(place.join(table)).with_context(failed)?;
        replace(partial, table, &place.join(table).join(&partition)).with_context(failed)?;
    }
    Ok(lost)
}

/// Moves the directory `table` from `from` to `to`. A directory already at `to` is moved into `from`, which is removed later.
fn replace(from: &Path, table: &str, to: &Path) -> std::io::Result<()> {
    let old = from.join(format!("{table}.old"));
    let replaced = std::fs::symlink_metadata(to).is_ok();
    if replaced {
        std::fs::rename(to, &old)?;
    }
    let moved = std::fs::rename(from.join(table), to);
    if moved.is_err() && replaced {
        std::fs::rename(&old, to)?;
    }
    moved
}

/// Encodes a job's key for the name of a Hive directory: special characters become `%XX`.
fn encoded(key: &str) -> String {
    if key.is_empty() {
        return "__HIVE_DEFAULT_PARTITION__".into();
    }
    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

pub(crate) fn findings(run: &Run, layout: Option<&Path>) -> Result<Vec<crate::findings::Finding>> {
    let options = Options::findings_only(layout);
    let job = report::Job::new(run, &options)?;
    let found = crate::topics::whole(&job)?;
    Ok(crate::topics::verdict::findings(&found, &crate::topics::verdict::verdict(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_names_of_directories() {
        assert_eq!(encoded("host-12_3.4"), "host-12_3.4");
        assert_eq!(encoded("SLURM_JOB_ID=7/../é"), "SLURM_JOB_ID%3D7%2F..%2F%C3%A9");
        assert_eq!(encoded(""), "__HIVE_DEFAULT_PARTITION__");
    }
}
