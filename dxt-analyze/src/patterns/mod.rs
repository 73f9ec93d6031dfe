//! Characteristics of a job's I/O: size, order, alignment, sharing and interface of its reads and writes, metadata, balance, repetition.
//!
//! A pattern is a fact, whether it costs time or not: findings say what costs time. Patterns are taken from the results of the topics; each
//! names the finding that states its cost, if there is one.

mod targets;
mod view;

pub(crate) use view::{section, table};

pub use crate::findings::pattern::{Aspect, Kind, Pattern};

use crate::findings::{Code, Severity};
use crate::model::Run;
use crate::shared::ratio::{share, share_if_any};
use crate::sum::Sum;
use crate::topics::Whole;
use crate::topics::checks::balance::imbalance_of;
use crate::topics::checks::file_calls::is_collective;
use crate::topics::checks::result::Verdict::Finding;
use crate::topics::checks::result::{Amount, Checked};
use crate::topics::counters::result::AccessRow;
use crate::topics::report::Job;
use crate::topics::verdict::Verdict;
use crate::words::patterns as words;
use rustc_hash::FxHashMap;
use trace_format::counters::SIZE_BOUNDS;
use trace_format::meta::SpreadDef;
use trace_format::op::{Layer, OpClass};

/// Returns the patterns of a run, in the order of [`Aspect`].
pub(crate) fn of(job: &Job<'_>, whole: &Whole<'_>, verdict: &Verdict) -> Vec<Pattern> {
    let (run, mut all) = (job.run, Vec::new());
    let measured = Measured { run, whole };
    all.extend(measured.metadata());
    all.extend(measured.syncs());
    if measured.moves_data() {
        for reads in [true, false] {
            all.extend(measured.size(reads));
            all.extend(measured.order(reads));
            all.extend(measured.sharing(reads));
            all.extend(measured.collectives(reads));
        }
        all.extend(measured.alignment());
        all.extend(measured.interface());
        all.extend(measured.ranks());
        all.extend(targets::pattern_of(job, whole));
        all.extend(measured.repetition());
    }
    all.sort_by_key(|pattern| pattern.aspect as u8);
    for pattern in &mut all {
        let codes = codes(pattern);
        let found = verdict.findings.iter().map(|weighed| &weighed.finding);
        let stated = found.filter(|finding| finding.severity > Severity::Info && codes.contains(&finding.code));
        if let Some(finding) = stated.max_by_key(|finding| finding.saving.map(|saving| saving.saves_ns)) {
            pattern.finding = Some(finding.code);
            pattern.saves_ns = finding.saving.map(|saving| saving.saves_ns);
        }
    }
    all
}

/// Returns the codes of the findings that state the cost of a pattern.
fn codes(pattern: &Pattern) -> &'static [Code] {
    match (pattern.aspect, pattern.operation) {
        _ if !pattern.notable => &[],
        (Aspect::Size, Some("read")) => &[Code::SMALL_READS, Code::SMALL_SHARED_READS, Code::READ_RUNS],
        (Aspect::Size, _) => {
            &[Code::SMALL_WRITES, Code::SMALL_SHARED_WRITES, Code::WRITE_RUNS, Code::SLOW_SMALL_WRITES]
        }
        (Aspect::Order, Some("read")) => &[Code::RANDOM_READS],
        (Aspect::Order, _) => &[Code::RANDOM_WRITES],
        (Aspect::Alignment, _) => &[Code::UNALIGNED, Code::CROSSING, Code::READ_MODIFY_WRITE],
        (Aspect::Sharing, Some("read")) => &[Code::SHARED_INDEPENDENT, Code::SMALL_FILES],
        (Aspect::Sharing, _) => &[Code::SHARED_INDEPENDENT, Code::FALSE_SHARING, Code::SMALL_FILES],
        (Aspect::Interface, _) => &[Code::NO_MPIIO, Code::STDIO_SHARE],
        (Aspect::Collectives, Some("read")) => &[Code::NO_COLLECTIVE_READS],
        (Aspect::Collectives, _) => &[Code::NO_COLLECTIVE_WRITES],
        (Aspect::Metadata, _) => &[
            Code::METADATA_TIME,
            Code::METADATA_SHARE,
            Code::REPEATED_OPENS,
            Code::OPEN_PER_ACCESS,
            Code::FAILED_OPENS,
        ],
        (Aspect::Syncs, _) => &[Code::SYNC_PER_WRITE, Code::SYNC_TIME],
        (Aspect::Ranks, _) => &[Code::ONE_RANK, Code::BYTE_IMBALANCE, Code::TIME_IMBALANCE],
        (Aspect::Targets, _) => &[Code::FEW_TARGETS, Code::ALIASING, Code::IMBALANCE],
        (Aspect::Repetition, _) => &[Code::REREAD, Code::COMMON_READS],
    }
}

