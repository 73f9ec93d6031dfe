//! Patterns across ranks, or across the files of a series. A member is a rank (or a rank and file) with its signature.
//!
//! Each member has too few accesses to form a loop, but the accesses of all members together have offsets that are linear in the rank, or
//! fill a range of the file.

use super::tiles::{FEWEST, tilings};
use super::{Direction, Line, globalize};
use crate::access::Access;
use crate::nest::{Loop, Node, Step};
use crate::signature::{Item, Pattern, Residue, Signature};
use std::collections::{HashMap, HashSet};

/// Group of accesses that is compared across members (ranks): a whole sequence, or one access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    /// Each sequence of successive accesses outside loops, compared as a whole.
    Rows,
    /// Each access outside loops, compared separately.
    Single,
}

/// Positions of the accesses that belong to a pattern across members (ranks), by member number; a position is an index in the member's
/// stream of accesses.
type Taken = HashMap<u64, HashSet<u64>>;

/// Finds patterns across members (ranks) among the accesses outside loops.
///
/// Returns new signatures for the members with such accesses, in which these accesses are loops of one iteration. `part` maps a member to
/// its file, because only accesses to one file can fill a range together.
#[must_use]
pub fn across(members: &[(u64, &Signature)], part: &dyn Fn(u64) -> u64) -> HashMap<u64, Signature> {
    let [rows, single] = [As::Rows, As::Single].map(|how| (how, taken(members, how, part)));
    // If both units cover equally many accesses, whole sequences are preferred, because they need fewer lines.
    let (how, (taken, _)) = if single.1.1 > rows.1.1 { single } else { rows };
    let signature =
        |(number, signature): &(u64, &Signature)| Some((*number, signature.with_patterns(how, taken.get(number)?)));
    members.iter().filter_map(signature).collect()
}

/// Returns the positions of the accesses outside loops that belong to a pattern across members (ranks), and the number of these accesses.
fn taken(members: &[(u64, &Signature)], how: As, part: &dyn Fn(u64) -> u64) -> (Taken, u64) {
    let candidates: Vec<(u64, Signature)> =
        members.iter().map(|(number, signature)| (*number, signature.candidates(how))).collect();
    let of_all: Vec<(u64, &Signature)> = candidates.iter().map(|(number, signature)| (*number, signature)).collect();
    let lines = globalize(&of_all).lines;
    let mut is_pattern: Vec<bool> = lines.iter().map(|line| line.ranks >= FEWEST).collect();
    for at in tilings(&lines, part).into_iter().flat_map(|tiling| tiling.lines) {
        if let Some(known) = is_pattern.get_mut(at) {
            *known = true;
        }
    }
    let (mut out, mut accesses) = (Taken::new(), 0_u64);
    for line in lines.iter().zip(is_pattern).filter(|(_, is)| *is).map(|(line, _)| line) {
        accesses = accesses.saturating_add(line.accesses);
        for ((number, _), position) in line.members().zip(&line.positions) {
            out.entry(number).or_default().insert(*position);
        }
    }
    (out, accesses)
}

impl Signature {
    /// Returns a signature that consists of the accesses outside loops only; each unit (a sequence or one access, see [`As`]) is a pattern
    /// of one iteration.
    fn candidates(&self, how: As) -> Self {
        let few = self.residue().filter_map(|part| Some((part.position, part.few.as_ref()?)));
        let patterns = few.flat_map(|(position, few)| parts(few, position, how));
        let items = patterns.map(|(position, part)| Item::Pattern(Pattern::once(part, position))).collect();
        Self { items, ..Self::default() }
    }

    /// Returns the signature in which the accesses outside loops at the positions `taken` are patterns of one iteration.
    fn with_patterns(&self, how: As, taken: &HashSet<u64>) -> Self {
        self.with(|position, few| {
            parts(few, position, how).map(|(position, part)| (part, taken.contains(&position))).collect()
        })
    }

