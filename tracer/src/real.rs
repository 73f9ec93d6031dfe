//! The next definition of every wrapped function: a slot per symbol, filled with dlsym when the library is loaded or at
//! the first call, whichever comes first. After that a call costs one load.
#![expect(unsafe_code, reason = "dlsym(3) and function pointers")]

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// How the names of functions begin that are not the C library's.
const OTHER_LIBRARIES: [&[u8]; 4] = [b"MPI_", b"PMPI_", b"io_", b"__io_"];

/// One wrapped symbol.
pub(crate) struct Slot {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Slot {
    /// A slot for `name`, not yet looked up.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Address of the next definition, or null if there is none.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        // Relaxed is enough: the address is that of code mapped before anyone could call us.
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.find() } else { address }
    }

    /// Address of the next definition if it has been looked up already: for functions that looking up may call.
    #[inline(always)]
    pub(crate) fn known_address(&self) -> *mut c_void {
        self.address.load(Ordering::Relaxed)
    }

    /// Whether the next definition is in an object whose path has all of these parts: a name may be another library's too.
    pub(crate) fn is_of(&self, parts: &[&[u8]]) -> bool {
        let path = object_path(self.address()).map(CStr::to_bytes).unwrap_or_default();
        parts.iter().all(|part| path.windows(part.len()).any(|here| here == *part))
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: `name` ends in NUL; RTLD_NEXT asks for the definition after this library's.
        let mut address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if address.is_null() && OTHER_LIBRARIES.iter().any(|prefix| self.name.to_bytes().starts_with(prefix)) {
            // A library that was loaded with RTLD_LOCAL (by a Python extension, say) is not in the global scope.
            address = loaded_symbol(self.name);
        }
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Finds `name` in any loaded object other than this library, in load order.
pub(crate) fn loaded_symbol(name: &CStr) -> *mut c_void {
    // dlopen(3) may look at files.
    if crate::sys::is_shut() {
        return std::ptr::null_mut();
    }
    struct Search<'a> {
        name: &'a CStr,
        own: *const c_void,
        found: *mut c_void,
    }

    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: dl_iterate_phdr passes a valid info and the pointer given to it, which is the Search below.
        let search = unsafe { &mut *search.cast::<Search<'_>>() };
        // SAFETY: as above.
        let object = unsafe { (*info).dlpi_name };
        // SAFETY: dlpi_name is null or a C string.
        if object.is_null() || unsafe { *object } == 0 {
            return 0;
        }
        // SAFETY: RTLD_NOLOAD only takes another reference to what is loaded already.
        let handle = unsafe { libc::dlopen(object, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return 0;
        }
        // SAFETY: valid handle and name. It also looks into the object's dependencies.
        let address = unsafe { libc::dlsym(handle, search.name.as_ptr()) };
        // SAFETY: gives back the reference taken above.
        unsafe { libc::dlclose(handle) };
        if address.is_null() || object_of(address) == search.own {
            return 0;
        }
        search.found = address;
        1
    }

    let own = object_of(loaded_symbol as *const c_void);
    let mut search = Search { name, own, found: std::ptr::null_mut() };
    // SAFETY: `visit` has the type asked for and `search` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Load address of the object that holds `address`: tells objects apart.
fn object_of(address: *const c_void) -> *const c_void {
    object_info(address).map_or(std::ptr::null(), |info| info.dli_fbase.cast_const())
}

/// First address of the object that holds `address`, and the one behind its last; 0 and 0 if there is none.
pub(crate) fn object_range(address: *const c_void) -> (usize, usize) {
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: the pointer given to dl_iterate_phdr below.
        let range = unsafe { &mut *search.cast::<(usize, usize)>() };
        // SAFETY: dl_iterate_phdr passes a valid info.
        let info = unsafe { &*info };
        // SAFETY: the object's program headers, as many as it says.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let spans = loaded.map(|header| {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            (start, start + header.p_memsz as usize)
        });
        let whole = spans.fold((usize::MAX, 0), |whole, span| (whole.0.min(span.0), whole.1.max(span.1)));
        if !(whole.0..whole.1).contains(&range.0) {
            return 0;
        }
        *range = whole;
        1
    }
    let mut range = (address as usize, 0);
    // SAFETY: `visit` has the type asked for and `range` outlives the call.
    if unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut range).cast()) } == 1 { range } else { (0, 0) }
}