/// Makes a pattern; its finding is added later.
fn pattern(aspect: Aspect, operation: Option<&'static str>, kind: Kind, share: f64, sentence: String) -> Pattern {
    let notable = matches!(
        kind,
        Kind::Small
            | Kind::Mixed
            | Kind::Strided
            | Kind::Random
            | Kind::Unaligned
            | Kind::SharedFile
            | Kind::SmallFiles
            | Kind::Streams
            | Kind::Independent
            | Kind::Heavy
            | Kind::Frequent
            | Kind::Unbalanced
            | Kind::OneRank
            | Kind::OneTarget
            | Kind::ReadAgain
            | Kind::ReadByAll
    );
    Pattern { aspect, operation, pattern: kind, notable, share, amount: None, sentence, finding: None, saves_ns: None }
}

/// Results from which patterns are taken.
struct Measured<'a, 'w> {
    run: &'a Run,
    whole: &'a Whole<'w>,
}

impl Measured<'_, '_> {
    fn check(&self, code: Code) -> Option<&Checked> {
        self.whole.checks.result.checks.iter().find(|row| row.code == code)
    }

    /// True if a check has found what it looks for.
    fn is_found(&self, code: Code) -> bool {
        self.check(code).is_some_and(|row| row.verdict == Finding)
    }

    /// Returns the value that a check has measured; `None` if the check did not apply.
    fn checked(&self, code: Code) -> Option<f64> {
        match self.check(code)?.measured? {
            Amount::Ratio(value) | Amount::PerSecond(value) => Some(value),
            Amount::Count(value) | Amount::Bytes(value) | Amount::Ns(value) => Some(value as f64),
        }
    }

    /// Returns the reads or writes of the layer that reaches storage: POSIX, or else the one that moved most bytes. `None` if the direction
    /// has too few of the calls and bytes to describe the job.
    fn accesses(&self, reads: bool) -> Option<&AccessRow> {
        let of = |reads: bool| {
            let all = self.whole.counters.accesses.iter();
            let all = all.filter(move |row| row.direction == name(reads) && row.calls > 0);
            let most = all.clone().max_by_key(|row| row.bytes)?;
            let posix = all.filter(|row| row.layer == "POSIX").max_by_key(|row| row.bytes);
            Some(posix.filter(|row| share(row.bytes, most.bytes) >= self.run.thresholds.half_share).unwrap_or(most))
        };
        let (this, other): (&AccessRow, Option<&AccessRow>) = (of(reads)?, of(!reads));
        let part = |of: fn(&AccessRow) -> u64| share(of(this), of(this).saturating_add(other.map_or(0, of)));
        // Many small calls of C streams beside large system calls are messages and settings.
        let is_beside = other.is_some_and(|other| other.layer != this.layer);
        let of_calls = if is_beside { 0.0 } else { part(|row| row.calls) };
        let most = of_calls.max(part(|row| row.bytes));
        (most >= 1.0 - self.run.thresholds.nearly_all_share).then_some(this)
    }

