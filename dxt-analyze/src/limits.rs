//! Bounds on the analyzer's memory: together at most 512 MiB, whatever an input holds or claims, but for Darshan logs of more than
//! 8 MiB, which may take in proportion to their length, up to eight times as much. None of them makes a result wrong: where one is
//! met, the report says what was left out.

/// Bytes of a Darshan log up to which the bounds of logs are as they stand here; they grow with what is beyond.
const LOG_SMALL: u64 = 8 << 20;
/// So many bytes of a log double a bound: a record of some hundred bytes in the file takes some thousands.
const LOG_DOUBLES: u64 = 2 << 20;
/// Times that a bound may become what it is, at most.
const LOG_TIMES: u64 = 8;

/// The bound for a log of `length` bytes. What is in a large log may be large; what a small one claims may not.
#[must_use]
pub fn of_log(bound: u64, length: u64) -> u64 {
    let more = u128::from(bound) * u128::from(length.saturating_sub(LOG_SMALL)) / u128::from(LOG_DOUBLES);
    bound.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)).min(bound.saturating_mul(LOG_TIMES))
}

/// Bytes that the stripe layouts of a Darshan log may take. As with the other bounds of logs, what is beyond is left out, and the
/// run has a problem that says so.
pub const LOG_LAYOUTS: u64 = 24 << 20;
/// Bytes that the records of all ranks may take.
pub const LOG_SHARED: u64 = 48 << 20;
/// Bytes that the records of one rank may take while they become a process of the trace.
pub const LOG_RANK: u64 = 64 << 20;
/// Bytes that the processes may take that ranks have become, all together.
pub const LOG_PROCESSES: u64 = 128 << 20;
/// Segments of a rank that are held to be put in order; more are encoded part by part.
pub const LOG_SEGMENTS: usize = 1 << 21;
/// Bytes of a rank's encoded segments.
pub const LOG_FRAMES: u64 = 64 << 20;
/// Threads of a rank that are told apart; further ones are together.
pub const LOG_THREADS: usize = 1 << 10;
/// MPI-IO calls of a rank that are held to find the POSIX calls inside them.
pub const LOG_CALLS: usize = 1 << 21;
/// MPI-IO segments of a rank that are held to find out their forms; others have the form that most calls of the file have.
pub const LOG_HELD: usize = 1 << 19;
/// Partly written stripes that are followed per thread. Beyond it a sample by hash is followed, see
/// [`crate::topics::stripes::sharing`].
pub const FOLLOWED_STRIPES: usize = 1 << 17;
/// Writes to shared stripes whose times are held at once, in one pass over the trace.
pub const HELD_WRITES: u64 = 1 << 21;
/// Passes over the trace that may be spent on such writes.
pub const SHARING_PASSES: usize = 2;
/// Processes named per stripe.
pub const NAMED_PROCESSES: usize = 16;
/// Bytes of a text that the user names: layouts, thresholds.
pub const TEXT_BYTES: u64 = 16 << 20;
/// Bytes of a line of a layout in YAML, and so how deep what is in it can be nested.
pub const YAML_LINE_BYTES: usize = 4096;
/// Brackets that are open at a time in a layout in YAML.
pub const YAML_BRACKETS: usize = 16;
/// Components that a layout may have.
pub const LAYOUT_COMPONENTS: usize = 1024;
/// Collective calls that are followed per thread. Beyond it a sample by hash is followed, see
/// [`crate::topics::layers::collectives`].
pub const FOLLOWED_COLLECTIVES: usize = 1 << 17;
/// Segments of a run whose starts and ends are held to know exactly how many calls were in flight; of longer runs none is,
/// see [`crate::topics::layers::concurrency`].
pub const HELD_CALLS: u64 = 1 << 21;
/// Bins of time in which the load of storage targets is counted.
pub const LOAD_BINS: usize = 200;
/// Storage targets whose load is counted one by one; others are together.
pub const LOAD_TARGETS: usize = 2048;
/// Storage targets whose load is reported one by one, those with most bytes; others are summed.
pub const LOAD_SHOWN: usize = 256;
/// Ranges of bytes of a process's files that are held at once, see [`crate::topics::checks::walk`].
pub const HELD_RANGES: usize = 1 << 18;
/// Cells of files that are followed for bytes that several processes read.
pub const FOLLOWED_CELLS: usize = 1 << 18;
/// Files, ranks or places that a finding of `checks` or `compare` names.
pub const NAMED_EXAMPLES: usize = 3;
/// Files, those with most time, for which other layouts are tried.
pub const TRIAL_FILES: usize = 8;
/// Moments that servers' work is looked at in, for each layout that is tried; fewer if there is no room.
pub const TRIAL_MOMENTS: usize = 64;
/// Fewest operations per moment and object: with few, chance makes some targets busier than others.
pub const TRIAL_OPERATIONS: u64 = 128;
/// Bytes that moments may take, per thread; as much again at most while segments within a stripe are counted apart.
pub const TRIAL_BYTES: usize = 64 << 20;
/// Partly written stripes that are followed, per file and stripe size that is tried.
pub const TRIAL_STRIPES: usize = 1 << 12;
/// Calls of collective operations that are followed per thread, to tell who waited for whom: 32 bytes each.
pub const FOLLOWED_ARRIVALS: usize = 1 << 20;

/// Cells of calls by process, slot of time, stream, size and storage target: beyond it slots are merged, see
/// [`crate::topics::causes::reading::cells`].
pub const CELLS: usize = 1 << 18;
/// Collective calls of all processes whose distance from the call before is kept.
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
