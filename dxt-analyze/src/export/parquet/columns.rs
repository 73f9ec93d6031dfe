//! The columns of the table of segments: of each its name, its type, and how it is filled from decoded blocks. docs/interop.md says what
//! they mean.

use super::names::{Names, Texts};
use crate::export::calls::{since_start, unix};
use crate::model::Stream;
use crate::scan::Block;
use crate::text::signed::signed;
use anyhow::Result;
use arrow_array::builder::{BooleanBuilder, Int32Builder, ListBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, Field, TimeUnit};
use std::iter::repeat_n;
use std::sync::Arc;

/// Rows of a batch at most; fewer if they touch many targets.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Rows of a block that are taken.
pub(super) struct Picked<'a> {
    pub(super) block: Block<'a>,
    /// Their places in the block.
    pub(super) places: &'a [u32],
    /// Streams of neighbouring rows: index in the process's table, where it is, and how many rows.
    pub(super) runs: &'a [(u32, usize)],
    /// Of each row, the stripe in which it begins; none where no file has a layout.
    pub(super) stripes: &'a [Option<i64>],
    /// Of each row, where its targets end in `osts`; likewise.
    pub(super) ost_ends: &'a [usize],
    pub(super) osts: &'a [i32],
}

impl Picked<'_> {
    /// What streams say, and of how many rows.
    fn of_streams<T>(&self, of: impl Fn(&Stream) -> T) -> impl Iterator<Item = (T, usize)> {
        let streams = &self.block.process.streams;
        self.runs.iter().filter_map(move |&(number, rows)| Some((of(streams.get(number as usize)?), rows)))
    }
}

/// Room for a batch from the start: else it is moved again and again while it grows.
fn room<T>(values: &mut Vec<T>) {
    if values.is_empty() {
        values.reserve(BATCH_ROWS);
    }
}

