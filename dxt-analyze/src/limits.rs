//! Memory bounds of the analyzer: at most 512 MiB in total, whatever an input holds or claims. Darshan logs of more than 8 MiB may take
//! up to eight times as much, in proportion to their length. No bound makes a result wrong: where one is reached, the report says what
//! was left out.

/// Darshan log size up to which the bounds of logs apply as they stand here, in bytes; larger logs get more.
const LOG_SMALL: u64 = 8 << 20;
/// Additional log bytes per additional multiple of a bound: a record of some hundred bytes in the file takes some thousands in memory.
const LOG_DOUBLES: u64 = 2 << 20;
/// Maximum factor by which a bound may grow.
const LOG_TIMES: u64 = 8;

/// Returns the bound for a log of `length` bytes: bound x (1 + (length - 8 MiB) / 2 MiB), at least the bound and at most eight times the
/// bound. Only a large log may use much memory, not a small one that claims to.
#[must_use]
pub fn of_log(bound: u64, length: u64) -> u64 {
    let more = u128::from(bound) * u128::from(length.saturating_sub(LOG_SMALL)) / u128::from(LOG_DOUBLES);
    bound.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)).min(bound.saturating_mul(LOG_TIMES))
}

/// Memory for the stripe layouts of a Darshan log, in bytes. For all bounds of logs, excess data is left out and reported as a problem.
pub const LOG_LAYOUTS: u64 = 24 << 20;
/// Memory for the reduced records (of all ranks), in bytes.
pub const LOG_SHARED: u64 = 48 << 20;
/// Memory for one rank's records during conversion to a process of the trace, in bytes.
pub const LOG_RANK: u64 = 64 << 20;
/// Memory for all processes converted from ranks, in bytes.
pub const LOG_PROCESSES: u64 = 128 << 20;
/// Maximum segments of a rank that are sorted at once; more are encoded in parts.
pub const LOG_SEGMENTS: usize = 1 << 21;
/// Maximum size of a rank's encoded segments, in bytes.
pub const LOG_FRAMES: u64 = 64 << 20;
/// Maximum threads of a rank that are distinguished; further ones are merged.
pub const LOG_THREADS: usize = 1 << 10;
/// Maximum MPI-IO calls of a rank held to find the POSIX calls inside them.
pub const LOG_CALLS: usize = 1 << 21;
/// Maximum MPI-IO segments of a rank held to find their variants; the others get the most common variant of the file.
pub const LOG_HELD: usize = 1 << 19;
/// Maximum partly written stripes followed per thread; beyond that a sample by hash, see [`crate::topics::stripes::sharing`].
pub const FOLLOWED_STRIPES: usize = 1 << 17;
/// Maximum writes to shared stripes whose times are held in one pass over the trace.
pub const HELD_WRITES: u64 = 1 << 21;
/// Maximum passes over the trace for writes to shared stripes.
pub const SHARING_PASSES: usize = 2;
/// Maximum processes named per stripe.
pub const NAMED_PROCESSES: usize = 16;
/// Maximum size of a text file that the user names (layouts, thresholds), in bytes.
pub const TEXT_BYTES: u64 = 16 << 20;
/// Maximum line length of a YAML layout, in bytes; also bounds its nesting depth.
pub const YAML_LINE_BYTES: usize = 4096;
/// Maximum brackets open at once in a YAML layout.
pub const YAML_BRACKETS: usize = 16;
/// Maximum components of a layout.
pub const LAYOUT_COMPONENTS: usize = 1024;
/// Maximum collective calls followed per thread; beyond that a sample by hash, see [`crate::topics::layers::collectives`].
pub const FOLLOWED_COLLECTIVES: usize = 1 << 17;
/// Maximum segments of a run for an exact number of calls in flight; in longer runs no starts and ends are held, see
/// [`crate::topics::layers::concurrency`].
pub const HELD_CALLS: u64 = 1 << 21;
/// Number of time bins for the load of storage targets.
pub const LOAD_BINS: usize = 200;
/// Maximum storage targets whose load is counted individually; further ones are merged.
pub const LOAD_TARGETS: usize = 2048;
/// Maximum storage targets whose load is reported individually, those with most bytes; further ones are summed.
pub const LOAD_SHOWN: usize = 256;
/// Maximum byte ranges of a process's files held at once, see [`crate::topics::checks::walk`].
pub const HELD_RANGES: usize = 1 << 18;
/// Maximum file regions followed to find bytes that several processes read.
pub const FOLLOWED_CELLS: usize = 1 << 18;
/// Maximum files, ranks or offsets named by a finding of `checks` or `compare`.
pub const NAMED_EXAMPLES: usize = 3;
/// Number of files, those with most time, for which other layouts are tried.
pub const TRIAL_FILES: usize = 8;
/// Maximum time windows of server load for each layout tried; fewer if memory is short.
pub const TRIAL_MOMENTS: usize = 64;
/// Minimum operations per time window and object: with few, chance makes some targets busier than others.
pub const TRIAL_OPERATIONS: u64 = 128;
/// Memory for time windows, in bytes per thread; at most as much again while segments within a stripe are counted separately.
pub const TRIAL_BYTES: usize = 64 << 20;
/// Maximum partly written stripes followed, per file and stripe size tried.
pub const TRIAL_STRIPES: usize = 1 << 12;
/// Maximum calls of collective operations followed per thread to find stragglers: 32 bytes each.
pub const FOLLOWED_ARRIVALS: usize = 1 << 20;

/// Maximum cells (process, time window, stream, size class, storage target); beyond that time windows are merged, see
/// [`crate::topics::causes::reading::cells`].
pub const CELLS: usize = 1 << 18;
/// Maximum collective calls, over all processes, whose distance from the previous call is kept.
pub const FOLLOWED_GAPS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_logs_grow_with_the_file_and_not_with_what_it_says() {
        let all = |length| [LOG_LAYOUTS, LOG_SHARED, LOG_RANK, LOG_PROCESSES].map(|bound| of_log(bound, length));
        let small = [LOG_LAYOUTS, LOG_SHARED, LOG_RANK, LOG_PROCESSES];
        assert_eq!((all(0), all(LOG_SMALL)), (small, small));
        assert_eq!(all(LOG_SMALL + LOG_DOUBLES), small.map(|bound| bound * 2));
        assert_eq!(all(u64::MAX), small.map(|bound| bound * LOG_TIMES));
        assert!(all(u64::MAX).iter().sum::<u64>() <= 2112 << 20);
    }
}
