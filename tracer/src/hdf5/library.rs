//! Copies of HDF5 loaded in the process, and the copy that a caller uses. All functions of a copy are looked up at its first use. Later
//! calls cost one check for newly loaded shared objects and one look-up in a small cache.
#![expect(unsafe_code, reason = "calls H5get_libversion through its address")]

use super::dynamic;
#[cfg(not(dxt_static))]
use super::dynamic::Object;
use crate::memory::{Record, Table};
#[cfg(dxt_static)]
use crate::real::known;
#[cfg(not(dxt_static))]
use crate::real::loaded_symbol;
#[cfg(not(dxt_static))]
use std::ffi::CStr;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

macro_rules! functions {
    ($($name:ident),+ $(,)?) => {
        /// One of the HDF5 functions that the tracer wraps or calls.
        #[expect(non_camel_case_types, reason = "a function has its symbol's name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Function {
            $($name,)+
        }

        #[cfg(not(dxt_static))]
        const NAMES: &[&CStr] = &[$(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a symbol's name holds no NUL"),
            },
        )+];

        #[cfg(dxt_static)]
        static WORDS: &[&crate::real::Word] = &[$(known!(stringify!($name)),)+];
        const FUNCTIONS: usize = [$(Function::$name),+].len();
    };
}

functions! {
    // Functions that the tracer wraps.
    H5Fopen, H5Fcreate, H5Fclose, H5Fflush, H5Fopen_async, H5Fcreate_async, H5Fclose_async, H5Fflush_async,
    H5Dopen1, H5Dopen2, H5Dcreate1, H5Dcreate2, H5Dcreate_anon, H5Dclose, H5Oopen, H5Oclose, H5Idec_ref, H5close,
    H5Dopen_async, H5Dcreate_async, H5Dclose_async,
    H5Dread, H5Dwrite, H5Dread_multi, H5Dwrite_multi,
    H5Dread_async, H5Dwrite_async, H5Dread_multi_async, H5Dwrite_multi_async,
    // Functions that the tracer calls; `addresses_for` relies on the first one.
    H5get_libversion, H5Iget_type, H5Iget_name, H5Fget_name, H5Dget_space, H5Dget_type, H5Tget_size, H5Tclose, H5Sclose,
    H5Sget_select_type, H5Sget_select_npoints, H5Sis_regular_hyperslab, H5Sget_simple_extent_ndims,
    H5Sget_simple_extent_dims, H5Sget_simple_extent_npoints, H5Pget_dxpl_mpio, H5Dget_create_plist,
    H5Dget_access_plist, H5Pget_layout, H5Pget_chunk, H5Pget_chunk_cache, H5Pclose,
}

/// Maximum number of HDF5 copies remembered, including copies loaded again at another address. Each call of a further copy leaks a record.
const MOST_LIBRARIES: usize = 255;

/// Minimum HDF5 version (major, minor) that is recorded. Older versions have `int` identifiers; their calls are passed on unrecorded.
const OLDEST: (c_uint, c_uint) = (1, 10);

pub(crate) struct Library {
    addresses: [usize; FUNCTIONS],
    /// State of the version check: 0 if not checked yet, 1 if the version is recorded, 2 if the version is too old.
    state: AtomicU8,
}

// SAFETY: a record can be found only once it is complete.
unsafe impl Record for Library {}

static LIBRARIES: Table<Library> = Table::new();

/// Cache entries: return address of a caller (48 bits), number of its HDF5 copy plus one (8 bits), and a number that changes whenever a
/// shared object is loaded or unloaded (8 bits).
static CACHE: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// Returns the copy of HDF5 that the code at `caller` uses; `None` if no copy is found.
pub(crate) fn library_of(caller: usize) -> Option<&'static Library> {
    let place = &CACHE[(caller ^ caller >> 8) % CACHE.len()];
    let key = (caller as u64) << 16 | u64::from(dynamic::generation());
    let cached = place.load(Ordering::Acquire);
    if cached & !0xff00 == key
        && let Some(library) = (cached >> 8 & 0xff).checked_sub(1).and_then(|number| LIBRARIES.get(number as usize))
    {
        return Some(library);
    }
    let addresses = addresses_for(caller)?;
    let known = LIBRARIES.numbered().find(|(_, library)| library.addresses == addresses);
    // Two threads may add the same copy: it then has two numbers, and its objects are found under either.
    let found = known.or_else(|| add(addresses));
    if let Some((number, library)) = found {
        place.store(key | (number as u64 + 1) << 8, Ordering::Release);
        return Some(library);
    }
    crate::stack::attempt(|| &*Box::leak(Box::new(Library::new(addresses))))
}

