//! Parser for the text form of signatures; the grammar is in [`mod@crate::text`].

use std::fmt;

use super::Operations;
use crate::nest::{Leaf, Loop, MAX_DEPTH, Node, Step};
use crate::signature::{Item, Pattern, Residue, Signature};
use crate::times::Intervals;

/// Error for a text that is not a valid signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// Byte offset in the text where parsing failed.
    pub at: usize,
    /// Description of the text that was expected at that offset.
    pub expected: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read the signature at byte {}: expected {}", self.at, self.expected)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

/// Parses a signature from its text form.
///
/// # Errors
/// Returns an error if the text does not follow the grammar, if a number is too large, if an operation is unknown, or if an access or loop
/// does not have one step per surrounding loop.
pub fn parse(text: &str, operations: &dyn Operations) -> Result<Signature> {
    let mut reader = Reader { text, at: 0, operations };
    let mut out = Signature::default();
    loop {
        if reader.skip("at") {
            let item = reader.item()?;
            let (accesses, bytes) = match &item {
                Item::Pattern(p) => {
                    out.covered = out.covered.saturating_add(p.accesses);
                    out.covered_bytes = out.covered_bytes.saturating_add(p.bytes);
                    (p.accesses, p.bytes)
                }
                Item::Residue(r) => (r.accesses, r.bytes),
            };
            out.accesses = out.accesses.saturating_add(accesses);
            out.bytes = out.bytes.saturating_add(bytes);
            out.items.push(item);
        } else if out.dropped == 0 && reader.skip("dropped") {
            out.dropped = reader.number()?;
        } else if reader.is_at_end() {
            return Ok(out);
        } else {
            return Err(reader.error("a line that begins with \"at\""));
        }
    }
}

