//! Text form of signatures. [`parse`](super::parse) parses it.
//!
//! ```text
//! signature = { line } [ "dropped" number newline ] ;
//! line      = "at" number ":" ( pattern | residue ) newline ;
//! pattern   = loop "," sums "," when ;
//! loop      = number [ steps ] "x" "{" node { "," node } "}" [ times ] ;
//! node      = loop | leaf ;
//! leaf      = name number "+" number [ steps ] ;
//! steps     = "[" step { "," step } "]" ;
//! step      = integer [ ":" integer ] ;
//! residue   = "residue" sums "," when "," "lengths" range "," "offsets" range { "," name number } [ times ] ;
//! sums      = number "accesses" number "bytes" ;
//! when      = "from" number "to" number "ns" ;
//! times     = "every" number "ns" "cv" number "of" number ;
//! range     = number ".." number ;
//! name      = letter { letter | digit | "_" } ;
//! integer   = [ "-" ] number ;
//! number    = digit { digit } ;
//! ```
//!
//! - A leaf (access in a loop body) consists of operation, first byte and length. It has a step per loop around it, innermost first: the
//!   change of the first byte and, after a colon, the change of the length.
//! - A loop consists of its iteration count, with a step per loop around it if the count varies, and its body.
//! - `every` is the mean interval between starts, `cv` the coefficient of variation in thousandths, `of` the number of intervals.
//! - The number after an operation of a residue is its number of accesses.
//! - Blanks may separate any two words.

use std::fmt::{self, Display, Formatter, Write};

use super::nest::{Leaf, Loop, Node, Step};
use super::signature::{Item, Residue, Signature};
use super::times::Intervals;

/// Mapping between operation numbers and names.
pub trait Operations {
    /// Returns the name of an operation: a letter, followed by letters, digits and underscores. Must not be a keyword of the grammar.
    fn name(&self, op: u16) -> String;
    /// Returns the number of the operation with this name; `None` if there is none.
    fn number(&self, name: &str) -> Option<u16>;
}

/// Names each operation `op` followed by its number, as in `op1`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbered;

impl Operations for Numbered {
    fn name(&self, op: u16) -> String {
        format!("op{op}")
    }

    fn number(&self, name: &str) -> Option<u16> {
        name.strip_prefix("op")?.parse().ok()
    }
}

/// Displays a signature in its text form; returned by [`text()`].
pub struct Text<'a> {
    signature: &'a Signature,
    operations: &'a dyn Operations,
}

/// Returns a value that displays a signature in its text form.
#[must_use]
pub fn text<'a>(signature: &'a Signature, operations: &'a dyn Operations) -> Text<'a> {
    Text { signature, operations }
}

/// Returns the text form of a loop nest.
#[must_use]
pub fn nest_text(nest: &Loop, operations: &dyn Operations) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_loop(&mut out, nest, operations);
    out
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for item in &self.signature.items {
            match item {
                Item::Pattern(p) => {
                    write!(f, "at {}: ", p.position)?;
                    write_loop(f, &p.nest, self.operations)?;
                    write!(f, ", {} accesses {} bytes", p.accesses, p.bytes)?;
                    writeln!(f, ", from {} to {} ns", p.start_ns, p.last_start_ns)?;
                }
                Item::Residue(r) => self.write_residue(f, r)?,
            }
        }
        match self.signature.dropped {
            0 => Ok(()),
            dropped => writeln!(f, "dropped {dropped}"),
        }
    }
}

impl Text<'_> {
    fn write_residue(&self, f: &mut Formatter<'_>, r: &Residue) -> fmt::Result {
        write!(f, "at {}: residue {} accesses {} bytes", r.position, r.accesses, r.bytes)?;
        write!(f, ", from {} to {} ns", r.start_ns, r.last_start_ns)?;
        write!(f, ", lengths {}..{}, offsets {}..{}", r.lengths.0, r.lengths.1, r.offsets.0, r.offsets.1)?;
        for (op, accesses) in &r.ops {
            write!(f, ", {} {accesses}", self.operations.name(*op))?;
        }
        write_times(f, &r.times)?;
        f.write_char('\n')
    }
}

fn write_loop(f: &mut dyn Write, l: &Loop, operations: &dyn Operations) -> fmt::Result {
    write!(f, "{}", l.count)?;
    if l.count_steps.iter().any(|s| *s != 0) {
        let steps: Vec<String> = l.count_steps.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", steps.join(", "))?;
    }
    f.write_str(" x {")?;
    for (i, node) in l.body.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        match node {
            Node::Leaf(leaf) => write_leaf(f, leaf, operations)?,
            Node::Loop(inner) => write_loop(f, inner, operations)?,
        }
    }
    f.write_char('}')?;
    write_times(f, &l.times)
}

fn write_leaf(f: &mut dyn Write, leaf: &Leaf, operations: &dyn Operations) -> fmt::Result {
    write!(f, "{} {}+{}", operations.name(leaf.op), leaf.offset, leaf.length)?;
    for (i, Step { offset, length }) in leaf.steps.iter().enumerate() {
        write!(f, "{}{offset}", if i == 0 { " [" } else { ", " })?;
        if *length != 0 {
            write!(f, ":{length}")?;
        }
    }
    if leaf.steps.is_empty() { Ok(()) } else { f.write_char(']') }
}

fn write_times(f: &mut dyn Write, times: &Intervals) -> fmt::Result {
    let (Some(mean), Some(cv)) = (times.mean_ns(), times.cv()) else { return Ok(()) };
    write!(f, " every {:.0} ns cv {:.0} of {}", mean.max(0.0), (cv * 1000.0).max(0.0), times.count)
}
