//! Text form of signatures, written by [`print()`] and read by [`parse`].
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
//! - A leaf (access in a loop body) consists of operation, offset of the first byte, and length, with a step per loop around it, innermost
//!   first: the change of the offset and, after a colon, the change of the length.
//! - A loop consists of the iteration count (with a step per surrounding loop if the count varies) and the body.
//! - `every` is the mean interval between starts, `cv` the coefficient of variation in thousandths, `of` the number of intervals.
//! - In a residue, the number after an operation is the operation's number of accesses.
//! - Blanks may separate any two words.

mod parse;
mod print;

pub use parse::{ParseError, parse, parse_nest};
pub use print::{print, print_nest};

/// Mapping between operation numbers and names.
pub trait Operations {
    /// Returns the name of operation `op`: a letter, followed by letters, digits and underscores; not a keyword of the grammar.
    fn name(&self, op: u16) -> String;
    /// Returns the number of the operation called `name`; `None` if the name is unknown.
    fn number(&self, name: &str) -> Option<u16>;
}

/// Mapping that names each operation `op` and its number, as in `op1`.
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
