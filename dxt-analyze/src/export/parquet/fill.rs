//! Builders of the segment table's columns from decoded blocks; `columns` assigns a builder to each column name.

use super::names::Texts;
use crate::model::{Stream, StreamIx};
use crate::scan::Block;
use anyhow::Result;
use arrow_array::builder::{BooleanBuilder, Int32Builder, ListBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use std::iter::repeat_n;
use std::sync::Arc;

/// Maximum rows of a batch; a batch has fewer rows if they touch many storage targets.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Rows of a decoded block that are selected for the table.
pub(super) struct Picked<'a> {
    pub(super) block: Block<'a>,
    /// Indices of the selected rows in the block.
    pub(super) places: &'a [u32],
    /// Runs of consecutive rows of one stream (operation and file): (index of the stream in the process, number of rows).
    pub(super) runs: &'a [(StreamIx, usize)],
    /// Number of the stripe in which each row's access begins; empty if no file has a stripe layout.
    pub(super) stripes: &'a [Option<i64>],
    /// End index of each row's storage targets in `osts`; empty if no file has a stripe layout.
    pub(super) ost_ends: &'a [usize],
    pub(super) osts: &'a [i32],
}

impl Picked<'_> {
    /// Evaluates `of` once for each run of consecutive rows of one stream (one operation on one file). Returns (value, number of rows) for
    /// each run.
    fn of_streams<T>(&self, of: impl Fn(&Stream) -> T) -> impl Iterator<Item = (T, usize)> {
        let process = self.block.process;
        self.runs.iter().filter_map(move |&(number, rows)| Some((of(process.stream(number)?), rows)))
    }
}

impl Picked<'_> {
    /// Iterates over the call sites of the rows; `None` if unknown.
    fn sites(&self) -> impl Iterator<Item = Option<u32>> {
        let (process, ids) = (self.block.process, &self.block.columns.stream);
        // Most rows come from the same call site as the row before.
        let mut last = (None, None);
        self.places.iter().map(move |&place| {
            let id = ids.get(place as usize).copied();
            if id != last.0 {
                last = (id, id.and_then(|id| process.site(id)));
            }
            last.1
        })
    }
}

/// Reserves memory for a whole batch at once, so that the vector is never moved as it grows.
fn room<T>(values: &mut Vec<T>) {
    if values.is_empty() {
        values.reserve(BATCH_ROWS);
    }
}

