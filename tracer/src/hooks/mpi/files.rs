//! Wraps MPI_File_open, MPI_File_close, MPI_File_delete, MPI_File_set_view and MPI_File_sync.
#![expect(unsafe_code, reason = "C functions")]

use super::hints;
use super::init_finalize::{ERR_OTHER, outermost};
use crate::handles::{self, MpiFile, PATH_BYTES, Placed};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, api, world};
use crate::ops::{MPIIO_CLOSE, MPIIO_DELETE, MPIIO_OPEN, MPIIO_SET_VIEW, MPIIO_SYNC, Op};
use crate::real::hooks;
use crate::record::{Call, End};
use crate::registry::{File, Identity};
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;
use trace_format::segment::NO_OFFSET;

/// Returns the canonical path of an MPI file name, and its length in bytes. A file system prefix (as in `ufs:/path`) is removed.
fn canonical(name: *const c_char) -> Option<([u8; PATH_BYTES], usize)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the standard requires a string.
    let mut name = unsafe { CStr::from_ptr(name) };
    let bytes = name.to_bytes_with_nul();
    let colon = bytes.iter().position(|&byte| byte == b':' || byte == b'/').filter(|&at| bytes[at] == b':');
    if let Some(rest) = colon.filter(|&at| at > 1).and_then(|at| CStr::from_bytes_with_nul(&bytes[at + 1..]).ok()) {
        name = rest;
    }
    let mut path = [0; PATH_BYTES];
    let length = handles::canonical_path(name, &mut path);
    Some((path, length))
}

/// Returns the canonical path like [`canonical`], but preserves errno.
fn canonical_kept(name: *const c_char) -> Option<([u8; PATH_BYTES], usize)> {
    let errno = crate::errno::save();
    let path = canonical(name);
    errno.restore();
    path
}

/// Records a failed MPI-IO call on a file name; `code` is the MPI error code.
#[cold]
pub(super) fn failed_on_name(timer: Call, path: Option<([u8; PATH_BYTES], usize)>, op: &'static Op, code: c_int) {
    let errno = crate::errno::save();
    if let Some(world) = world()
        && let Some(file) = path.and_then(|(path, length)| handles::failed_canonical(&path[..length]))
    {
        timer.failed_with(world.abi.errno_of(code), file, op, NO_OFFSET);
    }
    errno.restore();
}

/// Records a failed MPI-IO call on an open file; `offset` is where the access would have begun, `code` is the MPI error code.
#[cold]
pub(super) fn failed(timer: Call, file: &MpiFile, op: &'static Op, offset: i64, code: c_int) {
    if let Some(world) = world() {
        let errno = crate::errno::save();
        timer.failed_with(world.abi.errno_of(code), file.file(), op, offset);
        errno.restore();
    }
}

/// Returns the recorded file that the program opens with the name `name` in MPI_File_open.
fn file_named(name: *const c_char) -> Option<&'static File> {
    let (path, length) = canonical(name)?;
    handles::file_of(&path[..length], Identity::default())
}

fn opening(
    (comm, info): (Handle, Handle),
    name: *const c_char,
    handle: *mut Handle,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let timer = Call::begin(thread);
    let (result, outer) = outermost(call);
    if outer && result == SUCCESS {
        let end = crate::clock::of_call();
        let errno = crate::errno::save();
        if let Some(file) = file_named(name) {
            // SAFETY: the call succeeded, so the handle is valid.
            let handle = unsafe { handle.read() };
            handles::add_mpi_file(handle, file);
            timer.finish(file, &MPIIO_OPEN, End::at(end));
            hints::note(thread, comm, info, handle, file);
        }
        errno.restore();
    } else if outer {
        failed_on_name(timer, canonical_kept(name), &MPIIO_OPEN, result);
    }
    result
}

fn closing(handle: *mut Handle, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|_| !handle.is_null()) else { return call() };
    // SAFETY: the program's own handle, before the call invalidates it.
    let open = unsafe { handle.read() };
    let timer = Call::begin(thread);
    let (result, outer) = outermost(call);
    if outer && result == SUCCESS {
        if let Some(file) = handles::find_mpi_file(open) {
            timer.finish(file.file(), &MPIIO_CLOSE, End::at(crate::clock::of_call()));
        }
        handles::remove_mpi_file(open);
    } else if outer && let Some(file) = handles::find_mpi_file(open) {
        failed(timer, file, &MPIIO_CLOSE, NO_OFFSET, result);
    }
    result
}

