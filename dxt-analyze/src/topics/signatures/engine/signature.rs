//! What the recogniser gives: nests and residue, in order.

use super::access::Access;
use super::nest::{Leaf, Loop, Node, Step};
use super::succession::Succession;
use super::times::Intervals;

/// A nest of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The number of its first access in the stream, from 0.
    pub position: u64,
    /// Accesses it stands for.
    pub accesses: u64,
    /// Bytes of these.
    pub bytes: u128,
    /// When the first began.
    pub start_ns: u64,
    /// When the last began.
    pub last_start_ns: u64,
    /// When the last returned.
    pub end_ns: u64,
    /// The outermost loop.
    pub nest: Loop,
}

impl Pattern {
    /// Accesses in a row that are made once, as a loop of one iteration.
    pub(super) fn once(accesses: &[Access], position: u64) -> Self {
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

/// Accesses in a row without a pattern: counted, not listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residue {
    /// The number of its first access in the stream, from 0.
    pub position: u64,
    /// Accesses.
    pub accesses: u64,
    /// Their bytes.
    pub bytes: u128,
    /// When the first began.
    pub start_ns: u64,
    /// When the last began.
    pub last_start_ns: u64,
    /// When the last returned.
    pub end_ns: u64,
    /// Operations with their accesses, at most [`Residue::MAX_OPS`] of them, by number.
    pub ops: Vec<(u16, u64)>,
    /// The shortest and the longest access.
    pub lengths: (u64, u64),
    /// The lowest first byte and the highest.
    pub offsets: (u64, u64),
    /// Between the starts of successive accesses.
    pub times: Intervals,
    /// Succession of them in the file.
    pub succession: Succession,
    /// The accesses themselves, while they are few: other ranks may show a pattern in them.
    pub few: Option<Vec<Access>>,
}

impl Residue {
    /// More operations are not told apart.
    pub const MAX_OPS: usize = 16;
    /// Accesses that are kept, and items of a signature among which they are.
    pub const FEW: usize = 64;

    /// An empty one behind so many items.
    pub(super) fn behind(items: usize) -> Self {
        Self { few: (items < Self::FEW).then(Vec::new), ..Self::default() }
    }

    pub(super) fn add(&mut self, access: &Access, position: u64) {
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

    /// Takes what is no longer listed one by one.
    pub(super) fn add_many(&mut self, node: &Node, position: u64, accesses: u64, bytes: u128, times: [u64; 3]) {
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

/// A part of a signature.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A nest.
    Pattern(Pattern),
    /// The rest.
    Residue(Residue),
}

/// What a stream does, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// Nests and residue, in the order of their first accesses.
    pub items: Vec<Item>,
    /// Accesses of the stream.
    pub accesses: u64,
    /// Those of nests.
    pub covered: u64,
    /// Bytes of the stream.
    pub bytes: u128,
    /// Those of nests.
    pub covered_bytes: u128,
    /// Nests that came after the bound on items was reached, and were counted as residue.
    pub dropped: u64,
}

impl Signature {
    /// The nests.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.items.iter().filter_map(|item| match item {
            Item::Pattern(pattern) => Some(pattern),
            Item::Residue(_) => None,
        })
    }

    /// When its first access began.
    #[must_use]
    pub fn start_ns(&self) -> u64 {
        self.items.first().map_or(0, |item| match item {
            Item::Pattern(pattern) => pattern.start_ns,
            Item::Residue(residue) => residue.start_ns,
        })
    }

    /// The rest.
    pub fn residue(&self) -> impl Iterator<Item = &Residue> {
        self.items.iter().filter_map(|item| match item {
            Item::Residue(residue) => Some(residue),
            Item::Pattern(_) => None,
        })
    }

    /// All residue as one: what it holds, without where.
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
