//! Maps MPI errors to errno values. The MPI standard defines error classes, but their numbers differ between libraries. The mapping is
//! documented in docs/coverage.md and never changes, so that traces are comparable across MPI libraries.

use super::abi::Abi;
use super::calls::{SUCCESS, api};
use std::ffi::c_int;

/// Values of the MPI error classes (MPI 4.0, 9.4 and 14.7) that map to a specific errno value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErrorClasses {
    pub(crate) arg: c_int,
    pub(crate) count: c_int,
    pub(crate) datatype: c_int,
    pub(crate) access: c_int,
    pub(crate) amode: c_int,
    pub(crate) bad_file: c_int,
    pub(crate) file_exists: c_int,
    pub(crate) file_in_use: c_int,
    pub(crate) file: c_int,
    pub(crate) no_mem: c_int,
    pub(crate) no_space: c_int,
    pub(crate) no_such_file: c_int,
    pub(crate) quota: c_int,
    pub(crate) read_only: c_int,
    pub(crate) unsupported_operation: c_int,
    pub(crate) in_status: c_int,
}

/// Numbers of the MPI error classes in MPICH and compatible libraries.
pub(super) const MPICH: ErrorClasses = ErrorClasses {
    arg: 12,
    count: 2,
    datatype: 3,
    access: 20,
    amode: 21,
    bad_file: 22,
    file_exists: 25,
    file_in_use: 26,
    file: 27,
    no_mem: 34,
    no_space: 36,
    no_such_file: 37,
    quota: 39,
    read_only: 40,
    unsupported_operation: 44,
    in_status: 17,
};

/// Numbers of the MPI error classes in Open MPI, adopted by the standard ABI.
pub(super) const OPEN_MPI: ErrorClasses = ErrorClasses {
    arg: 13,
    count: 2,
    datatype: 3,
    access: 20,
    amode: 21,
    bad_file: 23,
    file_exists: 28,
    file_in_use: 29,
    file: 30,
    no_mem: 39,
    no_space: 41,
    no_such_file: 42,
    quota: 44,
    read_only: 45,
    unsupported_operation: 52,
    in_status: 18,
};

impl Abi {
    pub(crate) fn class_of(&self, code: c_int) -> c_int {
        let mut class = code;
        if api().error_class(code, &raw mut class) == SUCCESS { class } else { code }
    }

    /// Returns the errno value for the MPI error code `code`; EIO for all classes without a specific errno value.
    pub(crate) fn errno_of(&self, code: c_int) -> c_int {
        self.errno_of_class(self.class_of(code))
    }

    fn errno_of_class(&self, class: c_int) -> c_int {
        let classes = &self.errors;
        let known = [
            (classes.no_such_file, libc::ENOENT),
            (classes.file_exists, libc::EEXIST),
            (classes.access, libc::EACCES),
            (classes.read_only, libc::EROFS),
            (classes.no_space, libc::ENOSPC),
            (classes.quota, libc::EDQUOT),
            (classes.file_in_use, libc::EBUSY),
            (classes.bad_file, libc::ENAMETOOLONG),
            (classes.file, libc::EBADF),
            (classes.no_mem, libc::ENOMEM),
            (classes.unsupported_operation, libc::EOPNOTSUPP),
            (classes.amode, libc::EINVAL),
            (classes.arg, libc::EINVAL),
            (classes.count, libc::EINVAL),
            (classes.datatype, libc::EINVAL),
        ];
        known.iter().find(|(known, _)| *known == class).map_or(libc::EIO, |(_, errno)| *errno)
    }
}