fn deleting(name: *const c_char, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call() };
    // Resolve the name now: after the call, a symbolic link would be dangling.
    let path = canonical_kept(name);
    let timer = Call::begin(thread);
    let (result, _) = outermost(call);
    if result == SUCCESS {
        let (end, errno) = (crate::clock::of_call(), crate::errno::save());
        if let Some(file) = path.and_then(|(path, length)| handles::file_of(&path[..length], Identity::default())) {
            timer.finish(file, &MPIIO_DELETE, End::at(end));
        }
        errno.restore();
    } else {
        failed_on_name(timer, path, &MPIIO_DELETE, result);
    }
    result
}

/// Runs `call` on an open file and records it as `op`. `place` returns (offset, length) and is evaluated after the call.
pub(super) fn on_file(
    handle: Handle,
    op: &'static Op,
    call: impl FnOnce() -> c_int,
    place: impl FnOnce(&MpiFile) -> (i64, u64),
) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let timer = Call::begin(thread);
    let (result, outer) = outermost(call);
    if outer
        && result == SUCCESS
        && let Some(file) = handles::find_mpi_file(handle)
    {
        let (end, errno) = (crate::clock::of_call(), crate::errno::save());
        let (offset, length) = crate::tls::current_now().mpi.run(|| place(file));
        timer.finish(file.file(), op, End { at: end, placed: Placed::at(offset), length });
        errno.restore();
    } else if outer && let Some(file) = handles::find_mpi_file(handle) {
        failed(timer, file, op, NO_OFFSET, result);
    }
    result
}

/// Records the MPI file view that the program has set on the file.
fn viewed(file: &MpiFile, etype: Handle, filetype: Handle) {
    if let Some(world) = world() {
        file.set_view(world.datatype(etype), world.datatype(filetype), world.viewed(etype, filetype));
    }
    let mut bytes = 0;
    let known = api().type_size(etype, &raw mut bytes) == SUCCESS;
    file.etype_bytes.store(if known { bytes } else { 0 }, Ordering::Relaxed);
    file.default_view.store(false, Ordering::Release);
}

hooks! { FILES, missing = ERR_OTHER;
    /// Wraps MPI_File_open (MPI 4.0, 14.2.1). A file system prefix of the name (such as `ufs:`) is removed from the path.
    [MPI_File_open, PMPI_File_open](comm: Handle, name: *const c_char, mode: c_int, info: Handle, handle: *mut Handle) -> c_int
        = |real| opening((comm, info), name, handle, || real(comm, name, mode, info, handle));
    /// Wraps MPI_File_close (MPI 4.0, 14.2.2).
    [MPI_File_close, PMPI_File_close](handle: *mut Handle) -> c_int
        = |real| closing(handle, || real(handle));
    /// Wraps MPI_File_set_view (MPI 4.0, 14.3). The segment's offset is the view's displacement.
    [MPI_File_set_view, PMPI_File_set_view](handle: Handle, displacement: i64, etype: Handle, filetype: Handle, representation: *const c_char, info: Handle) -> c_int
        = |real| on_file(handle, &MPIIO_SET_VIEW, || real(handle, displacement, etype, filetype, representation, info),
            |file| { viewed(file, etype, filetype); (displacement, 0) });
    /// Wraps MPI_File_sync (MPI 4.0, 14.6.1).
    [MPI_File_sync, PMPI_File_sync](handle: Handle) -> c_int
        = |real| on_file(handle, &MPIIO_SYNC, || real(handle), |_| (NO_OFFSET, 0));
    /// Wraps MPI_File_delete (MPI 4.0, 14.2.3), recorded under the deleted path.
    [MPI_File_delete, PMPI_File_delete](name: *const c_char, info: Handle) -> c_int
        = |real| deleting(name, || real(name, info));
}
