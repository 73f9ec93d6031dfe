//! Operations that a Darshan log only counts, without a segment per call: reads and writes for which DXT had no room, all calls of C
//! streams, and metadata. Operations of libraries are in `libraries`.

use super::layouts::Layouts;
use super::named::{Named, total};
use super::nested::Above;
use super::ops::{Code, FORMS, code};
use super::tables::Tables;
use crate::sum::Sum;
use darshan_log::Module;
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::common_values::{CommonValue, CommonValues};
use trace_format::counters::{Counters, SIZE_BINS, size_bin};
use trace_format::meta::{Note, Order, WholeDef};
use trace_format::op::{Layer, OpMode};
use trace_format::profile::{Profile, Slowest};

/// Note on files whose access-order counters (CONSEC, SEQ) are ignored in favor of their segments.
const CONTRADICTED: &str =
    "files whose access-order counters (CONSEC, SEQ) contradict their segments; the segments are used";

/// Totals over the reads (or writes) of a file that DXT recorded singly, as segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    count: u64,
    bytes: u64,
    time_ns: u64,
    sizes: [u64; SIZE_BINS],
    /// Number of calls by form (independent, collective, ...), in the order of [`FORMS`].
    forms: [u64; 4],
    /// End offset of the previous call, in bytes; `None` if unknown.
    last_end: Option<u64>,
    /// Number of calls whose preceding call on the file is unknown: usually one per rank.
    firsts: u64,
    consecutive: u64,
    sequential: u64,
}

/// Maximum relative difference between access-order counters and segments up to which both agree: counters and segments may order the calls
/// of concurrent threads differently.
const CONTRADICTS: f64 = 0.1;

impl Used {
    /// Adds a segment; segments must come in the order of the log. `offset` is `None` if it was not recorded.
    pub(crate) fn add(&mut self, form: OpMode, offset: Option<u64>, bytes: u64, time_ns: u64) {
        match (self.last_end, offset) {
            (Some(end), Some(offset)) => {
                self.consecutive += u64::from(offset == end);
                self.sequential += u64::from(offset >= end);
            }
            _ => self.firsts += 1,
        }
        self.last_end = offset.map(|offset| offset.saturating_add(bytes));
        self.count += 1;
        let form = FORMS.iter().zip(&mut self.forms).find(|(known, _)| **known == form);
        form.into_iter().for_each(|(_, count)| *count += 1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.sizes[size_bin(bytes)] += 1;
    }

    /// Returns the access order computed from the segments, if every access has a segment and the counters contradict the segments; else
    /// `None`.
    fn order_against(&self, counted: Order) -> Option<Order> {
        let slack = (counted.known as f64 * CONTRADICTS) as u64;
        let possible = self.sequential.saturating_sub(slack)..=self.sequential.saturating_add(self.firsts + slack);
        // A contradiction requires that the log counts the access order at all.
        let all = counted.known > 0 && self.count >= counted.known;
        (all && !possible.contains(&counted.sequential)).then_some(Order {
            known: self.count,
            consecutive: self.consecutive,
            sequential: self.sequential,
        })
    }

    fn merge(&mut self, other: &Self) {
        self.firsts = self.firsts.saturating_add(other.firsts);
        self.consecutive = self.consecutive.saturating_add(other.consecutive);
        self.sequential = self.sequential.saturating_add(other.sequential);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.sizes.iter_mut().zip(other.sizes).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
        self.forms.iter_mut().zip(other.forms).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
    }
}

/// Totals over the calls that have segments, by layer, Darshan record id, and direction (true for writes).
#[derive(Clone, Debug, Default)]
pub(crate) struct AllUsed(FxHashMap<(Layer, u64, bool), Used>);

impl AllUsed {
    pub(crate) fn of(&mut self, layer: Layer, id: u64, writes: bool) -> &mut Used {
        self.0.entry((layer, id, writes)).or_default()
    }

    /// Adds the totals in `other` for the Darshan records in `ids`; ignores all other records.
    pub(crate) fn merge(&mut self, other: &Self, ids: &FxHashSet<u64>) {
        for (&(layer, id, writes), used) in other.0.iter().filter(|((_, id, _), _)| ids.contains(id)) {
            self.of(layer, id, writes).merge(used);
        }
    }

