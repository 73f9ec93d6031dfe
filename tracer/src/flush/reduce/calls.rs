//! MPI operators and datatypes of the reduction, which free themselves on drop, and the MPI calls that use them.

use super::operators::{self, Element, Operator};
use super::sums::{Room, Sums};
use super::users::{self, Users};
use crate::mpi::{Handle, SUCCESS, World, api};
use std::ffi::c_void;

/// MPI reduction operator defined by the tracer and registered with MPI.
struct Op(Handle);

impl Op {
    /// Registers a commutative reduction operator with MPI; returns `None` if MPI refuses.
    fn new(operator: Operator) -> Option<Self> {
        let mut handle: Handle = 0;
        let made = api().op_create(operator as *const c_void, 1, &raw mut handle) == SUCCESS;
        // The value exists only after success, so that drop never frees an invalid handle.
        made.then(|| Self(handle))
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        api().op_free(&raw mut self.0);
    }
}

/// MPI datatype for reduction elements: a fixed number of 64-bit words, which MPI does not split.
struct Words(Handle);

impl Words {
    /// Registers a datatype of `words` words with MPI; returns `None` if MPI refuses.
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

/// MPI operators and datatypes that a rank needs for the reduction. All are created before the ranks agree that every rank can take part;
/// the number of shared files, and so the size of an element, is only known afterwards.
pub(super) struct Tools {
    merge: Op,
    /// Datatypes of reduction elements (the data of one rank), each with its capacity, by increasing number of files that rank 0 lacks.
    elements: Vec<(Room, Words)>,
    merge_users: Op,
    users: Words,
    /// Maximum number of files in a rank's table of the files that rank 0 lacks; the tables are merged to find shared files.
    pub(super) users_room: usize,
}

/// Number of files unknown to rank 0 that an element of the second reduction datatype has room for (the first: none); each further datatype
/// has room for twice as many.
const FIRST_STEP: usize = 64;

impl Tools {
    /// Creates operators and datatypes for reduction elements of capacity `room`, and for tables of `users` files that rank 0 lacks.
    /// Returns `None` if MPI refuses.
    pub(super) fn new(world: &World, room: Room, users: usize) -> Option<Self> {
        let mut elements = Vec::new();
        let steps =
            std::iter::successors(Some(FIRST_STEP), |step| step.checked_mul(2)).take_while(|step| *step <= users);
        for room in std::iter::once(0).chain(steps).map(|files| room.with_files(files)) {
            match room.words() {
                Some(words) => elements.push((room, Words::new(world, words)?)),
                // Files beyond this capacity are not reduced.
                None if !elements.is_empty() => break,
                None => return None,
            }
        }
        Some(Self {
            merge: Op::new(operators::merge::<Sums>)?,
            elements,
            merge_users: Op::new(operators::merge::<Users>)?,
            users: Words::new(world, users::words(users))?,
            users_room: users,
        })
    }

    /// Merges the ranks' tables of the files that rank 0 lacks. Returns the merged table, and true if MPI reported success. Collective.
    pub(super) fn of_all(&self, world: &World, users: &Users) -> (Users, bool) {
        let own = users.put();
        let mut all = vec![0_u64; own.len()];
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        let code = api().allreduce(from, to, 1, self.users.0, self.merge_users.0, world.abi.comm_world);
        (Users::take(&all), code == SUCCESS)
    }

    /// Returns the largest number of files unknown to rank 0 that a datatype has capacity for.
    pub(super) fn most_files(&self) -> usize {
        self.elements.last().map_or(0, |(room, _)| room.described)
    }

    /// Returns the smallest datatype with capacity for `files` files that rank 0 lacks, or the largest datatype if none suffices.
    fn element(&self, files: usize) -> Option<&(Room, Words)> {
        self.elements.iter().find(|(room, _)| room.described >= files).or(self.elements.last())
    }

    /// Merges the ranks' reduction elements, with capacity for `files` files that rank 0 lacks. `own` builds this rank's element. Returns
    /// the merged words on rank 0, zeros elsewhere, and true if MPI reported success. Collective.
    pub(super) fn to_rank_0(&self, world: &World, files: usize, own: impl FnOnce(Room) -> Sums) -> (Vec<u64>, bool) {
        let Some((room, words)) = self.element(files) else { return (Vec::new(), false) };
        let element = own(*room).put();
        // Only rank 0 receives a result.
        let mut result = vec![0_u64; if world.rank == 0 { element.len() } else { 1 }];
        let (from, to) = (element.as_ptr().cast(), result.as_mut_ptr().cast());
        let code = api().reduce(from, to, 1, words.0, self.merge.0, 0, world.abi.comm_world);
        (result, code == SUCCESS)
    }
}
