//! Wraps fopen(3) to fclose(3), fflush(3), and calls that move a stream's position without transferring bytes.
#![expect(unsafe_code, reason = "C functions")]

use super::fields::{self, number_of};
use super::positions::{self, Before};
use super::transfers::target_of;
use crate::handles::{self, Asked, Manner, Opened, Placed, Trust, Used};
use crate::hooks::{admission, printing};
use crate::ops::{STDIO_CLOSE, STDIO_OPEN, STDIO_SEEK, STDIO_SYNC, STDIO_WRITE};
use crate::process::seems_own as is_own_process;
use crate::real::{hooks, none};
use crate::record::{self, Call, End};
use crate::{errno, lifecycle, registry, say};
use libc::{FILE, c_char, c_int, c_long, fpos_t, off_t};
use trace_format::meta::LayoutMoment;
use trace_format::segment::NO_OFFSET;

/// Origin of the descriptor of a C stream that was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The opening call created the descriptor; nothing else knows its number.
    New,
    /// The opening call created the descriptor, but the program may know its number.
    Reopened,
    /// The program passed the descriptor to the opening call.
    Given,
}

/// File or other object on which a C stream is opened.
#[derive(Clone, Copy)]
enum Named {
    /// File path; null for freopen(3) without a new path.
    Path(*const c_char),
    Descriptor(c_int),
    /// Object without a path, such as a temporary file.
    Nothing,
}

impl Named {
    /// Notes that the program opened the object as descriptor `number`. If that is standard error, the tracer's messages must not go there.
    fn opened_as(self, number: c_int) {
        // freopen(3) without a name reopens the file that is open already.
        if self.asked().is_some() {
            say::opened(number);
        }
    }

    /// Returns the requested path in the form of arguments of open(2); `None` without a path.
    fn asked(self) -> Option<Asked> {
        match self {
            Self::Path(name) if !name.is_null() => Some(Asked::with_flags(libc::AT_FDCWD, name, 0)),
            _ => None,
        }
    }
}

#[cold]
fn opening_failed(timer: Call, named: Named) {
    let errno = errno::save();
    let file = match named {
        Named::Path(path) if !path.is_null() => handles::failed_name(libc::AT_FDCWD, path, errno.value()),
        Named::Descriptor(number) => handles::descriptor(number).and_then(|target| target.file()),
        Named::Path(_) | Named::Nothing => None,
    };
    if let Some(file) = file {
        timer.failed_with(errno.value(), file, &STDIO_OPEN, NO_OFFSET);
    }
    errno.restore();
}

/// Runs and records `call`, which opens a C stream on the object `named`, for appending if `append`. `origin`: origin of the stream's
/// descriptor.
fn opening(named: Named, append: bool, origin: Origin, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let Some(thread) = admission::thread().filter(|_| is_own_process()) else {
        let stream = call();
        if origin != Origin::Given && !stream.is_null() && is_own_process() {
            let number = number_of(stream);
            named.opened_as(number);
            if record::is_on() {
                handles::forget(number);
            }
        }
        return stream;
    };
    let timer = Call::begin(thread);
    let stream = call();
    if !stream.is_null() {
        let (end, errno) = (crate::clock::of_call(), errno::save());
        let number = number_of(stream);
        named.opened_as(number);
        let given = if origin == Origin::Given && number >= 0 { handles::descriptor(number) } else { None };
        let given = given.map(|given| (given.description, given.used()));
        if number >= 0 && handles::has_own_table() || given.is_some_and(|(_, used)| used.is_none()) {
            timer.end_uncertain(end, &STDIO_OPEN, 0);
            errno.restore();
            return stream;
        }
        let opened = match number {
            ..0 => None,
            _ if origin == Origin::Given => {
                given.and_then(|(description, used)| Some(Opened { file: used?.file(), description }))
            }
            _ => handles::opened(number, named.asked(), if append { Manner::APPENDING } else { Manner::PLAIN }),
        };
        if let Some(Opened { file, description }) = opened {
            // The stream's buffer moves the descriptor's position unseen.
            description.share();
            if append {
                description.set_appending();
            }
            // Other processes may share the standard descriptors without having asked for their numbers.
            let alone = origin == Origin::New && number > libc::STDERR_FILENO;
            description.stream().trust(if alone { Trust::Alone } else { Trust::Others });
            timer.finish(file, &STDIO_OPEN, End::at(end));
        }
        errno.restore();
    } else {
        opening_failed(timer, named);
    }
    stream
}

/// True if the fopen(3) mode string requests appending.
fn appends(mode: *const c_char) -> bool {
    // SAFETY: fopen(3) requires a string.
    !mode.is_null() && unsafe { *mode } == b'a' as c_char
}

fn closing(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    if stream.is_null() || !record::is_on() || !is_own_process() {
        return call();
    }
    let errno = errno::save();
    let number = number_of(stream);
    errno.restore();
    if number < 0 {
        return call();
    }
    if number == libc::STDERR_FILENO {
        lifecycle::losing_stderr();
    }
    if let Some(description) = handles::known_description(number) {
        positions::look(stream, description);
    }
    let taken = handles::take(number);
    let (Some(thread), Some(file)) = (admission::thread(), taken.file()) else {
        let result = call();
        taken.close();
        return result;
    };
    registry::read_layout(file, number, LayoutMoment::Close);
    errno.restore();
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        timer.finish(file, &STDIO_CLOSE, End::at(crate::clock::of_call()));
    } else {
        timer.failed(file, &STDIO_CLOSE, NO_OFFSET);
    }
    taken.close();
    result
}