    fn get(&self, layer: Layer, id: u64, writes: bool) -> Used {
        self.0.get(&(layer, id, writes)).copied().unwrap_or_default()
    }
}

/// Adds the calls counted in record `named` to `tables`, except calls with segments (`used`). `above` are the operations of MPI-IO on the
/// file. Returns the number of the record's file.
pub(crate) fn add(
    named: Named<'_>,
    above: Above,
    used: &AllUsed,
    tables: &mut Tables<'_>,
    layouts: &mut Layouts,
) -> u32 {
    let (layer, id) = (named.layer(), named.record.id);
    let file = match named.record.daos {
        Some(place) => tables.on_daos(id, place),
        None => tables.file(id, layouts),
    };
    let (mut on_record, mut sync_ns) = (0_u64, 0_u64);
    for writes in [false, true] {
        let used = used.get(layer, id, writes);
        on_record = on_record.saturating_add(used.count);
        let name = if writes { "write" } else { "read" };
        let mut left = rest(named.data(writes), &used);
        let syncs = if writes { syncs(named) } else { 0 };
        if syncs > 0 {
            sync_ns = at_least_in_syncs(&left, syncs);
            left.duration -= sync_ns;
        }
        if named.has_forms() {
            let mut forms = named.forms(writes);
            forms.iter_mut().zip(used.forms).for_each(|(all, used)| *all = all.saturating_sub(used));
            for (form, counters) in by_form(&left, forms) {
                tables.missing(file, code(layer, name, form), counters, above.data(writes));
            }
        } else {
            tables.missing(file, code(layer, name, OpMode::Plain), left, above.data(writes));
        }
    }
    metadata(named, sync_ns, |code, counters| tables.missing(file, code, counters, above.metadata()));
    // A record with fewer calls than segments does not cover all calls.
    let accesses = named.data(false).segments.saturating_add(named.data(true).segments);
    if layer != Layer::Stdio && accesses > 0 && accesses >= on_record {
        let memory_alignment = if named.module == Module::Posix { named.count("MEM_ALIGNMENT") } else { 0 };
        let contradicted = [false, true].map(|writes| used.get(layer, id, writes).order_against(named.order(writes)));
        if contradicted.iter().any(Option::is_some) {
            tables.process.notes.push(Note { what: CONTRADICTED.into(), count: 1 });
        }
        let [reads, writes] = contradicted;
        let (reads, writes) = (reads.unwrap_or(named.order(false)), writes.unwrap_or(named.order(true)));
        let profile = profile(named, accesses, memory_alignment > 0);
        tables.process.whole.push(WholeDef { file, layer, reads, writes, memory_alignment, profile });
    }
    file
}

/// Names of the operations that make data durable.
const SYNCS: [&str; 2] = ["sync", "fdatasync"];

/// Returns the number of calls in the record that make data durable.
fn syncs(named: Named<'_>) -> u64 {
    let counters =
        kinds(named.module).iter().filter(|(name, ..)| SYNCS.contains(name)).flat_map(|(_, counters, _)| *counters);
    counters.map(|counter| named.count(counter)).sum::<Sum>().get()
}

/// Minimum number of syncs of a file from which [`at_least_in_syncs`] can separate sync time from write time.
const ENOUGH_SYNCS: u64 = 4;

/// Returns a lower bound of the time in syncs, in ns: write time - number of writes * longest write, over the writes without segments.
/// Darshan adds sync time to write time. Without such writes, the whole time is sync time; with few `syncs`, the bound is too weak to be
/// used, and the result is 0.
fn at_least_in_syncs(writes: &Counters, syncs: u64) -> u64 {
    match (writes.segments, writes.max_duration) {
        (0, _) => writes.duration,
        (_, 0) => 0,
        _ if syncs < ENOUGH_SYNCS => 0,
        (count, longest) => writes.duration.saturating_sub(longest.saturating_mul(count)),
    }
}

/// Returns the counters in `all` reduced by the calls that have segments (`used`).
fn rest(all: Counters, used: &Used) -> Counters {
    if used.count == 0 {
        return all;
    }
    let duration = all.duration.saturating_sub(used.time_ns);
    let mut sizes = all.sizes;
    sizes.iter_mut().zip(used.sizes).for_each(|(mine, theirs)| *mine = mine.saturating_sub(theirs));
    Counters {
        segments: all.segments.saturating_sub(used.count),
        bytes: all.bytes.saturating_sub(used.bytes),
        duration,
        max_duration: all.max_duration.min(duration),
        sizes,
        ..all
    }
}

/// Splits bytes, time and sizes over the forms of calls (collective, independent, ...) in proportion to their number of calls, as the log
/// has only totals over all forms. The parts add up exactly: rounding is carried from each part to the next.
pub(crate) fn by_form(all: &Counters, counts: [u64; 4]) -> Vec<(OpMode, Counters)> {
    let calls = total(counts);
    let only = counts.iter().filter(|count| **count > 0).count() == 1;
    let mut before = 0_u64;
    let mut out = Vec::with_capacity(FORMS.len());
    for (form, count) in FORMS.into_iter().zip(counts) {
        let (from, until) = (before, before.saturating_add(count));
        before = until;
        let up_to = |whole: u64, number: u64| {
            u64::try_from(u128::from(whole) * u128::from(number) / u128::from(calls.max(1))).unwrap_or(u64::MAX)
        };
        let part = |whole: u64| up_to(whole, until).saturating_sub(up_to(whole, from));
        let counters = Counters {
            segments: count,
            bytes: part(all.bytes),
            duration: part(all.duration),
            // With several forms of calls (independent, collective, ...), the form of the longest call is unknown.
            max_duration: if only { all.max_duration } else { 0 },
            sizes: all.sizes.map(part),
            ..all.clone()
        };
        out.push((form, counters));
    }
    out
}

/// Passes the counters of each operation that transfers no data to `each`. Darshan has one total time for all these operations; the first
/// operation gets it. If the file was opened once, the open gets its known time, and the next operation the rest. `sync_ns` is known sync
/// time; it is split over the syncs by number of calls.
pub(crate) fn metadata(named: Named<'_>, sync_ns: u64, mut each: impl FnMut(Code, Counters)) {
    let (first, last) = (named.ns("OPEN_START_TIMESTAMP"), named.ns("CLOSE_END_TIMESTAMP"));
    let mut left = named.ns("META_TIME");
    let mut opening = opening_ns(named).filter(|ns| *ns < left);
    let (mut syncs, mut sync_ns) = (syncs(named), sync_ns);
    for (name, counters, mode) in kinds(named.module) {
        let count = counters.iter().map(|counter| named.count(counter)).sum::<Sum>().get();
        if count > 0 {
            let own = if SYNCS.contains(name) {
                (u128::from(sync_ns) * u128::from(count) / u128::from(syncs.max(1))) as u64
            } else {
                0
            };
            if own > 0 {
                (syncs, sync_ns) = (syncs.saturating_sub(count), sync_ns.saturating_sub(own));
            }
            let single = opening.take().filter(|_| *name == "open" && count == 1);
            let mine = single.unwrap_or(left);
            left -= mine;
            let calls = Counters {
                segments: count,
                duration: mine.saturating_add(own),
                max_duration: single.unwrap_or(0),
                first_start: first,
                last_end: last.max(first),
                ..Counters::default()
            };
            each(code(named.layer(), name, *mode), calls);
        }
    }
}

/// Returns the time of a file's only open and close, in ns; `None` unless one rank opened the file once and also made seeks or stats.
fn opening_ns(named: Named<'_>) -> Option<u64> {
    let once = named.module == Module::Posix && named.count("OPENS") == 1;
    let others = named.count("SEEKS").saturating_add(named.count("STATS"));
    let span = |what: &str| {
        let (from, until) = (named.ns(&format!("{what}_START_TIMESTAMP")), named.ns(&format!("{what}_END_TIMESTAMP")));
        until.checked_sub(from).filter(|_| until > 0)
    };
    if once && others > 0 { Some(span("OPEN")?.saturating_add(span("CLOSE")?)) } else { None }
}

/// Operations of a module that transfer no data: name, counters that count the calls, form (such as collective).
type Kinds = &'static [(&'static str, &'static [&'static str], OpMode)];

