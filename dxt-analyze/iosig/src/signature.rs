//! Signatures, the result of loop recognition: loop nests and residues (accesses outside loops), in the order of the accesses.

use crate::access::Access;
use crate::nest::{Leaf, Loop, Node, Step};
use crate::succession::Succession;
use crate::times::Intervals;

/// Loop nest in a signature, with its totals.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Index of the pattern's first access in the stream of accesses, from 0.
    pub position: u64,
    /// Number of accesses in all iterations of the loop nest.
    pub accesses: u64,
    /// Number of bytes accessed in all iterations of the loop nest.
    pub bytes: u128,
    /// Start of the first access in the loop nest, in ns.
    pub start_ns: u64,
    /// Start of the last access in the loop nest, in ns.
    pub last_start_ns: u64,
    /// End of the last access in the loop nest, in ns; 0 if the signature was parsed from text.
    pub end_ns: u64,
    /// Loop nest, given by its outermost loop.
    pub nest: Loop,
}

impl Pattern {
    /// Returns successive accesses as a pattern: a loop of one iteration.
    pub(crate) fn once(accesses: &[Access], position: u64) -> Self {
        let leaf = |access: &Access| {
            Node::Leaf(Leaf { steps: vec![Step::default()], ..Leaf::of(access.op, access.offset, access.length) })
        };
        Self {
            position,
            accesses: accesses.len() as u64,
            bytes: accesses.iter().map(|access| u128::from(access.length)).sum(),
            start_ns: accesses.first().map_or(0, |first| first.start_ns),
            last_start_ns: accesses.last().map_or(0, |last| last.start_ns),
            end_ns: accesses.iter().map(|access| access.end_ns).max().unwrap_or(0),
            nest: Loop {
                count: 1,
                count_steps: Vec::new(),
                body: accesses.iter().map(leaf).collect(),
                times: Intervals::default(),
            },
        }
    }
}

/// Residue: successive accesses outside loops, of which only totals are stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residue {
    /// Index of the residue's first access among all accesses of the stream, from 0.
    pub position: u64,
    /// Number of accesses in the residue (accesses outside loops).
    pub accesses: u64,
    /// Total length of the accesses in the residue, in bytes.
    pub bytes: u128,
    /// Start of the first access in the residue (accesses outside loops), in ns.
    pub start_ns: u64,
    /// Start of the last access in the residue (accesses outside loops), in ns.
    pub last_start_ns: u64,
    /// End of the latest access in the residue, in ns; 0 if the signature was parsed from text.
    pub end_ns: u64,
    /// Number of accesses per operation, as (operation number, accesses), sorted by operation number; at most [`Residue::MAX_OPS`]
    /// operations.
    pub ops: Vec<(u16, u64)>,
    /// Lengths of the shortest and of the longest access, in bytes. Loop nests beyond the limit on items ([`Signature::dropped`])
    /// contribute only their first iteration to `lengths` and `offsets`.
    pub lengths: (u64, u64),
    /// Lowest and highest offset of an access, in bytes.
    pub offsets: (u64, u64),
    /// Intervals between the starts of successive accesses of the residue.
    pub times: Intervals,
    /// Spatial order of the residue's accesses, derived from each access and its predecessor.
    pub succession: Succession,
    /// Accesses of the residue (outside loops), which may form patterns across ranks; `None` if they are not stored, see [`Residue::FEW`].
    pub few: Option<Vec<Access>>,
}

impl Residue {
    /// Maximum number of operations that are counted separately; further operations count only in the totals.
    pub const MAX_OPS: usize = 16;
    /// Maximum number of accesses stored in `few`. Only residues (accesses outside loops) among the first `FEW` items of a signature store
    /// accesses.
    pub const FEW: usize = 64;

    /// Creates an empty residue (accesses outside loops) behind `items` items of a signature. It stores its accesses if it is among the
    /// first [`Residue::FEW`] items.
    pub(crate) fn behind(items: usize) -> Self {
        Self { few: (items < Self::FEW).then(Vec::new), ..Self::default() }
    }

