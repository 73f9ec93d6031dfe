//! Memory bounds of the analyzer: at most 512 MiB in total, whatever an input contains or claims. Darshan logs of more than 8 MiB may take
//! up to eight times as much, in proportion to their size. No bound makes a result wrong: where a bound is reached, the report says what
//! was omitted.

/// Size of a Darshan log, in bytes, up to which the `LOG_` bounds below apply unchanged; larger logs get higher bounds.
const LOG_SMALL: u64 = 8 << 20;
/// Additional log size, in bytes, that raises each `LOG_` bound by its base value. Some hundred bytes of a record on disk take some
/// thousand in memory.
const LOG_DOUBLES: u64 = 2 << 20;
/// Maximum factor by which a large Darshan log raises a `LOG_` bound.
const LOG_TIMES: u64 = 8;

/// Returns `bound`, adapted to a Darshan log of `length` bytes: bound x (1 + (length - 8 MiB) / 2 MiB), at least `bound` and at most 8 x
/// `bound`. Only the actual length counts, not sizes claimed inside the log: a small log cannot use much memory.
#[must_use]
pub fn of_log(bound: u64, length: u64) -> u64 {
    let more = u128::from(bound) * u128::from(length.saturating_sub(LOG_SMALL)) / u128::from(LOG_DOUBLES);
    bound.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)).min(bound.saturating_mul(LOG_TIMES))
}

