//! Modules (the executable and shared libraries) whose code call stacks lead through: unwind tables, build ids, names.
//!
//! A module is looked up by an address each time that a walk meets the address, by _dl_find_object(3), which takes no lock; so the tables of one that
//! was unloaded, or replaced by another at the same place, are not used. Before glibc 2.35 there is no such function, and no call site.
#![expect(unsafe_code, reason = "_dl_find_object(3), memory of modules")]

use super::frames;
use crate::{real, tls};
use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, MustNotAllocateDuringUnwind, Unwinder};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

pub(super) type Walker = UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>;

/// Directories of the system's libraries, whose frames do not tell call sites apart.
const SYSTEM: [&[u8]; 4] = [b"/lib/", b"/lib64/", b"/usr/lib/", b"/usr/lib64/"];
/// Maximum number of times that a thread lets others run while one of them adds a module.
const MOST_TRIES: u32 = 200;

/// Module as the dynamic linker knows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    start: usize,
    end: usize,
    /// Difference between an address in memory and in the module's file.
    bias: usize,
    /// Address of the name, a C string; 0 for none.
    name: usize,
    /// Address of the index of the unwind table (.eh_frame_hdr); 0 for none.
    index: usize,
}

/// Module that walks know. It may have been unloaded since, so that its memory is read only where a walk meets the module again.
#[derive(Clone, Copy)]
struct Known {
    object: Object,
    /// Number of the module among those of call sites; 0 if there was no room.
    number: u32,
    /// False for libraries of the system.
    is_program: bool,
    is_executable: bool,
    /// Index of the unwind table, and the table.
    tables: Option<(&'static [u8], &'static [u8])>,
}

/// Amount that a return address says about who makes a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// The address lies in a library of the system, or in no module.
    Little,
    /// The address lies in the same library as the function that it called: perhaps one inside of a library for I/O.
    Some,
    /// The address lies in the executable, or in another module than the function that it called.
    Much,
}

/// Modules that walks have met so far.
pub(super) struct Modules {
    pub(super) walker: Walker,
    /// In ascending order of addresses.
    known: Vec<Known>,
}

/// Latest set of modules; null before the first walk.
static MODULES: AtomicPtr<Modules> = AtomicPtr::new(std::ptr::null_mut());
/// Number of threads that use the set in [`MODULES`], or one before it.
static USERS: AtomicUsize = AtomicUsize::new(0);
/// Number (`tls::number`) of the thread that changes the set, or 0.
static CHANGER: AtomicUsize = AtomicUsize::new(0);
/// Address of _dl_find_object(3); null before glibc 2.35.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Looks up the function of the C library; returns false if it has none. Called from the library's constructor.
pub(super) fn prepare() -> bool {
    let find = real::find_object();
    FIND_OBJECT.store(find, Ordering::Relaxed);
    !find.is_null()
}

/// Answer of _dl_find_object(3) (glibc, <dlfcn.h>, struct dl_find_object on x86-64).
#[repr(C)]
struct FoundObject {
    flags: u64,
    map_start: usize,
    map_end: usize,
    link_map: *const LinkMap,
    eh_frame: usize,
    reserved: [u64; 7],
}

/// First fields of the dynamic linker's record of a module (glibc, <link.h>, struct link_map).
#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const c_char,
}

/// Returns the module that contains `address`; `None` if none does.
pub(super) fn object_at(address: usize) -> Option<Object> {
    let find = FIND_OBJECT.load(Ordering::Relaxed);
    if find.is_null() {
        return None;
    }
    // SAFETY: the function has this C type.
    let find = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(usize, &mut FoundObject) -> c_int>(find) };
    let mut found =
        FoundObject { flags: 0, map_start: 0, map_end: 0, link_map: std::ptr::null(), eh_frame: 0, reserved: [0; 7] };
    if find(address, &mut found) != 0 {
        return None;
    }
    // SAFETY: the record of a module that is loaded; a call stack leads through it.
    let link_map = unsafe { found.link_map.as_ref() }?;
    Some(Object {
        start: found.map_start,
        end: found.map_end,
        bias: link_map.bias,
        name: link_map.name.addr(),
        index: found.eh_frame,
    })
}

