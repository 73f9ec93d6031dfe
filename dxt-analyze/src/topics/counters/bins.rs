//! Names of request size bins, and of the histogram columns that count calls in them.

use trace_format::counters::SIZE_BINS;

/// Names of the request size bins, in bytes; a boundary value belongs to the lower bin.
pub(crate) const BINS: [&str; SIZE_BINS] =
    ["0-100", "100-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G", "1G+"];

/// Returns the heading and the CSV name of the histogram column for a layer's reads or writes.
pub(super) fn names(layer: &str, direction: &str) -> (&'static str, &'static str) {
    match (layer, direction) {
        ("POSIX", "read") => ("POSIX read", "posix_read"),
        ("POSIX", _) => ("POSIX write", "posix_write"),
        ("STDIO", "read") => ("STDIO read", "stdio_read"),
        ("STDIO", _) => ("STDIO write", "stdio_write"),
        ("MPIIO", "read") => ("MPI-IO read", "mpiio_read"),
        ("MPIIO", _) => ("MPI-IO write", "mpiio_write"),
        ("HDF5", "read") => ("HDF5 read", "hdf5_read"),
        ("HDF5", _) => ("HDF5 write", "hdf5_write"),
        (_, "read") => ("other read", "other_read"),
        _ => ("other write", "other_write"),
    }
}
