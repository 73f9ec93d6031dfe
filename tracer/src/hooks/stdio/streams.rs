//! fopen(3) to fclose(3), fread(3), fwrite(3) and what moves a stream's position.
#![expect(unsafe_code, reason = "C functions")]

use crate::handles::{self, Description};
use crate::ops::{Op, STDIO_CLOSE, STDIO_OPEN, STDIO_READ, STDIO_SEEK, STDIO_SYNC, STDIO_WRITE};
use crate::process::is_own as is_own_process;
use crate::real::{hooks, none};
use crate::record::{self, Call};
use crate::{errno, registry};
use libc::{FILE, c_char, c_int, c_long, c_void, fpos_t, off_t, size_t};
use trace_format::meta::LayoutMoment;
use trace_format::segment::NO_OFFSET;

unsafe extern "C" {
    /// Bytes in the stream's output buffer (__fpending(3)).
    fn __fpending(stream: *mut FILE) -> size_t;
}

/// The stream's descriptor; -1 for streams without one (fmemopen, fopencookie).
fn number_of(stream: *mut FILE) -> c_int {
    // SAFETY: the program's own open stream.
    unsafe { libc::fileno(stream) }
}

/// The description behind the stream, if it is recorded.
fn description_of(stream: *mut FILE) -> Option<&'static Description> {
    let number = number_of(stream);
    if number < 0 { None } else { handles::descriptor(number) }
}

/// Runs `call`, which opens a stream.
fn opening(append: bool, fresh: bool, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    let Some(thread) = record::thread().filter(|_| is_own_process()) else {
        let stream = call();
        if fresh && !stream.is_null() && record::is_on() && is_own_process() {
            handles::forget(number_of(stream));
        }
        return stream;
    };
    let timer = Call::begin(thread);
    let stream = call();
    if !stream.is_null() {
        let (end, errno) = (crate::clock::now(), errno::save());
        let number = number_of(stream);
        let description = match number {
            ..0 => None,
            _ if fresh => handles::opened(number, append),
            _ => handles::descriptor(number),
        };
        if let Some(description) = description {
            // The stream's buffer moves the descriptor's position unseen.
            description.share();
            timer.end_at(end, description.file(), &STDIO_OPEN, NO_OFFSET, 0);
        }
        errno.restore();
    }
    stream
}

/// Whether a mode of fopen(3) appends.
fn appends(mode: *const c_char) -> bool {
    // SAFETY: fopen(3) asks for a string.
    !mode.is_null() && unsafe { *mode } == b'a' as c_char
}

/// Runs `call`, which closes the stream.
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
    let taken = handles::take(number);
    let (Some(thread), Some(file)) = (record::thread(), taken.file()) else {
        taken.close();
        return call();
    };
    registry::read_layout(file, number, LayoutMoment::Close);
    errno.restore();
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        timer.end_plain(file, &STDIO_CLOSE);
    }
    taken.close();
    result
}

/// Where the stream's next byte is read from or written to. Keeps errno.
fn position_of(stream: *mut FILE, description: &Description, writes: bool) -> i64 {
    if !description.has_position() {
        return NO_OFFSET;
    }
    let errno = errno::save();
    let position = if writes && description.appends() {
        end_of_file(stream)
    } else {
        // SAFETY: the program's own open stream; ftello(3) leaves its buffer as it is.
        unsafe { libc::ftello(stream) }
    };
    errno.restore();
    position.max(NO_OFFSET)
}

/// Where a stream that appends will put its next byte: behind the file's end and what waits in its buffer.
fn end_of_file(stream: *mut FILE) -> i64 {
    // SAFETY: an all-zero stat is a valid one.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    if unsafe { libc::syscall(libc::SYS_fstat, number_of(stream), &raw mut stat) } != 0 {
        return NO_OFFSET;
    }
    // SAFETY: the program's own open stream.
    stat.st_size + unsafe { __fpending(stream) } as i64
}

