//! `export --to parquet`: a directory that holds one data set of any number of jobs, partitioned by job as Hive does it
//! (`segments/job=<key>/part-0000.parquet`). A job is written beside it first and then moved into place, so that what fails leaves
//! the data set as it was. `segments` and `tables` say what is in the files.

mod segments;
mod tables;

use super::Job;
use super::place::Partial;
use crate::exit::UsageError;
use crate::load::{FileLayout, Run};
use crate::scan::Lost;
use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// The tables, each a directory.
const TABLES: [&str; 4] = ["segments", "files", "ranks", "findings"];
/// Rows that are stored together.
const ROW_GROUP: usize = 1 << 20;
/// Bytes that a row group may take while it is made: reached before a million rows only if accesses touch many targets each.
const ROW_GROUP_BYTES: usize = 96 << 20;
/// Rows listed by the analyses that findings come from, as on the report page.
const TOP: usize = 50;

/// Writes the job; returns what was lost on the way.
pub(super) fn write(job: &Job<'_>) -> Result<Lost> {
    let place = &job.args.output;
    if place.as_os_str() == "-" {
        return Err(UsageError("-o -: Parquet is written to a directory".into()).into());
    }
    let failed = || format!("failed to write {}", place.display());
    std::fs::create_dir_all(place).with_context(failed)?;
    let partition = format!("job={}", encoded(&job.run.info.key));
    let partial = Partial::new(place.join(format!(".{partition}.partial")));
    for table in TABLES {
        std::fs::create_dir_all(partial.0.join(table)).with_context(failed)?;
    }
    let lost = segments::write(job, &partial.0.join("segments")).with_context(failed)?;
    tables::write(job, &partial.0).with_context(failed)?;
    for table in TABLES {
        std::fs::create_dir_all(place.join(table)).with_context(failed)?;
        replace(&partial.0, table, &place.join(table).join(&partition)).with_context(failed)?;
    }
    Ok(lost)
}

/// Moves `table` of `from` to `to`; what is there goes into `from`, to be removed with it.
fn replace(from: &Path, table: &str, to: &Path) -> std::io::Result<()> {
    let old = from.join(format!("{table}.old"));
    let replaced = to.exists();
    if replaced {
        std::fs::rename(to, &old)?;
    }
    let moved = std::fs::rename(from.join(table), to);
    if moved.is_err() && replaced {
        std::fs::rename(&old, to)?;
    }
    moved
}

/// A job's key as the name of a directory, as Hive writes it: what may have a meaning is a percent sign and two digits.
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

/// How all files are written.
fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("dxt-analyze ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
}

/// The same with columns of numbers that grow: their differences are stored.
fn with_differences(mut builder: WriterPropertiesBuilder, columns: &[&str]) -> WriterProperties {
    for &column in columns {
        let path = || ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path(), false);
        builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// A writer of one file.
fn writer(path: &Path, schema: Arc<Schema>, properties: WriterProperties) -> Result<ArrowWriter<BufWriter<File>>> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}

/// Ends a file.
fn finish(writer: ArrowWriter<BufWriter<File>>) -> Result<()> {
    writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

/// Writes a table that is small.
fn table(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = writer(path, batch.schema(), properties().build())?;
    writer.write(batch)?;
    finish(writer)
}

/// Layout of a file of the run.
fn layout_of<'a>(job: &'a Job<'_>, file: usize) -> Option<&'a FileLayout> {
    job.layouts.get(file)?.as_ref()
}

/// Findings of the report page.
fn findings(run: &Run, layout: Option<&Path>) -> Result<Vec<crate::findings::Finding>> {
    crate::verbs::report::findings_of(run, layout, TOP)
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
