//! Wraps POSIX asynchronous I/O (aio(7)). A segment lasts from the submission until the program first learns of the completion, and is
//! recorded by aio_return(3), which returns the number of bytes. Calls that submit or wait are recorded too, as time that blocks the
//! program's thread. I/O calls of the C library's helper threads are not seen; operations whose result the program never queries are
//! counted.
#![expect(unsafe_code, reason = "C functions")]

use crate::handles::pending::{self, Key, Pending};
use crate::handles::{self, Manner, Sent};
use crate::hooks::admission;
use crate::ops::{Op, POSIX_AIO_DATA_SYNC, POSIX_AIO_READ, POSIX_AIO_SYNC, POSIX_AIO_WRITE, POSIX_SUBMIT, POSIX_WAIT};
use crate::real::hooks;
use crate::record::Call;
use crate::{clock, errno};
use libc::{aiocb, c_int, sigevent, ssize_t, timespec};

fn key_of(block: *const aiocb) -> Key {
    Key { owner: 0, mark: block as u64 }
}

/// Records that `block`, an aio(7) control block, is about to be submitted; returns its target if the file is recorded. The C library's
/// threads may use the descriptor at any time until the operation is complete.
fn submit(block: *const aiocb, op: &'static Op) -> Option<Sent> {
    // SAFETY: the program's own control block, which the C library reads unchecked.
    let about = unsafe { block.as_ref() }?;
    let target = handles::descriptor(about.aio_fildes)?;
    let (to, opened) = target.sent();
    let (manner, offset) = Manner::of_operation(opened, op, 0, about.aio_offset);
    let pending = Pending { to, op, offset, manner, length: 0, start: clock::of_call(), end: 0, turn: 0 };
    pending::add_block(key_of(block), &pending, u64::MAX);
    Some(to)
}

/// Runs `call`, which submits the operation of one control block, and records the operation.
fn submitting(block: *const aiocb, op: &'static Op, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    // Before the call: another thread may learn of the completion before this thread continues.
    let Some(sent) = submit(block, op) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        timer.kept_for(clock::of_call(), sent, &POSIX_SUBMIT);
    } else if let Some(pending) = pending::take(key_of(block)) {
        let error = i64::from(errno::save().value());
        Call::since(thread, pending.start).end_pending(clock::of_call(), &pending, -error);
    }
    result
}

/// Returns the state of the operation of control block `block`, by aio_error(3).
fn error_of(block: *const aiocb) -> c_int {
    let address = slots::aio_error.0.address();
    if address.is_null() {
        return libc::EINPROGRESS;
    }
    // SAFETY: the symbol has this C type.
    let function =
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(*const aiocb) -> c_int>(address) };
    // SAFETY: a control block that the program has submitted.
    unsafe { function(block) }
}

/// Checks which of the listed aio(7) operations are complete by now, and stores the current time for each.
fn look_at(list: *const *const aiocb, count: c_int) {
    let (now, errno) = (clock::of_call(), errno::save());
    for block in blocks(list, count) {
        if error_of(block) != libc::EINPROGRESS {
            pending::seen_done(key_of(block), now);
        }
    }
    errno.restore();
}

/// Iterates over the control blocks of a `list` of `count` entries that the C library has read; skips null pointers.
fn blocks(list: *const *const aiocb, count: c_int) -> impl Iterator<Item = *const aiocb> {
    (0..usize::try_from(count).unwrap_or(0))
        .map(move |index| {
            // SAFETY: inside the program's list.
            let place = unsafe { list.add(index) };
            // SAFETY: inside the program's list.
            unsafe { place.read() }
        })
        .filter(|block| !block.is_null())
}

fn returning(block: *mut aiocb, call: impl FnOnce() -> ssize_t) -> ssize_t {
    let Some(thread) = admission::thread() else { return call() };
    let Some(pending) = pending::take(key_of(block)) else { return call() };
    let before = errno::save();
    let error = error_of(block);
    before.restore();
    if error == libc::EINPROGRESS {
        pending::add(key_of(block), &pending);
        return call();
    }
    let end = if pending.end == 0 { clock::of_call() } else { pending.end };
    let result = call();
    let outcome = if result < 0 { -i64::from(error) } else { result as i64 };
    Call::since(thread, pending.start).end_pending(end, &pending, outcome);
    result
}

fn listing(mode: c_int, list: *const *mut aiocb, count: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread().filter(|_| matches!(mode, libc::LIO_WAIT | libc::LIO_NOWAIT)) else {
        return call();
    };
    let list = list.cast::<*const aiocb>();
    let mut first = None;
    for block in blocks(list, count) {
        // SAFETY: the program's own control block.
        let sent = match unsafe { block.read() }.aio_lio_opcode {
            libc::LIO_READ => submit(block, &POSIX_AIO_READ),
            libc::LIO_WRITE => submit(block, &POSIX_AIO_WRITE),
            _ => None,
        };
        first = first.or(sent);
    }
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    if mode == libc::LIO_WAIT {
        look_at(list, count);
    }
    // LIO_WAIT also waits if some operations fail (EIO); the effect of a call that fails otherwise is unknown.
    let did = result == 0 || mode == libc::LIO_WAIT && errno.value() == libc::EIO;
    if did && let Some(sent) = first {
        timer.kept_for(end, sent, if mode == libc::LIO_WAIT { &POSIX_WAIT } else { &POSIX_SUBMIT });
    }
    errno.restore();
    result
}

/// Runs and records `call`, which waits for the first completion in `list`.
fn suspending(list: *const *const aiocb, count: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    let (end, errno) = (clock::of_call(), errno::save());
    look_at(list, count);
    if result == 0
        && let Some(sent) = blocks(list, count).find_map(|block| pending::sent_of_done(key_of(block)))
    {
        timer.kept_for(end, sent, &POSIX_WAIT);
    }
    errno.restore();
    result
}

hooks! { ASYNCHRONOUS, missing = { errno::set(libc::ENOSYS); -1 };
    [aio_read, aio_read64](block: *mut aiocb) -> c_int
        = |real| submitting(block, &POSIX_AIO_READ, || real(block));
    [aio_write, aio_write64](block: *mut aiocb) -> c_int
        = |real| submitting(block, &POSIX_AIO_WRITE, || real(block));
    [aio_fsync, aio_fsync64](operation: c_int, block: *mut aiocb) -> c_int
        = |real| {
            let op = if operation == libc::O_DSYNC { &POSIX_AIO_DATA_SYNC } else { &POSIX_AIO_SYNC };
            submitting(block, op, || real(operation, block))
        };
    /// Wraps aio_error(3), which may tell the program that the operation is complete.
    [aio_error, aio_error64](block: *const aiocb) -> c_int
        = |real| {
            let error = real(block);
            if error != libc::EINPROGRESS && admission::thread().is_some() {
                pending::seen_done(key_of(block), clock::of_call());
            }
            error
        };
    /// Wraps aio_return(3), which ends and records the segment of the operation.
    [aio_return, aio_return64](block: *mut aiocb) -> ssize_t
        = |real| returning(block, || real(block));
    /// Wraps aio_suspend(3), which may tell the program that operations are complete.
    [aio_suspend, aio_suspend64](list: *const *const aiocb, count: c_int, timeout: *const timespec) -> c_int
        = |real| suspending(list, count, || real(list, count, timeout));
    /// Wraps lio_listio(3), recorded as one segment per operation in the list.
    [lio_listio, lio_listio64](mode: c_int, list: *const *mut aiocb, count: c_int, event: *mut sigevent) -> c_int
        = |real| listing(mode, list, count, || real(mode, list, count, event));
}
