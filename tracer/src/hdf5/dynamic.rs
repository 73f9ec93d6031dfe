//! Finds the HDF5 function that a caller would get from the dynamic linker without this tracer: the first definition after this library in
//! the global scope, else one in the caller's dependencies (for example, of a Python extension loaded with RTLD_LOCAL). If the caller was
//! linked with a symbol version, the definition has that version.
#![expect(unsafe_code, reason = "dladdr(3), dlsym(3), dl_iterate_phdr(3), the dynamic section of loaded objects")]

use std::ffi::{CStr, c_char, c_int, c_void};

/// Returns a number that changes whenever a shared object is loaded into the process or unloaded; wraps around.
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
    // SAFETY: `first` has the required type, and `sum` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut sum).cast()) };
    sum as u8
}

/// Shared object (or program) loaded into the process.
pub(super) struct Object {
    /// Handle of dlopen(3) with which symbols of the shared object and its dependencies are found; null for the program itself and for code
    /// outside any shared object.
    handle: *mut c_void,
    /// Versions of HDF5 symbols against which the shared object was linked, which identify a build of HDF5.
    versions: [Option<&'static CStr>; MOST_VERSIONS],
}

/// Maximum number of HDF5 symbol versions stored per shared object; one suffices to distinguish builds of HDF5.
const MOST_VERSIONS: usize = 8;

/// Public part of `struct link_map` (`<link.h>`).
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
}

/// Entry of a shared object's dynamic section (`Elf64_Dyn`).
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// Library that a shared object needs, with the list of symbol versions needed from that library (`Elf64_Verneed`).
#[repr(C)]
struct Needed {
    version: u16,
    count: u16,
    file: u32,
    versions: u32,
    next: u32,
}

/// Symbol version that a shared object needs from a library (`Elf64_Vernaux`).
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
/// Flag of dladdr1(3): return the shared object's link map.
const RTLD_DL_LINKMAP: c_int = 2;

unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}

impl Object {
    /// Returns the shared object (or program) that contains the code at `address`. Code outside any shared object (generated code) is
    /// treated as part of the global scope.
    pub(super) fn of(address: usize) -> Self {
        let mut object = Self { handle: std::ptr::null_mut(), versions: [None; MOST_VERSIONS] };
        // SAFETY: an all-zero Dl_info is valid.
        let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
        let mut map = std::ptr::null_mut();
        // SAFETY: any address is allowed; both results are local variables.
        let found = unsafe { dladdr1(address as *const c_void, &raw mut info, &raw mut map, RTLD_DL_LINKMAP) };
        if found == 0 || map.is_null() {
            return object;
        }
        // SAFETY: dladdr1 gives the map of a loaded object, whose code is calling or was just found.
        let map = unsafe { &*map.cast::<LinkMap>() };
        object.versions = needed_versions(map);
        // The program itself has no name and is in the global scope.
        // SAFETY: the map's name is null or a C string.
        if !crate::sys::is_shut() && !map.name.is_null() && unsafe { *map.name } != 0 {
            // SAFETY: RTLD_NOLOAD only takes another reference to a loaded object.
            object.handle = unsafe { libc::dlopen(map.name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        }
        object
    }

    /// True if the shared object was linked with a specific build of HDF5, identified by symbol versions.
    pub(super) fn is_versioned(&self) -> bool {
        self.versions[0].is_some()
    }

    /// Returns the definition of `name` to which the dynamic linker would bind a reference in this shared object without the tracer; null
    /// if there is none.
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
        // SAFETY: the name ends in NUL; the scope is RTLD_NEXT or an open handle.
        let plain = |scope| unsafe { libc::dlsym(scope, name.as_ptr()) };
        scopes().map(plain).find(|address| !address.is_null()).unwrap_or(std::ptr::null_mut())
    }

    /// Returns the definition of `name` in this shared object or its dependencies; null if there is none.
    pub(super) fn own(&self, name: &CStr) -> *mut c_void {
        let scope = if self.handle.is_null() { libc::RTLD_NEXT } else { self.handle };
        // SAFETY: the name ends in NUL; the scope is RTLD_NEXT or an open handle.
        unsafe { libc::dlsym(scope, name.as_ptr()) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: releases the reference that `of` took.
            unsafe { libc::dlclose(self.handle) };
        }
    }
}

/// Returns the HDF5 symbol versions with which a shared object was linked. They distinguish builds of HDF5; a shared object uses only one
/// build.
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
    // The dynamic linker turns some of these values into addresses and leaves others relative to the object's start.
    let absolute = |value: usize| if value < map.address { map.address + value } else { value };
    let (strings, mut at) = (absolute(strings), absolute(needed));
    let mut places = found.iter_mut();
    for _ in 0..count {
        // SAFETY: the section has `count` entries, each with the distance to the next.
        let file = unsafe { &*(at as *const Needed) };
        let mut version_at = at + file.versions as usize;
        for _ in 0..file.count {
            // SAFETY: `file.count` entries, each with the distance to the next.
            let version = unsafe { &*(version_at as *const NeededVersion) };
            // SAFETY: names are NUL-terminated in the string table. The object stays loaded while its code is calling; the name is not kept longer.
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
