//! Parquet files of `export` and `corpus`: common writer settings, and columns shared by several tables.

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

pub(crate) const ROW_GROUP: usize = 1 << 20;
/// Memory of a row group under construction, in bytes; limits only groups with long rows, such as accesses to many targets each.
const ROW_GROUP_BYTES: usize = 96 << 20;

pub(crate) type Writer = ArrowWriter<BufWriter<File>>;
pub(crate) type Column = (&'static str, ArrayRef);

/// Returns the writer properties of all Parquet files.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("dxt-analyze ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
}

/// Returns writer properties with delta encoding for the named columns, whose integers mostly grow from row to row.
pub(crate) fn with_differences(mut builder: WriterPropertiesBuilder, columns: &[&str]) -> WriterProperties {
    for &column in columns {
        let path = || ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path(), false);
        builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

pub(crate) fn writer(path: &Path, schema: Arc<Schema>, properties: WriterProperties) -> Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, create_new(path)?);
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}

pub(crate) fn finish(writer: Writer) -> Result<()> {
    writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

pub(crate) fn table(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = writer(path, batch.schema(), properties().build())?;
    writer.write(batch)?;
    finish(writer)
}

/// Creates a table from `columns`. Column types never depend on the contents, so tables of several jobs can be concatenated.
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

/// Returns the columns common to all tables of I/O totals (operations, bytes and times), one row per item of `sums`.
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

/// Returns the columns of findings, one row each.
pub(crate) fn finding_columns(findings: &[&Finding]) -> Vec<Column> {
    let mut evidence = ListBuilder::new(StringBuilder::new());
    for finding in findings {
        finding.evidence.iter().for_each(|line| evidence.values().append_value(line.words()));
        evidence.append(true);
    }
    vec![
        ("code", texts(findings.iter().map(|finding| finding.code.name()))),
        ("severity", texts(findings.iter().map(|finding| finding.severity.name()))),
        ("title", texts(findings.iter().map(|finding| finding.title.to_string()))),
        ("evidence", Arc::new(evidence.finish())),
        ("cost_ns", some_numbers(findings.iter().map(|finding| finding.cost_ns))),
        ("hint", texts(findings.iter().map(|finding| finding.hint.as_str()))),
    ]
}
