//! Frames of Python programs: functions and lines of scripts (CPython 3.13 with its global lock).
//!
//! The interpreter publishes the layout of its structures for tools (`_PyRuntime.debug_offsets`). Only known versions are read: for others the
//! call sites are the native ones. The interpreter is found in the symbols of the modules that walks meet, without a lock.
//!
//! Reads cannot end the program. A thread that has released the interpreter's lock, as for nearly all I/O, runs no Python code: its frames, and the
//! code objects that they own, stay as they are. Other threads may be in a signal handler that has interrupted the interpreter at any instruction:
//! they read the stack of frames and the main thread's C stack, which are mapped, and all else by process_vm_readv(2).
#![expect(unsafe_code, reason = "structures of the interpreter, a C function")]

mod lines;

use super::cache::GENERATION;
use super::objects::{Object, object_at};
use super::{frames, program};
use crate::memory::{Record, Table};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use trace_format::meta::script_address;

/// Maximum number of Python frames of a call stack. Outer frames of a deeper stack are left out.
pub(super) const MOST_DEPTH: usize = 32;
/// Maximum number of frames of the interpreter that are looked at, including those of imports and of C code, which are left out.
const MOST_FRAMES: usize = 256;
/// Start of the path of the scripts by which the interpreter imports others.
const OF_IMPORTS: &[u8] = b"<frozen importlib";
/// Number of inner Python frames whose instructions are part of a call stack's key.
const KEY_DEPTH: usize = 16;
/// Number of interpreters that a process may load one after another.
const MOST_INTERPRETERS: usize = 64;
/// Maximum length of a script's path, and of a function's name, that is kept, in bytes.
const PATH_BYTES: usize = 1024;
const NAME_BYTES: usize = 256;
/// Maximum number of bytes of a function's table of lines that are read.
const LINES_BYTES: usize = 1 << 16;
/// Size of the parts in which such a table is read, in bytes.
const PIECE_BYTES: usize = 256;
/// Number of low bits of an entry of [`Lines`] that hold the line.
const LINE_BITS: u32 = 20;
const MOST_LINE: u64 = (1 << LINE_BITS) - 1;
/// Maximum number of pieces of the interpreter's stack of frames (16 KiB or more each) in which frames are read directly.
const CHUNKS: usize = 4;

/// Fields of `_Py_DebugOffsets` in 3.13 that are used, as indices of 8-byte words (Include/internal/pycore_runtime.h).
mod word {
    pub(super) const VERSION: usize = 1;
    pub(super) const FREE_THREADED: usize = 2;
    pub(super) const FINALIZING: usize = 4;
    pub(super) const CURRENT_FRAME: usize = 23;
    pub(super) const CHUNK: usize = 26;
    pub(super) const STATUS: usize = 27;
    pub(super) const PREVIOUS: usize = 29;
    pub(super) const EXECUTABLE: usize = 30;
    pub(super) const INSTRUCTION: usize = 31;
    pub(super) const OWNER: usize = 33;
    pub(super) const FILE_NAME: usize = 35;
    pub(super) const QUALIFIED_NAME: usize = 37;
    pub(super) const LINES: usize = 38;
    pub(super) const FIRST_LINE: usize = 39;
    pub(super) const CODE: usize = 43;
    pub(super) const BYTES_SIZE: usize = 65;
    pub(super) const BYTES_START: usize = 66;
    pub(super) const TEXT_STATE: usize = 68;
    pub(super) const TEXT_LENGTH: usize = 69;
    pub(super) const TEXT_START: usize = 70;
    pub(super) const COUNT: usize = 71;
}

/// Start of the layout that the interpreter publishes.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
/// Version whose structures are known: major and minor number, then release numbers of final versions (PY_VERSION_HEX).
const KNOWN: Range<u64> = 0x030D_00F0..0x030E_0000;
/// Largest offset of a field that is plausible, bytes.
const MOST_OFFSET: u64 = 1 << 20;
/// Bit of a thread state's status while the thread holds the interpreter's lock.
const ACTIVE: u32 = 1 << 4;
/// Owner of a frame that stands for a call of the interpreter by C code.
const OWNED_BY_C: u8 = 3;
/// Key of a call stack without Python frames, in a process with Python.
const NO_FRAMES: u64 = 1;

/// Lines that were found last, by the hash of a table of lines and an instruction; the hash's other bits. In memory that only a process with an
/// interpreter takes.
struct Lines([AtomicU64; 1 << 12]);

