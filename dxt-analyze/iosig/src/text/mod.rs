//! Text form of signatures: [`print()`] writes it, [`parse`] reads it.
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

mod parse;
mod print;

pub use parse::{ParseError, parse, parse_nest};
pub use print::{print, print_nest};

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