pub(super) trait Fill: Send {
    fn add(&mut self, rows: &Picked<'_>);
    /// Returns the finished column, and starts an empty column.
    fn take(&mut self) -> Result<ArrayRef>;
}

/// Column of numbers computed for each row: `of` gets the block and the row's index in the block.
pub(super) struct Numbers<T: ArrowPrimitiveType, F> {
    pub(super) values: Vec<T::Native>,
    pub(super) kind: DataType,
    pub(super) of: F,
}

impl<T, F> Fill for Numbers<T, F>
where
    T: ArrowPrimitiveType,
    F: Fn(&Block<'_>, usize) -> T::Native + Send,
{
    fn add(&mut self, rows: &Picked<'_>) {
        room(&mut self.values);
        self.values.extend(rows.places.iter().map(|&place| (self.of)(&rows.block, place as usize)));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        let values = PrimitiveArray::<T>::new(std::mem::take(&mut self.values).into(), None);
        Ok(Arc::new(values.with_data_type(self.kind.clone())))
    }
}

/// Column of numbers computed once per block; all rows of a block have the same value.
pub(super) struct OfBlock<T: ArrowPrimitiveType, F> {
    pub(super) values: Vec<T::Native>,
    pub(super) of: F,
}

impl<T, F> Fill for OfBlock<T, F>
where
    T: ArrowPrimitiveType,
    F: Fn(&Block<'_>) -> T::Native + Send,
{
    fn add(&mut self, rows: &Picked<'_>) {
        room(&mut self.values);
        let all = self.values.len() + rows.places.len();
        self.values.resize(all, (self.of)(&rows.block));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<T>::new(std::mem::take(&mut self.values).into(), None)))
    }
}

/// Column of file offsets; negative offsets become null.
pub(super) struct Offsets(pub(super) PrimitiveBuilder<Int64Type>);

impl Fill for Offsets {
    fn add(&mut self, rows: &Picked<'_>) {
        let offsets = &rows.block.columns.offset;
        let of = |&place: &u32| offsets.get(place as usize).copied().filter(|&offset| offset >= 0);
        self.0.extend(rows.places.iter().map(of));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

pub(super) struct Flags<F>(pub(super) BooleanBuilder, pub(super) F);

impl<F: Fn(&Stream) -> bool + Send> Fill for Flags<F> {
    fn add(&mut self, rows: &Picked<'_>) {
        rows.of_streams(&self.1).for_each(|(flag, rows)| self.0.append_n(rows, flag));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

pub(super) struct Errnos(pub(super) Vec<i32>);

impl Fill for Errnos {
    fn add(&mut self, rows: &Picked<'_>) {
        room(&mut self.0);
        rows.of_streams(|stream| i32::from(stream.errno))
            .for_each(|(errno, rows)| self.0.extend(repeat_n(errno, rows)));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<Int32Type>::new(std::mem::take(&mut self.0).into(), None)))
    }
}

pub(super) struct Nodes {
    pub(super) keys: Vec<i32>,
    pub(super) texts: Texts,
}

impl Fill for Nodes {
    fn add(&mut self, rows: &Picked<'_>) {
        room(&mut self.keys);
        self.keys.extend(repeat_n(self.texts.key(rows.block.process.node), rows.places.len()));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        self.texts.of(std::mem::take(&mut self.keys).into())
    }
}

/// Column of texts, such as file or operation, that all rows of a stream (one operation on one file) have in common.
pub(super) struct Words<F> {
    pub(super) keys: Vec<i32>,
    pub(super) texts: Texts,
    pub(super) of: F,
}

impl<F: Fn(&Stream) -> u32 + Send> Fill for Words<F> {
    fn add(&mut self, rows: &Picked<'_>) {
        room(&mut self.keys);
        let of = |stream: &Stream| self.texts.key((self.of)(stream));
        rows.of_streams(of).for_each(|(key, rows)| self.keys.extend(repeat_n(key, rows)));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        self.texts.of(std::mem::take(&mut self.keys).into())
    }
}

/// Column of data set paths; null for rows that access no data set (most rows).
pub(super) struct DataSets {
    pub(super) keys: PrimitiveBuilder<Int32Type>,
    pub(super) texts: Texts,
}

impl Fill for DataSets {
    fn add(&mut self, rows: &Picked<'_>) {
        for (key, rows) in rows.of_streams(|stream| stream.data_set.map(|set| self.texts.key(set))) {
            match key {
                Some(key) => self.keys.append_value_n(key, rows),
                None => self.keys.append_nulls(rows),
            }
        }
    }

    fn take(&mut self) -> Result<ArrayRef> {
        self.texts.of(self.keys.finish())
    }
}

/// Column of call sites' numbers; null if unknown.
pub(super) struct CallSites(pub(super) PrimitiveBuilder<UInt32Type>);

impl Fill for CallSites {
    fn add(&mut self, rows: &Picked<'_>) {
        self.0.extend(rows.sites());
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

/// Column of places in the program; null for calls whose call site is unknown.
pub(super) struct Places {
    pub(super) keys: PrimitiveBuilder<Int32Type>,
    pub(super) texts: Texts,
}

impl Fill for Places {
    fn add(&mut self, rows: &Picked<'_>) {
        let texts = &self.texts;
        self.keys.extend(rows.sites().map(|site| site.map(|site| texts.key(site))));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        self.texts.of(self.keys.finish())
    }
}

pub(super) struct Stripes(pub(super) PrimitiveBuilder<Int64Type>);

impl Fill for Stripes {
    fn add(&mut self, rows: &Picked<'_>) {
        self.0.extend(rows.stripes.iter().copied());
        self.0.append_nulls(rows.places.len() - rows.stripes.len());
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

pub(super) struct Targets(pub(super) ListBuilder<Int32Builder>);

impl Fill for Targets {
    fn add(&mut self, rows: &Picked<'_>) {
        let mut from = 0;
        for &end in rows.ost_ends {
            self.0.values().append_slice(rows.osts.get(from..end).unwrap_or_default());
            self.0.append(true);
            from = end;
        }
        (rows.ost_ends.len()..rows.places.len()).for_each(|_| self.0.append(true));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}