// SAFETY: all-zero bits are valid for the numbers.
unsafe impl Record for Lines {
    const VALID_WHEN_ZERO: bool = true;
}

static LINES: Table<Lines> = Table::new();

/// Interpreter whose layout is known.
struct Python {
    lines: &'static Lines,
    /// Module that contains the interpreter.
    object: Object,
    /// Address of `_PyRuntime`.
    runtime: usize,
    /// True if the module was found before the program loaded any library: it stays.
    stays: bool,
    /// PyGILState_GetThisThreadState(3).
    this_thread: extern "C" fn() -> usize,
    /// PyThreadState_GetUnchecked(3): the state with which this thread runs Python code, 0 without one.
    running: extern "C" fn() -> usize,
    /// Copy of the published layout.
    offsets: [u64; word::COUNT],
}

// SAFETY: a record is found only once it is complete.
unsafe impl Record for Python {}

static INTERPRETERS: Table<Python> = Table::new();
/// Interpreter of the process; null without one.
static PYTHON: AtomicPtr<Python> = AtomicPtr::new(std::ptr::null_mut());

/// Called from the library's constructor.
pub(super) fn prepare() {
    INTERPRETERS.prepare(MOST_INTERPRETERS);
    LINES.prepare(MOST_INTERPRETERS);
}

/// Looks for an interpreter in a module that a walk has met. `symbol` returns the address of one of its functions or variables.
pub(super) fn met(object: Object, symbol: impl Fn(&[u8]) -> Option<usize>) {
    if current().is_some() {
        return;
    }
    let Some(runtime) = symbol(b"_PyRuntime") else { return };
    let function = |name: &[u8]| {
        let address = std::ptr::with_exposed_provenance::<()>(symbol(name)?);
        // SAFETY: the interpreter's functions that are asked for have this C type.
        Some(unsafe { std::mem::transmute::<*const (), extern "C" fn() -> usize>(address) })
    };
    let functions = [b"PyGILState_GetThisThreadState".as_slice(), b"PyThreadState_GetUnchecked"].map(function);
    let [Some(this_thread), Some(running)] = functions else { return };
    let mut words = [[0_u8; 8]; word::COUNT];
    if !program::copy(runtime, words.as_flattened_mut()) {
        return;
    }
    let offsets = words.map(u64::from_le_bytes);
    let is_known = offsets[0] == COOKIE && KNOWN.contains(&offsets[word::VERSION]) && offsets[word::FREE_THREADED] == 0;
    let of_frame =
        [word::PREVIOUS, word::EXECUTABLE, word::INSTRUCTION, word::OWNER].map(|field| offsets[field] as usize);
    if !is_known
        || offsets[word::FREE_THREADED..].iter().any(|offset| *offset > MOST_OFFSET)
        || of_frame[..3].iter().any(|field| field + 8 > FRAME_BYTES)
        || of_frame[3] >= FRAME_BYTES
    {
        return;
    }
    let stays = GENERATION.load(Ordering::Relaxed) == 0;
    let Some(lines) = LINES.push_zeroed() else { return };
    if let Some((_, python)) =
        INTERPRETERS.push(Python { lines, object, runtime, stays, this_thread, running, offsets })
    {
        PYTHON.store(std::ptr::from_ref(python).cast_mut(), Ordering::Release);
    }
}

/// Returns the interpreter, if it is still loaded.
fn current() -> Option<&'static Python> {
    // SAFETY: null, or a record of the table, which stays.
    let python = unsafe { PYTHON.load(Ordering::Acquire).as_ref() }?;
    (python.stays || object_at(python.this_thread as usize).as_ref() == Some(&python.object)).then_some(python)
}

/// True if `address` lies in the interpreter.
pub(super) fn is_interpreter(address: usize) -> bool {
    // SAFETY: as in `current`.
    let python = unsafe { PYTHON.load(Ordering::Acquire).as_ref() };
    python.is_some_and(|python| python.object.contains(address))
}

/// Number of bytes of a frame (_PyInterpreterFrame) that are read: those before its variables.
const FRAME_BYTES: usize = 72;

/// Frame of the interpreter.
struct Frame {
    previous: usize,
    /// Address of the code object.
    code: usize,
    /// Address of the instruction that is being executed.
    instruction: usize,
    owner: u8,
}

