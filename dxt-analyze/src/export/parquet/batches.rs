//! Segments as Arrow record batches, with all or selected columns, for Parquet files and for streams to other programs.

pub(crate) use super::columns::PLACE;
use super::columns::{OSTS, STRIPE, fields, filler};
pub(crate) use super::fill::BATCH_ROWS;
use super::fill::{Fill, Picked};
use super::names::Names;
use crate::exit::UsageError;
use crate::export::calls::Storage;
use crate::model::{FileLayout, Run, StreamIx};
use crate::scan::Block;
use crate::symbols::Symbols;
use crate::topics::sites::numbered::Numbered;
use anyhow::{Context, Result};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use std::sync::Arc;

/// Number of storage targets, summed over the rows of a batch, at which the batch is full.
const BATCH_TARGETS: usize = 1 << 20;

/// Source of record batches made from the segments of a trace.
pub(crate) struct Batches<'a> {
    layouts: &'a [Option<FileLayout>],
    names: Names,
    schema: SchemaRef,
}

/// Returns the Arrow schema of the columns named in `chosen`, in that order; all columns for `None`.
pub(crate) fn schema(chosen: Option<&[String]>) -> Result<SchemaRef> {
    let all = Schema::new(fields());
    let Some(chosen) = chosen else { return Ok(Arc::new(all)) };
    let field = |name: &String| {
        let names = || all.fields().iter().map(|field| field.name().as_str()).collect::<Vec<&str>>().join(", ");
        all.field_with_name(name)
            .cloned()
            .map_err(|_| UsageError(format!("segments have no column '{name}'; there are: {}", names())))
    };
    let fields = chosen.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    match chosen.iter().enumerate().find(|(at, name)| chosen.iter().take(*at).any(|before| before == *name)) {
        Some((_, twice)) => Err(UsageError(format!("the column '{twice}' is chosen twice")).into()),
        None => Ok(Arc::new(Schema::new(fields))),
    }
}

impl<'a> Batches<'a> {
    pub(crate) fn new(run: &Run, layouts: &'a [Option<FileLayout>], symbols: &Symbols, schema: SchemaRef) -> Self {
        Self { layouts, names: Names::new(run, &Numbered::of(run, symbols)), schema }
    }

    /// Creates an empty record batch; fails if the schema has a column that segments do not have.
    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let fill = |name: &str| filler(name, &self.names).with_context(|| format!("segments have no column '{name}'"));
        let columns = self.schema.fields().iter().map(|field| fill(field.name())).collect::<Result<_>>()?;
        let located = [STRIPE, OSTS].iter().any(|name| self.schema.index_of(name).is_ok())
            && self.layouts.iter().any(Option::is_some);
        Ok(Rows { batches: self, columns, located, count: 0, targets: 0, picked: Vectors::default() })
    }
}

pub(crate) struct Rows<'a> {
    batches: &'a Batches<'a>,
    columns: Vec<Box<dyn Fill>>,
    /// True if a column needs the storage location of accesses, and some file has a stripe layout.
    located: bool,
    count: usize,
    targets: usize,
    picked: Vectors,
}

/// Buffers for the fields of [`Picked`] (rows selected from a block), reused from block to block.
#[derive(Default)]
struct Vectors {
    places: Vec<u32>,
    runs: Vec<(StreamIx, usize)>,
    stripes: Vec<Option<i64>>,
    ost_ends: Vec<usize>,
    osts: Vec<i32>,
    storage: Storage,
}

impl Rows<'_> {
    /// Adds the segments of `block` that the user's selection includes, and passes each full batch to `each`.
    pub(crate) fn add(&mut self, block: &Block<'_>, each: &mut impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let mut from = 0;
        while from < block.streams.len() {
            from = self.pick(block, from);
            if self.count >= BATCH_ROWS || self.targets >= BATCH_TARGETS {
                self.finish(each)?;
            }
        }
        Ok(())
    }

    /// Adds rows of `block`, beginning at index `from`, until the batch is full; returns the index after the last row added.
    fn pick(&mut self, block: &Block<'_>, from: usize) -> usize {
        let Vectors { places, runs, stripes, ost_ends, osts, storage } = &mut self.picked;
        places.clear();
        runs.clear();
        stripes.clear();
        ost_ends.clear();
        osts.clear();
        let room = BATCH_ROWS.saturating_sub(self.count);
        let mut end = block.streams.len();
        for (place, &number) in block.streams.iter().enumerate().skip(from) {
            if places.len() >= room || self.targets + osts.len() >= BATCH_TARGETS {
                end = place;
                break;
            }
            let Some(stream) = block.process.stream(number.any()) else { continue };
            places.push(place as u32);
            match runs.last_mut() {
                Some((last, rows)) if *last == number.any() => *rows += 1,
                _ => runs.push((number.any(), 1)),
            }
            if self.located {
                stripes.push(block.row(place).and_then(|row| storage.locate(self.batches.layouts, stream, &row)));
                osts.extend_from_slice(&storage.osts);
                ost_ends.push(osts.len());
            }
        }
        let picked = Picked { block: *block, places, runs, stripes, ost_ends, osts };
        self.columns.iter_mut().for_each(|column| column.add(&picked));
        self.count += places.len();
        self.targets += osts.len();
        end
    }

    /// Passes the current batch, unless it is empty, to `each`, and starts an empty batch.
    pub(crate) fn finish(&mut self, each: &mut impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        self.targets = 0;
        if count == 0 {
            return Ok(());
        }
        let columns = self.columns.iter_mut().map(|column| column.take()).collect::<Result<_>>()?;
        let (schema, rows) = (Arc::clone(&self.batches.schema), RecordBatchOptions::new().with_row_count(Some(count)));
        each(RecordBatch::try_new_with_options(schema, columns, &rows)?)
    }
}
