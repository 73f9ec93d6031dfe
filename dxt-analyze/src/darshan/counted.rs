//! What a log has counters of and no segments: the reads and writes that DXT had no room for, all of C streams, and metadata. What
//! libraries did is in `libraries`.

use super::layouts::Layouts;
use super::named::Named;
use super::ops::{Code, FORMS, code};
use super::tables::Tables;
use darshan_log::Module;
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::common_values::{CommonValue, CommonValues};
use trace_format::counters::{Counters, SIZE_BINS, size_bin};
use trace_format::meta::ProfileDef;
use trace_format::op::{Layer, OpMode};
use trace_format::profile::{Profile, Slowest};

/// What of a file's reads or writes is on record as segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    count: u64,
    bytes: u64,
    time_ns: u64,
    sizes: [u64; SIZE_BINS],
}

impl Used {
    pub(super) fn add(&mut self, bytes: u64, time_ns: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.sizes[size_bin(bytes)] += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.sizes.iter_mut().zip(other.sizes).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
    }
}

/// By layer, record id and whether it is of writes.
#[derive(Clone, Debug, Default)]
pub(super) struct AllUsed(FxHashMap<(Layer, u64, bool), Used>);

impl AllUsed {
    pub(super) fn of(&mut self, layer: Layer, id: u64, writes: bool) -> &mut Used {
        self.0.entry((layer, id, writes)).or_default()
    }

    /// Adds what `other` has of some records.
    pub(super) fn merge(&mut self, other: &Self, ids: &FxHashSet<u64>) {
        for (&(layer, id, writes), used) in other.0.iter().filter(|((_, id, _), _)| ids.contains(id)) {
            self.of(layer, id, writes).merge(used);
        }
    }

    fn get(&self, layer: Layer, id: u64, writes: bool) -> Used {
        self.0.get(&(layer, id, writes)).copied().unwrap_or_default()
    }
}

/// Adds what `named` counts to `tables`, less what has segments.
pub(super) fn add(named: Named<'_>, nested: bool, used: &AllUsed, tables: &mut Tables<'_>, layouts: &mut Layouts) {
    let (layer, id) = (named.layer(), named.record.id);
    let file = tables.file(id, layouts);
    let mut traced = false;
    for writes in [false, true] {
        let used = used.get(layer, id, writes);
        traced |= used.count > 0;
        let name = if writes { "write" } else { "read" };
        let all = named.data(writes);
        if named.module == Module::MpiIo && used.count == 0 {
            for (form, counters) in by_form(&all, named.forms(writes)) {
                tables.missing(file, code(layer, name, form), counters, false);
            }
        } else {
            tables.missing(file, code(layer, name, named.form(writes)), rest(all, &used), nested);
        }
    }
    metadata(named, |code, counters| tables.missing(file, code, counters, nested));
    if layer != Layer::Stdio {
        let profile = profile(named, traced);
        tables.process.profiles.extend((profile != Profile::default()).then_some(ProfileDef { file, layer, profile }));
    }
}

/// What is left of `all` without what has segments.
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
        // Which of them followed another is not known.
        consecutive: 0,
        sequential: 0,
        sizes,
        ..all
    }
}

/// Bytes and time shared out by the numbers of calls, as the log has them for all forms together; the sizes with the most frequent.
pub(super) fn by_form(all: &Counters, counts: [u64; 4]) -> Vec<(OpMode, Counters)> {
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut sizes_given = false;
    let share = |count: u64| {
        let part = |whole: u64| {
            u64::try_from(u128::from(whole) * u128::from(count) / u128::from(all.segments.max(1))).unwrap_or(u64::MAX)
        };
        let with_sizes = count == most && !sizes_given;
        sizes_given |= with_sizes;
        Counters {
            segments: count,
            bytes: part(all.bytes),
            duration: part(all.duration),
            max_duration: if with_sizes { all.max_duration } else { 0 },
            sizes: if with_sizes { all.sizes } else { [0; SIZE_BINS] },
            ..all.clone()
        }
    };
    let shares = counts.map(share);
    FORMS.into_iter().zip(shares).collect()
}

/// Calls that move no bytes, kind by kind. Darshan has one time for all of them, which stands with the first kind that there is.
pub(super) fn metadata(named: Named<'_>, mut each: impl FnMut(Code, Counters)) {
    let (first, last) = (named.ns("OPEN_START_TIMESTAMP"), named.ns("CLOSE_END_TIMESTAMP"));
    let mut left = named.ns("META_TIME");
    for (name, counters, mode) in kinds(named.module) {
        let count = counters.iter().fold(0_u64, |sum, counter| sum.saturating_add(named.count(counter)));
        if count > 0 {
            let calls = Counters {
                segments: count,
                duration: std::mem::take(&mut left),
                max_duration: 0,
                first_start: first,
                last_end: last.max(first),
                ..Counters::default()
            };
            each(code(named.layer(), name, *mode), calls);
        }
    }
}

/// A module's calls that move no bytes: name, counters, form.
type Kinds = &'static [(&'static str, &'static [&'static str], OpMode)];

fn kinds(module: Module) -> Kinds {
    const PLAIN: OpMode = OpMode::Plain;
    match module {
        Module::Posix => &[
            ("open", &["OPENS"], PLAIN),
            ("seek", &["SEEKS"], PLAIN),
            ("stat", &["STATS"], PLAIN),
            ("sync", &["FSYNCS", "FDSYNCS"], PLAIN),
            ("mmap", &["MMAPS"], PLAIN),
        ],
        Module::MpiIo => &[
            ("open", &["INDEP_OPENS"], PLAIN),
            ("open", &["COLL_OPENS"], OpMode::Collective),
            ("sync", &["SYNCS"], PLAIN),
        ],
        Module::PnetcdfFile => {
            &[("open", &["CREATES", "OPENS"], PLAIN), ("redef", &["REDEFS"], PLAIN), ("sync", &["SYNCS"], PLAIN)]
        }
        Module::H5F | Module::H5D | Module::PnetcdfVar => &[("open", &["OPENS"], PLAIN), ("sync", &["FLUSHES"], PLAIN)],
        _ => &[("open", &["OPENS", "FDOPENS"], PLAIN), ("seek", &["SEEKS"], PLAIN), ("sync", &["FLUSHES"], PLAIN)],
    }
}

/// How the file was accessed. Of accesses that have segments only what these do not tell: how they lie in memory.
fn profile(named: Named<'_>, traced: bool) -> Profile {
    let posix = named.module == Module::Posix;
    let accesses = named.data(false).segments.saturating_add(named.data(true).segments);
    let (memory_known, memory_unaligned) = if posix { (accesses, named.count("MEM_NOT_ALIGNED")) } else { (0, 0) };
    if traced {
        return Profile { memory_known, memory_unaligned, ..Profile::default() };
    }
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
        file_unaligned: if posix { named.count("FILE_NOT_ALIGNED") } else { 0 },
        memory_known,
        memory_unaligned,
        switches: named.count("RW_SWITCHES"),
        slowest_read: slowest("READ"),
        slowest_write: slowest("WRITE"),
        sizes: common("ACCESS#_ACCESS", "ACCESS#_COUNT"),
        strides: if posix { common("STRIDE#_STRIDE", "STRIDE#_COUNT") } else { CommonValues::default() },
    }
}