impl Python {
    /// Reads a frame.
    ///
    /// # Safety
    /// [`FRAME_BYTES`] must be mapped at `address`.
    #[inline(always)]
    unsafe fn frame(&self, address: usize) -> Frame {
        // SAFETY: guaranteed by the caller: `met` has checked that fields lie in those bytes.
        let word = |field: usize| unsafe { word_at(address + self.offsets[field] as usize) };
        Frame {
            previous: word(word::PREVIOUS) as usize,
            code: word(word::EXECUTABLE) as usize,
            instruction: word(word::INSTRUCTION) as usize,
            // SAFETY: as above.
            owner: unsafe {
                std::ptr::with_exposed_provenance::<u8>(address + self.offsets[word::OWNER] as usize).read()
            },
        }
    }
}

/// Thread of the interpreter, as seen from a hook on that thread.
struct Interpreted {
    python: &'static Python,
    /// Address of the thread's state.
    state: usize,
    /// True if the thread has released the interpreter's lock.
    is_still: bool,
    /// Memory that is mapped while the hook runs, whatever the thread was interrupted in: the main thread's C stack, if the hook is on it, and
    /// pieces of the stack of frames.
    mapped: [Range<usize>; 1 + CHUNKS],
}

/// Reads a word of memory that is known to be mapped.
///
/// # Safety
/// The word must be mapped.
unsafe fn word_at(address: usize) -> u64 {
    // SAFETY: guaranteed by the caller; no alignment is assumed.
    unsafe { std::ptr::with_exposed_provenance::<u64>(address).read_unaligned() }
}

