//! Wraps calls that complete MPI requests (MPI 4.0, 3.7.3 and 3.7.5). A nonblocking MPI-IO operation is recorded when one of these calls
//! reports its completion, together with the time that the call blocked its thread. A call that completes nothing is not recorded, since
//! programs poll. If no MPI-IO request is in progress, a call costs one additional memory load.
#![expect(unsafe_code, reason = "C functions")]

use super::extent::{Begin, moved_bytes, status_bytes};
use super::files::failed;
use super::init_finalize::ERR_OTHER;
use crate::handles::{Held, MpiRequest, Placed, no_mpi_requests};
use crate::hooks::admission;
use crate::mpi::{Handle, SUCCESS, World, world};
use crate::ops::MPIIO_WAIT;
use crate::real::hooks;
use crate::record::{Call, End};
use crate::tls::Thread;
use crate::{clock, errno, tls};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// Size of the tracer's status array, in 8-byte words, for programs that pass MPI_STATUSES_IGNORE. If a call has more requests than fit,
/// each operation counts as having transferred the requested bytes.
const OWN_STATUS_WORDS: usize = 1024;

#[derive(Clone, Copy)]
struct Requests {
    list: *const c_void,
    count: usize,
}

impl Requests {
    fn new(list: *const c_void, count: c_int) -> Self {
        Self { list, count: if list.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) } }
    }

    fn handle(self, world: &World, index: usize) -> Handle {
        request_at(world, self.list, index)
    }
}

pub(super) fn request_at(world: &World, list: *const c_void, index: usize) -> Handle {
    let place = list.wrapping_byte_add(index * world.abi.request_bytes);
    if world.abi.request_bytes == size_of::<u32>() {
        // SAFETY: the program's list has handles of this size.
        unsafe { place.cast::<u32>().read() as Handle }
    } else {
        // SAFETY: the program's list has handles of this size.
        unsafe { place.cast::<Handle>().read() }
    }
}

/// Runs `call`, which may complete some of `requests`, and records the MPI-IO operations that it completed. `rows`: number of statuses that
/// the call fills in. `row_of`: maps a request's index to the index of its status after success, or to `None` if the request is not
/// complete.
#[inline(always)]
fn completing(
    requests: Requests,
    statuses: *mut c_void,
    rows: usize,
    call: impl FnOnce(*mut c_void) -> c_int,
    row_of: impl Fn(usize) -> Option<usize>,
) -> c_int {
    if no_mpi_requests() { call(statuses) } else { watching(requests, statuses, rows, call, row_of) }
}

#[inline(never)]
fn watching(
    requests: Requests,
    statuses: *mut c_void,
    rows: usize,
    call: impl FnOnce(*mut c_void) -> c_int,
    row_of: impl Fn(usize) -> Option<usize>,
) -> c_int {
    let Some(thread) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call(statuses) };
    let Some(world) = world() else { return call(statuses) };
    // Completion sets the handles to MPI_REQUEST_NULL, so look them up before the call.
    let held = Held::take((0..requests.count).map(|index| requests.handle(world, index)));
    if held.is_empty() {
        return call(statuses);
    }
    // Left uninitialized, since a program may poll; the library fills in the rows that are read.
    let mut own = [const { MaybeUninit::<u64>::uninit() }; OWN_STATUS_WORDS];
    let mut statuses = statuses;
    let mut readable = true;
    if statuses as usize == world.abi.status_ignore {
        readable = rows * world.abi.status_bytes <= size_of_val(&own);
        if readable {
            statuses = own.as_mut_ptr().cast();
        }
    }
    let timer = Call::begin(thread);
    let result = thread.mpi.run(|| call(statuses));
    let thread = tls::current_now();
    let (end, errno) = (clock::of_call(), errno::save());
    let mut waited_for = None;
    held.release(|index, request| {
        if result != SUCCESS {
            // Some requests may be complete, with or without error: the library has reset their handles.
            let gone = requests.handle(world, index) != request.handle();
            if gone {
                waited_for.get_or_insert(request.submitted().file);
                let rows = Rows { statuses: readable.then_some(statuses), count: rows };
                ended_in_error(thread, world, request, result, &rows, row_of(index), end);
            }
            return gone;
        }
        let Some(row) = row_of(index) else { return false };
        let status = readable.then(|| statuses.wrapping_byte_add(row * world.abi.status_bytes));
        waited_for.get_or_insert(request.submitted().file);
        completed(thread, world, request, status, end);
        true
    });
    if let Some(file) = waited_for {
        timer.kept(end, file.file(), &MPIIO_WAIT);
    }
    errno.restore();
    result
}

struct Rows {
    statuses: Option<*mut c_void>,
    count: usize,
}

/// Records a request that completed at time `end` in a call that failed with MPI error `code`. With error class MPI_ERR_IN_STATUS, the
/// request's status, number `row` of `rows`, holds its own error (MPI 4.0, 3.7.5).
#[cold]
fn ended_in_error(
    thread: &'static Thread,
    world: &World,
    request: &MpiRequest,
    code: c_int,
    rows: &Rows,
    row: Option<usize>,
    end: u64,
) {
    let in_status = world.abi.class_of(code) == world.abi.errors.in_status;
    let row = row.filter(|&row| in_status && row < rows.count);
    let status = row.zip(rows.statuses).map(|(row, all)| all.wrapping_byte_add(row * world.abi.status_bytes));
    let code = status.map_or(code, |status| {
        // SAFETY: the library has filled in this row.
        unsafe { status.wrapping_byte_add(world.abi.status_error).cast::<c_int>().read() }
    });
    if code == SUCCESS {
        return completed(thread, world, request, status, end);
    }
    let what = request.submitted();
    failed(Call::since(thread, what.start), what.file, what.op, what.in_file, code);
}

