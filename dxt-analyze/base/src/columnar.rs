//! Parquet files: common writer settings, and constructors of columns.

use crate::text::signed::signed;
use crate::written::create_new;
use anyhow::Result;
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

/// Maximum rows of a row group.
pub const ROW_GROUP: usize = 1 << 20;
/// Memory of a row group under construction, in bytes; limits only groups with long rows, such as accesses to many targets each.
const ROW_GROUP_BYTES: usize = 96 << 20;

/// Parquet file being written.
pub type Writer = ArrowWriter<BufWriter<File>>;
/// Column with its name.
pub type Column = (&'static str, ArrayRef);

/// Returns the writer properties of all Parquet files.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("dxt-analyze ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
}

/// Returns writer properties with delta encoding for the named columns, whose integers mostly grow from row to row.
pub fn with_differences(mut builder: WriterPropertiesBuilder, columns: &[&str]) -> WriterProperties {
    for &column in columns {
        let path = || ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path(), false);
        builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// Creates a Parquet file at `path`, where nothing may exist.
///
/// # Errors
/// Fails if the file cannot be created.
pub fn writer(path: &Path, schema: Arc<Schema>, properties: WriterProperties) -> Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, create_new(path)?);
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}

/// Completes a Parquet file.
///
/// # Errors
/// Fails if the rest cannot be written.
pub fn finish(writer: Writer) -> Result<()> {
    writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

/// Writes a Parquet file of one batch.
///
/// # Errors
/// Fails if the file cannot be created or written.
pub fn table(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = writer(path, batch.schema(), properties().build())?;
    writer.write(batch)?;
    finish(writer)
}

/// Creates a table from `columns`. Column types never depend on the contents, so tables of several jobs can be concatenated.
pub fn batch(columns: Vec<Column>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
}

/// Returns a column of integers ([`signed`]).
pub fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(signed)))
}

/// Returns a column of integers that may be null.
pub fn some_numbers(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.map(|value| value.map(signed)).collect::<Int64Array>())
}

/// Returns a column of strings.
pub fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Returns a column of strings that may be null.
pub fn some_texts(values: impl Iterator<Item = Option<impl AsRef<str>>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

/// Returns a column of times (UTC), from ns since 1970-01-01.
pub fn moments(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from_iter_values(values).with_timezone("UTC"))
}
