//! The MPI calls of the reduction: an operator and an element type that free themselves, and the reduction.

use super::operators::{self, Operator};
use crate::mpi::{Handle, SUCCESS, World, api};
use std::ffi::c_void;

/// An operator of ours in MPI.
struct Op(Handle);

impl Op {
    /// Makes it known to MPI as a commutative one; `None` if MPI refuses.
    fn new(operator: Operator) -> Option<Self> {
        let mut handle: Handle = 0;
        let made = api().op_create(operator as *const c_void, 1, &raw mut handle) == SUCCESS;
        // Not made unless there is something to free.
        made.then(|| Self(handle))
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        api().op_free(&raw mut self.0);
    }
}

/// A type of so many 64-bit words, which MPI does not cut.
struct Words(Handle);

impl Words {
    /// Makes it known to MPI; `None` if MPI refuses.
    fn new(world: &World, words: usize) -> Option<Self> {
        let mut handle: Handle = 0;
        let made = api().type_contiguous(i32::try_from(words).ok()?, world.abi.uint64, &raw mut handle) == SUCCESS;
        let mut made = made.then(|| Self(handle))?;
        (api().type_commit(&raw mut made.0) == SUCCESS).then_some(made)
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        api().type_free(&raw mut self.0);
    }
}

/// What a rank must have to take part.
pub(super) struct Tools {
    merge: Op,
    element: Words,
}

impl Tools {
    /// For elements of so many words; `None` if MPI refuses.
    pub(super) fn new(world: &World, words: usize) -> Option<Self> {
        Some(Self { merge: Op::new(operators::merge)?, element: Words::new(world, words)? })
    }

    /// All ranks' elements merged into one, for rank 0; others get zeros. And whether MPI says that it worked. Collective.
    pub(super) fn to_rank_0(&self, world: &World, element: &[u64]) -> (Vec<u64>, bool) {
        // Only rank 0 receives anything.
        let mut result = vec![0_u64; if world.rank == 0 { element.len() } else { 1 }];
        let (from, to) = (element.as_ptr().cast(), result.as_mut_ptr().cast());
        let code = api().reduce(from, to, 1, self.element.0, self.merge.0, 0, world.abi.comm_world);
        (result, code == SUCCESS)
    }
}