/// A column that is being filled.
pub(super) trait Fill: Send {
    /// Adds rows.
    fn add(&mut self, rows: &Picked<'_>);
    /// What was added; empty again.
    fn take(&mut self) -> Result<ArrayRef>;
}

/// Numbers, each by its place in the block.
struct Numbers<T: ArrowPrimitiveType, F> {
    values: Vec<T::Native>,
    kind: DataType,
    of: F,
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

/// The same of a whole block: it is asked for once.
struct OfBlock<T: ArrowPrimitiveType, F> {
    values: Vec<T::Native>,
    of: F,
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

/// Offsets: below zero is none.
struct Offsets(PrimitiveBuilder<Int64Type>);

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

/// What is so of a stream or not.
struct Flags<F>(BooleanBuilder, F);

impl<F: Fn(&Stream) -> bool + Send> Fill for Flags<F> {
    fn add(&mut self, rows: &Picked<'_>) {
        rows.of_streams(&self.1).for_each(|(flag, rows)| self.0.append_n(rows, flag));
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

struct Errnos(Vec<i32>);

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

/// Host names.
struct Nodes {
    keys: Vec<i32>,
    texts: Texts,
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

/// Names of what streams are about.
struct Words<F> {
    keys: Vec<i32>,
    texts: Texts,
    of: F,
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

/// Names of data sets, which most streams have none of.
struct DataSets {
    keys: PrimitiveBuilder<Int32Type>,
    texts: Texts,
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

struct Stripes(PrimitiveBuilder<Int64Type>);

impl Fill for Stripes {
    fn add(&mut self, rows: &Picked<'_>) {
        self.0.extend(rows.stripes.iter().copied());
        self.0.append_nulls(rows.places.len() - rows.stripes.len());
    }

    fn take(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

struct Targets(ListBuilder<Int32Builder>);

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

/// The columns; the job's key is in the name of the directory.
pub(super) fn fields() -> Vec<Field> {
    let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let field = |name: &str, kind| Field::new(name, kind, false);
    let optional = |name: &str, kind| Field::new(name, kind, true);
    vec![
        field("rank", DataType::Int32),
        field("node", text()),
        field("pid", DataType::UInt32),
        field("thread", DataType::UInt32),
        field("file", text()),
        optional("data_set", text()),
        field("layer", text()),
        field("op", text()),
        field("mode", text()),
        field("kind", text()),
        field("nested", DataType::Boolean),
        field("in_hdf5", DataType::Boolean),
        field("failed", DataType::Boolean),
        field("errno", DataType::Int32),
        optional("offset", DataType::Int64),
        field("length", DataType::Int64),
        field("start_ns", DataType::Int64),
        field("end_ns", DataType::Int64),
        field("start_unix_ns", moment()),
        field("end_unix_ns", moment()),
        optional(STRIPE, DataType::Int64),
        field(OSTS, DataType::List(Arc::new(Field::new("item", DataType::Int32, true)))),
    ]
}

/// The columns that need an access to be located.
pub(super) const STRIPE: &str = "stripe";
pub(super) const OSTS: &str = "osts";

fn moment() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// One of a block's times as ns since the job's start.
fn time(block: &Block<'_>, times: &[u64], place: usize) -> u64 {
    since_start(block.process, times.get(place).copied().unwrap_or_default())
}

fn numbers(of: impl Fn(&Block<'_>, usize) -> i64 + Send + 'static) -> Box<dyn Fill> {
    Box::new(Numbers::<Int64Type, _> { values: Vec::new(), kind: DataType::Int64, of })
}

fn moments(of: impl Fn(&Block<'_>, usize) -> i64 + Send + 'static) -> Box<dyn Fill> {
    Box::new(Numbers::<TimestampNanosecondType, _> { values: Vec::new(), kind: moment(), of })
}

fn flags(of: impl Fn(&Stream) -> bool + Send + 'static) -> Box<dyn Fill> {
    Box::new(Flags(BooleanBuilder::new(), of))
}

fn words(texts: &Texts, of: impl Fn(&Stream) -> u32 + Send + 'static) -> Box<dyn Fill> {
    Box::new(Words { keys: Vec::new(), texts: texts.clone(), of })
}

fn of_op(texts: &Texts) -> Box<dyn Fill> {
    words(texts, |stream| u32::from(stream.op))
}

/// What fills the column called `name`.
pub(super) fn filler(name: &str, names: &Names) -> Option<Box<dyn Fill>> {
    let thread = |block: &Block<'_>| block.process.tid(block.thread);
    Some(match name {
        "rank" => Box::new(OfBlock::<Int32Type, _> { values: Vec::new(), of: |block: &Block<'_>| block.process.rank }),
        "node" => Box::new(Nodes { keys: Vec::new(), texts: names.nodes.clone() }),
        "pid" => Box::new(OfBlock::<UInt32Type, _> { values: Vec::new(), of: |block: &Block<'_>| block.process.pid }),
        "thread" => Box::new(OfBlock::<UInt32Type, _> { values: Vec::new(), of: thread }),
        "file" => words(&names.files, |stream| stream.file),
        "data_set" => Box::new(DataSets { keys: PrimitiveBuilder::new(), texts: names.data_sets.clone() }),
        "layer" => of_op(&names.layers),
        "op" => of_op(&names.ops),
        "mode" => of_op(&names.modes),
        "kind" => of_op(&names.kinds),
        "nested" => flags(|stream| stream.nested),
        "in_hdf5" => flags(|stream| stream.in_hdf5),
        "failed" => flags(|stream| stream.failed),
        "errno" => Box::new(Errnos(Vec::new())),
        "offset" => Box::new(Offsets(PrimitiveBuilder::new())),
        "length" => numbers(|block, place| signed(block.columns.length.get(place).copied().unwrap_or_default())),
        "start_ns" => numbers(|block, place| signed(time(block, &block.columns.start, place))),
        "end_ns" => numbers(|block, place| signed(time(block, &block.columns.end, place))),
        "start_unix_ns" => moments(|block, place| unix(block.run, time(block, &block.columns.start, place))),
        "end_unix_ns" => moments(|block, place| unix(block.run, time(block, &block.columns.end, place))),
        STRIPE => Box::new(Stripes(PrimitiveBuilder::new())),
        OSTS => Box::new(Targets(ListBuilder::new(Int32Builder::new()))),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_filled() {
        let names = Names::default();
        for field in fields() {
            let mut filler = filler(field.name(), &names).unwrap_or_else(|| panic!("{}", field.name()));
            assert_eq!(filler.take().unwrap().data_type(), field.data_type(), "{}", field.name());
        }
        assert!(filler("job", &names).is_none());
    }
}
