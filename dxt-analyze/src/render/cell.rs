//! Values of table cells. A cell states the kind of its value (bytes, duration, share, ...); renderers decide how to show each kind.

/// Value of a table cell. Numbers are formatted for people in tables, and unformatted in CSV.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Empty cell.
    None,
    /// Cell with a text that is shown unchanged.
    Text(String),
    /// Name of an I/O layer, or a label that contains one, spelled as in the file format (`MPIIO`); people see `MPI-IO`.
    Layer(String),
    /// Sentences, in separate forms for people and for CSV; a table may wrap the lines.
    Prose {
        /// Sentences as people see them, in tables and on the page.
        shown: String,
        /// Sentences as CSV contains them.
        plain: String,
    },
    /// Path of a file; a table may shorten its beginning.
    Path(String),
    /// Cell with a number of items, such as calls.
    Count(u64),
    /// Number that can be negative, such as a rank or an offset.
    Number(i64),
    /// Cell with a size in bytes.
    Bytes(u64),
    /// Point in time, ns since the job's start. Tables show seconds; CSV uses the unit in the column's name (`_s` or `_ns`).
    Moment(u64),
    /// Duration in ns. Tables choose a unit per value; CSV uses the unit in the column's name (`_s` or `_ns`).
    Duration(u64),
    /// Cell with a rate in bytes per second.
    Rate(f64),
    /// Number with a text for people that gives its range; CSV has the number alone.
    Ranged {
        /// Number of the cell, without its range.
        value: Box<Self>,
        /// Text for people: the number and its range.
        shown: String,
    },
    /// Cell with a ratio, shown as `2.50 x`.
    Times(f64),
    /// Share, from 0 to 1; tables show percent. Values that can exceed 1 are [`Self::Times`].
    Share(f64),
}

impl Cell {
    /// Creates a cell with a text that is shown unchanged.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a cell with the path of a file.
    #[must_use]
    pub fn path(path: impl Into<String>) -> Self {
        Self::Path(path.into())
    }

    /// Creates a cell for a number that can be negative; saturates at `i64::MAX`.
    #[must_use]
    pub fn number(value: impl TryInto<i64>) -> Self {
        Self::Number(value.try_into().unwrap_or(i64::MAX))
    }

    /// Creates a cell for a flag: 1 if `holds`, else 0.
    #[must_use]
    pub fn flag(holds: bool) -> Self {
        Self::Count(holds.into())
    }

    /// Creates a cell from an optional value, empty for `None`: `Cell::maybe(row.longest_ns, Cell::Duration)`.
    #[must_use]
    pub fn maybe<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, kind)
    }

    /// Creates a cell for the share `part` / `whole`, at most 1; empty if `whole` is 0.
    #[must_use]
    pub fn share_of(part: u64, whole: u64) -> Self {
        if whole > 0 { Self::Share((part as f64 / whole as f64).min(1.0)) } else { Self::None }
    }

    /// Creates a cell for the rate `bytes` / `time_ns` in bytes per second; empty if `time_ns` is 0.
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
