//! Who calls, and what the dynamic linker would have bound the caller's reference to: the first definition behind this
//! library in the global scope, else one of the caller's own dependencies (a Python extension's, loaded with RTLD_LOCAL);
//! of the version that the caller was linked with, if it was linked with one.
#![expect(unsafe_code, reason = "dladdr(3), dlsym(3), dl_iterate_phdr(3), the dynamic section of loaded objects")]

use std::ffi::{CStr, c_char, c_int, c_void};

/// Grows whenever an object is loaded or unloaded. Wraps around.
pub(super) fn generation() -> u8 {
    extern "C" fn first(info: *mut libc::dl_phdr_info, size: usize, sum: *mut c_void) -> c_int {
        if size >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) + size_of::<u64>() {
            // SAFETY: dl_iterate_phdr passes a valid info of this size.
            let info = unsafe { &*info };
            // SAFETY: the pointer given to dl_iterate_phdr below.
            unsafe { sum.cast::<u64>().write(info.dlpi_adds.wrapping_add(info.dlpi_subs)) };
        }
        1
    }
    let mut sum = 0_u64;
    // SAFETY: `first` has the type asked for, and `sum` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut sum).cast()) };
    sum as u8
}

/// A loaded object.
pub(super) struct Object {
    /// To look into it and what it depends on; null for the program itself, and for what is in no object.
    handle: *mut c_void,
    /// Versions of HDF5's symbols that it was linked with.
    versions: [Option<&'static CStr>; MOST_VERSIONS],
}

/// Most versions of HDF5's symbols that an object is taken to be linked with; one is enough to tell builds apart.
const MOST_VERSIONS: usize = 8;

/// What `<link.h>` says of a loaded object, as far as it is public.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
}

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `Elf64_Verneed`: an object that is needed, and a list of versions.
#[repr(C)]
struct Needed {
    version: u16,
    count: u16,
    file: u32,
    versions: u32,
    next: u32,
}

/// `Elf64_Vernaux`: a version that is needed of it.
#[repr(C)]
struct NeededVersion {
    hash: u32,
    flags: u16,
    other: u16,
    name: u32,
    next: u32,
}

const DT_STRTAB: i64 = 5;
const DT_VERNEED: i64 = 0x6fff_fffe;
const DT_VERNEEDNUM: i64 = 0x6fff_ffff;
/// Asks dladdr1(3) for the link map.
const RTLD_DL_LINKMAP: c_int = 2;

unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}

