//! Calls with 64-bit counts (MPI 4.0, 19.2) where the MPI library lacks them. The tracer exports these functions with every library, and
//! programs that look for them before use, such as mpi4py's wheels, find them: each then makes the same call with int counts.
#![expect(unsafe_code, reason = "arrays of a program")]

use crate::mpi::{Handle, SUCCESS, api};
use std::cell::{Cell, RefCell};
use std::ffi::c_int;

/// `MPI_ERR_COUNT` in MPICH and Open MPI: returned if a count is too large for an int.
const ERR_COUNT: c_int = 2;

/// Facts on a collective call that tell how long its arrays are, and the arrays made for the call with int counts.
#[derive(Default)]
pub(crate) struct Arrays {
    function: &'static str,
    comm: Handle,
    root: Option<c_int>,
    /// True if the send buffer is `MPI_IN_PLACE`: then the arrays before the receive buffer have no meaning.
    in_place: Cell<bool>,
    /// True behind the receive buffer, the only buffer that is not constant.
    is_received: Cell<bool>,
    kept: RefCell<Vec<Vec<c_int>>>,
}

impl Arrays {
    /// Creates the facts on a call of `function`, named as with int counts.
    pub(crate) fn of(function: &'static str) -> Self {
        Self { function, ..Self::default() }
    }

    /// Returns the error that the call ends with if its counts do not fit, as the communicator's error handler wants it. (Files have handlers
    /// that return, unless a program sets others.)
    pub(crate) fn too_large(&self) -> c_int {
        if !self.function.starts_with("MPI_File") {
            api().comm_call_errhandler(self.comm, ERR_COUNT);
        }
        ERR_COUNT
    }

    /// Returns the length of arrays with an entry for each rank: 0 if they have no meaning on this rank, since another one is the root; `None`
    /// if it is not known.
    fn len(&self) -> Option<usize> {
        let of = |ask: &dyn Fn(*mut c_int) -> c_int| {
            let mut found = 0;
            (ask(&raw mut found) == SUCCESS).then_some(found)
        };
        let is_inter = of(&|to| api().comm_test_inter(self.comm, to))? != 0;
        let size = match (is_inter, self.root) {
            // `MPI_ROOT` is -3 or -4, and ranks beside the root have -1 or -2 (`MPI_PROC_NULL`).
            (true, Some(root)) if root > -3 => 0,
            (true, None) if self.function == "MPI_Reduce_scatter" => of(&|to| api().comm_size(self.comm, to))?,
            (true, _) => of(&|to| api().comm_remote_size(self.comm, to))?,
            (false, Some(root)) if root != of(&|to| api().comm_rank(self.comm, to))? => 0,
            (false, _) => of(&|to| api().comm_size(self.comm, to))?,
        };
        usize::try_from(size).ok()
    }

    fn narrow<T: Copy>(&self, array: *const T) -> Option<*const c_int>
    where
        c_int: TryFrom<T>,
    {
        let has_no_meaning = array.is_null() || self.in_place.get() && !self.is_received.get();
        let length = if has_no_meaning { 0 } else { self.len()? };
        if length == 0 {
            return Some(std::ptr::null());
        }
        // SAFETY: the caller promises an entry for each rank.
        let wide = unsafe { std::slice::from_raw_parts(array, length) };
        let narrow: Vec<c_int> = wide.iter().map(|&count| c_int::try_from(count).ok()).collect::<Option<_>>()?;
        // Stays in its place when the list grows.
        let at = narrow.as_ptr();
        self.kept.borrow_mut().push(narrow);
        Some(at)
    }
}

/// Argument of a call with 64-bit counts, as an argument of type `To` of the call with int counts.
pub(crate) trait Narrow<To> {
    /// Converts the argument; `None` if its value does not fit.
    fn narrow(self, arrays: &Arrays) -> Option<To>;
}

/// Looks at an argument for root and communicator: collective calls have one int, the root, and their communicator is the last handle.
pub(crate) trait Tells {
    fn tell(&self, _arrays: &mut Arrays) {}
}

macro_rules! same {
    ($($type:ty)+) => {
        $(impl Narrow<$type> for $type {
            fn narrow(self, _: &Arrays) -> Option<$type> {
                Some(self)
            }
        })+
    };
}

same!(c_int i64 Handle);

impl<T> Narrow<*const T> for *const T {
    fn narrow(self, arrays: &Arrays) -> Option<*const T> {
        // `MPI_IN_PLACE` is -1 or 1, where no buffer is.
        if [1, usize::MAX].contains(&self.addr()) {
            arrays.in_place.set(true);
        }
        Some(self)
    }
}

impl<T> Narrow<*mut T> for *mut T {
    fn narrow(self, arrays: &Arrays) -> Option<*mut T> {
        arrays.is_received.set(true);
        Some(self)
    }
}

impl Narrow<c_int> for i64 {
    fn narrow(self, _: &Arrays) -> Option<c_int> {
        c_int::try_from(self).ok()
    }
}

impl Narrow<*const c_int> for *const i64 {
    fn narrow(self, arrays: &Arrays) -> Option<*const c_int> {
        arrays.narrow(self)
    }
}

impl Narrow<*const c_int> for *const isize {
    fn narrow(self, arrays: &Arrays) -> Option<*const c_int> {
        arrays.narrow(self)
    }
}

impl<T> Tells for *const T {}
impl<T> Tells for *mut T {}
impl Tells for i64 {}

impl Tells for c_int {
    fn tell(&self, arrays: &mut Arrays) {
        arrays.root = Some(*self);
    }
}

impl Tells for Handle {
    fn tell(&self, arrays: &mut Arrays) {
        arrays.comm = *self;
    }
}
