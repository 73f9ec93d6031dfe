//! The MPI calls of the reduction, typed: operators and element types that free themselves, and collectives on words.

use super::operators::Operator;
use crate::mpi::{Handle, SUCCESS, World, api};
use std::ffi::c_void;

/// An operator of ours in MPI.
pub(super) struct Op(Handle);

impl Op {
    /// Makes it known to MPI as a commutative one; `None` if MPI refuses.
    pub(super) fn new(operator: Operator) -> Option<Self> {
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
pub(super) struct Words(Handle);

impl Words {
    /// Makes it known to MPI; `None` if MPI refuses.
    pub(super) fn new(world: &World, words: usize) -> Option<Self> {
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

/// What `op` makes of all ranks' `element`, which is one of type `words`; `None` if MPI fails.
pub(super) fn all(world: &World, element: &[u64], words: &Words, op: &Op) -> Option<Vec<u64>> {
    let mut result = vec![0_u64; element.len()];
    let (from, to) = (element.as_ptr().cast(), result.as_mut_ptr().cast());
    (api().allreduce(from, to, 1, words.0, op.0, world.abi.comm_world) == SUCCESS).then_some(result)
}

/// The same of `elements` of `size` words each, for rank 0; others get zeros.
pub(super) fn to_rank_0(world: &World, elements: &[u64], size: usize, words: &Words, op: &Op) -> Option<Vec<u64>> {
    let mut result = vec![0_u64; elements.len()];
    let (from, to) = (elements.as_ptr().cast(), result.as_mut_ptr().cast());
    let count = i32::try_from(elements.len() / size.max(1)).ok()?;
    (api().reduce(from, to, count, words.0, op.0, 0, world.abi.comm_world) == SUCCESS).then_some(result)
}

/// Element by element the sum of all ranks' `values`, for rank 0, or the greatest, for all.
pub(super) fn plain(world: &World, values: &[u64], greatest: bool) -> Option<Vec<u64>> {
    let mut result = vec![0_u64; values.len()];
    let (from, to) = (values.as_ptr().cast(), result.as_mut_ptr().cast());
    let (abi, count) = (&world.abi, i32::try_from(values.len()).ok()?);
    let code = match greatest {
        true => api().allreduce(from, to, count, abi.uint64, abi.max, abi.comm_world),
        false => api().reduce(from, to, count, abi.uint64, abi.sum, 0, abi.comm_world),
    };
    (code == SUCCESS).then_some(result)
}

/// Whether every rank says so.
pub(super) fn every(world: &World, yes: bool) -> bool {
    plain(world, &[u64::from(!yes)], true).is_some_and(|noes| noes == [0])
}
