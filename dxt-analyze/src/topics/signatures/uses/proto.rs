//! Signatures as protocol buffers (`signatures.proto`), encoded field by field, without a schema compiler at build time.

use super::wire::Message;

/// Text of the protocol buffers schema.
pub const SCHEMA: &str = include_str!("signatures.proto");

/// Maximum loop depth to encode. Readers accept 100 nested messages by default; two of these are around a loop nest.
pub const MOST_DEPTH: usize = 90;

/// Message with all signatures of a run; the schema describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Signatures {
    pub processes: u64,
    pub accesses: u64,
    pub covered: u64,
    pub patterns: Vec<Pattern>,
    pub rests: Vec<Rest>,
}

/// Message for a pattern that some ranks share on one file; the schema describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Pattern {
    pub file: String,
    pub interface: String,
    pub inside: bool,
    pub ranks: Vec<Ranks>,
    pub process: String,
    pub thread: u64,
    pub start_ns: u64,
    pub last_start_ns: u64,
    pub accesses: u64,
    pub bytes: u64,
    pub directions: Vec<Direction>,
    pub nest: Node,
    pub end_ns: u64,
}

/// Message for accesses without a pattern; the schema describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Rest {
    pub file: String,
    pub interface: String,
    pub inside: bool,
    pub ranks: Vec<Ranks>,
    pub process: String,
    pub thread: u64,
    pub start_ns: u64,
    pub last_start_ns: u64,
    pub accesses: u64,
    pub bytes: u64,
    pub end_ns: u64,
    pub shortest: u64,
    pub longest: u64,
    pub lowest: u64,
    pub highest: u64,
    pub pattern_signature: String,
}

/// Message for an arithmetic sequence of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Ranks {
    pub first: u64,
    pub last: u64,
    pub step: u64,
}

/// Message for a direction of the process grid in which a pattern repeats; the schema describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Direction {
    pub members: u64,
    pub ranks: i64,
    pub others: i64,
    pub shifts: Vec<i64>,
}

/// Message for a loop or an access; the schema describes the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Node {
    pub repeats: u64,
    pub repeats_steps: Vec<i64>,
    pub body: Vec<Node>,
    pub intervals: u64,
    pub interval_ns: u64,
    pub interval_cv: u64,
    pub fixed_interval: bool,
    pub operation: String,
    pub offset: u64,
    pub length: u64,
    pub steps: Vec<Step>,
    pub view_bytes: u64,
    pub view: Vec<Dimension>,
}

/// Message for a repetition of an access's blocks; the schema describes the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Dimension {
    pub count: u64,
    pub stride: u64,
}

/// Message for the change of an access per loop iteration; the schema describes the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Step {
    pub offset: i64,
    pub length: i64,
}

/// Error for loops that are nested deeper than `MOST_DEPTH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl std::fmt::Display for TooDeep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "loops are nested deeper than {MOST_DEPTH}, which readers of protocol buffers refuse")
    }
}

impl std::error::Error for TooDeep {}

/// Encodes all signatures of a run as the message `Signatures`.
///
/// # Errors
/// Returns an error if loops are nested deeper than [`MOST_DEPTH`].
pub fn encode(signatures: &Signatures) -> Result<Vec<u8>, TooDeep> {
    let mut out = Message::default();
    out.number(1, 1);
    out.number(2, signatures.processes);
    out.number(3, signatures.accesses);
    out.number(4, signatures.covered);
    for pattern in &signatures.patterns {
        out.message(5, &of_pattern(pattern)?);
    }
    signatures.rests.iter().for_each(|rest| out.message(6, &of_rest(rest)));
    Ok(out.into_bytes())
}

fn of_pattern(pattern: &Pattern) -> Result<Message, TooDeep> {
    let mut out = Message::default();
    out.bytes(1, pattern.file.as_bytes());
    out.bytes(2, pattern.interface.as_bytes());
    out.number(3, u64::from(pattern.inside));
    of_ranks(&mut out, &pattern.ranks);
    out.bytes(5, pattern.process.as_bytes());
    out.number(6, pattern.thread);
    out.number(7, pattern.start_ns);
    out.number(8, pattern.last_start_ns);
    out.number(9, pattern.accesses);
    out.number(10, pattern.bytes);
    for direction in &pattern.directions {
        let mut inner = Message::default();
        inner.number(1, direction.members);
        inner.signed(2, direction.ranks);
        inner.signed(3, direction.others);
        inner.all_signed(4, &direction.shifts);
        out.message(11, &inner);
    }
    out.message(12, &of_node(&pattern.nest, 1)?);
    out.number(13, pattern.end_ns);
    Ok(out)
}

fn of_rest(rest: &Rest) -> Message {
    let mut out = Message::default();
    out.bytes(1, rest.file.as_bytes());
    out.bytes(2, rest.interface.as_bytes());
    out.number(3, u64::from(rest.inside));
    of_ranks(&mut out, &rest.ranks);
    out.bytes(5, rest.process.as_bytes());
    let numbers = [rest.thread, rest.start_ns, rest.last_start_ns, rest.accesses, rest.bytes, rest.end_ns];
    let bounds = [rest.shortest, rest.longest, rest.lowest, rest.highest];
    (6..).zip(numbers.into_iter().chain(bounds)).for_each(|(field, value)| out.number(field, value));
    out.bytes(16, rest.pattern_signature.as_bytes());
    out
}

fn of_ranks(out: &mut Message, ranks: &[Ranks]) {
    for ranks in ranks {
        let mut inner = Message::default();
        inner.number(1, ranks.first);
        inner.number(2, ranks.last);
        inner.number(3, ranks.step);
        out.message(4, &inner);
    }
}

fn of_node(node: &Node, depth: usize) -> Result<Message, TooDeep> {
    if depth > MOST_DEPTH {
        return Err(TooDeep);
    }
    let mut out = Message::default();
    out.number(1, node.repeats);
    out.all_signed(2, &node.repeats_steps);
    for inner in &node.body {
        out.message(3, &of_node(inner, depth + 1)?);
    }
    out.number(4, node.intervals);
    out.number(5, node.interval_ns);
    out.number(6, node.interval_cv);
    out.number(7, u64::from(node.fixed_interval));
    out.bytes(8, node.operation.as_bytes());
    out.number(9, node.offset);
    out.number(10, node.length);
    for step in &node.steps {
        let mut inner = Message::default();
        inner.signed(1, step.offset);
        inner.signed(2, step.length);
        out.message(11, &inner);
    }
    out.number(12, node.view_bytes);
    for dimension in &node.view {
        let mut inner = Message::default();
        inner.number(1, dimension.count);
        inner.number(2, dimension.stride);
        out.message(13, &inner);
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
