//! Modules (the executable and shared libraries) as the dynamic linker knows them: found by an address, read in memory.
//!
//! _dl_find_object(3) takes no lock. Before glibc 2.35 there is no such function, and no call site.
#![expect(unsafe_code, reason = "_dl_find_object(3), memory of modules")]

use crate::real;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Module as the dynamic linker knows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Difference between an address in memory and in the module's file.
    pub(super) bias: usize,
    /// Address of the name, a C string; 0 for none.
    pub(super) name: usize,
    /// Address of the index of the unwind table (.eh_frame_hdr); 0 for none.
    pub(super) index: usize,
}

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

impl Object {
    /// Returns the name that the dynamic linker has for the module: a path, or nothing for the executable.
    pub(super) fn name_bytes(&self) -> &'static [u8] {
        let name = std::ptr::with_exposed_provenance::<c_char>(self.name);
        // SAFETY: null or a C string, which lives as long as the module.
        if name.is_null() { b"" } else { unsafe { CStr::from_ptr(name) }.to_bytes() }
    }

    pub(super) const fn contains(&self, address: usize) -> bool {
        self.start <= address && address < self.end
    }

    pub(super) fn path(&self) -> Vec<u8> {
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
    pub(super) fn tables(&self) -> Option<(&'static [u8], &'static [u8])> {
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
    pub(super) fn symbol(&self, name: &[u8]) -> Option<usize> {
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
    pub(super) fn build_id(&self) -> Option<&'static [u8]> {
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
