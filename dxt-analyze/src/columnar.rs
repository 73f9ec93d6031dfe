//! Parquet files as `export` and `corpus` write them: one way of writing, and the columns that several tables have.

use crate::findings::Finding;
use crate::shared::sums::Called;
use crate::text::signed::signed;
use crate::written::create_new;
use anyhow::Result;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

/// Rows that are stored together.
pub(crate) const ROW_GROUP: usize = 1 << 20;
/// Bytes that a row group may take while it is made: reached before a million rows only by rows that are long, such as those of
/// accesses that touch many targets each.
const ROW_GROUP_BYTES: usize = 96 << 20;

/// A file that is being written.
pub(crate) type Writer = ArrowWriter<BufWriter<File>>;
/// A column: its name and its values.
pub(crate) type Column = (&'static str, ArrayRef);

/// How all files are written.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("dxt-analyze ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
}

/// The same with columns of numbers that grow: their differences are stored.
pub(crate) fn with_differences(mut builder: WriterPropertiesBuilder, columns: &[&str]) -> WriterProperties {
    for &column in columns {
        let path = || ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path(), false);
        builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// A writer of one file.
pub(crate) fn writer(path: &Path, schema: Arc<Schema>, properties: WriterProperties) -> Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, create_new(path)?);
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}

/// Ends a file.
pub(crate) fn finish(writer: Writer) -> Result<()> {
    writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

/// Writes a table that is small.
pub(crate) fn table(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = writer(path, batch.schema(), properties().build())?;
    writer.write(batch)?;
    finish(writer)
}

/// A table whose types do not depend on what is in it, so that those of several jobs are one.
pub(crate) fn batch(columns: Vec<Column>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
}

pub(crate) fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(signed)))
}

pub(crate) fn some_numbers(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.map(|value| value.map(signed)).collect::<Int64Array>())
}

pub(crate) fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

pub(crate) fn some_texts(values: impl Iterator<Item = Option<impl AsRef<str>>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

pub(crate) fn moments(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from_iter_values(values).with_timezone("UTC"))
}

/// Columns that all tables of sums have.
pub(crate) fn sum_columns<'a>(sums: impl Iterator<Item = &'a Called> + Clone) -> [Column; 6] {
    [
        ("operations", numbers(sums.clone().map(|sums| sums.operations))),
        ("bytes_read", numbers(sums.clone().map(|sums| sums.bytes_read))),
        ("bytes_written", numbers(sums.clone().map(|sums| sums.bytes_written))),
        ("read_ns", numbers(sums.clone().map(|sums| sums.read_ns))),
        ("write_ns", numbers(sums.clone().map(|sums| sums.write_ns))),
        ("other_ns", numbers(sums.map(|sums| sums.other_ns))),
    ]
}

/// Findings, a row each.
pub(crate) fn finding_columns(findings: &[&Finding]) -> Vec<Column> {
    let mut evidence = ListBuilder::new(StringBuilder::new());
    for finding in findings {
        finding.evidence.iter().for_each(|line| evidence.values().append_value(line.words()));
        evidence.append(true);
    }
    vec![
        ("code", texts(findings.iter().map(|finding| finding.code.name()))),
        ("severity", texts(findings.iter().map(|finding| finding.severity.name()))),
        ("title", texts(findings.iter().map(|finding| finding.title.as_str()))),
        ("evidence", Arc::new(evidence.finish())),
        ("cost_ns", some_numbers(findings.iter().map(|finding| finding.cost_ns))),
        ("hint", texts(findings.iter().map(|finding| finding.hint.as_str()))),
    ]
}
