//! The MPI calls of the reduction: operators and element types that free themselves, and what is done with them.

use super::operators::{self, Element, Operator};
use super::sums::{Room, Sums};
use super::users::{self, Users};
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

/// What a rank must have to take part. All of it is made before the ranks agree that everybody is able, since how many files they share, and
/// with that the size of an element, is only known afterwards.
pub(super) struct Tools {
    merge: Op,
    /// Types of elements with room for more and more files that rank 0 does not have.
    elements: Vec<(Room, Words)>,
    merge_users: Op,
    users: Words,
    /// Files for which tables of users have room.
    pub(super) users_room: usize,
}

/// Files more that the second type has room for; each further one has room for twice as many.
const FIRST_STEP: usize = 64;

impl Tools {
    /// For elements with so much room for what rank 0 has, and for tables of so many files that it has not; `None` if MPI refuses.
    pub(super) fn new(world: &World, room: Room, users: usize) -> Option<Self> {
        let mut elements = Vec::new();
        let steps =
            std::iter::successors(Some(FIRST_STEP), |step| step.checked_mul(2)).take_while(|step| *step <= users);
        for room in std::iter::once(0).chain(steps).map(|files| room.with_files(files)) {
            match room.words() {
                Some(words) => elements.push((room, Words::new(world, words)?)),
                // The rest stays with its ranks.
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

    /// All ranks' tables as one, and whether MPI says that it worked. Collective.
    pub(super) fn of_all(&self, world: &World, users: &Users) -> (Users, bool) {
        let own = users.put();
        let mut all = vec![0_u64; own.len()];
        let (from, to) = (own.as_ptr().cast(), all.as_mut_ptr().cast());
        let code = api().allreduce(from, to, 1, self.users.0, self.merge_users.0, world.abi.comm_world);
        (Users::take(&all), code == SUCCESS)
    }

    /// Most files that rank 0 does not have for which an element can have room.
    pub(super) fn most_files(&self) -> usize {
        self.elements.last().map_or(0, |(room, _)| room.described)
    }

    /// The smallest room for so many of them.
    fn element(&self, files: usize) -> Option<&(Room, Words)> {
        self.elements.iter().find(|(room, _)| room.described >= files).or(self.elements.last())
    }

    /// All ranks' elements merged into one, for rank 0; others get zeros. They have room for so many files that rank 0 does not have. And
    /// whether MPI says that it worked. Collective.
    pub(super) fn to_rank_0(&self, world: &World, files: usize, own: impl FnOnce(Room) -> Sums) -> (Vec<u64>, bool) {
        let Some((room, words)) = self.element(files) else { return (Vec::new(), false) };
        let element = own(*room).put();
        // Only rank 0 receives anything.
        let mut result = vec![0_u64; if world.rank == 0 { element.len() } else { 1 }];
        let (from, to) = (element.as_ptr().cast(), result.as_mut_ptr().cast());
        let code = api().reduce(from, to, 1, words.0, self.merge.0, 0, world.abi.comm_world);
        (result, code == SUCCESS)
    }
}