fn span(header: &libc::Elf64_Phdr, bias: usize) -> Range<usize> {
    let start = bias.wrapping_add(header.p_vaddr as usize);
    start..start.saturating_add(header.p_memsz as usize)
}

/// Use of the set of modules by this thread: sets are not freed meanwhile.
pub(super) struct User;

impl User {
    pub(super) fn begin() -> Self {
        USERS.fetch_add(1, Ordering::SeqCst);
        Self
    }

    /// Returns the latest set of modules.
    pub(super) fn modules(&self) -> Option<&Modules> {
        // SAFETY: null, or a set that is not freed while there are users.
        unsafe { MODULES.load(Ordering::SeqCst).as_ref() }
    }

    /// Adds the module at an address to the set, in place of those that were there; only removes these if there is none now. Returns false if
    /// other threads change the set all the time.
    pub(super) fn learn(&self, address: usize) -> bool {
        let me = tls::number();
        let mut tries = 0;
        while CHANGER.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries > MOST_TRIES {
                return false;
            }
            crate::threads::give_way();
        }
        let object = object_at(address);
        let gone = object.map_or(address..address + 1, |object| object.start..object.end);
        let mut new = Modules { walker: Walker::new(), known: Vec::new() };
        let others = self.modules().map(|modules| modules.known.as_slice()).unwrap_or_default();
        let is_apart = |known: &&Known| known.object.end <= gone.start || known.object.start >= gone.end;
        others.iter().filter(is_apart).for_each(|known| new.add(*known));
        if let Some(object) = object {
            new.add(object.described());
        }
        new.known.sort_by_key(|known| known.object.start);
        let old = MODULES.swap(Box::into_raw(Box::new(new)), Ordering::SeqCst);
        // Users that came before the swap may still use the old set, which then stays in memory.
        if !old.is_null() && USERS.load(Ordering::SeqCst) == 1 {
            // SAFETY: the pointer came from `Box::into_raw`; this thread is the only user, and later ones find the new set.
            drop(unsafe { Box::from_raw(old) });
        }
        CHANGER.store(0, Ordering::Release);
        true
    }
}