/// Runs `call`, which transfers `count` items of `size` bytes and returns how many whole items were.
fn transferring(
    stream: *mut FILE,
    op: &'static Op,
    size: size_t,
    count: size_t,
    call: impl FnOnce() -> size_t,
) -> size_t {
    let Some(thread) = record::thread() else { return call() };
    let Some(description) = description_of(stream) else { return call() };
    let mover = description.turn();
    let offset = position_of(stream, description, op.writes());
    let timer = Call::begin(thread);
    let items = call();
    let end = crate::clock::now();
    let mut length = (items as u64).saturating_mul(size as u64);
    if items < count && offset >= 0 {
        // A last item may have been transferred in part; the position knows.
        let after = position_of(stream, description, op.writes());
        length = u64::try_from(after - offset).unwrap_or(length).max(length);
    }
    if items > 0 || length > 0 || count == 0 || !failed(stream) {
        timer.end_at(end, description.file(), op, offset, length);
    }
    description.settle(mover);
    items
}

fn failed(stream: *mut FILE) -> bool {
    // SAFETY: the program's own open stream.
    unsafe { libc::ferror(stream) != 0 }
}

/// Runs `call`, which moves the stream's position and returns 0 if it could.
fn seeking(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = record::thread() else { return call() };
    let Some(description) = description_of(stream) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        let end = crate::clock::now();
        let position = position_of(stream, description, false);
        timer.end_at(end, description.file(), &STDIO_SEEK, position, 0);
    }
    result
}

fn flushing(stream: *mut FILE, call: impl FnOnce() -> c_int) -> c_int {
    // fflush(NULL) flushes every stream: it belongs to no file.
    let Some(thread) = record::thread().filter(|_| !stream.is_null()) else { return call() };
    let Some(description) = description_of(stream) else { return call() };
    let timer = Call::begin(thread);
    let result = call();
    if result == 0 {
        timer.end_plain(description.file(), &STDIO_SYNC);
    }
    result
}

fn reopening(stream: *mut FILE, append: bool, call: impl FnOnce() -> *mut FILE) -> *mut FILE {
    if !stream.is_null() && record::is_on() && is_own_process() {
        let errno = errno::save();
        let number = number_of(stream);
        if number >= 0 {
            handles::take(number).close();
        }
        errno.restore();
    }
    opening(append, true, call)
}

hooks! { STREAMS, missing = none();
    /// fopen(3).
    [fopen, fopen64](path: *const c_char, mode: *const c_char) -> *mut FILE
        = |real| opening(appends(mode), true, || real(path, mode));
    /// fdopen(3). The descriptor keeps its file.
    [fdopen](number: c_int, mode: *const c_char) -> *mut FILE
        = |real| opening(appends(mode), false, || real(number, mode));
    /// freopen(3): closes what the stream stood for and opens another file, or the same one with another mode.
    [freopen, freopen64](path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE
        = |real| reopening(stream, appends(mode), || real(path, mode, stream));
    /// fclose(3). Also gives up the descriptor.
    [fclose](stream: *mut FILE) -> c_int
        = |real| closing(stream, || real(stream));
    /// fread(3). The length counts a last item that was read in part.
    [fread](buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| transferring(stream, &STDIO_READ, size, count, || real(buffer, size, count, stream));
    /// fread(3) as programs compiled with _FORTIFY_SOURCE call it.
    [__fread_chk](buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| transferring(stream, &STDIO_READ, size, count, || real(buffer, room, size, count, stream));
    /// fwrite(3).
    [fwrite](buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        = |real| transferring(stream, &STDIO_WRITE, size, count, || real(buffer, size, count, stream));
    /// fflush(3) of one stream.
    [fflush](stream: *mut FILE) -> c_int
        = |real| flushing(stream, || real(stream));
    /// fseek(3).
    [fseek](stream: *mut FILE, offset: c_long, whence: c_int) -> c_int
        = |real| seeking(stream, || real(stream, offset, whence));
    /// fseeko(3).
    [fseeko, fseeko64](stream: *mut FILE, offset: off_t, whence: c_int) -> c_int
        = |real| seeking(stream, || real(stream, offset, whence));
    /// fsetpos(3).
    [fsetpos, fsetpos64](stream: *mut FILE, position: *const fpos_t) -> c_int
        = |real| seeking(stream, || real(stream, position));
    /// rewind(3).
    [rewind](stream: *mut FILE) -> ()
        = |real| { seeking(stream, || { real(stream); 0 }); };
}