/// Returns the addresses of the HDF5 functions; `None` if the program was linked without HDF5.
#[cfg(dxt_static)]
fn addresses_for(_caller: usize) -> Option<[usize; FUNCTIONS]> {
    let addresses = std::array::from_fn(|index| WORDS[index].address() as usize);
    (addresses[Function::H5get_libversion as usize] != 0).then_some(addresses)
}

/// Returns the addresses of the HDF5 functions as the dynamic linker binds them for `caller`; `None` without HDF5. The addresses of wrapped
/// functions may be another tool's wrappers, which call HDF5; functions that the tracer calls are HDF5's own.
#[cfg(not(dxt_static))]
#[cold]
fn addresses_for(caller: usize) -> Option<[usize; FUNCTIONS]> {
    let object = Object::of(caller);
    let mut anchor = if object.is_versioned() {
        NAMES
            .iter()
            .map(|name| object.definition(name))
            .find(|address| !address.is_null())
            .unwrap_or(std::ptr::null_mut())
    } else {
        object.definition(NAMES[Function::H5get_libversion as usize])
    };
    if anchor.is_null() {
        // The caller is code outside any object, or made a tail call, so that its own caller appears instead.
        anchor = loaded_symbol(NAMES[Function::H5get_libversion as usize]);
    }
    if anchor.is_null() {
        return None;
    }
    let library = Object::of(anchor as usize);
    let mut addresses = [0; FUNCTIONS];
    for (index, (address, name)) in addresses.iter_mut().zip(NAMES).enumerate() {
        *address = library.own(name) as usize;
        if index < Function::H5get_libversion as usize && *address != 0 && !object.is_versioned() {
            let bound = object.definition(name) as usize;
            *address = if bound == 0 { *address } else { bound };
        }
    }
    Some(addresses)
}

/// Adds a copy of HDF5 to the table; `None` if there is no room. The table's memory is reserved only now, since few programs need it, and
/// since calls come here to be passed on even if nothing is recorded.
fn add(addresses: [usize; FUNCTIONS]) -> Option<(usize, &'static Library)> {
    static PREPARE: Once = Once::new();
    PREPARE.call_once(|| LIBRARIES.prepare(MOST_LIBRARIES));
    LIBRARIES.push(Library::new(addresses))
}

impl Library {
    fn new(addresses: [usize; FUNCTIONS]) -> Self {
        Self { addresses, state: AtomicU8::new(0) }
    }

    /// Returns the address of a function in this copy of HDF5; null if this copy lacks it.
    pub(crate) fn address(&self, function: Function) -> *mut c_void {
        self.addresses[function as usize] as *mut c_void
    }

    /// Returns a number that identifies this copy of HDF5, since each copy issues identifiers independently.
    pub(crate) fn id(&self) -> usize {
        self.addresses[Function::H5get_libversion as usize]
    }

    /// True if calls of this copy are recorded, judging by its version. The version is queried once, just before another call, when the
    /// query is harmless: both calls start with an empty error stack.
    pub(crate) fn is_recorded(&self) -> bool {
        match self.state.load(Ordering::Relaxed) {
            0 => self.ask(),
            state => state == 1,
        }
    }

    #[cold]
    fn ask(&self) -> bool {
        let address = self.address(Function::H5get_libversion);
        let (mut major, mut minor, mut release) = (0, 0, 0);
        if !address.is_null() {
            type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
            // SAFETY: the symbol of this name has this C type.
            let function = unsafe { std::mem::transmute::<*mut c_void, Version>(address) };
            // SAFETY: the results are local variables.
            unsafe { function(&raw mut major, &raw mut minor, &raw mut release) };
        }
        let recorded = (major, minor) >= OLDEST;
        self.state.store(if recorded { 1 } else { 2 }, Ordering::Relaxed);
        recorded
    }
}