impl Drop for User {
    fn drop(&mut self) {
        USERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends a change of the set by this thread that was abandoned because memory ran out.
pub(super) fn abandoned() {
    let _ = CHANGER.compare_exchange(tls::number(), 0, Ordering::Release, Ordering::Relaxed);
}

/// Forgets, in a forked child, the threads of its parent, and memory that its parent has allocated.
pub(super) fn in_child() {
    MODULES.store(std::ptr::null_mut(), Ordering::SeqCst);
    USERS.store(0, Ordering::SeqCst);
    CHANGER.store(0, Ordering::SeqCst);
}

impl Modules {
    fn add(&mut self, known: Known) {
        let Known { object, tables, .. } = known;
        self.known.push(known);
        let Some((index, table)) = tables else { return };
        let in_file = |bytes: &[u8]| {
            let start = bytes.as_ptr().addr().wrapping_sub(object.bias) as u64;
            start..start.saturating_add(bytes.len() as u64)
        };
        let sections = ExplicitModuleSectionInfo {
            eh_frame_svma: Some(in_file(table)),
            eh_frame: Some(table),
            eh_frame_hdr_svma: Some(in_file(index)),
            eh_frame_hdr: Some(index),
            ..Default::default()
        };
        let (start, end) = (object.start as u64, object.end as u64);
        self.walker.add_module(Module::new(String::new(), start..end, object.bias as u64, sections));
    }

    fn known(&self, address: usize) -> Option<&Known> {
        let at = self.known.partition_point(|known| known.object.start <= address);
        at.checked_sub(1).and_then(|at| self.known.get(at)).filter(|known| known.object.end > address)
    }

    /// True if the set has the module that is at `address` now: `object`, or none.
    pub(super) fn is_as_known(&self, address: usize, object: Option<&Object>) -> bool {
        self.known(address).map(|known| &known.object) == object
    }

    /// Returns how much the return address `outer` says about who makes a call, if the frame that it called has the return address `inner`.
    pub(super) fn says(&self, inner: u64, outer: u64) -> Says {
        let (inner, outer) = (self.known(inner as usize), self.known(outer as usize));
        match outer {
            Some(outer) if !outer.is_program => Says::Little,
            Some(outer) if outer.is_executable => Says::Much,
            Some(outer) if inner.is_some_and(|inner| inner.object == outer.object) => Says::Some,
            Some(_) => Says::Much,
            None => Says::Little,
        }
    }

    /// Returns the number of the module that contains `address`, and the address as the module's file has it.
    pub(super) fn place(&self, address: u64) -> (u32, u64) {
        match self.known(address as usize).filter(|known| known.number != 0) {
            Some(known) => (known.number, address.wrapping_sub(known.object.bias as u64)),
            None => (0, address),
        }
    }
}

impl Object {
    /// Returns the name that the dynamic linker has for the module: a path, or nothing for the executable.
    fn name_bytes(&self) -> &'static [u8] {
        let name = std::ptr::with_exposed_provenance::<c_char>(self.name);
        // SAFETY: null or a C string, which lives as long as the module.
        if name.is_null() { b"" } else { unsafe { CStr::from_ptr(name) }.to_bytes() }
    }

    pub(super) const fn contains(&self, address: usize) -> bool {
        self.start <= address && address < self.end
    }

    /// Describes the module, which a call stack leads through: its memory stays.
    fn described(self) -> Known {
        super::python::met(self, |name| self.symbol(name));
        Known {
            object: self,
            number: frames::module(&self.path(), self.build_id().unwrap_or_default()),
            is_executable: self.name_bytes().is_empty(),
            is_program: !SYSTEM.iter().any(|directory| self.name_bytes().starts_with(directory)),
            tables: self.tables(),
        }
    }

    fn path(&self) -> Vec<u8> {
        match self.name_bytes() {
            b"" => crate::job::executable(),
            path => path.to_vec(),
        }
    }

    /// Returns the module's program headers, which lie in memory behind the header of its file; empty if that is not mapped.
    fn headers(&self) -> &'static [libc::Elf64_Phdr] {
        let first = std::ptr::with_exposed_provenance::<libc::Elf64_Ehdr>(self.start);
        // SAFETY: the first page of a module is mapped and readable, aligned to a page.
        let header = unsafe { &*first };
        let bytes = usize::from(header.e_phnum) * size_of::<libc::Elf64_Phdr>();
        let start = header.e_phoff as usize;
        let is_elf =
            header.e_ident.starts_with(b"\x7fELF") && usize::from(header.e_phentsize) == size_of::<libc::Elf64_Phdr>();
        // The headers of programs lie in the first page.
        if !is_elf || start.saturating_add(bytes) > 4096 || !start.is_multiple_of(8) {
            return &[];
        }
        // SAFETY: inside the first page, and aligned.
        unsafe {
            std::slice::from_raw_parts(
                std::ptr::with_exposed_provenance(self.start + start),
                usize::from(header.e_phnum),
            )
        }
    }

