//! Real functions behind the wrappers, in a process with a dynamic linker: one slot per symbol. dlsym(3) fills the slot when the tracer's
//! library is loaded, or at the first call if that is earlier. After that, each call costs one memory load.
#![expect(unsafe_code, reason = "dlsym(3) and function pointers")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Prefixes of the names of wrapped functions that MPI and other libraries define, not the C library.
const OTHER_LIBRARIES: [&[u8]; 4] = [b"MPI_", b"PMPI_", b"io_", b"__io_"];

/// Name of a wrapped function, and the address of its next definition (the real function).
pub(crate) struct Slot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Slot {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the address of the next definition (the real function); null if no library defines it.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        // Relaxed suffices: the address is that of code mapped before any call could get here.
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.find() } else { address }
    }

    /// Looks up the real function before its first call, except for names that glibc before 2.38 lacks. For these names, dlsym(3) would
    /// allocate memory to report the failure, with system calls that a filter may forbid.
    pub(crate) fn find_ahead(&self) {
        if !self.name.to_bytes().starts_with(b"__isoc23_") {
            self.address();
        }
    }

    /// Returns the address of the real function if already looked up, else null; for functions that the look-up itself may call.
    #[inline(always)]
    pub(crate) fn known_address(&self) -> *mut c_void {
        self.address.load(Ordering::Relaxed)
    }

    /// True if the path of the library that defines the real function contains all `parts`. Other libraries may define a function of this name.
    pub(crate) fn is_of(&self, parts: &[&[u8]]) -> bool {
        let path = object_path(self.address()).map(CStr::to_bytes).unwrap_or_default();
        parts.iter().all(|part| path.windows(part.len()).any(|here| here == *part))
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let mut address = next_symbol(self.name);
        if address.is_null() && OTHER_LIBRARIES.iter().any(|prefix| self.name.to_bytes().starts_with(prefix)) {
            // A library loaded with RTLD_LOCAL (by a Python extension, for example) is not in the global scope.
            address = loaded_symbol(self.name);
        }
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Returns the definition of `name` in the first loaded shared object that has one, except this library; null if no shared object has one.
pub(crate) fn loaded_symbol(name: &CStr) -> *mut c_void {
    // The search below calls dlopen(3), which may access files.
    if crate::sys::is_shut() {
        return std::ptr::null_mut();
    }
    struct Search<'a> {
        name: &'a CStr,
        own: *const c_void,
        found: *mut c_void,
    }

    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: dl_iterate_phdr passes a valid info and the pointer given to it, which is the `Search` below.
        let search = unsafe { &mut *search.cast::<Search<'_>>() };
        // SAFETY: dl_iterate_phdr passes a valid info.
        let object = unsafe { (*info).dlpi_name };
        // SAFETY: dlpi_name is null or a C string.
        if object.is_null() || unsafe { *object } == 0 {
            return 0;
        }
        // SAFETY: RTLD_NOLOAD only takes another reference to a loaded object.
        let handle = unsafe { libc::dlopen(object, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return 0;
        }
        // SAFETY: valid handle and name. The search includes the object's dependencies.
        let address = unsafe { libc::dlsym(handle, search.name.as_ptr()) };
        // SAFETY: releases the reference taken above.
        unsafe { libc::dlclose(handle) };
        if address.is_null() || object_of(address) == search.own {
            return 0;
        }
        search.found = address;
        1
    }

    let own = object_of(loaded_symbol as *const c_void);
    let mut search = Search { name, own, found: std::ptr::null_mut() };
    // SAFETY: `visit` has the required type and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Returns another tracer that records instead of this one, if the process has several: the first in symbol search order records. A tracer
/// of version 0.2.0 ignores other tracers and always records; it is recognized by its file name.
pub(crate) fn other_tracer() -> Option<super::Other> {
    struct Search {
        own: *const c_void,
        found: Option<&'static CStr>,
    }

    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: dl_iterate_phdr passes a valid info and the pointer given to it, which is the `Search` below.
        let search = unsafe { &mut *search.cast::<Search>() };
        // SAFETY: dl_iterate_phdr passes a valid info.
        let info = unsafe { &*info };
        let (name, start) = (info.dlpi_name, info.dlpi_addr);
        if name.is_null() || start as usize == search.own.addr() {
            return 0;
        }
        // SAFETY: a C string, which lives as long as the object.
        let path = unsafe { CStr::from_ptr(name) };
        if !crate::job::basename(path.to_bytes()).starts_with(b"libdxt_tracer") {
            return 0;
        }
        // SAFETY: RTLD_NOLOAD only takes another reference to a loaded object.
        let handle = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return 0;
        }
        // SAFETY: valid handle and name.
        let has_version = !unsafe { libc::dlsym(handle, super::VERSION.as_ptr()) }.is_null();
        // SAFETY: releases the reference taken above.
        unsafe { libc::dlclose(handle) };
        // A tracer that has a version symbol and is not first looks for other tracers itself.
        search.found = (!has_version).then_some(path);
        libc::c_int::from(!has_version)
    }

    let first = global_symbol(super::VERSION);
    // Identify this library by the address of a function: the version symbol may resolve to the first library.
    let own = object_of(other_tracer as *const c_void);
    if !first.is_null() && object_of(first) != own {
        // SAFETY: a string of that library.
        let version = unsafe { CStr::from_ptr(first.cast()) };
        let path = object_path(first).map_or(b"".as_slice(), CStr::to_bytes);
        return Some(super::Other { version: version.to_bytes(), path });
    }
    let mut search = Search { own, found: None };
    // SAFETY: `visit` has the required type and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found.map(|path| super::Other { version: b"0.2.0", path: path.to_bytes() })
}

