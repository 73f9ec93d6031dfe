//! Columns of the segment table: name, type, and builder (`fill`) of each column. `docs/interop.md` documents their meaning.

use super::fill::{
    CallSites, DataSets, Errnos, Fill, Flags, Nodes, Numbers, OfBlock, Offsets, Places, Stripes, Targets, Words,
};
use super::names::{Names, Texts};
use crate::export::calls::{since_start, unix};
use crate::model::Stream;
use crate::scan::Block;
use crate::text::signed::signed;
use arrow_array::builder::{BooleanBuilder, Int32Builder, ListBuilder, PrimitiveBuilder};
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_schema::{DataType, Field, TimeUnit};
use std::sync::Arc;

/// Returns the columns of the segment table. The job's key is no column, since it is in the directory name.
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
        optional("site", DataType::UInt32),
        optional(PLACE, text()),
    ]
}

/// Name of the column with the place in the program that makes a call.
pub(crate) const PLACE: &str = "place";
/// Name of the column with the number of the stripe in which an access begins.
pub(super) const STRIPE: &str = "stripe";
/// Name of the column with the storage targets that an access touches.
pub(super) const OSTS: &str = "osts";

fn moment() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// Converts the time at index `place` of `times` to ns since the job's start.
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

/// Returns the builder of the column `name`; `None` if there is no such column.
pub(super) fn filler(name: &str, names: &Names) -> Option<Box<dyn Fill>> {
    let thread = |block: &Block<'_>| block.process.tid(block.thread);
    Some(match name {
        "rank" => Box::new(OfBlock::<Int32Type, _> { values: Vec::new(), of: |block: &Block<'_>| block.process.rank }),
        "node" => Box::new(Nodes { keys: Vec::new(), texts: names.nodes.clone() }),
        "pid" => Box::new(OfBlock::<UInt32Type, _> { values: Vec::new(), of: |block: &Block<'_>| block.process.pid }),
        "thread" => Box::new(OfBlock::<UInt32Type, _> { values: Vec::new(), of: thread }),
        "file" => words(&names.files, |stream| stream.file.0),
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
        "site" => Box::new(CallSites(PrimitiveBuilder::new())),
        PLACE => Box::new(Places { keys: PrimitiveBuilder::new(), texts: names.places.clone() }),
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
