//! Bounded table in reduction elements: sorted keys, each with a record of fixed size. Two tables merge into their union; records with
//! equal keys are merged. If there are too many keys, the smallest are kept and the table is marked. The kept keys are exact in any order
//! of merging, since a key among the smallest overall is among the smallest of any part.

/// Number of 64-bit words before the first key of an encoded table: capacity, number of keys, and a flag (1 if keys were dropped).
pub(super) const TABLE_HEAD: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<const N: usize> {
    room: usize,
    pub(super) rows: Vec<(u64, [u64; N])>,
    /// True if rows were dropped because the table was full.
    pub(super) more: bool,
}

impl<const N: usize> Table<N> {
    /// Builds a table with room for `room` rows from rows (key, record) sorted by key.
    pub(super) fn new(room: usize, rows: impl IntoIterator<Item = (u64, [u64; N])>) -> Self {
        let mut table = Self { room, rows: rows.into_iter().collect(), more: false };
        table.cut();
        table
    }

    fn cut(&mut self) {
        self.more |= self.rows.len() > self.room;
        self.rows.truncate(self.room);
    }

    pub(super) fn put(&self, out: &mut Vec<u64>) {
        out.extend([self.room as u64, self.rows.len() as u64, u64::from(self.more)]);
        let end = out.len() + self.room * (1 + N);
        for (key, record) in &self.rows {
            out.push(*key);
            out.extend_from_slice(record);
        }
        out.resize(end, 0);
    }

    /// Decodes the table at the start of `words`; also returns the words after the table.
    pub(super) fn take(words: &[u64]) -> (Self, &[u64]) {
        let word = |at: usize| words.get(at).copied().unwrap_or(0) as usize;
        let (room, used, more) = (word(0), word(1), word(2) != 0);
        let (own, behind) =
            words.get(TABLE_HEAD..).unwrap_or_default().split_at_checked(room * (1 + N)).unwrap_or_default();
        let rows = own.chunks_exact(1 + N).take(used);
        let rows = rows.map(|row| (row[0], std::array::from_fn(|i| row.get(1 + i).copied().unwrap_or(0)))).collect();
        (Self { room, rows, more }, behind)
    }

    /// Merges the rows of `other` into this table; `merge` combines records with equal keys.
    pub(super) fn unite(&mut self, other: Self, merge: impl Fn(&mut [u64; N], &[u64; N])) {
        let (mut own, mut more) =
            (std::mem::take(&mut self.rows).into_iter().peekable(), other.rows.into_iter().peekable());
        while let Some(next) = match (own.peek(), more.peek()) {
            (Some(one), Some(other)) if one.0 <= other.0 => own.next(),
            (Some(_), None) => own.next(),
            (_, Some(_)) => more.next(),
            (None, None) => None,
        } {
            match self.rows.last_mut().filter(|last| last.0 == next.0) {
                Some(last) => merge(&mut last.1, &next.1),
                None => self.rows.push(next),
            }
        }
        self.more |= other.more;
        self.cut();
    }
}