impl Object {
    /// The object that holds `address`; what is in none (generated code) sees the global scope.
    pub(super) fn of(address: usize) -> Self {
        let mut object = Self { handle: std::ptr::null_mut(), versions: [None; MOST_VERSIONS] };
        // SAFETY: an all-zero Dl_info is a valid one.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let mut map = std::ptr::null_mut();
        // SAFETY: any address may be asked about; both results are ours.
        let found = unsafe { dladdr1(address as *const c_void, &raw mut info, &raw mut map, RTLD_DL_LINKMAP) };
        if found == 0 || map.is_null() {
            return object;
        }
        // SAFETY: dladdr1 gives the map of a loaded object: one whose code is calling, or was just found.
        let map = unsafe { &*map.cast::<LinkMap>() };
        object.versions = needed_versions(map);
        // The program itself has no name and is in the global scope.
        // SAFETY: the map's name is null or a C string.
        if !crate::sys::is_shut() && !map.name.is_null() && unsafe { *map.name } != 0 {
            // SAFETY: RTLD_NOLOAD only takes another reference to what is loaded already.
            object.handle = unsafe { libc::dlopen(map.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        }
        object
    }

    /// Whether it was linked with one of several builds of HDF5.
    pub(super) fn is_versioned(&self) -> bool {
        self.versions[0].is_some()
    }

    /// The definition of `name` that a reference from this object is bound to, this library's left out; null if there is
    /// none.
    pub(super) fn definition(&self, name: &CStr) -> *mut c_void {
        let scopes = [libc::RTLD_NEXT, self.handle];
        let scopes = || scopes.into_iter().filter(|scope| !scope.is_null());
        let versions = self.versions.iter().flatten();
        for (scope, version) in versions.flat_map(|version| scopes().map(move |scope| (scope, version))) {
            // SAFETY: both strings end in NUL; the scope is RTLD_NEXT or an open handle.
            let address = unsafe { libc::dlvsym(scope, name.as_ptr(), version.as_ptr()) };
            if !address.is_null() {
                return address;
            }
        }
        if self.is_versioned() {
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        let plain = |scope| unsafe { libc::dlsym(scope, name.as_ptr()) };
        scopes().map(plain).find(|address| !address.is_null()).unwrap_or(std::ptr::null_mut())
    }

    /// Its own definition of `name`, or that of what it depends on; null if there is none.
    pub(super) fn own(&self, name: &CStr) -> *mut c_void {
        let scope = if self.handle.is_null() { libc::RTLD_NEXT } else { self.handle };
        // SAFETY: the name ends in NUL; the scope is RTLD_NEXT or an open handle.
        unsafe { libc::dlsym(scope, name.as_ptr()) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: gives back the reference that `of` took.
            unsafe { libc::dlclose(self.handle) };
        }
    }
}

/// The versions of HDF5's symbols that an object was linked with: distributions that package several builds of HDF5 tell
/// them apart so. An object is linked with one build only.
fn needed_versions(map: &LinkMap) -> [Option<&'static CStr>; MOST_VERSIONS] {
    let mut found = [None; MOST_VERSIONS];
    let (mut strings, mut needed, mut count) = (0, 0, 0);
    let mut entry = map.dynamic;
    // SAFETY: the dynamic section ends with an entry of tag 0.
    while let Some(Dynamic { tag, value }) = unsafe { entry.as_ref() }.filter(|entry| entry.tag != 0) {
        match *tag {
            DT_STRTAB => strings = *value,
            DT_VERNEED => needed = *value,
            DT_VERNEEDNUM => count = *value,
            _ => {}
        }
        entry = entry.wrapping_add(1);
    }
    if strings == 0 || needed == 0 {
        return found;
    }
    // The dynamic linker turns some of these into addresses, and leaves others relative to the object's start.
    let absolute = |value: usize| if value < map.address { map.address + value } else { value };
    let (strings, mut at) = (absolute(strings), absolute(needed));
    let mut places = found.iter_mut();
    for _ in 0..count {
        // SAFETY: the section has so many entries, each with the distance to the next.
        let file = unsafe { &*(at as *const Needed) };
        let mut version_at = at + file.versions as usize;
        for _ in 0..file.count {
            // SAFETY: likewise.
            let version = unsafe { &*(version_at as *const NeededVersion) };
            // SAFETY: names lie in the string table and end in NUL; the object is not unloaded while its code is calling,
            // and nobody keeps the name for longer.
            let name = unsafe { CStr::from_ptr((strings + version.name as usize) as *const c_char) };
            if name.to_bytes().starts_with(b"HDF5_")
                && let Some(place) = places.next()
            {
                *place = Some(name);
            }
            version_at += version.next as usize;
        }
        at += file.next as usize;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_found_from_where_the_caller_is() {
        let object = Object::of(generation as fn() -> u8 as usize);
        // SAFETY: looks a symbol up.
        let malloc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
        assert_eq!(object.definition(c"malloc"), malloc);
        assert!(object.definition(c"H5no_such_function").is_null());
        assert!(!object.is_versioned());
    }

    #[test]
    fn what_another_object_defines_is_found_there() {
        // SAFETY: looks a symbol up.
        let malloc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
        let object = Object::of(malloc as usize);
        assert_eq!(object.own(c"malloc"), malloc);
        assert!(object.own(c"H5no_such_function").is_null());
        assert_eq!(generation(), generation());
    }
}
