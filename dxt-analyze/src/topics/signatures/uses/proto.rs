//! I/O signatures as protocol buffers. The structs' attributes repeat `signatures.proto`, so that the build needs no schema compiler; a
//! test compares attributes and schema.

use prost::Message;

/// Text of the protocol buffers schema.
pub const SCHEMA: &str = include_str!("signatures.proto");

/// Maximum depth of loops to encode. Readers accept 100 nested messages by default; two messages enclose a loop nest.
pub const MOST_DEPTH: usize = 90;

/// Message with all signatures of a run; the schema describes the fields.
#[derive(Clone, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Signatures {
    #[prost(uint64, tag = "1")]
    pub version: u64,
    #[prost(uint64, tag = "2")]
    pub processes: u64,
    #[prost(uint64, tag = "3")]
    pub accesses: u64,
    #[prost(uint64, tag = "4")]
    pub covered: u64,
    #[prost(message, repeated, tag = "5")]
    pub patterns: Vec<Pattern>,
    #[prost(message, repeated, tag = "6")]
    pub rests: Vec<Rest>,
}

/// Message for a pattern that some ranks share on one file; the schema describes the fields.
#[derive(Clone, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Pattern {
    #[prost(string, tag = "1")]
    pub file: String,
    #[prost(string, tag = "2")]
    pub interface: String,
    #[prost(bool, tag = "3")]
    pub inside: bool,
    #[prost(message, repeated, tag = "4")]
    pub ranks: Vec<Ranks>,
    #[prost(string, tag = "5")]
    pub process: String,
    #[prost(uint64, tag = "6")]
    pub thread: u64,
    #[prost(uint64, tag = "7")]
    pub start_ns: u64,
    #[prost(uint64, tag = "8")]
    pub last_start_ns: u64,
    #[prost(uint64, tag = "9")]
    pub accesses: u64,
    #[prost(uint64, tag = "10")]
    pub bytes: u64,
    #[prost(message, repeated, tag = "11")]
    pub directions: Vec<Direction>,
    #[prost(message, required, tag = "12")]
    pub nest: Node,
    #[prost(uint64, tag = "13")]
    pub end_ns: u64,
}

/// Message for accesses without a pattern; the schema describes the fields.
#[derive(Clone, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Rest {
    #[prost(string, tag = "1")]
    pub file: String,
    #[prost(string, tag = "2")]
    pub interface: String,
    #[prost(bool, tag = "3")]
    pub inside: bool,
    #[prost(message, repeated, tag = "4")]
    pub ranks: Vec<Ranks>,
    #[prost(string, tag = "5")]
    pub process: String,
    #[prost(uint64, tag = "6")]
    pub thread: u64,
    #[prost(uint64, tag = "7")]
    pub start_ns: u64,
    #[prost(uint64, tag = "8")]
    pub last_start_ns: u64,
    #[prost(uint64, tag = "9")]
    pub accesses: u64,
    #[prost(uint64, tag = "10")]
    pub bytes: u64,
    #[prost(uint64, tag = "11")]
    pub end_ns: u64,
    #[prost(uint64, tag = "12")]
    pub shortest: u64,
    #[prost(uint64, tag = "13")]
    pub longest: u64,
    #[prost(uint64, tag = "14")]
    pub lowest: u64,
    #[prost(uint64, tag = "15")]
    pub highest: u64,
    #[prost(string, tag = "16")]
    pub pattern_signature: String,
}

/// Message for an arithmetic sequence of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Ranks {
    #[prost(uint64, tag = "1")]
    pub first: u64,
    #[prost(uint64, tag = "2")]
    pub last: u64,
    #[prost(uint64, tag = "3")]
    pub step: u64,
}

/// Message for a direction of the process grid in which a pattern repeats; the schema describes the fields.
#[derive(Clone, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Direction {
    #[prost(uint64, tag = "1")]
    pub members: u64,
    #[prost(sint64, tag = "2")]
    pub ranks: i64,
    #[prost(sint64, tag = "3")]
    pub others: i64,
    #[prost(sint64, repeated, tag = "4")]
    pub shifts: Vec<i64>,
}

/// Message for a loop or an access; the schema describes the fields.
#[derive(Clone, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Node {
    #[prost(uint64, tag = "1")]
    pub repeats: u64,
    #[prost(sint64, repeated, tag = "2")]
    pub repeats_steps: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub body: Vec<Node>,
    #[prost(uint64, tag = "4")]
    pub intervals: u64,
    #[prost(uint64, tag = "5")]
    pub interval_ns: u64,
    #[prost(uint64, tag = "6")]
    pub interval_cv: u64,
    #[prost(bool, tag = "7")]
    pub fixed_interval: bool,
    #[prost(string, tag = "8")]
    pub operation: String,
    #[prost(uint64, tag = "9")]
    pub offset: u64,
    #[prost(uint64, tag = "10")]
    pub length: u64,
    #[prost(message, repeated, tag = "11")]
    pub steps: Vec<Step>,
    #[prost(uint64, tag = "12")]
    pub view_bytes: u64,
    #[prost(message, repeated, tag = "13")]
    pub view: Vec<Dimension>,
}

/// Message for a repetition of an access's blocks; the schema describes the fields.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Dimension {
    #[prost(uint64, tag = "1")]
    pub count: u64,
    #[prost(uint64, tag = "2")]
    pub stride: u64,
}

/// Message for the change of an access per loop iteration; the schema describes the fields.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
#[expect(missing_docs, reason = "the schema has the words, once")]
pub struct Step {
    #[prost(sint64, tag = "1")]
    pub offset: i64,
    #[prost(sint64, tag = "2")]
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
    let fits = signatures.patterns.iter().all(|pattern| is_within(&pattern.nest, MOST_DEPTH));
    if fits { Ok(signatures.encode_to_vec()) } else { Err(TooDeep) }
}

/// True if the loops of `node` are nested at most `depth` deep.
fn is_within(node: &Node, depth: usize) -> bool {
    depth.checked_sub(1).is_some_and(|depth| node.body.iter().all(|inner| is_within(inner, depth)))
}

#[cfg(test)]
mod tests;
