//! Address ranges of the objects (program and shared libraries) loaded in the process.
#![expect(unsafe_code, reason = "dl_iterate_phdr(3)")]

use std::ffi::c_void;

/// Returns the address range (start, end), `end` exclusive, of the loaded object that contains `address`; (0, 0) if no object contains it.
pub(crate) fn object_range(address: *const c_void) -> (usize, usize) {
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> libc::c_int {
        // SAFETY: the pointer given to dl_iterate_phdr below.
        let range = unsafe { &mut *search.cast::<(usize, usize)>() };
        // SAFETY: dl_iterate_phdr passes a valid info.
        let info = unsafe { &*info };
        // SAFETY: the object's program headers, as many as it reports.
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
    // SAFETY: `visit` has the required type and `range` outlives the call.
    if unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut range).cast()) } == 1 { range } else { (0, 0) }
}

/// Returns the number of shared libraries whose calls a linked-in tracer does not see: all but the C library's own.
#[cfg(dxt_static)]
pub(super) fn libraries() -> u64 {
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, count: *mut c_void) -> libc::c_int {
        // SAFETY: dl_iterate_phdr passes a valid info.
        let name = unsafe { (*info).dlpi_name };
        // SAFETY: dlpi_name is null or a C string.
        let name = if name.is_null() { c"" } else { unsafe { std::ffi::CStr::from_ptr(name) } };
        let file = name.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let own = [
            b"libc.so".as_slice(),
            b"libm.so",
            b"libpthread.so",
            b"libdl.so",
            b"librt.so",
            b"libgcc_s.so",
            b"ld-",
            b"linux-",
        ];
        if !file.is_empty() && !own.iter().any(|own| file.starts_with(own)) {
            // SAFETY: the pointer given to dl_iterate_phdr below.
            unsafe { *count.cast::<u64>() += 1 };
        }
        0
    }
    let mut count = 0_u64;
    // SAFETY: `visit` has the required type and `count` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut count).cast()) };
    count
}