    /// Returns the bytes of the layer that moved most, by the program's calls or inside of others: a library's bytes move again in its system calls.
    fn moved(&self) -> u64 {
        let mut layers: FxHashMap<&str, Sum> = FxHashMap::default();
        for row in &self.whole.counters.accesses {
            *layers.entry(&row.layer).or_default() += row.bytes;
        }
        layers.values().map(|bytes| bytes.get()).max().unwrap_or(0)
    }

    /// Returns the bytes of the program's own calls; `None` if they are next to nothing beside those of libraries, as if `--layer` leaves them out.
    fn own(&self) -> Option<u64> {
        let own = self.whole.counters.sharing.iter().map(|row| row.bytes).sum::<Sum>().get();
        let least = &self.run.thresholds;
        (own >= least.traffic_min_bytes || share(own, self.moved()) >= 1.0 - least.nearly_all_share).then_some(own)
    }

    /// True if the job's reads and writes are worth describing: false if they move next to nothing beside more metadata calls.
    fn moves_data(&self) -> bool {
        let calls = |is_data: bool| {
            let rows = self.whole.counters.sharing.iter().filter(|row| (row.kind != "metadata") == is_data);
            rows.map(|row| row.calls).sum::<Sum>().get()
        };
        self.moved() >= self.run.thresholds.traffic_min_bytes || calls(true) >= calls(false)
    }

    fn processes(&self) -> u64 {
        self.run.process_count()
    }

    fn size(&self, reads: bool) -> Option<Pattern> {
        let row = self.accesses(reads)?;
        let least = &self.run.thresholds;
        let of_check = self.checked(if reads { Code::SMALL_READS } else { Code::SMALL_WRITES });
        let mean = row.bytes / row.calls;
        let bins = row.sizes.iter().zip(SIZE_BOUNDS).filter(|(_, bound)| *bound < least.small_request_bytes);
        let few = share(bins.map(|(count, _)| *count).sum::<Sum>().get(), row.calls) <= least.small_share;
        let part = of_check.unwrap_or(if mean < least.small_request_bytes { 1.0 } else { 0.0 });
        // Requests of nearly the limit, such as those of a large array without its header, are not small.
        let is_close =
            part >= least.half_share && few && mean as f64 >= least.small_request_bytes as f64 * least.nearly_all_share;
        let kind = match part {
            _ if is_close => Kind::Large,
            part if part >= least.half_share => Kind::Small,
            part if part > least.small_share => Kind::Mixed,
            _ => Kind::Large,
        };
        let sentence = words::size(name(reads), row.calls, mean, (part, least.small_request_bytes), is_close);
        Some(Pattern { amount: Some(mean), ..pattern(Aspect::Size, Some(name(reads)), kind, part, sentence) })
    }

    fn order(&self, reads: bool) -> Option<Pattern> {
        let row = self.accesses(reads)?;
        let least = &self.run.thresholds;
        let random = self.checked(if reads { Code::RANDOM_READS } else { Code::RANDOM_WRITES })?;
        // The first call of each process and file has no predecessor; if there are few others, order says nothing.
        let consecutive = share_if_any(row.consecutive, row.ordered)?;
        let kind = match random {
            random if random > least.random_share => Kind::Random,
            _ if consecutive < least.half_share => Kind::Strided,
            _ => Kind::Consecutive,
        };
        let part = if kind == Kind::Random { random } else { consecutive };
        Some(pattern(
            Aspect::Order,
            Some(name(reads)),
            kind,
            part,
            words::order(name(reads), kind, random, consecutive),
        ))
    }

    fn alignment(&self) -> Option<Pattern> {
        let row = self.whole.counters.patterns.iter().find(|row| row.layer == "POSIX" && row.file_known > 0)?;
        let part = share(row.file_unaligned, row.file_known);
        let kind = if part > self.run.thresholds.unaligned_share { Kind::Unaligned } else { Kind::Aligned };
        Some(pattern(Aspect::Alignment, None, kind, part, words::alignment(row.file_unaligned, row.file_known)))
    }