/// Largest chunk cache of a data set that is advised, in bytes: each process has one, and a node has many.
pub const ADVISED_CACHE: u64 = 1 << 30;
/// Maximum memory for the stripe layouts of a Darshan log, in bytes. Data that exceeds a `LOG_` bound is skipped and reported as a problem.
pub const LOG_LAYOUTS: u64 = 24 << 20;
/// Maximum memory for the reduced records of a Darshan log (one record that stands for all ranks), in bytes.
pub const LOG_SHARED: u64 = 48 << 20;
/// Maximum memory for the records of one Darshan rank while they are converted to a process of the trace, in bytes.
pub const LOG_RANK: u64 = 64 << 20;
/// Maximum memory for all processes that are converted from the ranks of a Darshan log, in bytes.
pub const LOG_PROCESSES: u64 = 128 << 20;
/// Maximum segments of one Darshan rank that are sorted at once; a larger number is sorted and encoded in several parts.
pub const LOG_SEGMENTS: usize = 1 << 21;
/// Maximum size of one Darshan rank's encoded segments, in bytes.
pub const LOG_FRAMES: u64 = 64 << 20;
/// Maximum threads of one Darshan rank that are distinguished; further threads are merged into one.
pub const LOG_THREADS: usize = 1 << 10;
/// Maximum MPI-IO calls of one Darshan rank kept in memory to find the POSIX calls made inside them.
pub const LOG_CALLS: usize = 1 << 21;
/// Maximum MPI-IO segments of one Darshan rank kept in memory to find their variants (independent, collective, nonblocking); further
/// segments get the most common variant of their file.
pub const LOG_HELD: usize = 1 << 19;
/// Maximum bars of a flame graph; beyond, shorter bars are merged.
pub const FLAME_BARS: usize = 500;
/// Maximum rows of a flame graph; deeper functions are left out.
pub const FLAME_DEPTH: usize = 96;
/// Maximum partly written stripes tracked per analysis thread; beyond, a hash-based sample is tracked, see [`crate::topics::stripes::sharing`].
pub const FOLLOWED_STRIPES: usize = 1 << 17;
/// Maximum writes to shared stripes whose times are kept in memory during one pass over the trace.
pub const HELD_WRITES: u64 = 1 << 21;
/// Maximum passes over the trace that examine writes to shared stripes.
pub const SHARING_PASSES: usize = 2;
/// Maximum processes that a report names per stripe.
pub const NAMED_PROCESSES: usize = 16;
/// Maximum size of a text file that the user names (layouts, thresholds), in bytes.
pub const TEXT_BYTES: u64 = 16 << 20;
/// Maximum line length of a YAML layout, in bytes; also bounds the nesting depth.
pub const YAML_LINE_BYTES: usize = 4096;
/// Maximum nested brackets in a YAML layout.
pub const YAML_BRACKETS: usize = 16;
/// Maximum components (extents with a striping of their own) of a composite file layout.
pub const LAYOUT_COMPONENTS: usize = 1024;
/// Maximum collective calls tracked per analysis thread; beyond, a hash-based sample is tracked, see [`crate::topics::layers::collectives`].
pub const FOLLOWED_COLLECTIVES: usize = 1 << 17;
/// Maximum segments of a run for which the number of calls in flight is computed exactly, from all starts and ends; for longer runs it is
/// approximated, see [`crate::topics::layers::concurrency`].
pub const HELD_CALLS: u64 = 1 << 21;
/// Number of time bins in the load history of storage targets.
pub const LOAD_BINS: usize = 200;
/// Maximum storage targets whose load is counted individually; further targets are merged.
pub const LOAD_TARGETS: usize = 2048;
/// Maximum storage targets whose load is reported individually: those with the most bytes. Further targets are reported as one sum.
pub const LOAD_SHOWN: usize = 256;
/// Maximum byte ranges of one process's files kept in memory at once, see [`crate::topics::checks::walk`].
pub const HELD_RANGES: usize = 1 << 18;
/// Maximum file regions of 1 MiB tracked to find bytes that several processes read.
pub const FOLLOWED_CELLS: usize = 1 << 18;
/// Maximum size of a program's or library's file, or of one section of it, that is read for the names of functions, bytes.
pub const OBJECT_BYTES: u64 = 2 << 30;
/// Maximum size of all such files of a run together, bytes.
pub const OBJECTS_BYTES: u64 = 6 << 30;
/// Maximum files, ranks, offsets or problems that a finding names as examples.
pub const NAMED_EXAMPLES: usize = 3;
/// Maximum functions compiled into each other (inlined) that are named for one address.
pub const INLINED_FUNCTIONS: usize = 64;
/// Maximum length of a function's readable name, bytes; the symbol is shown instead of a longer one.
pub const FUNCTION_NAME_BYTES: usize = 1024;
/// Maximum nesting of the parts of a C++ symbol; a symbol with more is shown as it is.
pub const FUNCTION_NAME_DEPTH: u32 = 64;
/// Maximum effects (slow units, or sets of them) that are searched for in a run: bounds the time of the search.
pub const EFFECTS: usize = 12;
/// Maximum generations of parent processes examined to find the process that runs alone at the end.
pub const PARENT_GENERATIONS: usize = 16;
/// Maximum files examined for stripe aliasing: those with most processes.
pub const ALIASING_FILES: usize = 8;
/// Maximum groups of targets per file examined for stripe aliasing: if a file has more targets, several share a group.
pub const ALIASING_GROUPS: usize = 64;
/// Approximate number of time windows kept per file examined for stripe aliasing; beyond, a hash-based sample is kept.
pub const ALIASING_WINDOWS: u64 = 1 << 12;
/// Maximum storage targets that a finding names individually.
pub const NAMED_TARGETS: usize = 4;
/// Maximum stripes, or request sizes, that a finding on a file's stripes names individually.
pub const NAMED_STRIPES: usize = 4;
/// Maximum aggregators (ranks that do the I/O of collective calls) that a finding names individually.
pub const NAMED_RANKS: usize = 8;
/// Maximum files for which other stripe layouts are simulated: those with the most time in calls.
pub const TRIAL_FILES: usize = 8;
/// Maximum time windows of server load per simulated layout; fewer if memory is short.
pub const TRIAL_MOMENTS: usize = 64;
/// Minimum average operations per time window and storage object: with fewer, some targets are busier than others by chance alone.
pub const TRIAL_OPERATIONS: u64 = 128;
/// Maximum memory for the time windows of layout simulations, in bytes per analysis thread. Up to the same amount again is used while
/// segments that lie within one stripe are counted separately.
pub const TRIAL_BYTES: usize = 64 << 20;
/// Maximum partly written stripes tracked per file and simulated stripe size.
pub const TRIAL_STRIPES: usize = 1 << 12;
/// Maximum collective calls tracked per analysis thread to find stragglers; each takes 32 bytes.
pub const FOLLOWED_ARRIVALS: usize = 1 << 20;

/// Maximum cells in which calls are summed (by process, time window, stream, size class, storage target); beyond, time windows are merged,
/// see [`crate::cube::reading::cells`].
pub const CELLS: usize = 1 << 18;
/// Cells that each process may have however many processes there are, which takes precedence over [`CELLS`].
pub const LEAST_CELLS: usize = 8;
/// Maximum calls of one collective operation, over all processes, for which the time since the process's previous collective call is kept
/// in memory.
pub const FOLLOWED_GAPS: usize = 1 << 20;
/// Maximum number of disjoint time spans of one process that are kept in memory; adjacent calls share one.
pub const SPANS: usize = 1 << 15;
/// Number of regions (one per process) whose metadata are in memory at the same time while they are read.
pub const REGIONS_AT_A_TIME: usize = 1 << 12;
/// Jobs whose starts are at most this far apart were started together, ns.
pub const STARTED_TOGETHER_NS: i64 = 1_000_000_000;

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