fn kinds(module: Module) -> Kinds {
    const PLAIN: OpMode = OpMode::Plain;
    match module {
        Module::Posix => &[
            ("open", &["OPENS"], PLAIN),
            ("seek", &["SEEKS"], PLAIN),
            ("stat", &["STATS"], PLAIN),
            ("sync", &["FSYNCS"], PLAIN),
            ("fdatasync", &["FDSYNCS"], PLAIN),
            ("mmap", &["MMAPS"], PLAIN),
        ],
        Module::MpiIo => &[
            ("open", &["INDEP_OPENS"], PLAIN),
            ("open", &["COLL_OPENS"], OpMode::Collective),
            ("sync", &["SYNCS"], PLAIN),
            ("set_view", &["VIEWS"], PLAIN),
        ],
        Module::PnetcdfFile => {
            &[("open", &["CREATES", "OPENS"], PLAIN), ("redef", &["REDEFS"], PLAIN), ("sync", &["SYNCS"], PLAIN)]
        }
        Module::Dfs => &[
            ("open", &["OPENS", "GLOBAL_OPENS", "LOOKUPS", "DUPS"], PLAIN),
            ("stat", &["STATS", "GET_SIZES"], PLAIN),
            ("punch", &["PUNCHES"], PLAIN),
            ("remove", &["REMOVES"], PLAIN),
        ],
        Module::Daos => &[
            ("open", &["OBJ_OPENS", "ARRAY_OPENS", "KV_OPENS"], PLAIN),
            ("stat", &["ARRAY_STATS", "ARRAY_GET_SIZES"], PLAIN),
            ("set_size", &["ARRAY_SET_SIZES"], PLAIN),
            ("list", &["OBJ_DKEY_LISTS", "OBJ_AKEY_LISTS", "OBJ_RECX_LISTS", "KV_LISTS"], PLAIN),
            ("punch", &["OBJ_PUNCHES", "OBJ_DKEY_PUNCHES", "OBJ_AKEY_PUNCHES", "ARRAY_PUNCHES"], PLAIN),
            ("remove", &["ARRAY_DESTROYS", "KV_REMOVES", "KV_DESTROYS"], PLAIN),
        ],
        Module::H5F | Module::H5D | Module::PnetcdfVar => &[("open", &["OPENS"], PLAIN), ("sync", &["FLUSHES"], PLAIN)],
        _ => &[("open", &["OPENS", "FDOPENS"], PLAIN), ("seek", &["SEEKS"], PLAIN), ("sync", &["FLUSHES"], PLAIN)],
    }
}

