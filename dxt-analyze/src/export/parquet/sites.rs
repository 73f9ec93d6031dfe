//! Parquet table of call sites: a row for each call site with calls in the user's selection.

use crate::columnar::{Column, batch, numbers, some_texts, texts};
use crate::model::{ProcessId, Run};
use crate::progress::Bar;
use crate::scan::scan;
use crate::symbols::Symbols;
use crate::topics::sites::numbered::Numbered;
use crate::topics::sites::result::CallSite;
use crate::topics::sites::sums::{BySite, Sums};
use anyhow::Result;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns the table of call sites, sorted by number.
pub(crate) fn sites(run: &Run, symbols: &Symbols) -> Result<RecordBatch> {
    let (partial, _) = scan(run, &BySite, &Bar::new(run.segments(), "call sites"));
    let mut sums: BTreeMap<u32, (Sums, BTreeSet<ProcessId>)> = BTreeMap::new();
    for (&(number, id), &(_, sum)) in &partial {
        let Some(site) = run.process(number).and_then(|process| process.site(id)) else { continue };
        let of = sums.entry(site).or_default();
        of.0.add(sum);
        of.1.insert(number);
    }
    let named = Numbered::of(run, symbols);
    let rows: Vec<(u32, &CallSite, &Sums, u64)> = sums
        .iter()
        .filter_map(|(site, (sums, processes))| Some((*site, named.site(*site)?, sums, processes.len() as u64)))
        .collect();
    let sites = || rows.iter().map(|(_, site, ..)| *site);
    let sum = |of: fn(&Sums) -> u64| numbers(rows.iter().map(|(_, _, sums, _)| of(sums)));
    let columns: Vec<Column> = vec![
        ("site", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(number, ..)| *number)))),
        ("place", texts(sites().map(|site| site.place.shown()))),
        ("function", texts(sites().map(|site| site.place.function.as_str()))),
        ("source_file", some_texts(sites().map(|site| site.place.file.as_deref()))),
        ("line", Arc::new(sites().map(|site| site.place.line).collect::<UInt32Array>())),
        ("module", texts(sites().map(|site| site.module.as_str()))),
        ("through", some_texts(sites().map(|site| site.through.as_deref()))),
        ("stack", stacks(run, symbols, rows.iter().map(|(number, ..)| *number))),
        ("processes", numbers(rows.iter().map(|(.., processes)| *processes))),
        ("calls", sum(|sums| sums.calls)),
        ("bytes", sum(|sums| sums.bytes)),
        ("time_ns", sum(|sums| sums.time_ns)),
    ];
    batch(columns)
}

/// Returns the column of call stacks: lists of places, from the innermost to the outermost.
fn stacks(run: &Run, symbols: &Symbols, numbers: impl Iterator<Item = u32>) -> ArrayRef {
    let mut out = ListBuilder::new(StringBuilder::new());
    for number in numbers {
        let places = run.sites.stack(number).flat_map(|frame| symbols.places(frame));
        places.for_each(|place| out.values().append_value(place.shown()));
        out.append(true);
    }
    Arc::new(out.finish())
}