    /// Returns the bytes of the module in `range`, if they lie in one of its loaded parts.
    fn bytes(&self, range: Range<usize>) -> Option<&'static [u8]> {
        let of = |header: &libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0;
        let mut loaded = self.headers().iter().filter(|header| of(header)).map(|header| span(header, self.bias));
        let inside = loaded.any(|part| part.start <= range.start && range.end <= part.end);
        // SAFETY: the dynamic linker has mapped the part, readable.
        (inside && range.start < range.end)
            .then(|| unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(range.start), range.len()) })
    }

    /// Returns the index of the unwind table (.eh_frame_hdr) and the table (.eh_frame), until the end of the loaded part that it begins in.
    fn tables(&self) -> Option<(&'static [u8], &'static [u8])> {
        let index = self.headers().iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
        let index = index.map(|header| span(header, self.bias))?;
        let start = index.start;
        let index = self.bytes(index).filter(|_| start == self.index)?;
        // Linux Standard Base, .eh_frame_hdr: version, three encodings, then the table's address; 0x1b is a signed 4-byte number relative to itself.
        let &[1, 0x1b, _, _, a, b, c, d, ..] = index else { return None };
        let table = start.wrapping_add(4).wrapping_add_signed(i32::from_le_bytes([a, b, c, d]) as isize);
        Some((index, self.rest(table)?))
    }

    /// Returns the bytes from `address` to the end of the loaded part that contains it.
    fn rest(&self, address: usize) -> Option<&'static [u8]> {
        let loaded = self.headers().iter().filter(|header| header.p_type == libc::PT_LOAD);
        let part = loaded.map(|header| span(header, self.bias)).find(|part| part.contains(&address))?;
        self.bytes(address..part.end)
    }

    /// Returns the address of the function or variable that the module exports by this name, by its hash table (DT_GNU_HASH).
    fn symbol(&self, name: &[u8]) -> Option<usize> {
        const SYMBOL_BYTES: usize = size_of::<libc::Elf64_Sym>();
        const GNU_HASH: u64 = 0x6fff_fef5;
        const SYMBOLS: u64 = 6;
        const NAMES: u64 = 5;
        let half =
            |bytes: &[u8], at: usize| bytes.get(at.checked_mul(4)?..)?.first_chunk().copied().map(u32::from_le_bytes);
        let dynamic = self.headers().iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let dynamic = self.bytes(span(dynamic, self.bias))?;
        let table = |wanted: u64| {
            let word = |entry: &[u8], at: usize| entry.get(at..)?.first_chunk().copied().map(u64::from_le_bytes);
            let value =
                dynamic.chunks_exact(16).find(|entry| word(entry, 0) == Some(wanted)).and_then(|entry| word(entry, 8));
            // The dynamic linker has added the load address, unless the part cannot be written.
            let value = value? as usize;
            self.rest(if value < self.start { value.wrapping_add(self.bias) } else { value })
        };
        let (hashes, symbols, names) = (table(GNU_HASH)?, table(SYMBOLS)?, table(NAMES)?);
        let hash = name.iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()));
        let (buckets, first, filter) = (half(hashes, 0)?, half(hashes, 1)?, half(hashes, 2)? as usize);
        let lists = 4 + 2 * filter;
        let chains = lists + buckets as usize;
        let mut at = half(hashes, lists + hash.checked_rem(buckets)? as usize)?;
        loop {
            let found = half(hashes, chains + at.checked_sub(first)? as usize)?;
            let symbol = symbols.get(at as usize * SYMBOL_BYTES..)?.get(..SYMBOL_BYTES)?;
            let named = || names.get(half(symbol, 0)? as usize..)?.strip_prefix(name)?.first().copied();
            if found | 1 == hash | 1 && named() == Some(0) {
                let value = symbol.get(8..)?.first_chunk().copied().map(u64::from_le_bytes)?;
                return Some(self.bias.wrapping_add(value as usize));
            }
            if found & 1 != 0 {
                return None;
            }
            at += 1;
        }
    }

    /// Returns the build id in the module's notes (elf(5), NT_GNU_BUILD_ID).
    fn build_id(&self) -> Option<&'static [u8]> {
        let notes = self.headers().iter().filter(|header| header.p_type == libc::PT_NOTE);
        notes.into_iter().find_map(|header| build_id(self.bytes(span(header, self.bias))?))
    }
}

fn build_id(mut notes: &'static [u8]) -> Option<&'static [u8]> {
    const BUILD_ID: u32 = 3;
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let number = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let (name_bytes, bytes, kind) = (number(0)? as usize, number(4)? as usize, number(8)?);
        let name = rest.get(..name_bytes)?;
        let rest = rest.get(name_bytes.checked_next_multiple_of(4)?..)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return rest.get(..bytes);
        }
        notes = rest.get(bytes.checked_next_multiple_of(4)?..)?;
    }
    None
}