/// Returns the access profile of a file over all its calls, with and without segments.
fn profile(named: Named<'_>, accesses: u64, memory_known: bool) -> Profile {
    let posix = named.module == Module::Posix;
    let (memory_known, memory_unaligned) =
        if memory_known { (accesses, named.count("MEM_NOT_ALIGNED").min(accesses)) } else { (0, 0) };
    let common = |value: &str, count: &str| {
        let entries = (1..=4).map(|number| CommonValue {
            value: named.value(&value.replace('#', &number.to_string())),
            count: named.count(&count.replace('#', &number.to_string())),
            over: 0,
        });
        CommonValues::from_entries(&entries.filter(|entry| entry.count > 0).collect::<Vec<_>>())
    };
    let slowest = |what: &str| Slowest {
        duration: named.ns(&format!("MAX_{what}_TIME")),
        start: 0,
        bytes: named.count(&format!("MAX_{what}_TIME_SIZE")),
    };
    Profile {
        accesses,
        alignment: if posix { named.count("FILE_ALIGNMENT") } else { 0 },
        file_unaligned: if posix { named.count("FILE_NOT_ALIGNED").min(accesses) } else { 0 },
        memory_known,
        memory_unaligned,
        switches: named.count("RW_SWITCHES"),
        slowest_read: slowest("READ"),
        slowest_write: slowest("WRITE"),
        sizes: common("ACCESS#_ACCESS", "ACCESS#_COUNT"),
        strides: if posix { common("STRIDE#_STRIDE", "STRIDE#_COUNT") } else { CommonValues::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_by_form_add_up_to_the_whole() {
        for calls in [[1, 1, 1, 0], [7, 0, 0, 0], [3, 5, 0, 11], [1, 1_000_003, 2, 3]] {
            for bytes in [0, 1, 2, 1_000_000_007, u64::MAX / 3] {
                let all = Counters {
                    segments: total(calls),
                    bytes,
                    duration: bytes / 7,
                    max_duration: 5,
                    sizes: [bytes % 101; SIZE_BINS],
                    ..Counters::default()
                };
                let parts = by_form(&all, calls);
                let sum = |of: &dyn Fn(&Counters) -> u64| parts.iter().map(|(_, part)| of(part)).sum::<u64>();
                assert_eq!(sum(&|part| part.bytes), all.bytes, "{calls:?} {bytes}");
                assert_eq!(sum(&|part| part.duration), all.duration, "{calls:?} {bytes}");
                assert_eq!(sum(&|part| part.sizes[3]), all.sizes[3], "{calls:?} {bytes}");
                assert_eq!(parts.iter().map(|(_, part)| part.segments).collect::<Vec<_>>(), calls);
                assert!(parts.iter().all(|(_, part)| part.segments > 0 || part.bytes == 0));
            }
        }
    }
}