impl Interpreted {
    /// Returns the calling thread's state; `stack`: its stack pointer in the program.
    fn now(python: &'static Python, stack: usize) -> Option<Self> {
        let at = |field: usize| python.offsets[field] as usize;
        // SAFETY: an aligned word of the interpreter's own state.
        let finalizing = unsafe {
            AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(python.runtime + at(word::FINALIZING)))
        };
        let finalizing = finalizing.load(Ordering::Acquire) as usize;
        let state = (python.this_thread)();
        // An interpreter that ends frees the states of all threads but the one that ends it.
        if state == 0 || (finalizing != 0 && finalizing != state) {
            return None;
        }
        // SAFETY: the state of this thread. Only an interpreter that has begun to end since the check above could free it meanwhile.
        let status = unsafe { word_at(state + at(word::STATUS)) } as u32;
        let is_still = status & ACTIVE == 0;
        let mut mapped: [Range<usize>; 1 + CHUNKS] = Default::default();
        if !is_still {
            // Another thread may run Python code with this thread's state, if the program has lent it.
            if (python.running)() != state {
                return None;
            }
            let (own, chunks) = mapped.split_first_mut()?;
            *own = program::main_stack(stack);
            // SAFETY: as above.
            let mut chunk = unsafe { word_at(state + at(word::CHUNK)) } as usize;
            for mapped in chunks {
                if chunk == 0 {
                    break;
                }
                // SAFETY: the thread unlinks a piece before it unmaps the piece, and links only new ones whose memory is there.
                let bytes = unsafe { word_at(chunk + 8) } as usize;
                *mapped = chunk..chunk.saturating_add(bytes);
                // SAFETY: as above.
                chunk = unsafe { word_at(chunk) } as usize;
            }
        }
        Some(Self { python, state, is_still, mapped })
    }

    const fn offset(&self, field: usize) -> usize {
        self.python.offsets[field] as usize
    }

    /// True if memory of the interpreter's, at `address`, is known to be mapped.
    #[inline(always)]
    fn is_mapped(&self, address: usize, bytes: usize) -> bool {
        let end = address.saturating_add(bytes);
        self.is_still || self.mapped.iter().any(|mapped| mapped.start <= address && end <= mapped.end)
    }

    /// Copies memory of the interpreter; returns false if none is there.
    fn read(&self, address: usize, into: &mut [u8]) -> bool {
        if self.is_mapped(address, into.len()) {
            let from = std::ptr::with_exposed_provenance::<u8>(address);
            // SAFETY: mapped (see the head of this file), and no memory of the tracer's.
            unsafe { from.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) };
            return true;
        }
        program::copy(address, into)
    }

    /// Returns a field of 8 bytes of the structure at `address`.
    fn field(&self, address: usize, field: usize) -> Option<usize> {
        let mut bytes = [0; 8];
        let is_read = address != 0 && self.read(address.wrapping_add(self.offset(field)), &mut bytes);
        is_read.then(|| usize::from_le_bytes(bytes))
    }

    /// Iterates over the thread's Python frames, innermost first.
    fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        // SAFETY: the state of this thread, as in `now`.
        let mut next = unsafe { word_at(self.state + self.offset(word::CURRENT_FRAME)) } as usize;
        let all = std::iter::from_fn(move || {
            let frame = self.frame(next)?;
            next = frame.previous;
            Some(frame)
        });
        all.take(MOST_FRAMES).filter(|frame| frame.owner != OWNED_BY_C)
    }

    #[inline(always)]
    fn frame(&self, at: usize) -> Option<Frame> {
        if at == 0 {
            return None;
        }
        if self.is_mapped(at, FRAME_BYTES) {
            // SAFETY: mapped (see the head of this file).
            return Some(unsafe { self.python.frame(at) });
        }
        let mut bytes = [0_u8; FRAME_BYTES];
        // SAFETY: a local variable.
        program::copy(at, &mut bytes).then(|| unsafe { self.python.frame(bytes.as_ptr().expose_provenance()) })
    }

    /// Stores a text of the interpreter (PyUnicodeObject, compact) as UTF-8, cut off at the end of `into`; returns its length in bytes.
    fn text(&self, at: usize, into: &mut [u8]) -> Option<usize> {
        let state = self.field(at, word::TEXT_STATE)? as u32;
        let length = self.field(at, word::TEXT_LENGTH)?;
        // Bits of the state in 3.13: 2 of interning, 3 of the size of a character in bytes, compact, ASCII.
        let (width, is_compact, is_ascii) = ((state >> 2 & 7) as usize, state & 1 << 5 != 0, state & 1 << 6 != 0);
        if !is_compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        // Other texts than ASCII have two fields more: length and address of a copy in UTF-8.
        let start = at.wrapping_add(self.offset(word::TEXT_START) + if is_ascii { 0 } else { 16 });
        if is_ascii {
            let into = into.get_mut(..length.min(into.len()))?;
            return self.read(start, into).then_some(into.len());
        }
        let (mut kept, most) = (0, length.min(into.len()));
        for index in 0..most {
            let mut bytes = [0; 4];
            if !self.read(start.wrapping_add(index * width), bytes.get_mut(..width)?) {
                return None;
            }
            let code = u32::from_le_bytes(bytes);
            // Bytes that are no UTF-8 (surrogateescape, PEP 383).
            if (0xDC80..=0xDCFF).contains(&code) {
                let Some(place) = into.get_mut(kept) else { break };
                *place = code as u8;
                kept += 1;
                continue;
            }
            let mut encoded = [0; 4];
            let encoded = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut encoded);
            let Some(place) = into.get_mut(kept..kept + encoded.len()) else { break };
            place.copy_from_slice(encoded.as_bytes());
            kept += encoded.len();
        }
        Some(kept)
    }

    /// Returns a number that distinguishes the frame's code from other code that was at the same address before, such as of another cell of a
    /// notebook: from its first line, and place, length and ends of its table of lines. `None` if the thread holds the interpreter's lock, where
    /// reads may be system calls.
    #[inline(always)]
    fn identity(&self, frame: &Frame) -> Option<u64> {
        if !self.is_still {
            return None;
        }
        // SAFETY: mapped (see the head of this file): the code of a frame, and its table of lines.
        let at = |object: usize, offset: usize| unsafe { word_at(object.wrapping_add(offset)) };
        let table = at(frame.code, self.offset(word::LINES)) as usize;
        let (length, start) = (at(table, self.offset(word::BYTES_SIZE)), self.offset(word::BYTES_START));
        let last = (length as usize).checked_sub(8)?;
        let first_line = at(frame.code, self.offset(word::FIRST_LINE)) as u32;
        let ends = at(table, start).rotate_left(17) ^ at(table, start + last).rotate_left(43);
        Some(table as u64 ^ u64::from(first_line).rotate_left(32) ^ length.rotate_left(52) ^ ends)
    }

    /// Returns the line of an instruction; 0 if unknown.
    fn line(&self, frame: &Frame) -> Option<u32> {
        let table = self.field(frame.code, word::LINES)?;
        let first = self.field(frame.code, word::FIRST_LINE)? as u32;
        let units = frame.instruction.checked_sub(frame.code)?.checked_sub(self.offset(word::CODE))? / 2;
        let whole = self.field(table, word::BYTES_SIZE)?;
        let length = whole.min(LINES_BYTES);
        let start = table.wrapping_add(self.offset(word::BYTES_START));
        let mut piece = [0; PIECE_BYTES];
        let read = |at: usize, piece: &mut [u8; PIECE_BYTES]| {
            let bytes = length.saturating_sub(at).min(PIECE_BYTES);
            (bytes > 0 && self.read(start.wrapping_add(at), piece.get_mut(..bytes)?)).then_some(bytes)
        };
        let mut hash = u64::from(first) << 32 ^ units as u64;
        for at in (0..length).step_by(PIECE_BYTES) {
            let bytes = read(at, &mut piece)?;
            hash = frames::hash(hash, piece.get(..bytes)?);
        }
        let Lines(lines) = self.python.lines;
        let known = &lines[hash as usize % lines.len()];
        let found = known.load(Ordering::Relaxed);
        if (found ^ hash) >> LINE_BITS == 0 {
            return Some((found & MOST_LINE) as u32);
        }
        let mut at = 0;
        let bytes = std::iter::from_fn(|| {
            let within = at % PIECE_BYTES;
            if at >= length || within == 0 && read(at, &mut piece).is_none() {
                return None;
            }
            at += 1;
            piece.get(within).copied()
        });
        let line = lines::line_of(bytes, first, units);
        // The entry may lie in the part of a large table that was not read.
        let line = if at < length || length == whole { line } else { 0 };
        if u64::from(line) <= MOST_LINE {
            known.store(hash >> LINE_BITS << LINE_BITS | u64::from(line), Ordering::Relaxed);
        }
        Some(line)
    }

    /// Returns module and address of a frame in a script; `None` if it cannot be read, or if there is no room.
    fn place(&self, frame: &Frame) -> Option<Place> {
        let line = self.line(frame).unwrap_or(0);
        let (mut path, mut name) = ([0; PATH_BYTES], [0; NAME_BYTES]);
        let text = |field: usize, into: &mut [u8]| self.text(self.field(frame.code, field)?, into);
        let path_bytes = text(word::FILE_NAME, &mut path)?;
        let name_bytes = text(word::QUALIFIED_NAME, &mut name)?;
        let (path, name) = (path.get(..path_bytes)?, name.get(..name_bytes)?);
        // Code of the interpreter's own, which a class that is called runs between its caller and `__init__`.
        if line == 0 && path == name {
            return None;
        }
        let Some((module, function)) = frames::function(path, name) else {
            frames::no_room();
            return None;
        };
        Some(Place { module, address: script_address(function, line), is_import: path.starts_with(OF_IMPORTS) })
    }
}