/// Parses one loop nest in the form that [`super::print_nest`] writes.
///
/// # Errors
/// Returns an error in the same cases as [`parse`].
pub fn parse_nest(text: &str, operations: &dyn Operations) -> Result<Loop> {
    let mut reader = Reader { text, at: 0, operations };
    let nest = reader.nest(0)?;
    if reader.is_at_end() { Ok(nest) } else { Err(reader.error("the end")) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    operations: &'a dyn Operations,
}

impl<'a> Reader<'a> {
    fn error(&self, expected: &'static str) -> ParseError {
        ParseError { at: self.at, expected }
    }

    fn rest(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or("");
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Consumes `word` (a word or a sign) if it comes next; returns true if it was consumed.
    fn skip(&mut self, word: &str) -> bool {
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        let is_word = word.ends_with(|c: char| c.is_ascii_alphanumeric());
        if is_word && after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            return false;
        }
        self.at += word.len();
        true
    }

    fn want(&mut self, word: &'static str) -> Result<()> {
        if self.skip(word) { Ok(()) } else { Err(self.error(word)) }
    }

    fn digits(&mut self, signed: bool) -> &'a str {
        let rest = self.rest();
        let sign = usize::from(signed && rest.starts_with('-'));
        let digits = rest.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
        rest.get(..sign + digits).unwrap_or("")
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let digits = self.digits(false);
        let value = digits.parse().map_err(|_| self.error("a number"))?;
        self.at += digits.len();
        Ok(value)
    }

    fn integer(&mut self) -> Result<i64> {
        let digits = self.digits(true);
        let value = digits.parse().map_err(|_| self.error("an integer"))?;
        self.at += digits.len();
        Ok(value)
    }

    fn operation(&mut self) -> Result<u16> {
        let rest = self.rest();
        let name = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let name = rest.get(..name).unwrap_or("");
        let op = self.operations.number(name).ok_or_else(|| self.error("an operation"))?;
        self.at += name.len();
        Ok(op)
    }

    fn item(&mut self) -> Result<Item> {
        let position = self.number()?;
        self.want(":")?;
        if self.skip("residue") {
            return self.residue(position).map(Item::Residue);
        }
        let nest = self.nest(0)?;
        self.want(",")?;
        let (accesses, bytes) = self.sums()?;
        self.want(",")?;
        let (start_ns, last_start_ns) = self.when()?;
        Ok(Item::Pattern(Pattern { position, accesses, bytes, start_ns, last_start_ns, end_ns: 0, nest }))
    }

    fn sums(&mut self) -> Result<(u64, u128)> {
        let accesses = self.number()?;
        self.want("accesses")?;
        let bytes = self.number()?;
        self.want("bytes")?;
        Ok((accesses, bytes))
    }

    fn when(&mut self) -> Result<(u64, u64)> {
        self.want("from")?;
        let from = self.number()?;
        self.want("to")?;
        let to = self.number()?;
        self.want("ns")?;
        Ok((from, to))
    }

    fn range(&mut self) -> Result<(u64, u64)> {
        let from = self.number()?;
        self.want("..")?;
        Ok((from, self.number()?))
    }

    fn residue(&mut self, position: u64) -> Result<Residue> {
        let (accesses, bytes) = self.sums()?;
        self.want(",")?;
        let (start_ns, last_start_ns) = self.when()?;
        self.want(",")?;
        self.want("lengths")?;
        let lengths = self.range()?;
        self.want(",")?;
        self.want("offsets")?;
        let offsets = self.range()?;
        let mut ops: Vec<(u16, u64)> = Vec::new();
        while self.skip(",") {
            let op = self.operation()?;
            if ops.len() == Residue::MAX_OPS || ops.last().is_some_and(|(last, _)| *last >= op) {
                return Err(self.error("few operations, by their numbers"));
            }
            ops.push((op, self.number()?));
        }
        let times = self.times()?;
        Ok(Residue {
            position,
            accesses,
            bytes,
            start_ns,
            last_start_ns,
            ops,
            lengths,
            offsets,
            times,
            ..Residue::default()
        })
    }

    fn times(&mut self) -> Result<Intervals> {
        if !self.skip("every") {
            return Ok(Intervals::default());
        }
        let mean = self.number::<u64>()? as f64;
        self.want("ns")?;
        self.want("cv")?;
        let cv = self.number::<u64>()? as f64 / 1000.0;
        self.want("of")?;
        let count = self.number::<u64>()?;
        let n = count as f64;
        Ok(Intervals { count, sum_ns: n * mean, sum_squares: n * mean * mean * (1.0 + cv * cv) })
    }

    fn nest(&mut self, around: usize) -> Result<Loop> {
        if around >= MAX_DEPTH {
            return Err(self.error("fewer loops within each other"));
        }
        let count = self.number()?;
        let mut count_steps = vec![0; around];
        if self.skip("[") {
            for (i, step) in count_steps.iter_mut().enumerate() {
                if i > 0 {
                    self.want(",")?;
                }
                *step = self.integer()?;
            }
            self.want("]")?;
        }
        self.want("x")?;
        self.want("{")?;
        let mut body = vec![self.node(around + 1)?];
        while self.skip(",") {
            body.push(self.node(around + 1)?);
        }
        self.want("}")?;
        let times = self.times()?;
        Ok(Loop { count, count_steps, body, times })
    }

    fn node(&mut self, around: usize) -> Result<Node> {
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return self.nest(around).map(Node::Loop);
        }
        let op = self.operation()?;
        let offset = self.number()?;
        self.want("+")?;
        let length = self.number()?;
        self.want("[")?;
        let mut steps = Vec::with_capacity(around);
        for i in 0..around {
            if i > 0 {
                self.want(",")?;
            }
            let offset = self.integer()?;
            let length = if self.skip(":") { self.integer()? } else { 0 };
            steps.push(Step { offset, length });
        }
        self.want("]")?;
        Ok(Node::Leaf(Leaf { op, offset, length, steps }))
    }
}
