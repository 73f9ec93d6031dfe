//! Constants that users cannot set: given by the kernel or by libraries, by the tests that are made, or values that remedies advise.

/// Size of a page of the page cache, bytes.
pub const PAGE_BYTES: u64 = 4096;
/// Size of the buffer of collective calls in ROMIO, unless `cb_buffer_size` sets another, bytes.
pub const ROMIO_BUFFER: u64 = 16 << 20;
/// Size of the buffer of collective calls in OMPIO, unless `io_ompio_bytes_per_agg` sets another, bytes.
pub const OMPIO_BUFFER: u64 = 32 << 20;

/// Divisor of the false discovery rate, as several sorts of units are tested, on reads and on writes.
pub const TESTS: f64 = 4.0;
/// Exponent e: calls on a storage target with x times the load of others may take x^e times as long, since a process with more calls also
/// finds more calls waiting (queueing theory).
pub const QUEUE_EXPONENT: f64 = 2.0;

/// Size of requests that remedies advise, bytes.
pub const ADVISED_REQUEST: u64 = 4 << 20;
/// Size of the chunks of a data set that remedies advise, bytes.
pub const ADVISED_CHUNK: u64 = 1 << 20;
/// Stripe count that remedies advise for a file with fewer, if the run does not show how many are enough.
pub const ADVISED_STRIPES: u64 = 8;
/// Stripe size that remedies advise for a file of unknown layout, bytes.
pub const ADVISED_STRIPE: u64 = 1 << 20;
/// Fewest bytes moved on a file of one stripe for more stripes to be advised.
pub const WORTH_STRIPING: u64 = 1 << 30;
/// Number of packed pieces that an advised buffer holds.
pub const ADVISED_PIECES: u64 = 16;