    fn sharing(&self, reads: bool) -> Option<Pattern> {
        self.accesses(reads)?;
        let counters = &self.whole.counters;
        let rows = || counters.sharing.iter().filter(|row| row.kind == name(reads));
        let all = rows().map(|row| row.bytes).sum::<Sum>().get();
        let shared = rows().filter(|row| row.shared).map(|row| row.bytes).sum::<Sum>().get();
        let part = share_if_any(shared, all)?;
        let least = &self.run.thresholds;
        let is_used = |kind: &str| kind == "read and write" || kind == if reads { "read only" } else { "write only" };
        let files = counters.kinds.iter().filter(|row| is_used(row.kind)).map(|row| row.files).sum::<Sum>().get();
        let each = all / files.max(1);
        let kind = match self.processes() {
            _ if part >= least.half_share => Kind::SharedFile,
            _ if files >= least.metadata_min && each < least.small_request_bytes => Kind::SmallFiles,
            count if count > 1 && !self.is_by_one() => Kind::FilePerProcess,
            _ => Kind::OneProcess,
        };
        let sentence = words::sharing(name(reads), kind, part, self.processes(), files, each);
        let amount = Some(if kind == Kind::SmallFiles { files } else { self.processes() });
        Some(Pattern { amount, ..pattern(Aspect::Sharing, Some(name(reads)), kind, part, sentence) })
    }

    /// True if one process moves nearly all bytes.
    fn is_by_one(&self) -> bool {
        self.checked(Code::ONE_RANK).is_some_and(|part| part >= self.run.thresholds.one_rank_share)
    }

    fn interface(&self) -> Option<Pattern> {
        let layers = [("HDF5", Kind::Hdf5), ("MPIIO", Kind::MpiIo), ("STDIO", Kind::Streams), ("POSIX", Kind::Posix)];
        let rows = || self.whole.counters.bandwidths.iter().filter(|row| row.called_by == "program" && row.op != "all");
        let of = |layer: &str| rows().filter(|row| row.layer == layer).map(|row| row.sum.bytes).sum::<Sum>().get();
        // Logs do not say which calls HDF5 makes, so its bytes may count again as those of another layer.
        let all = self.own()?.max(1);
        let outer = layers.iter().find(|(layer, _)| share(of(layer), all) >= self.run.thresholds.half_share);
        let most = layers.iter().max_by_key(|(layer, _)| of(layer)).filter(|(layer, _)| of(layer) > 0);
        let (layer, kind) = outer.or(most).copied()?;
        let (part, ranks) = (share(of(layer), all), self.run.ranks());
        let mut out = pattern(Aspect::Interface, None, kind, part, words::interface(layer, part, all, ranks));
        // Several ranks that move data without a parallel library leave it to the file system to order their requests.
        out.notable |= ranks > 1 && kind == Kind::Posix;
        Some(out)
    }

    fn collectives(&self, reads: bool) -> Option<Pattern> {
        let class = Some(if reads { OpClass::Read } else { OpClass::Write });
        let (mut collective, mut all) = (Sum::default(), Sum::default());
        for total in &self.whole.sums.all {
            let Some(stream) = self.run.process(total.process).and_then(|process| process.stream(total.stream)) else {
                continue;
            };
            let op = self.run.op(stream);
            if op.layer == Some(Layer::Mpiio) && op.class == class && !stream.nested && !stream.failed {
                all += total.all.bytes;
                collective += if is_collective(op.mode, &op.name) { total.all.bytes } else { 0 };
            }
        }
        let part = share_if_any(collective.get(), all.get()).filter(|_| self.run.ranks() > 1)?;
        let kind = if part < self.run.thresholds.collective_share { Kind::Independent } else { Kind::Collective };
        Some(pattern(Aspect::Collectives, Some(name(reads)), kind, part, words::collectives(name(reads), part)))
    }