/// Path of the object that holds `address`.
pub(crate) fn object_path(address: *const c_void) -> Option<&'static CStr> {
    let name = object_info(address)?.dli_fname;
    // SAFETY: dladdr gives null or a C string that lives as long as the object, which is never unloaded while it is used.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

fn object_info(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked about; `info` is ours.
    (unsafe { libc::dladdr(address, &raw mut info) } != 0).then_some(info)
}

/// A value that says nothing: what a wrapped function answers that the C library does not have, where -1 would be wrong.
pub(crate) trait Nothing {
    /// It.
    const NOTHING: Self;
}

impl<T> Nothing for *mut T {
    const NOTHING: Self = std::ptr::null_mut();
}

macro_rules! nothing {
    ($($type:ty = $value:expr),+) => { $(impl Nothing for $type { const NOTHING: Self = $value; })+ };
}

nothing!(() = (), i32 = 0, u32 = 0, i64 = 0, isize = 0, usize = 0);

/// The same, with errno.
pub(crate) fn none<T: Nothing>() -> T {
    crate::errno::set(libc::ENOSYS);
    T::NOTHING
}

/// Defines wrapped functions: `hooks! { TABLE; /// doc  [name, alias](arg: type, ...) -> type = |real| body; ... }`.
///
/// Each name becomes an exported C function with its own slot; `real` in the body is the next definition. `TABLE` is the
/// list of all slots of the family, for the constructor. A function that the C library does not have answers `missing`.
///
/// An entry has the type that the libc crate gives the function, if it has the name; `unlike "why"` before the names of one lifts
/// that.
macro_rules! hooks {
    ($table:ident, missing = $missing:expr;
     $( $(#[$doc:meta])* $(unlike $why:literal)? [$($name:ident),+] $args:tt -> $ret:ty = |$real:ident| $body:expr; )+) => {
        /// Slots of this family.
        pub(crate) static $table: &[&$crate::real::Slot] = &[$( $(&slots::$name.0,)+ )+];

        /// One slot per wrapped symbol.
        #[expect(non_upper_case_globals, reason = "a slot has its symbol's name")]
        mod slots {
            pub(super) struct Named(pub(super) $crate::real::Slot);
            $( $(
                pub(super) static $name: Named = Named($crate::real::Slot::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a symbol's name holds no NUL"),
                    }));
            )+ )+
        }

        $( $crate::real::hooks!(@names [$($name),+] [$($why)?] [$(#[$doc])*] $args -> $ret, $missing, |$real| $body); )+
    };
    (@names [$($name:ident),+] $why:tt $docs:tt $args:tt -> $ret:ty, $missing:expr, |$real:ident| $body:expr) => {
        $(
            $crate::real::hooks!(@one $name $docs $args -> $ret, $missing, |$real| $body);
            $crate::real::hooks!(@type $name $why $args -> $ret);
        )+
    };
    (@type $name:ident [] ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty) => {
        const _: () = {
            const OURS: unsafe extern "C" fn($($type),*) -> $ret = $name;
            {
                // A name that the libc crate lacks is found outside this block: the function itself.
                #[allow(clippy::allow_attributes, clippy::wildcard_imports, unused_imports, reason = "any name")]
                use libc::*;
                $crate::real::same_type(OURS, $name);
            }
        };
    };
    (@type $name:ident [$why:literal] $args:tt -> $ret:ty) => {};
    (@one $name:ident [$(#[$doc:meta])*] ($($arg:ident : $type:ty),* $(,)?) -> $ret:ty, $missing:expr, |$real:ident| $body:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As the function of this name that it wraps: arguments are passed on as they are.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            let address = slots::$name.0.address();
            if address.is_null() {
                return $missing;
            }
            // SAFETY: the symbol of this name has this C type.
            let function = unsafe {
                std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $ret>(address)
            };
            // SAFETY: the arguments are the caller's own, who promised what this function asks for, or stand for them.
            let $real = move |$($arg: $type),*| -> $ret { unsafe { function($($arg),*) } };
            $body
        }
    };
}
pub(crate) use hooks;

/// Compiles only for two functions of one type: a wrapped function has the type that the libc crate gives it.
pub(crate) const fn same_type<F: Copy>(_ours: F, _theirs: F) {}