/// Runs and records `call`, which moves the stream's position and returns 0 on success.
fn seeking(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = target_of(stream) else { return call() };
    let description = target.description;
    let mover = description.turn();
    positions::look(stream, description);
    let timer = Call::begin(thread);
    let result = call();
    let Some(file) = target.used().map(Used::file) else {
        description.settle(mover);
        timer.end_uncertain(crate::clock::of_call(), &STDIO_SEEK, result.min(0).into());
        return result;
    };
    if result == 0 {
        let end = crate::clock::of_call();
        let Before { offset, .. } = positions::before(stream, description, false);
        timer.finish(file, &STDIO_SEEK, End { placed: Placed::at(offset), ..End::at(end) });
        positions::remember(stream, description, &mover, offset);
    } else {
        timer.failed(file, &STDIO_SEEK, NO_OFFSET);
    }
    description.settle(mover);
    result
}

fn flushing(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    // fflush(NULL) flushes every stream, so it is not recorded on a file.
    let Some(thread) = admission::thread() else { return call() };
    let Some(target) = target_of(stream) else {
        if stream.is_null() {
            return call();
        }
        // printf(3) only fills the buffer, so that fflush(3) waits for the reader of standard output.
        let number = number_of(stream);
        let bytes = fields::of(stream).map_or(0, |now| now.unwritten());
        return printing::waiting(thread, number, &STDIO_WRITE, call, |&result| if result == 0 { bytes } else { -1 });
    };
    let description = target.description;
    let mover = description.turn();
    let known = fields::of(stream).and_then(|now| description.stream().take(now.marks(), now.waiting()));
    let timer = Call::begin(thread);
    let result = call();
    let Some(file) = target.used().map(Used::file) else {
        description.settle(mover);
        timer.end_uncertain(crate::clock::of_call(), &STDIO_SYNC, result.min(0).into());
        return result;
    };
    if result == 0 {
        timer.finish(file, &STDIO_SYNC, End::at(crate::clock::of_call()));
        // fflush(3) empties the buffer but does not move the stream.
        positions::remember(stream, description, &mover, known.unwrap_or(NO_OFFSET));
    } else {
        timer.failed(file, &STDIO_SYNC, NO_OFFSET);
    }
    description.settle(mover);
    result
}

fn reopening(path: *const c_char, stream: *mut FILE, append: bool, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let errno = errno::save();
    let is_open = !stream.is_null() && record::is_on() && is_own_process();
    let number = if is_open { number_of(stream) } else { -1 };
    errno.restore();
    let taken = (number >= 0).then(|| handles::take(number));
    opening(Named::Path(path), append, Origin::Reopened, || {
        let stream = call();
        taken.into_iter().for_each(handles::Taken::close);
        stream
    })
}

hooks! { STREAMS, missing = none();
    [fopen, fopen64, _IO_fopen](path: *const c_char, mode: *const c_char) -> *mut FILE
        = |real| opening(Named::Path(path), appends(mode), Origin::New, || real(path, mode));
    /// Wraps tmpfile(3). The file has no name, so it is recorded under the name that proc(5) shows.
    [tmpfile, tmpfile64]() -> *mut FILE
        = |real| opening(Named::Nothing, false, Origin::New, real);
    /// Wraps fdopen(3). The descriptor continues to refer to its file.
    [fdopen, _IO_fdopen](number: c_int, mode: *const c_char) -> *mut FILE
        = |real| opening(Named::Descriptor(number), appends(mode), Origin::Given, || real(number, mode));
    /// Wraps freopen(3), which closes the stream's file and opens another file, or the same file with another mode.
    [freopen, freopen64](path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE
        = |real| reopening(path, stream, appends(mode), || real(path, mode, stream));
    /// Wraps fclose(3), which closes the descriptor too.
    [fclose, _IO_fclose](stream: *mut FILE) -> c_int
        = |real| closing(stream, || real(stream));
    /// Wraps fflush(3) of one stream.
    [fflush, fflush_unlocked, _IO_fflush](stream: *mut FILE) -> c_int
        = |real| flushing(stream, || real(stream));
    [fseek](stream: *mut FILE, offset: c_long, whence: c_int) -> c_int
        = |real| seeking(stream, || real(stream, offset, whence));
    [fseeko, fseeko64](stream: *mut FILE, offset: off_t, whence: c_int) -> c_int
        = |real| seeking(stream, || real(stream, offset, whence));
    unlike "two structures under one entry, not looked into" [fsetpos, fsetpos64, _IO_fsetpos, _IO_fsetpos64](stream: *mut FILE, position: *const fpos_t) -> c_int
        = |real| seeking(stream, || real(stream, position));
    [rewind](stream: *mut FILE) -> ()
        = |real| { seeking(stream, || { real(stream); 0 }); };
}