    /// Returns the signature in which each access outside loops for which `is_pattern` returns true is a pattern of one iteration.
    #[must_use]
    pub fn with_single(&self, is_pattern: impl Fn(&Access) -> bool) -> Self {
        self.with(|_, few| few.chunks(1).map(|one| (one, one.first().is_some_and(&is_pattern))).collect())
    }

    fn with<'a>(&'a self, split: impl Fn(u64, &'a [Access]) -> Vec<(&'a [Access], bool)>) -> Self {
        let mut out = Self { items: Vec::with_capacity(self.items.len()), ..self.clone_sums() };
        for item in &self.items {
            let Item::Residue(Residue { position, few: Some(few), .. }) = item else {
                out.items.push(item.clone());
                continue;
            };
            let mut at = *position;
            for (part, is_pattern) in split(*position, few) {
                out.take(part, at, is_pattern);
                at = at.saturating_add(part.len() as u64);
            }
        }
        out
    }

    fn clone_sums(&self) -> Self {
        Self { items: Vec::new(), ..*self }
    }

    fn take(&mut self, part: &[Access], position: u64, is_pattern: bool) {
        if is_pattern {
            let pattern = Pattern::once(part, position);
            self.covered = self.covered.saturating_add(pattern.accesses);
            self.covered_bytes = self.covered_bytes.saturating_add(pattern.bytes);
            self.items.push(Item::Pattern(pattern));
            return;
        }
        if !matches!(self.items.last(), Some(Item::Residue(residue)) if residue.few.is_some()) {
            self.items.push(Item::Residue(Residue::behind(0)));
        }
        if let Some(Item::Residue(residue)) = self.items.last_mut() {
            part.iter().zip(position..).for_each(|(access, position)| residue.add(access, position));
        }
    }
}

/// Splits the accesses `few`, the first of which is at `position`, into units (whole sequences or single accesses, see [`As`]); returns
/// each unit with the position of its first access.
fn parts(few: &[Access], position: u64, how: As) -> impl Iterator<Item = (u64, &[Access])> {
    let size = if how == As::Rows { few.len().max(1) } else { 1 };
    few.chunks(size).enumerate().map(move |(at, part)| (position.saturating_add((at * size) as u64), part))
}

impl Line {
    /// Returns the accesses of all ranks that share the line's loop nest as one nest: loops over the ranks around the body of the shared
    /// nest.
    ///
    /// Returns the line's nest unchanged if it has several iterations or only one rank has it.
    #[must_use]
    pub fn over_members(&self) -> Loop {
        let nest = &self.nest;
        if nest.count != 1 || self.directions.is_empty() {
            return nest.clone();
        }
        let mut leaf = 0;
        let mut shifts = || {
            let of = |direction: &Direction| direction.shifts.get(leaf).copied().unwrap_or(0);
            let all = self.directions.iter().map(of).collect();
            leaf += 1;
            all
        };
        let mut body = with_steps(&nest.body, &mut shifts);
        let mut around = self.directions.len();
        let mut out = nest.clone();
        for direction in &self.directions {
            around -= 1;
            out = Loop { count: direction.count, count_steps: vec![0; around], body, times: nest.times };
            body = vec![Node::Loop(out.clone())];
        }
        out
    }
}

/// Replaces, in each leaf (access in a loop body), the step of the outermost loop by one step per dimension of the process grid
/// ([`Direction`]). `shifts` returns these steps for one leaf after another.
fn with_steps(nodes: &[Node], shifts: &mut dyn FnMut() -> Vec<i64>) -> Vec<Node> {
    let step = |offset: i64| Step { offset, length: 0 };
    let one = |node: &Node| match node {
        Node::Leaf(leaf) => {
            let mut leaf = leaf.clone();
            leaf.steps.pop();
            leaf.steps.extend(shifts().into_iter().map(step));
            Node::Leaf(leaf)
        }
        Node::Loop(inner) => Node::Loop(Loop { body: with_steps(&inner.body, shifts), ..inner.clone() }),
    };
    nodes.iter().map(one).collect()
}
