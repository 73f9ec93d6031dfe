//! Detects libraries linked statically into the program, whose functions a preloaded tracer cannot wrap. Searches the symbol table of the
//! program's file once, just before a trace is written. A stripped program (strip(1)) has no such table, and none are found.
//!
//! Bounds: reads at most [`MOST_BYTES`] of the file, in pieces, into borrowed memory. On any failure nothing is reported.
#![expect(unsafe_code, reason = "openat(2), pread64(2), close(2), past our own hooks")]

use crate::memory::{LOAN_BYTES, Loan};
use crate::notes::Note;
use crate::{config, mpi, stack, sys};
use libc::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use trace_format::op::Layer;

/// Libraries to search for: a function that proves presence, the function's wrapper in a linked-in tracer, I/O layer, and the event to
/// count in the trace.
const LIBRARIES: [(&[u8], &[u8], Layer, Note); 4] = [
    (b"MPI_Init\0", b"__wrap_MPI_Init\0", Layer::Mpiio, Note::BuiltInMpi),
    (b"MPI_Init_thread\0", b"__wrap_MPI_Init_thread\0", Layer::Mpiio, Note::BuiltInMpi),
    (b"H5Fopen\0", b"__wrap_H5Fopen\0", Layer::Hdf5, Note::BuiltInHdf5),
    (b"ncmpi_open\0", b"__wrap_ncmpi_open\0", Layer::Pnetcdf, Note::BuiltInPnetcdf),
];
/// Upper bound of the length of the function names in [`LIBRARIES`], in bytes.
const NAME_BYTES: usize = 32;
/// Maximum total size of the symbol and string tables to search, in bytes: some 300,000 functions.
const MOST_BYTES: u64 = 32 << 20;
/// Maximum number of places at which names are found in the string table; with more, nothing is reported. A name may match more than once,
/// since it is also the end of longer names.
const PLACES: usize = 64;
/// Size of an ELF-64 section header, in bytes.
const SECTION: usize = 64;
/// Size of an entry of an ELF-64 symbol table, in bytes.
const SYMBOL: usize = 24;
/// Maximum number of ELF sections examined: programs have some 30 to 45.
const MOST_SECTIONS: usize = LOAN_BYTES / SECTION;
/// ELF section type of the symbol table (SHT_SYMTAB).
const SYMBOL_TABLE: u32 = 2;

static LOOKED: AtomicBool = AtomicBool::new(false);

/// Searches the program for statically linked libraries, once, and counts each (kind of library) in the trace as a note. In an MPI job only
/// rank 0 does so.
#[cold]
#[inline(never)]
pub(crate) fn note() {
    let world = mpi::world();
    if LOOKED.swap(true, Ordering::Relaxed) || world.is_some_and(|world| world.rank != 0) {
        return;
    }
    // The thread that ends a process may have little stack left.
    let found = stack::at_end(|| Program::open().and_then(|program| program.defined()));
    let Some(found) = found.flatten() else { return };
    let is_wanted = |layer| config::filters().is_none_or(|filters| filters.layers.contain(layer));
    let mut said: Option<Note> = None;
    for ((.., layer, note), [defined, wrapped]) in LIBRARIES.into_iter().zip(found) {
        let is_seen = wrapped || note == Note::BuiltInMpi && world.is_some();
        if defined && !is_seen && is_wanted(layer) && said != Some(note) {
            note.count();
            said = Some(note);
        }
    }
}

/// Descriptor of the executable file of the running program.
struct Program(c_int);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: this value opened the descriptor.
        unsafe { sys::syscall!(libc::SYS_close, self.0) };
    }
}

