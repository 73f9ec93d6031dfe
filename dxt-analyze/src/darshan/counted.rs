//! What a log has counters of and no segments: the reads and writes that DXT had no room for, all of C streams, and metadata.

use super::layouts::Layouts;
use super::ops::{FORMS, code};
use super::tables::Tables;
use darshan_log::{CounterRecord, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::common_values::{CommonValue, CommonValues};
use trace_format::counters::{Counters, SIZE_BINS, size_bin};
use trace_format::meta::ProfileDef;
use trace_format::op::{Layer, OpMode};
use trace_format::profile::{Profile, Slowest};

/// Darshan's names of [`trace_format::counters::SIZE_BOUNDS`].
const SIZES: [&str; SIZE_BINS] =
    ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"];

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

/// A record's counters by name, without the module's.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) module: Module,
    pub(super) record: &'a CounterRecord,
}

impl Named<'_> {
    fn prefix(self) -> &'static str {
        match self.module {
            Module::Posix => "POSIX",
            Module::MpiIo => "MPIIO",
            _ => "STDIO",
        }
    }

    /// A count; 0 where it was not monitored.
    pub(super) fn count(self, name: &str) -> u64 {
        let found = self.record.int(self.module, &format!("{}_{name}", self.prefix()));
        found.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
    }

    fn value(self, name: &str) -> i64 {
        self.record.int(self.module, &format!("{}_{name}", self.prefix())).unwrap_or(0)
    }

    /// Seconds, as ns.
    pub(super) fn ns(self, name: &str) -> u64 {
        ns(self.record.float(self.module, &format!("{}_F_{name}", self.prefix())).unwrap_or(0.0))
    }

    pub(super) fn number(self, name: &str) -> f64 {
        self.record.float(self.module, &format!("{}_F_{name}", self.prefix())).unwrap_or(0.0)
    }

    pub(super) fn layer(self) -> Layer {
        match self.module {
            Module::Posix => Layer::Posix,
            Module::MpiIo => Layer::Mpiio,
            _ => Layer::Stdio,
        }
    }

    /// How many reads or writes had each of MPI-IO's forms.
    fn forms(self, writes: bool) -> [u64; 4] {
        let what = if writes { "WRITES" } else { "READS" };
        ["INDEP", "COLL", "SPLIT", "NB"].map(|form| self.count(&format!("{form}_{what}")))
    }

    /// The form of most of its reads or writes.
    pub(super) fn form(self, writes: bool) -> OpMode {
        let forms = self.forms(writes);
        let most = forms.iter().copied().max().unwrap_or(0);
        let place = forms.iter().position(|count| *count == most).unwrap_or(0);
        if self.module == Module::MpiIo { FORMS[place] } else { OpMode::Plain }
    }

    /// All reads or writes, whatever their form.
    fn data(self, writes: bool) -> Counters {
        let (what, all, bytes) =
            if writes { ("WRITE", "WRITES", "BYTES_WRITTEN") } else { ("READ", "READS", "BYTES_READ") };
        let done = if writes { "WRITTEN" } else { "READ" };
        let mpi = self.module == Module::MpiIo;
        let group = if mpi { format!("SIZE_{what}_AGG") } else { format!("SIZE_{what}") };
        let segments = if mpi { self.forms(writes).iter().sum() } else { self.count(all) };
        let start = self.ns(&format!("{what}_START_TIMESTAMP"));
        let duration = self.ns(&format!("{what}_TIME"));
        let highest = self.count(&format!("MAX_BYTE_{done}"));
        Counters {
            segments,
            bytes: self.count(bytes),
            duration,
            max_duration: self.ns(&format!("MAX_{what}_TIME")).min(duration),
            first_start: start,
            last_end: self.ns(&format!("{what}_END_TIMESTAMP")).max(start),
            min_offset: if highest > 0 { 0 } else { i64::MAX },
            max_end_offset: if highest > 0 { highest.saturating_add(1).min(i64::MAX as u64) as i64 } else { 0 },
            consecutive: self.count(&format!("CONSEC_{all}")),
            sequential: self.count(&format!("SEQ_{all}")),
            sizes: SIZES.map(|size| self.count(&format!("{group}_{size}"))),
        }
    }
}

/// Seconds as ns; what is no time is 0.
pub(super) fn ns(seconds: f64) -> u64 {
    // A float that is too large, negative or no number becomes the nearest that there is, or 0.
    (seconds * 1e9).round() as u64
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
            for (form, counters) in FORMS.into_iter().zip(by_form(&all, named.forms(writes))) {
                tables.missing(file, code(layer, name, form), counters, false);
            }
        } else {
            tables.missing(file, code(layer, name, named.form(writes)), rest(all, &used), nested);
        }
    }
    metadata(named, file, tables);
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
fn by_form(all: &Counters, forms: [u64; 4]) -> [Counters; 4] {
    let most = forms.iter().copied().max().unwrap_or(0);
    let mut sizes_given = false;
    forms.map(|count| {
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
    })
}

/// Calls that move no bytes. Darshan has one time for all of them, which stands with the opens.
fn metadata(named: Named<'_>, file: u32, tables: &mut Tables<'_>) {
    let layer = named.layer();
    let time_ns = named.ns("META_TIME");
    let (first, last) = (named.ns("OPEN_START_TIMESTAMP"), named.ns("CLOSE_END_TIMESTAMP"));
    let calls = |count: u64, duration: u64| Counters {
        segments: count,
        duration,
        max_duration: 0,
        first_start: first,
        last_end: last.max(first),
        ..Counters::default()
    };
    let kinds: &[(&str, &[&str], OpMode)] = match layer {
        Layer::Posix => &[
            ("open", &["OPENS"], OpMode::Plain),
            ("seek", &["SEEKS"], OpMode::Plain),
            ("stat", &["STATS"], OpMode::Plain),
            ("sync", &["FSYNCS", "FDSYNCS"], OpMode::Plain),
            ("mmap", &["MMAPS"], OpMode::Plain),
        ],
        Layer::Mpiio => &[
            ("open", &["INDEP_OPENS"], OpMode::Plain),
            ("open", &["COLL_OPENS"], OpMode::Collective),
            ("sync", &["SYNCS"], OpMode::Plain),
        ],
        _ => &[
            ("open", &["OPENS", "FDOPENS"], OpMode::Plain),
            ("seek", &["SEEKS"], OpMode::Plain),
            ("sync", &["FLUSHES"], OpMode::Plain),
        ],
    };
    let mut left = time_ns;
    for (name, counters, mode) in kinds {
        let count = counters.iter().fold(0_u64, |sum, counter| sum.saturating_add(named.count(counter)));
        if count > 0 {
            tables.missing(file, code(layer, name, *mode), calls(count, std::mem::take(&mut left)), false);
        }
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
