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

/// Maximum number of rows in a row group (unit of reading in a Parquet file).
pub const ROW_GROUP: usize = 1 << 20;
/// Maximum memory of an unfinished row group, in bytes; only reached with long rows, such as accesses to many targets each.
const ROW_GROUP_BYTES: usize = 96 << 20;

/// Writer of a Parquet file.
pub type Writer = ArrowWriter<BufWriter<File>>;
/// Column of a table: name and values.
pub type Column = (&'static str, ArrayRef);

/// Returns the writer properties that all Parquet files have in common.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("dxt-analyze ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
}

/// Returns writer properties with delta encoding for `columns`, whose integers mostly grow from row to row.
pub fn with_differences(mut builder: WriterPropertiesBuilder, columns: &[&str]) -> WriterProperties {
    for &column in columns {
        let path = || ColumnPath::from(column);
        builder = builder.set_column_dictionary_enabled(path(), false);
        builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// Creates a Parquet file at `path`; fails if the file exists or cannot be created.
pub fn writer(path: &Path, schema: Arc<Schema>, properties: WriterProperties) -> Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, create_new(path)?);
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}

/// Completes a Parquet file: writes the last row group and the footer.
pub fn finish(writer: Writer) -> Result<()> {
    writer.into_inner()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    Ok(())
}

/// Writes a Parquet file that contains one batch of rows; fails if the file cannot be created or written.
pub fn table(path: &Path, batch: &RecordBatch) -> Result<()> {
    let mut writer = writer(path, batch.schema(), properties().build())?;
    writer.write(batch)?;
    finish(writer)
}

/// Creates a table from `columns`. Column types never depend on the contents, so that tables of several jobs can be concatenated.
pub fn batch(columns: Vec<Column>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
}

/// Returns a column of integers; numbers above the maximum of i64 become that maximum ([`signed`]).
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

/// Returns a column of UTC times from `values` in ns since 1970-01-01.
pub fn moments(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from_iter_values(values).with_timezone("UTC"))
}
