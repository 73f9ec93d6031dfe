//! Merges streams that differ in their call site only.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use trace_format::meta::{self, Missing};

/// Makes streams that differ in their call site only one stream, with the counters of all; returns their ids and those of the streams that
/// stand for them, sorted.
pub(super) fn merge_aliases(process: &mut meta::Process) -> Vec<(u32, u32)> {
    let aliases = process.sites.same_operation(&process.streams, &process.data_sets);
    if aliases.is_empty() {
        return aliases;
    }
    let first = |id: u32| match aliases.binary_search_by_key(&id, |(alias, _)| *alias) {
        Ok(at) => aliases[at].1,
        Err(_) => id,
    };
    process.streams.retain(|stream| first(stream.id) == stream.id);
    for access in process.data_sets.iter_mut().flat_map(|set| &mut set.accesses) {
        access.stream = first(access.stream);
    }
    let mut missing: BTreeMap<u32, Missing> = BTreeMap::new();
    for mut def in std::mem::take(&mut process.missing) {
        def.stream = first(def.stream);
        match missing.entry(def.stream) {
            Entry::Vacant(place) => _ = place.insert(def),
            Entry::Occupied(mut sum) => sum.get_mut().counters.merge(&def.counters),
        }
    }
    process.missing = missing.into_values().collect();
    let memory = &mut process.memory.streams;
    memory.iter_mut().for_each(|used| used.stream = first(used.stream));
    memory.sort_by_key(|used| used.stream);
    memory.dedup_by(|next, sum| {
        let is_same = next.stream == sum.stream;
        if is_same {
            sum.known = sum.known.saturating_add(next.known);
            sum.unaligned = sum.unaligned.saturating_add(next.unaligned);
        }
        is_same
    });
    aliases
}