    fn metadata(&self) -> Option<Pattern> {
        let least = &self.run.thresholds;
        let of_time = self.checked(Code::METADATA_SHARE);
        let per_open = self.checked(Code::OPEN_PER_ACCESS);
        let heavy = self.is_found(Code::METADATA_SHARE) || self.is_found(Code::OPEN_PER_ACCESS);
        // Much time in few calls is neither.
        let is_light = of_time.is_none_or(|part| part < least.metadata_share);
        let kind = if heavy { Kind::Heavy } else { Some(Kind::Light).filter(|_| is_light)? };
        let part = of_time.or_else(|| per_open.map(|_| 0.0))?;
        Some(pattern(Aspect::Metadata, None, kind, part, words::metadata(of_time, per_open)))
    }

    fn syncs(&self) -> Option<Pattern> {
        let per_write = self.checked(Code::SYNC_PER_WRITE)?;
        let kind = if self.is_found(Code::SYNC_PER_WRITE) { Kind::Frequent } else { Kind::Rare };
        Some(pattern(Aspect::Syncs, Some("write"), kind, per_write.min(1.0), words::syncs(per_write)))
    }

    fn ranks(&self) -> Option<Pattern> {
        let least = &self.run.thresholds;
        self.own()?;
        let of_bytes = self.checked(Code::BYTE_IMBALANCE);
        let imbalance = of_bytes.or_else(|| self.of_reduced())?;
        let kind = match imbalance {
            _ if self.is_by_one() => Kind::OneRank,
            imbalance if imbalance > least.straggler_imbalance => Kind::Unbalanced,
            _ => Kind::Balanced,
        };
        Some(pattern(
            Aspect::Ranks,
            None,
            kind,
            imbalance,
            words::ranks(kind, imbalance, self.run.ranks(), self.processes()),
        ))
    }

    /// Returns the imbalance of the bytes that ranks move by the program's own calls on the file with most bytes, if one record stands for all
    /// its ranks: by mean, slowest and fastest rank. `None` without such a record, or if most bytes are elsewhere.
    fn of_reduced(&self) -> Option<f64> {
        let spreads = self.run.processes.iter().flat_map(|process| &process.reduction.spreads);
        let spreads: Vec<&SpreadDef> = spreads.filter(|def| def.spread.ranks > 1).collect();
        // MPI-IO moves the bytes of all ranks by few of them, so what counts are its own calls.
        let has_mpi_io = spreads.iter().any(|def| def.layer == Layer::Mpiio);
        let of_ranks = spreads.iter().filter(|def| !has_mpi_io || def.layer == Layer::Mpiio);
        let largest = &of_ranks.max_by(|a, b| a.spread.bytes.mean.total_cmp(&b.spread.bytes.mean))?.spread;
        let mean = largest.bytes.mean;
        if mean * f64::from(largest.ranks) < self.moved() as f64 * self.run.thresholds.half_share {
            return None;
        }
        let most = largest.slowest.bytes.max(largest.fastest.bytes) as f64;
        (most > 0.0).then(|| imbalance_of(most, mean, largest.ranks.into()).clamp(0.0, 1.0))
    }

    fn repetition(&self) -> Option<Pattern> {
        self.accesses(true)?;
        let least = &self.run.thresholds;
        let again = self.checked(Code::REREAD);
        let by_all = self.checked(Code::COMMON_READS);
        let (kind, part) = match (again, by_all) {
            (Some(again), _) if again >= least.traffic_share => (Kind::ReadAgain, again),
            (_, Some(by_all)) if by_all >= least.traffic_share => (Kind::ReadByAll, by_all),
            (Some(again), _) => (Kind::ReadOnce, again),
            (None, Some(by_all)) => (Kind::ReadOnce, by_all),
            (None, None) => return None,
        };
        Some(pattern(Aspect::Repetition, Some("read"), kind, part.min(1.0), words::repetition(kind, part)))
    }
}

fn name(reads: bool) -> &'static str {
    if reads { "read" } else { "write" }
}