/// Returns the definition of `name` that follows this library's in the global scope; null if there is none.
pub(crate) fn next_symbol(name: &CStr) -> *mut c_void {
    // SAFETY: `name` ends in NUL; RTLD_NEXT asks for the definition after this library's.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}

/// Returns the definition of `name` that the program itself would find, which may be this library's; null if there is none.
pub(crate) fn global_symbol(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends in NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Returns the definition of `name` in the global scope, else in any loaded shared object; null if there is none.
pub(crate) fn global_or_loaded_symbol(name: &CStr) -> *mut c_void {
    let address = global_symbol(name);
    if address.is_null() { loaded_symbol(name) } else { address }
}

/// Returns the load address of the object that contains `address`, which identifies the object (program or shared library).
fn object_of(address: *const c_void) -> *const c_void {
    object_info(address).map_or(std::ptr::null(), |info| info.dli_fbase.cast_const())
}

pub(crate) fn object_path(address: *const c_void) -> Option<&'static CStr> {
    let name = object_info(address)?.dli_fname;
    // SAFETY: dladdr gives null or a C string that lives as long as the object, which is never unloaded while used.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

fn object_info(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address is allowed; `info` is a local variable.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then_some(info)
}

/// Makes the [`Slot`] of a wrapped function, which gives the address of the real function: `slot!("write")`.
macro_rules! slot {
    ($name:expr) => {
        $crate::real::Slot::new($crate::real::terminated(concat!($name, "\0")))
    };
}
pub(crate) use slot;
/// Makes a slot for the address of a real function like [`slot`], if another module has a slot for the same function too.
pub(crate) use slot as slot_again;
/// Makes a slot for the address of a function that the tracer itself calls: `called!("PMPI_Init")`.
pub(crate) use slot as called;

/// Returns the address of a variable or function that the program itself would find: `global!("gnu_get_libc_version")`; null if not found.
macro_rules! global {
    ($name:expr) => {
        $crate::real::global_symbol($crate::real::terminated(concat!($name, "\0")))
    };
}
pub(crate) use global;

/// Returns the address of the definition that follows this library's in the global scope: `next!("PMPI_Init")`; null if there is none.
macro_rules! next {
    ($name:expr) => {
        $crate::real::next_symbol($crate::real::terminated(concat!($name, "\0")))
    };
}
pub(crate) use next;

/// Returns the address of a variable of an MPI library, even if only another library has loaded it; null if there is none.
macro_rules! variable {
    ($name:expr) => {
        $crate::real::global_or_loaded_symbol($crate::real::terminated(concat!($name, "\0")))
    };
}
pub(crate) use variable;
