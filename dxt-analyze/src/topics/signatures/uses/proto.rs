//! Signatures as protocol buffers by `signatures.proto`, field by field, with no compiler of schemas at build.

use super::wire::Message;

/// The schema.
pub const SCHEMA: &str = include_str!("signatures.proto");

/// Loops in loops that are written. Readers take 100 messages in messages by default; two of these stand around a nest.
pub const MOST_DEPTH: usize = 90;

/// All signatures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures {
    /// Processes of the run.
    pub processes: u64,
    /// Its patterns.
    pub patterns: Vec<Pattern>,
}

/// What some ranks do with one file. The schema says what each field means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Pattern {
    pub operation: String,
    pub file: String,
    pub ranks: Vec<Ranks>,
    pub shift_per_rank: i64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub nest: Vec<Node>,
    pub accesses: u64,
    pub bytes: u64,
    pub thread: u64,
}

/// Ranks from a first to a last one, each so many apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Ranks {
    pub first: u64,
    pub last: u64,
    pub step: u64,
}

/// A loop or an access. The schema says what each field means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Node {
    pub repeats: u64,
    pub stride: i64,
    pub length_step: i64,
    pub repeats_step: i64,
    pub interval_ns: u64,
    pub fixed_interval: bool,
    pub body: Vec<Node>,
    pub offset: i64,
    pub length: u64,
    pub operation: String,
}

/// Loops in loops deeper than `MOST_DEPTH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl std::fmt::Display for TooDeep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "loops are nested deeper than {MOST_DEPTH}, which readers of protocol buffers refuse")
    }
}

impl std::error::Error for TooDeep {}

/// The bytes of a message `Signatures`.
pub fn encode(signatures: &Signatures) -> Result<Vec<u8>, TooDeep> {
    let mut out = Message::default();
    out.number(1, 1);
    out.number(2, signatures.processes);
    for pattern in &signatures.patterns {
        out.message(3, &of_pattern(pattern)?);
    }
    Ok(out.into_bytes())
}

fn of_pattern(pattern: &Pattern) -> Result<Message, TooDeep> {
    let mut out = Message::default();
    out.bytes(1, pattern.operation.as_bytes());
    out.bytes(2, pattern.file.as_bytes());
    for ranks in &pattern.ranks {
        let mut inner = Message::default();
        inner.number(1, ranks.first);
        inner.number(2, ranks.last);
        inner.number(3, ranks.step);
        out.message(3, &inner);
    }
    out.signed(4, pattern.shift_per_rank);
    out.number(5, pattern.start_ns);
    out.number(6, pattern.end_ns);
    for node in &pattern.nest {
        out.message(7, &of_node(node, 1)?);
    }
    out.number(8, pattern.accesses);
    out.number(9, pattern.bytes);
    out.number(10, pattern.thread);
    Ok(out)
}

fn of_node(node: &Node, depth: usize) -> Result<Message, TooDeep> {
    if depth > MOST_DEPTH {
        return Err(TooDeep);
    }
    let mut out = Message::default();
    out.number(1, node.repeats);
    out.signed(2, node.stride);
    out.signed(3, node.length_step);
    out.signed(4, node.repeats_step);
    out.number(5, node.interval_ns);
    out.number(6, u64::from(node.fixed_interval));
    for inner in &node.body {
        out.message(7, &of_node(inner, depth + 1)?);
    }
    out.signed(8, node.offset);
    out.number(9, node.length);
    out.bytes(10, node.operation.as_bytes());
    Ok(out)
}

#[cfg(test)]
mod tests;