/// Place in a script, as a frame of a call stack has it.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) module: u32,
    pub(super) address: u64,
    /// True for the interpreter's own code for imports.
    is_import: bool,
}

/// Returns a number that stands for the code and the instructions that the calling thread's inner Python frames execute; 0 in a process without Python.
/// `stack`: the thread's stack pointer in the program.
pub(super) fn key(stack: usize) -> u64 {
    let Some(python) = current() else { return 0 };
    let Some(interpreted) = Interpreted::now(python, stack) else { return NO_FRAMES };
    let mix = |key: u64, frame: Frame| {
        let identity = interpreted.identity(&frame).unwrap_or_default();
        (key.rotate_left(21) ^ frame.instruction as u64 ^ identity).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    interpreted.frames().take(KEY_DEPTH).fold(NO_FRAMES, mix).max(NO_FRAMES)
}

/// Stores the places of the calling thread's Python frames, innermost first; returns their number. Frames that cannot be read are left out; of an
/// import's consecutive frames, the outermost is kept.
pub(super) fn places(stack: usize, into: &mut [Place; MOST_DEPTH]) -> usize {
    let interpreted = current().and_then(|python| Interpreted::now(python, stack));
    let Some(interpreted) = interpreted else { return 0 };
    let mut count = 0_usize;
    for place in interpreted.frames().filter_map(|frame| interpreted.place(&frame)) {
        let last = count.checked_sub(1).and_then(|last| into.get_mut(last));
        match last.filter(|last| last.is_import && place.is_import) {
            Some(last) => *last = place,
            None => {
                let Some(next) = into.get_mut(count) else { break };
                *next = place;
                count += 1;
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_key_without_an_interpreter() {
        assert_eq!((key(4096), places(4096, &mut [Place::default(); MOST_DEPTH])), (0, 0));
    }
}