fn completed(thread: &'static Thread, world: &World, request: &MpiRequest, status: Option<*mut c_void>, end: u64) {
    let what = request.submitted();
    let reported = status.map_or(what.asked, |status| status_bytes(world, status));
    let begin = Begin { in_view: what.in_view, in_file: what.in_file };
    let bytes = thread.mpi.run(|| moved_bytes(what.file.handle(), what.file, what.op, begin, reported));
    let end = End { at: end, placed: Placed::at(what.in_file), length: bytes };
    Call::since(thread, what.start).finish(what.file.file(), what.op, end);
}

/// Returns the integer that a call stored at `place`; `None` if `place` is null or the value is negative (MPI_UNDEFINED).
fn stored(place: *const c_int) -> Option<usize> {
    // SAFETY: null, or an output argument that the standard requires to be valid; negative is MPI_UNDEFINED.
    unsafe { place.as_ref() }.and_then(|&value| usize::try_from(value).ok())
}

fn all_if(flag: *const c_int) -> impl Fn(usize) -> Option<usize> {
    move |index| stored(flag).filter(|&flag| flag != 0).map(|_| index)
}

fn one(at: *const c_int) -> impl Fn(usize) -> Option<usize> {
    move |index| stored(at).filter(|&at| at == index).map(|_| 0)
}

fn some(count: *const c_int, indices: *const c_int) -> impl Fn(usize) -> Option<usize> {
    move |index| {
        let count = stored(count).filter(|_| !indices.is_null())?;
        // SAFETY: the library has filled in `count` indices.
        let indices = unsafe { std::slice::from_raw_parts(indices, count) };
        indices.iter().position(|&at| usize::try_from(at) == Ok(index))
    }
}

fn freeing(request: *mut c_void, call: impl FnOnce() -> c_int) -> c_int {
    if no_mpi_requests() {
        return call();
    }
    let Some(_) = admission::thread().filter(|thread| !thread.mpi.is_set()) else { return call() };
    let Some(world) = world() else { return call() };
    let requests = Requests::new(request, 1);
    let held = Held::take((0..requests.count).map(|index| requests.handle(world, index)));
    let result = call();
    held.release(|_, _| result == SUCCESS);
    result
}

hooks! { COMPLETION, missing = ERR_OTHER;
    [MPI_Wait, PMPI_Wait](request: *mut c_void, status: *mut c_void) -> c_int
        = |real| completing(Requests::new(request, 1), status, 1, |status| real(request, status), Some);
    [MPI_Test, PMPI_Test](request: *mut c_void, flag: *mut c_int, status: *mut c_void) -> c_int
        = |real| completing(Requests::new(request, 1), status, 1, |status| real(request, flag, status), all_if(flag));
    [MPI_Waitall, PMPI_Waitall](count: c_int, requests: *mut c_void, statuses: *mut c_void) -> c_int
        = |real| {
            let list = Requests::new(requests, count);
            completing(list, statuses, list.count, |statuses| real(count, requests, statuses), Some)
        };
    [MPI_Testall, PMPI_Testall](count: c_int, requests: *mut c_void, flag: *mut c_int, statuses: *mut c_void) -> c_int
        = |real| {
            let list = Requests::new(requests, count);
            completing(list, statuses, list.count, |statuses| real(count, requests, flag, statuses), all_if(flag))
        };
    [MPI_Waitany, PMPI_Waitany](count: c_int, requests: *mut c_void, index: *mut c_int, status: *mut c_void) -> c_int
        = |real| completing(Requests::new(requests, count), status, 1,
            |status| real(count, requests, index, status), one(index));
    /// Wraps MPI_Testany. If no request is complete, the call sets `index` to MPI_UNDEFINED.
    [MPI_Testany, PMPI_Testany](count: c_int, requests: *mut c_void, index: *mut c_int, flag: *mut c_int, status: *mut c_void) -> c_int
        = |real| completing(Requests::new(requests, count), status, 1,
            |status| real(count, requests, index, flag, status),
            |at| stored(flag).filter(|&flag| flag != 0).and_then(|_| one(index)(at)));
    [MPI_Waitsome, PMPI_Waitsome](count: c_int, requests: *mut c_void, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void) -> c_int
        = |real| {
            let list = Requests::new(requests, count);
            completing(list, statuses, list.count,
                |statuses| real(count, requests, done, indices, statuses), some(done, indices))
        };
    [MPI_Testsome, PMPI_Testsome](count: c_int, requests: *mut c_void, done: *mut c_int, indices: *mut c_int, statuses: *mut c_void) -> c_int
        = |real| {
            let list = Requests::new(requests, count);
            completing(list, statuses, list.count,
                |statuses| real(count, requests, done, indices, statuses), some(done, indices))
        };
    /// Wraps MPI_Request_free. The operation continues, but its completion will never be reported, so it is not recorded.
    [MPI_Request_free, PMPI_Request_free](request: *mut c_void) -> c_int
        = |real| freeing(request, || real(request));
}