impl Program {
    fn open() -> Option<Self> {
        let (name, flags) = (c"/proc/self/exe", libc::O_RDONLY | libc::O_CLOEXEC);
        // SAFETY: the name ends in NUL.
        let file = unsafe { sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, name.as_ptr(), flags) };
        c_int::try_from(file).ok().filter(|file| *file >= 0).map(Self)
    }

    fn fill(&self, at: u64, into: &mut [u8]) -> Option<()> {
        // SAFETY: the buffer belongs to the caller.
        let length = unsafe { sys::syscall!(libc::SYS_pread64, self.0, into.as_mut_ptr(), into.len(), at) };
        (usize::try_from(length) == Ok(into.len())).then_some(())
    }

    /// Returns two values for each of [`LIBRARIES`]: true if the program defines the library's function, and true if it defines the wrapper.
    fn defined(&self) -> Option<[[bool; 2]; LIBRARIES.len()]> {
        let mut head = [0_u8; size_of::<libc::Elf64_Ehdr>()];
        self.fill(0, &mut head)?;
        let (sections, count) = (u64_at(&head, 40)?, u16_at(&head, 60)?);
        if !head.starts_with(b"\x7fELF\x02\x01") || usize::from(u16_at(&head, 58)?) != SECTION {
            return None;
        }
        let mut buffer = Loan::take()?;
        let headers = buffer.get_mut(..(usize::from(count) * SECTION).min(MOST_SECTIONS * SECTION))?;
        self.fill(sections, headers)?;
        let header = |number: usize| headers.chunks_exact(SECTION).nth(number);
        let symbols = headers.chunks_exact(SECTION).find(|header| u32_at(header, 4) == Some(SYMBOL_TABLE))?;
        let names = header(usize::try_from(u32_at(symbols, 40)?).ok()?)?;
        let part = |header: &[u8]| Some((u64_at(header, 24)?, u64_at(header, 32)?));
        let (symbols, names) = (part(symbols)?, part(names)?);
        drop(buffer);
        if symbols.1.saturating_add(names.1) > MOST_BYTES {
            return None;
        }
        self.symbols(symbols, &self.places(names)?)
    }

    /// Finds the names of [`LIBRARIES`] in the string table, which has `bytes` bytes from offset `at` of the program's file. Each match:
    /// offset in the table, index of the library, and 0 for the function or 1 for its wrapper.
    fn places(&self, (at, bytes): (u64, u64)) -> Option<[Option<(u32, usize, usize)>; PLACES]> {
        let mut out = [None; PLACES];
        let mut used = 0;
        let mut buffer = Loan::take()?;
        let mut from = 0_u64;
        while from < bytes {
            let length = buffer.len().min(usize::try_from(bytes - from).unwrap_or(usize::MAX));
            let piece = buffer.get_mut(..length)?;
            self.fill(at.checked_add(from)?, piece)?;
            for (place, rest) in (0..length)
                .map(|place| (place, &piece[place..]))
                .filter(|(_, rest)| matches!(rest[0], b'M' | b'H' | b'n' | b'_'))
            {
                for (library, (name, wrapper, ..)) in LIBRARIES.iter().enumerate() {
                    for (which, name) in [name, wrapper].into_iter().enumerate() {
                        // Names that begin in the overlap are found in the next piece.
                        if rest.starts_with(name) && (place + NAME_BYTES <= length || from + length as u64 == bytes) {
                            *out.get_mut(used)? = Some((u32::try_from(from + place as u64).ok()?, library, which));
                            used += 1;
                        }
                    }
                }
            }
            if from + length as u64 == bytes {
                break;
            }
            from += (length - NAME_BYTES + 1) as u64;
        }
        Some(out)
    }

    /// Returns two values for each of [`LIBRARIES`]: true if the program defines the function, and true if it defines the wrapper. `names`:
    /// result of `places`.
    fn symbols(
        &self,
        (at, bytes): (u64, u64),
        names: &[Option<(u32, usize, usize)>; PLACES],
    ) -> Option<[[bool; 2]; LIBRARIES.len()]> {
        let mut out = [[false; 2]; LIBRARIES.len()];
        let mut buffer = Loan::take()?;
        let whole = buffer.len() - buffer.len() % SYMBOL;
        let mut from = 0_u64;
        while from < bytes {
            let length = whole.min(usize::try_from(bytes - from).unwrap_or(usize::MAX));
            let piece = buffer.get_mut(..length)?;
            self.fill(at.checked_add(from)?, piece)?;
            for symbol in piece.chunks_exact(SYMBOL) {
                let name = u32_at(symbol, 0)?;
                let found = names.iter().flatten().find(|(place, ..)| *place == name);
                // A function (STT_FUNC) that the program itself defines (section index not 0).
                if let Some(&(_, library, which)) = found.filter(|_| symbol[4] & 0xf == 2 && symbol[6..8] != [0, 0]) {
                    out[library][which] = true;
                }
            }
            from += length as u64;
        }
        Some(out)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
