//! Constants that users cannot set: given by the kernel or by libraries, or by the number of tests that are made.

/// Size of a page of the page cache, bytes (x86-64; getconf PAGE_SIZE).
pub const PAGE_BYTES: u64 = 4096;
/// Size of the buffer of collective calls in ROMIO, unless `cb_buffer_size` sets another, bytes (ROMIO user's guide).
pub const ROMIO_BUFFER: u64 = 16 << 20;
/// Size of the buffer of collective calls in OMPIO, unless `io_ompio_bytes_per_agg` sets another, bytes (ompi_info).
pub const OMPIO_BUFFER: u64 = 32 << 20;

/// Divisor of the false discovery rate, as several sorts of units are tested, on reads and on writes.
pub const TESTS: f64 = 4.0;
