//! A bounded table that elements are made of: keys in order, with a record of fixed size for each.
//!
//! Two tables become one by their union; records of one key are merged. Of too many keys the smallest stay, and the table says so. It is
//! exact for the keys that are left, in whatever order tables are merged: a key among the smallest of all is among the smallest of
//! any part.

/// Words in front of a table's keys: how many have room, how many there are, whether there were more.
pub(super) const TABLE_HEAD: usize = 3;

/// A table: keys, sorted and different, each with its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<const N: usize> {
    room: usize,
    pub(super) rows: Vec<(u64, [u64; N])>,
    /// Whether there were more than had room.
    pub(super) more: bool,
}

impl<const N: usize> Table<N> {
    /// Of rows in order.
    pub(super) fn new(room: usize, rows: impl IntoIterator<Item = (u64, [u64; N])>) -> Self {
        let mut table = Self { room, rows: rows.into_iter().collect(), more: false };
        table.cut();
        table
    }

    fn cut(&mut self) {
        self.more |= self.rows.len() > self.room;
        self.rows.truncate(self.room);
    }

    /// Writes it behind what is there.
    pub(super) fn put(&self, out: &mut Vec<u64>) {
        out.extend([self.room as u64, self.rows.len() as u64, u64::from(self.more)]);
        let end = out.len() + self.room * (1 + N);
        for (key, record) in &self.rows {
            out.push(*key);
            out.extend_from_slice(record);
        }
        out.resize(end, 0);
    }

    /// The table at the beginning of `words`, and what is behind it.
    pub(super) fn take(words: &[u64]) -> (Self, &[u64]) {
        let word = |at: usize| words.get(at).copied().unwrap_or(0) as usize;
        let (room, used, more) = (word(0), word(1), word(2) != 0);
        let (own, behind) =
            words.get(TABLE_HEAD..).unwrap_or_default().split_at_checked(room * (1 + N)).unwrap_or_default();
        let rows = own.chunks_exact(1 + N).take(used);
        let rows = rows.map(|row| (row[0], std::array::from_fn(|i| row.get(1 + i).copied().unwrap_or(0)))).collect();
        (Self { room, rows, more }, behind)
    }

    /// Takes the other's rows in; records of one key are merged.
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
