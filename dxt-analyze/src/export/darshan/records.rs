//! Darshan counter records made from totals, by Darshan's definitions. Unknown values are 0, or -1 where Darshan uses -1.

use super::id;
use super::sums::{ALL_RANKS, RecordSum, Sums};
use crate::model::{FileId, FileLayout, Origin, Run};
use crate::sum::Sum;
use darshan_log::counters::{SIZE_NAMES, float_names, int_names};
use darshan_log::{CounterRecord, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use trace_format::counters::Counters;
use trace_format::op::{Layer, OpClass, OpMode};
use trace_format::profile::MEMORY_ALIGNMENT;
use trace_format::spread::Moments;

/// Value that Darshan uses for an unknown time, in s.
const UNKNOWN: f64 = -1.0;

/// Darshan record under construction; counters are set by name.
struct Filled {
    record: CounterRecord,
    module: Module,
    prefix: &'static str,
}

impl Filled {
    fn int(&mut self, name: &str, value: u64) {
        self.signed(name, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn signed(&mut self, name: &str, value: i64) {
        let name = format!("{}_{name}", self.prefix);
        let place = int_names(self.module).iter().position(|known| *known == name);
        if let Some(counter) = place.and_then(|place| self.record.ints.get_mut(place)) {
            *counter = value;
        }
    }

    fn seconds(&mut self, name: &str, ns: u64) {
        self.float(name, ns as f64 / 1e9);
    }

    fn float(&mut self, name: &str, value: f64) {
        let name = format!("{}_F_{name}", self.prefix);
        let place = float_names(self.module).iter().position(|known| *known == name);
        if let Some(counter) = place.and_then(|place| self.record.floats.get_mut(place)) {
            *counter = value;
        }
    }

    fn data(&mut self, all: &Counters, writes: bool, group: &str) {
        let (what, done) = if writes { ("WRITE", "WRITTEN") } else { ("READ", "READ") };
        self.int(if writes { "BYTES_WRITTEN" } else { "BYTES_READ" }, all.bytes);
        self.int(&format!("MAX_BYTE_{done}"), u64::try_from(all.max_end_offset).unwrap_or(0).saturating_sub(1));
        self.int(&format!("CONSEC_{what}S"), all.consecutive);
        self.int(&format!("SEQ_{what}S"), all.sequential);
        for (name, count) in SIZE_NAMES.iter().zip(all.sizes) {
            self.int(&format!("SIZE_{what}_{group}{name}"), count);
        }
        if all.segments > 0 {
            self.seconds(&format!("{what}_START_TIMESTAMP"), all.first_start);
            self.seconds(&format!("{what}_END_TIMESTAMP"), all.last_end);
        }
        self.seconds(&format!("{what}_TIME"), all.duration);
        self.seconds(&format!("MAX_{what}_TIME"), all.max_duration);
    }
}

impl Sums {
    /// Returns the counter records of a module, sorted by rank and file.
    pub(crate) fn records<'a>(
        &'a self,
        run: &'a Run,
        layouts: &'a [Option<FileLayout>],
        module: Module,
    ) -> impl Iterator<Item = CounterRecord> + 'a {
        let layer = match module {
            Module::MpiIo => Layer::Mpiio,
            Module::Stdio => Layer::Stdio,
            _ => Layer::Posix,
        };
        let of_layer = self.all.iter().filter(move |((known, ..), _)| *known == layer);
        let was_log = run.origin() == Origin::Darshan;
        let together = if layer == Layer::Mpiio { self.opened_together(run) } else { FxHashSet::default() };
        of_layer.filter_map(move |((_, rank, file), sum)| {
            let alignment = alignment(run, layouts, *file);
            record(module, id(run, *file), *rank, sum, alignment, together.contains(file), was_log)
        })
    }

    /// Returns the files that MPI_File_open opened on several ranks. The call is collective over its communicator (MPI 4.0, 14.2.1), which
    /// the trace does not record. Returns no files if the trace itself distinguishes collective opens, as a trace made from a Darshan log
    /// does.
    fn opened_together(&self, run: &Run) -> FxHashSet<FileId> {
        let distinguished = run
            .ops
            .iter()
            .any(|op| (op.layer, op.class, op.mode) == (Some(Layer::Mpiio), Some(OpClass::Open), OpMode::Collective));
        let mut ranks: FxHashMap<FileId, u32> = FxHashMap::default();
        for (_, rank, file) in self.all.keys().filter(|key| key.0 == Layer::Mpiio && !distinguished) {
            *ranks.entry(*file).or_default() += if *rank == ALL_RANKS { 2 } else { 1 };
        }
        ranks.into_iter().filter(|(_, ranks)| *ranks > 1).map(|(file, _)| file).collect()
    }
}

/// Returns the alignment of a file, in bytes: its stripe size, or else the block size of its file system.
fn alignment(run: &Run, layouts: &[Option<FileLayout>], file: FileId) -> u64 {
    let layout = layouts.get(file.index()).and_then(Option::as_ref);
    let stripe = layout.and_then(|layout| layout.layout.components.first()).map(|component| component.stripe_size);
    stripe.or_else(|| run.file(file).map(|file| u64::from(file.block_size))).unwrap_or(0)
}

fn record(
    module: Module,
    id: u64,
    rank: i64,
    sum: &RecordSum,
    alignment: u64,
    opened_together: bool,
    was_log: bool,
) -> Option<CounterRecord> {
    let prefix = match module {
        Module::Posix => "POSIX",
        Module::MpiIo => "MPIIO",
        _ => "STDIO",
    };
    let mut out = Filled { record: CounterRecord::zero(module, id, rank)?, module, prefix };
    let [reads, writes] = &sum.data;
    let group = if module == Module::MpiIo { "AGG_" } else { "" };
    out.data(reads, false, group);
    out.data(writes, true, group);
    let calls = |class: OpClass, names: &[&str], form: Option<u8>| {
        let fits = |known: &(OpClass, String, u8)| {
            known.0 == class
                && (names.is_empty() || names.contains(&known.1.as_str()))
                && form.is_none_or(|form| known.2 == form)
        };
        sum.calls.iter().filter(|(known, _)| fits(known)).map(|(_, count)| *count).sum::<Sum>().get()
    };
    let all = |class| calls(class, &[], None);
    for (side, what) in [(false, "READS"), (true, "WRITES")] {
        if let Some(order) = sum.whole.as_ref().map(|whole| whole.order(side)).filter(|order| order.known > 0) {
            out.int(&format!("CONSEC_{what}"), order.consecutive);
            out.int(&format!("SEQ_{what}"), order.sequential);
        }
    }
    out.seconds("META_TIME", sum.metadata_ns.get());
    out.seconds("WRITE_TIME", (sum.sync_ns + writes.duration).get());
    match sum.opened {
        // A trace imported from a Darshan log has only one span, from the first open to the last close.
        Some((first, last)) if was_log => {
            out.seconds("OPEN_START_TIMESTAMP", first);
            out.float("OPEN_END_TIMESTAMP", UNKNOWN);
            if last > first {
                out.float("CLOSE_START_TIMESTAMP", UNKNOWN);
                out.seconds("CLOSE_END_TIMESTAMP", last);
            }
        }
        _ => {
            for (span, name) in [(sum.opened, "OPEN"), (sum.closed, "CLOSE")] {
                if let Some((first, last)) = span {
                    out.seconds(&format!("{name}_START_TIMESTAMP"), first);
                    out.seconds(&format!("{name}_END_TIMESTAMP"), last);
                }
            }
        }
    }
    let profile = sum.whole.as_ref().map_or(&sum.profile, |whole| &whole.profile);
    // Darshan counts a backward access as stride 0 and lists no stride of 0. A negative stride can only have been read from a log, and
    // is written as it was.
    let strides = profile.strides.top_of(|stride| stride > 0 || was_log && stride < 0);
    for (values, name) in [(profile.sizes.top(), "ACCESS"), (strides, "STRIDE")] {
        for (number, common) in values.iter().enumerate() {
            out.signed(&format!("{name}{}_{name}", number + 1), common.value);
            out.int(&format!("{name}{}_COUNT", number + 1), common.count);
        }
    }
    if let Some(spread) = &sum.spread {
        for (share, name) in [(spread.fastest, "FASTEST"), (spread.slowest, "SLOWEST")] {
            out.int(&format!("{name}_RANK"), u64::from(share.rank));
            out.int(&format!("{name}_RANK_BYTES"), share.bytes);
            out.seconds(&format!("{name}_RANK_TIME"), share.time_ns);
        }
        let variance = |moments: Moments| moments.squares / f64::from(spread.ranks.max(1));
        out.float("VARIANCE_RANK_TIME", variance(spread.time_ns) / 1e18);
        out.float("VARIANCE_RANK_BYTES", variance(spread.bytes));
    }
    out.int("RW_SWITCHES", profile.switches);
    // With several forms of calls, the duration of the longest call is known only over all forms together.
    for (slowest, data, what) in [(profile.slowest_read, reads, "READ"), (profile.slowest_write, writes, "WRITE")] {
        out.seconds(&format!("MAX_{what}_TIME"), slowest.duration.max(data.max_duration));
    }
    out.int("MAX_READ_TIME_SIZE", profile.slowest_read.bytes);
    out.int("MAX_WRITE_TIME_SIZE", profile.slowest_write.bytes);
    match module {
        Module::MpiIo => {
            for (form, name) in ["INDEP", "COLL", "SPLIT", "NB"].iter().enumerate() {
                out.int(&format!("{name}_READS"), calls(OpClass::Read, &[], Some(form as u8)));
                out.int(&format!("{name}_WRITES"), calls(OpClass::Write, &[], Some(form as u8)));
            }
            let together = calls(OpClass::Open, &[], if opened_together { None } else { Some(1) });
            out.int("COLL_OPENS", together);
            out.int("INDEP_OPENS", all(OpClass::Open).saturating_sub(together));
            out.int("SYNCS", all(OpClass::Sync));
            out.int("VIEWS", calls(OpClass::Metadata, &["set_view"], None));
        }
        Module::Posix => {
            out.int("OPENS", all(OpClass::Open));
            out.int("READS", all(OpClass::Read));
            out.int("WRITES", all(OpClass::Write));
            out.int("SEEKS", all(OpClass::Seek));
            out.int("STATS", calls(OpClass::Metadata, &["stat", "lstat", "fstat", "statx", "fstatat"], None));
            out.int("MMAPS", calls(OpClass::Map, &["mmap"], None));
            let data_only = calls(OpClass::Sync, &["fdatasync", "io_submit_fdatasync", "io_uring_fdatasync"], None);
            out.int("FDSYNCS", data_only);
            // Darshan does not count syncs of ranges.
            let ranges = calls(OpClass::Sync, &["sync_range", "io_uring_sync_range", "msync"], None);
            out.int("FSYNCS", all(OpClass::Sync).saturating_sub(data_only.saturating_add(ranges)));
            for unknown in ["FILENOS", "DUPS", "RENAME_SOURCES", "RENAME_TARGETS"] {
                out.signed(unknown, -1);
            }
            let kept = sum.whole.as_ref().map_or(0, |whole| whole.memory_alignment);
            let memory = match profile.memory_known {
                _ if kept > 0 => i64::try_from(kept).unwrap_or(i64::MAX),
                0 => -1,
                _ => MEMORY_ALIGNMENT as i64,
            };
            out.signed("MEM_ALIGNMENT", memory);
            out.int("MEM_NOT_ALIGNED", profile.memory_unaligned);
            // Prefers the alignment with which accesses were counted over the alignment of the file.
            let alignment = if profile.alignment > 0 { profile.alignment } else { alignment };
            out.signed("FILE_ALIGNMENT", if alignment > 0 { i64::try_from(alignment).unwrap_or(i64::MAX) } else { -1 });
            out.int("FILE_NOT_ALIGNED", profile.file_unaligned);
        }
        _ => {
            out.int("OPENS", all(OpClass::Open));
            out.signed("FDOPENS", -1);
            out.int("READS", all(OpClass::Read));
            out.int("WRITES", all(OpClass::Write));
            out.int("SEEKS", all(OpClass::Seek));
            out.int("FLUSHES", all(OpClass::Sync));
        }
    }
    Some(out.record)
}
