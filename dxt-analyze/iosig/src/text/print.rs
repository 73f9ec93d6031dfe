//! Printer of signatures and loop nests; the grammar is in [`mod@crate::text`].

use std::fmt::{self, Write};

use super::Operations;
use crate::nest::{Leaf, Loop, Node, Step};
use crate::signature::{Item, Residue, Signature};
use crate::times::Intervals;

/// Returns a signature in its text form, one line per loop nest or sequence of accesses outside loops.
#[must_use]
pub fn print(signature: &Signature, operations: &dyn Operations) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_signature(&mut out, signature, operations);
    out
}

/// Returns a loop nest in its text form, without a newline.
#[must_use]
pub fn print_nest(nest: &Loop, operations: &dyn Operations) -> String {
    let mut out = String::new();
    let _ = write_loop(&mut out, nest, operations);
    out
}

fn write_signature(f: &mut dyn Write, signature: &Signature, operations: &dyn Operations) -> fmt::Result {
    for item in &signature.items {
        match item {
            Item::Pattern(p) => {
                write!(f, "at {}: ", p.position)?;
                write_loop(f, &p.nest, operations)?;
                write!(f, ", {} accesses {} bytes", p.accesses, p.bytes)?;
                writeln!(f, ", from {} to {} ns", p.start_ns, p.last_start_ns)?;
            }
            Item::Residue(r) => write_residue(f, r, operations)?,
        }
    }
    match signature.dropped {
        0 => Ok(()),
        dropped => writeln!(f, "dropped {dropped}"),
    }
}

fn write_residue(f: &mut dyn Write, r: &Residue, operations: &dyn Operations) -> fmt::Result {
    write!(f, "at {}: residue {} accesses {} bytes", r.position, r.accesses, r.bytes)?;
    write!(f, ", from {} to {} ns", r.start_ns, r.last_start_ns)?;
    write!(f, ", lengths {}..{}, offsets {}..{}", r.lengths.0, r.lengths.1, r.offsets.0, r.offsets.1)?;
    for (op, accesses) in &r.ops {
        write!(f, ", {} {accesses}", operations.name(*op))?;
    }
    write_times(f, &r.times)?;
    f.write_char('\n')
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
