//! Values of table cells. A cell states the kind of its value (bytes, duration, share, ...), and renderers decide how each kind looks.

/// Value of a table cell. Numbers are formatted for people in tables, and unformatted in CSV.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Empty cell.
    None,
    /// Text.
    Text(String),
    /// Layer name, or a label that contains one, spelled as in the file format (`MPIIO`); people see `MPI-IO`.
    Layer(String),
    /// Sentences, in two forms; a table may wrap them.
    Prose {
        /// Text for people.
        shown: String,
        /// Text in CSV.
        plain: String,
    },
    /// Path, whose beginning a table may shorten.
    Path(String),
    /// Count.
    Count(u64),
    /// Number that can be negative: a rank, an offset.
    Number(i64),
    /// Size in bytes.
    Bytes(u64),
    /// Point in time, ns since the job's start; seconds in tables, in CSV the unit of the column's name (`_s` or `_ns`).
    Moment(u64),
    /// Duration in ns; with its own unit in tables, in CSV the unit of the column's name.
    Duration(u64),
    /// Bytes per second.
    Rate(f64),
    /// Number, together with a text for people that gives its range; CSV has the number alone.
    Ranged {
        /// Number.
        value: Box<Self>,
        /// Text for people.
        shown: String,
    },
    /// Ratio, shown as `2.5 x`.
    Times(f64),
    /// Share, from 0 to 1; percent in tables. Values that can exceed 1 are [`Self::Times`].
    Share(f64),
}

impl Cell {
    /// Creates a text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a path.
    #[must_use]
    pub fn path(path: impl Into<String>) -> Self {
        Self::Path(path.into())
    }

    /// Creates a number that can be negative, saturating at the maximum.
    #[must_use]
    pub fn number(value: impl TryInto<i64>) -> Self {
        Self::Number(value.try_into().unwrap_or(i64::MAX))
    }

    /// Creates a flag: 1 or 0.
    #[must_use]
    pub fn flag(holds: bool) -> Self {
        Self::Count(holds.into())
    }

    /// Creates a cell from an optional value, empty for `None`: `Cell::maybe(row.longest_ns, Cell::Duration)`.
    #[must_use]
    pub fn maybe<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, kind)
    }

    /// Creates the share `part` / `whole`, at most 1; empty if `whole` is 0.
    #[must_use]
    pub fn share_of(part: u64, whole: u64) -> Self {
        if whole > 0 { Self::Share((part as f64 / whole as f64).min(1.0)) } else { Self::None }
    }

    /// Creates the rate `bytes` / `time_ns` in bytes per second; empty if `time_ns` is 0.
    #[must_use]
    pub fn rate_of(bytes: u64, time_ns: u64) -> Self {
        if time_ns > 0 { Self::Rate(bytes as f64 * 1e9 / time_ns as f64) } else { Self::None }
    }
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn what_cannot_be_reported_is_no_cell_and_no_panic() {
        assert_eq!([Cell::share_of(1, 0), Cell::rate_of(1, 0)], [Cell::None, Cell::None]);
        assert_eq!([Cell::share_of(1, 4), Cell::rate_of(3, 500_000_000)], [Cell::Share(0.25), Cell::Rate(6.0)]);
        assert_eq!(Cell::share_of(5, 4), Cell::Share(1.0));
        assert_eq!([Cell::number(u64::MAX), Cell::number(-1)], [Cell::Number(i64::MAX), Cell::Number(-1)]);
        assert_eq!([Cell::maybe(None, Cell::Count), Cell::flag(true)], [Cell::None, Cell::Count(1)]);
    }
}
