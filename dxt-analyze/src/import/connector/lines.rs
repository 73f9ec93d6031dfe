//! Reader of a file's lines in bounded memory; lines can be put back to be read again.

use std::collections::VecDeque;
use std::io::BufRead;

/// Maximum bytes of a line: two paths of 4,096 bytes fit several times, even if all their bytes are doubled quotes.
pub(super) const MOST_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Number of the line in the file, from 1.
    pub(super) number: u64,
    /// Byte offset of the start of the line in the file.
    pub(super) offset: u64,
    pub(super) text: Vec<u8>,
    /// True if the line was too long and is truncated.
    pub(super) is_cut: bool,
}

#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    offset: u64,
    back: VecDeque<Line>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0, offset: 0, back: VecDeque::new() }
    }

    /// Returns the next line; `None` at the end of the file.
    pub(super) fn take(&mut self) -> std::io::Result<Option<Line>> {
        if let Some(line) = self.back.pop_front() {
            return Ok(Some(line));
        }
        self.number += 1;
        let mut line = Line { number: self.number, offset: self.offset, ..Line::default() };
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let room = MOST_BYTES - line.text.len();
            line.is_cut |= part.len() > room;
            line.text.extend_from_slice(part.get(..room).unwrap_or(part));
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.offset += used as u64;
            if end.is_some() {
                break;
            }
        }
        if line.text.last() == Some(&b'\r') {
            line.text.pop();
        }
        Ok((self.offset > line.offset).then_some(line))
    }

    /// Puts back `lines`, in their original order; they must be the lines taken last.
    pub(super) fn give_back(&mut self, lines: Vec<Line>) {
        lines.into_iter().rev().for_each(|line| self.back.push_front(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_bounded() {
        let text = [b"a\r\n\nb".as_slice(), &vec![b'x'; MOST_BYTES], b"\nc"].concat();
        let mut lines = Lines::new(std::io::BufReader::with_capacity(7, text.as_slice()));
        let first = lines.take().unwrap().unwrap();
        assert_eq!((first.number, first.text.as_slice()), (1, &b"a"[..]));
        lines.give_back(vec![first]);
        let texts: Vec<Line> = std::iter::from_fn(|| lines.take().unwrap()).collect();
        assert_eq!(texts.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(texts.iter().map(|line| line.offset).collect::<Vec<_>>(), [0, 3, 4, 6 + MOST_BYTES as u64]);
        assert_eq!(texts.iter().map(|line| line.is_cut).collect::<Vec<_>>(), [false, false, true, false]);
        assert_eq!(texts[3].text, b"c");
    }
}
