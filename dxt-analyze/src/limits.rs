//! Bounds on the analyzer's memory. None of them makes a result wrong: where one is met, the report says what was left out.

/// Partly written stripes that are followed per thread. Beyond it a sample by hash is followed, see
/// [`crate::analyses::stripes::sharing`].
pub const FOLLOWED_STRIPES: usize = 1 << 18;
/// Writes to shared stripes whose times are held at once, in one pass over the trace.
pub const HELD_WRITES: u64 = 1 << 22;
/// Passes over the trace that may be spent on such writes.
pub const SHARING_PASSES: usize = 8;
/// Processes named per stripe.
pub const NAMED_PROCESSES: usize = 16;
/// Components that a layout may have.
pub const LAYOUT_COMPONENTS: usize = 1024;
/// Ranges of bytes of a process's files that are held at once, see [`crate::analyses::checks::walk`].
pub const HELD_RANGES: usize = 1 << 18;
/// Cells of files that are followed for bytes that several processes read.
pub const FOLLOWED_CELLS: usize = 1 << 18;
/// Files, ranks or places that a finding of `checks` or `compare` names.
pub const NAMED_EXAMPLES: usize = 3;