    pub(crate) fn add(&mut self, access: &Access, position: u64) {
        if self.accesses == 0 {
            self.position = position;
            self.start_ns = access.start_ns;
            self.lengths = (access.length, access.length);
            self.offsets = (access.offset, access.offset);
        } else {
            self.times.record(self.last_start_ns, access.start_ns);
            self.lengths = (self.lengths.0.min(access.length), self.lengths.1.max(access.length));
            self.offsets = (self.offsets.0.min(access.offset), self.offsets.1.max(access.offset));
        }
        self.last_start_ns = access.start_ns;
        self.end_ns = self.end_ns.max(access.end_ns);
        self.succession.add(access.offset, access.length);
        self.few = self.few.take().filter(|few| few.len() < Self::FEW);
        if let Some(few) = &mut self.few {
            few.push(*access);
        }
        self.accesses = self.accesses.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u128::from(access.length));
        match self.ops.binary_search_by_key(&access.op, |(op, _)| *op) {
            Ok(at) => {
                if let Some((_, n)) = self.ops.get_mut(at) {
                    *n = n.saturating_add(1);
                }
            }
            Err(at) if self.ops.len() < Self::MAX_OPS => self.ops.insert(at, (access.op, 1)),
            Err(_) => {}
        }
    }

    /// Adds a node (loop nest) that has no room as an item of its own, because the signature has reached its limit on items. `times` is
    /// (start of the first access, start of the last access, end of the last access), in ns.
    pub(crate) fn add_many(&mut self, node: &Node, position: u64, accesses: u64, bytes: u128, times: [u64; 3]) {
        if self.accesses == 0 {
            self.position = position;
            self.start_ns = times[0];
            self.lengths = (u64::MAX, 0);
            self.offsets = (u64::MAX, 0);
        }
        self.accesses = self.accesses.saturating_add(accesses);
        self.bytes = self.bytes.saturating_add(bytes);
        self.last_start_ns = times[1];
        self.end_ns = self.end_ns.max(times[2]);
        self.succession.interrupt();
        self.few = None;
        self.add_bounds(node);
    }

    fn add_bounds(&mut self, node: &Node) {
        match node {
            Node::Leaf(leaf) => {
                self.lengths = (self.lengths.0.min(leaf.length), self.lengths.1.max(leaf.length));
                self.offsets = (self.offsets.0.min(leaf.offset), self.offsets.1.max(leaf.offset));
                if let Err(at) = self.ops.binary_search_by_key(&leaf.op, |(op, _)| *op)
                    && self.ops.len() < Self::MAX_OPS
                {
                    self.ops.insert(at, (leaf.op, 0));
                }
            }
            Node::Loop(l) => l.body.iter().for_each(|n| self.add_bounds(n)),
        }
    }
}

/// Item of a signature: successive accesses that form a loop nest, or successive accesses outside loops.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Accesses that form a loop nest.
    Pattern(Pattern),
    /// Successive accesses outside loops.
    Residue(Residue),
}

/// Signature of a stream of accesses: loop nests, and totals of the remaining accesses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// Loop nests and residues (accesses outside loops), in the order of the accesses.
    pub items: Vec<Item>,
    /// Number of accesses in the stream.
    pub accesses: u64,
    /// Number of accesses that belong to loop nests.
    pub covered: u64,
    /// Bytes of all accesses in the stream together.
    pub bytes: u128,
    /// Bytes of the accesses that belong to loop nests.
    pub covered_bytes: u128,
    /// Number of loop nests beyond the limit on items; their accesses are counted as residue (accesses outside loops).
    pub dropped: u64,
}

impl Signature {
    /// Returns an iterator over the signature's loop nests, in order.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.items.iter().filter_map(|item| match item {
            Item::Pattern(pattern) => Some(pattern),
            Item::Residue(_) => None,
        })
    }

    /// Returns the start of the signature's first access, in ns; 0 if it has no accesses.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.items.first().map_or(0, |item| match item {
            Item::Pattern(pattern) => pattern.start_ns,
            Item::Residue(residue) => residue.start_ns,
        })
    }

    /// Returns an iterator over the signature's residues (successive accesses outside loops), in order.
    pub fn residue(&self) -> impl Iterator<Item = &Residue> {
        self.items.iter().filter_map(|item| match item {
            Item::Residue(residue) => Some(residue),
            Item::Pattern(_) => None,
        })
    }

    /// Returns the totals over all residues (accesses outside loops); the accesses themselves (field `few`) are omitted.
    #[must_use]
    pub fn residue_sum(&self) -> Residue {
        let mut sum = Residue { lengths: (u64::MAX, 0), offsets: (u64::MAX, 0), ..Residue::default() };
        for part in self.residue() {
            if sum.accesses == 0 {
                sum.position = part.position;
                sum.start_ns = part.start_ns;
            }
            sum.accesses = sum.accesses.saturating_add(part.accesses);
            sum.bytes = sum.bytes.saturating_add(part.bytes);
            sum.last_start_ns = part.last_start_ns;
            sum.end_ns = sum.end_ns.max(part.end_ns);
            sum.succession.merge(&part.succession);
            sum.lengths = (sum.lengths.0.min(part.lengths.0), sum.lengths.1.max(part.lengths.1));
            sum.offsets = (sum.offsets.0.min(part.offsets.0), sum.offsets.1.max(part.offsets.1));
            sum.times.merge(&part.times);
            for (op, n) in &part.ops {
                match sum.ops.binary_search_by_key(op, |(op, _)| *op) {
                    Ok(at) => {
                        if let Some((_, sum)) = sum.ops.get_mut(at) {
                            *sum = sum.saturating_add(*n);
                        }
                    }
                    Err(at) if sum.ops.len() < Residue::MAX_OPS => sum.ops.insert(at, (*op, *n)),
                    Err(_) => {}
                }
            }
        }
        sum
    }
}
