//! A value in a table. Renderers know how each kind looks; tables only say what it is.

/// A value in a table. Numbers are for people in tables and plain in CSV.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing to show.
    None,
    /// Text.
    Text(String),
    /// A layer, or a label in which one stands, by its name in the format.
    Layer(String),
    /// Sentences, which a table may break into lines: as people see them, and as CSV has them.
    Prose {
        /// For people.
        shown: String,
        /// In CSV.
        plain: String,
    },
    /// A path, which a table may shorten in front.
    Path(String),
    /// A count.
    Count(u64),
    /// A number that can be negative: a rank, an offset.
    Number(i64),
    /// Bytes.
    Bytes(u64),
    /// A moment, ns since the job's start; seconds in tables, in CSV in the unit of the column's name (`_s` or `_ns`).
    Moment(u64),
    /// A duration in ns; in a table with its own unit, in CSV in the unit of the column's name.
    Duration(u64),
    /// Bytes per second.
    Rate(f64),
    /// A number with words on its range: as people see it; CSV has the number alone.
    Ranged {
        /// The number.
        value: Box<Self>,
        /// For people.
        shown: String,
    },
    /// A ratio: `2.5 x`.
    Times(f64),
    /// A share, from 0 to 1; percent in tables. What can be above 1 is [`Self::Times`].
    Share(f64),
}

impl Cell {
    /// Text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A path.
    #[must_use]
    pub fn path(path: impl Into<String>) -> Self {
        Self::Path(path.into())
    }

    /// A number that can be negative; one that is too large is the largest.
    #[must_use]
    pub fn number(value: impl TryInto<i64>) -> Self {
        Self::Number(value.try_into().unwrap_or(i64::MAX))
    }

    /// A condition: 1 or 0.
    #[must_use]
    pub fn flag(holds: bool) -> Self {
        Self::Count(holds.into())
    }

    /// What `kind` makes of a value, or nothing: `Cell::maybe(row.longest_ns, Cell::Duration)`.
    #[must_use]
    pub fn maybe<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, kind)
    }

    /// The share that `part` is of `whole`, at most 1; nothing if that is zero.
    #[must_use]
    pub fn share_of(part: u64, whole: u64) -> Self {
        if whole > 0 { Self::Share((part as f64 / whole as f64).min(1.0)) } else { Self::None }
    }

    /// Bytes per second; nothing if there is no time.
    #[must_use]
    pub fn rate_of(bytes: u64, time_ns: u64) -> Self {
        if time_ns > 0 { Self::Rate(bytes as f64 * 1e9 / time_ns as f64) } else { Self::None }
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn what_cannot_be_told_is_no_cell_and_no_panic() {
        assert_eq!([Cell::share_of(1, 0), Cell::rate_of(1, 0)], [Cell::None, Cell::None]);
        assert_eq!([Cell::share_of(1, 4), Cell::rate_of(3, 500_000_000)], [Cell::Share(0.25), Cell::Rate(6.0)]);
        assert_eq!(Cell::share_of(5, 4), Cell::Share(1.0));
        assert_eq!([Cell::number(u64::MAX), Cell::number(-1)], [Cell::Number(i64::MAX), Cell::Number(-1)]);
        assert_eq!([Cell::maybe(None, Cell::Count), Cell::flag(true)], [Cell::None, Cell::Count(1)]);
    }
}
