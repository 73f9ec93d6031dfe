//! The copies of HDF5 that are loaded, and which of them a caller means. A copy is looked at once: all its functions are
//! looked up then. After that a call costs a look at whether anything was loaded since, and one into a small cache.
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
        /// A function of HDF5 that is wrapped, or that the tracer calls.
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

        /// The functions that were linked in.
        #[cfg(dxt_static)]
        static WORDS: &[&crate::real::Word] = &[$(known!(stringify!($name)),)+];
        const FUNCTIONS: usize = [$(Function::$name),+].len();
    };
}

functions! {
    // Wrapped.
    H5Fopen, H5Fcreate, H5Fclose, H5Fflush, H5Fopen_async, H5Fcreate_async, H5Fclose_async, H5Fflush_async,
    H5Dopen1, H5Dopen2, H5Dcreate1, H5Dcreate2, H5Dcreate_anon, H5Dclose, H5Oopen, H5Oclose, H5Idec_ref, H5close,
    H5Dopen_async, H5Dcreate_async, H5Dclose_async,
    H5Dread, H5Dwrite, H5Dread_multi, H5Dwrite_multi,
    H5Dread_async, H5Dwrite_async, H5Dread_multi_async, H5Dwrite_multi_async,
    // Called; `addresses_for` knows that they begin here.
    H5get_libversion, H5Iget_type, H5Iget_name, H5Fget_name, H5Dget_space, H5Dget_type, H5Tget_size, H5Tclose, H5Sclose,
    H5Sget_select_type, H5Sget_select_npoints, H5Sis_regular_hyperslab, H5Sget_simple_extent_ndims,
    H5Sget_simple_extent_dims, H5Sget_simple_extent_npoints, H5Pget_dxpl_mpio,
}

/// Copies of HDF5 that are remembered, one for each time that one was loaded elsewhere; of more, only the memory is lost.
const MOST_LIBRARIES: usize = 255;

/// Identifiers were ints before 1.10: such a library is called, and nothing of it is recorded.
const OLDEST: (c_uint, c_uint) = (1, 10);

/// One copy of HDF5.
pub(crate) struct Library {
    addresses: [usize; FUNCTIONS],
    /// 0 not asked yet, 1 is recorded, 2 is too old.
    state: AtomicU8,
}

// SAFETY: found only when it is whole.
unsafe impl Record for Library {}

static LIBRARIES: Table<Library> = Table::new();

/// Callers and their libraries: 48 bits of the return address, 8 of the library's number plus one, 8 of the generation.
static CACHE: [AtomicU64; 256] = [const { AtomicU64::new(0) }; 256];

/// The library that the function called from `caller` belongs to. `None` if the address is nobody's.
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
    // Two threads may add the same library: then it has two numbers, and its objects are found under either.
    let found = known.or_else(|| add(addresses));
    if let Some((number, library)) = found {
        place.store(key | (number as u64 + 1) << 8, Ordering::Release);
        return Some(library);
    }
    crate::stack::attempt(|| &*Box::leak(Box::new(Library::new(addresses))))
}

/// Where the functions are: there is one HDF5, which the linker has found, or none.
#[cfg(dxt_static)]
fn addresses_for(_caller: usize) -> Option<[usize; FUNCTIONS]> {
    let addresses = std::array::from_fn(|index| WORDS[index].address() as usize);
    (addresses[Function::H5get_libversion as usize] != 0).then_some(addresses)
}

/// Where the functions are that `caller` means; `None` if there are none. Wrapped ones may be another tool's, which goes on
/// to the library; what the tracer itself calls is the library's.
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
        // The caller is no object's code, or has made way for this call, so that its own caller seems to be it.
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

/// The table's memory is taken late, since few programs need it, and calls are passed on even where nothing is recorded.
fn add(addresses: [usize; FUNCTIONS]) -> Option<(usize, &'static Library)> {
    static PREPARE: Once = Once::new();
    PREPARE.call_once(|| LIBRARIES.prepare(MOST_LIBRARIES));
    LIBRARIES.push(Library::new(addresses))
}

impl Library {
    fn new(addresses: [usize; FUNCTIONS]) -> Self {
        Self { addresses, state: AtomicU8::new(0) }
    }

    /// Where a function is; null if this copy does not have it.
    pub(crate) fn address(&self, function: Function) -> *mut c_void {
        self.addresses[function as usize] as *mut c_void
    }

    /// Tells copies apart, in identifiers that are numbers of each copy's own.
    pub(crate) fn id(&self) -> usize {
        self.addresses[Function::H5get_libversion as usize]
    }

    /// Whether its calls are recorded. Asks the library for its version once, which is harmless just before another call:
    /// both begin with an empty error stack.
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
            // SAFETY: the results are ours.
            unsafe { function(&raw mut major, &raw mut minor, &raw mut release) };
        }
        let recorded = (major, minor) >= OLDEST;
        self.state.store(if recorded { 1 } else { 2 }, Ordering::Relaxed);
        recorded
    }
}
