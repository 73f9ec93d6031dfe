//! Wraps calls that set file pointers and file sizes (MPI 4.0, 14.4.3, 14.4.4, 14.2.4 and 14.2.5).
#![expect(unsafe_code, reason = "C functions")]

use super::extent::{Where, byte_offset};
use super::files::on_file;
use super::init_finalize::ERR_OTHER;
use crate::handles::MpiFile;
use crate::mpi::{Handle, world};
use crate::ops::{MPIIO_PREALLOCATE, MPIIO_SEEK, MPIIO_SEEK_SHARED, MPIIO_SET_SIZE};
use crate::real::hooks;
use std::ffi::c_int;
use std::sync::atomic::Ordering;
use trace_format::segment::NO_OFFSET;

/// Returns the shared file pointer after a seek to `offset` with `whence`, as a file offset in bytes; [`NO_OFFSET`] unless `whence` is
/// MPI_SEEK_SET, since other ranks may have moved the pointer.
fn shared_position(handle: Handle, file: &MpiFile, offset: i64, whence: c_int) -> i64 {
    let from_start = world().is_some_and(|world| world.abi.seek_set == whence);
    if from_start { byte_offset(handle, file, offset) } else { NO_OFFSET }
}

/// Returns (offset, length) to record for an MPI-IO call that sets the file size. Forgets the cached file size, which is outdated.
fn sized(file: &MpiFile, size: i64) -> (i64, u64) {
    file.size_seen.store(0, Ordering::Relaxed);
    (NO_OFFSET, u64::try_from(size).unwrap_or(0))
}

hooks! { POSITIONS, missing = ERR_OTHER;
    [MPI_File_seek, PMPI_File_seek](handle: Handle, offset: i64, whence: c_int) -> c_int
        = |real| on_file(handle, &MPIIO_SEEK, || real(handle, offset, whence),
            |file| (Where::Individual.find(handle, file).in_file, 0));
    [MPI_File_seek_shared, PMPI_File_seek_shared](handle: Handle, offset: i64, whence: c_int) -> c_int
        = |real| on_file(handle, &MPIIO_SEEK_SHARED, || real(handle, offset, whence),
            |file| (shared_position(handle, file, offset, whence), 0));
    [MPI_File_set_size, PMPI_File_set_size](handle: Handle, size: i64) -> c_int
        = |real| on_file(handle, &MPIIO_SET_SIZE, || real(handle, size), |file| sized(file, size));
    [MPI_File_preallocate, PMPI_File_preallocate](handle: Handle, size: i64) -> c_int
        = |real| on_file(handle, &MPIIO_PREALLOCATE, || real(handle, size), |file| sized(file, size));
}
