//! Expansion of signatures: computes the accesses that a signature describes.
//!
//! Expansion is independent of loop recognition: each access is computed from its loop indices, never from the previous access.

use crate::nest::{Leaf, Loop, Node};
use crate::signature::{Item, Pattern, Signature};

/// Access without times: (operation number, offset of the first byte, length in bytes), see [`Access::untimed`](crate::Access::untimed).
pub type Untimed = (u16, u64, u64);

/// Next access, or next group of accesses, that a signature predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Single access in a loop nest.
    Access(Untimed),
    /// Residue: successive accesses outside loops, of which only totals are known.
    Unknown {
        /// Number of accesses in the residue (accesses outside loops).
        accesses: u64,
        /// Total length of the accesses in the residue (accesses outside loops), in bytes.
        bytes: u128,
    },
}

/// Returns an iterator over the accesses that a signature predicts, in the order of the original accesses.
pub fn expand(signature: &Signature) -> impl Iterator<Item = Expected> + '_ {
    signature.items.iter().flat_map(|item| {
        let (nest, unknown) = match item {
            Item::Pattern(Pattern { nest, .. }) => (Some(expand_nest(nest).map(Expected::Access)), None),
            Item::Residue(r) => (None, Some(Expected::Unknown { accesses: r.accesses, bytes: r.bytes })),
        };
        nest.into_iter().flatten().chain(unknown)
    })
}

/// Returns an iterator over the accesses of a loop nest, in the order of execution.
#[must_use]
pub fn expand_nest(nest: &Loop) -> Expansion<'_> {
    Expansion { levels: vec![Level { nest, count: nest.count, index: 0, child: 0 }], idle: 0 }
}

#[derive(Debug)]
struct Level<'a> {
    nest: &'a Loop,
    count: u64,
    index: u64,
    child: usize,
}

/// Iterator over the accesses of a loop nest. Returned by [`expand_nest`].
#[derive(Debug)]
pub struct Expansion<'a> {
    levels: Vec<Level<'a>>,
    /// Number of loop steps (body entered, next iteration, loop ended) since the last access; it is limited, because loops parsed from text
    /// may contain no accesses.
    idle: u32,
}

/// Maximum number of loop steps without an access before an expansion ends. Nests parsed from text may reach this number, recognised nests
/// never do.
const IDLE: u32 = 1 << 20;

impl Expansion<'_> {
    fn resolve(&self, leaf: &Leaf) -> Untimed {
        let (mut offset, mut length) = (i128::from(leaf.offset), i128::from(leaf.length));
        for (step, level) in leaf.steps.iter().zip(self.levels.iter().rev()) {
            offset = offset.wrapping_add(i128::from(step.offset).wrapping_mul(i128::from(level.index)));
            length = length.wrapping_add(i128::from(step.length).wrapping_mul(i128::from(level.index)));
        }
        // Computed modulo 2^64, as defined in `nest`.
        (leaf.op, offset as u64, length as u64)
    }

    fn count_of(&self, inner: &Loop) -> u64 {
        let mut count = i128::from(inner.count);
        for (step, level) in inner.count_steps.iter().zip(self.levels.iter().rev()) {
            count = count.wrapping_add(i128::from(*step).wrapping_mul(i128::from(level.index)));
        }
        u64::try_from(count).unwrap_or(0)
    }
}

impl Iterator for Expansion<'_> {
    type Item = Untimed;

    fn next(&mut self) -> Option<Untimed> {
        self.idle = 0;
        loop {
            self.idle += 1;
            if self.idle > IDLE {
                self.levels.clear();
            }
            let level = self.levels.last_mut()?;
            if level.index >= level.count || level.nest.body.is_empty() {
                self.levels.pop();
                continue;
            }
            let nest = level.nest;
            match nest.body.get(level.child) {
                None => {
                    level.child = 0;
                    level.index += 1;
                }
                Some(Node::Leaf(leaf)) => {
                    level.child += 1;
                    return Some(self.resolve(leaf));
                }
                Some(Node::Loop(inner)) => {
                    level.child += 1;
                    let count = self.count_of(inner);
                    self.levels.push(Level { nest: inner, count, index: 0, child: 0 });
                }
            }
        }
    }
}
