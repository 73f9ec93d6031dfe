//! Builder of tables from typed columns. Each column is defined by its heading and the function that computes its cells, so that heading
//! and cells cannot diverge. Terminal, CSV and page render the resulting rows.
//!
//! ```
//! # use dxt_analyze::render::{Cell, Table};
//! let table = Table::of("files", "Files", [("a.h5", 10), ("b.h5", 20)])
//!     .column("File", "file", |(file, _)| Cell::path(*file))
//!     .column("Bytes", "bytes", |(_, bytes)| Cell::Bytes(*bytes))
//!     .csv("pages", |(_, bytes)| Cell::Count(bytes / 4096)) // CSV only
//!     .done();
//! assert_eq!(table.rows()[1][1], Cell::Bytes(20));
//! ```

use super::Cell;

/// Heading of a table column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Heading in tables for people; empty for a CSV-only column.
    pub title: &'static str,
    /// Name of the column in CSV, with the unit, such as `time_s`.
    pub name: &'static str,
}

struct Column<'a, Row> {
    head: Head,
    cell: Box<dyn Fn(&Row) -> Cell + 'a>,
}

/// Table builder: rows, and the columns added so far.
#[must_use]
pub struct TableOf<'a, Row> {
    name: &'static str,
    title: String,
    rows: Vec<Row>,
    columns: Vec<Column<'a, Row>>,
    most: usize,
    beside: bool,
}

impl<'a, Row> TableOf<'a, Row> {
    /// Adds a column with the heading `title`, the CSV name `name`, and cells computed by `cell`.
    pub fn column(mut self, title: &'static str, name: &'static str, cell: impl Fn(&Row) -> Cell + 'a) -> Self {
        self.columns.push(Column { head: Head { title, name }, cell: Box::new(cell) });
        self
    }

    /// Adds a column that only CSV contains.
    pub fn csv(self, name: &'static str, cell: impl Fn(&Row) -> Cell + 'a) -> Self {
        self.column("", name, cell)
    }

    /// Limits the rows that people see to the first `most`; 0 hides the table. CSV has all rows.
    pub fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Marks the table as secondary: CSV contains the table only if the user requests it by name, even if it precedes the main table.
    pub fn beside(self) -> Self {
        Self { beside: true, ..self }
    }

    /// Builds the table by computing the cells of all rows.
    #[must_use]
    pub fn done(self) -> Table {
        let cells = |row: &Row| self.columns.iter().map(|column| (column.cell)(row)).collect();
        Table {
            name: self.name,
            heads: self.columns.iter().map(|column| column.head).collect(),
            rows: self.rows.iter().map(cells).collect(),
            title: self.title,
            most: self.most,
            beside: self.beside,
        }
    }
}

/// Table for renderers. Only [`Table::of`] creates tables, so each row has one cell per heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name by which the option `--table` selects the table.
    pub name: &'static str,
    /// Title, shown in a line above the table.
    pub title: String,
    /// Maximum rows that people see; 0 hides the table. CSV has all rows.
    pub most: usize,
    /// True if the view has another main table, so that CSV contains this table only on request.
    pub beside: bool,
    heads: Vec<Head>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Starts a table of `rows`; the caller adds columns next.
    pub fn of<'a, Row>(
        name: &'static str,
        title: impl Into<String>,
        rows: impl IntoIterator<Item = Row>,
    ) -> TableOf<'a, Row> {
        TableOf {
            name,
            title: title.into(),
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
            most: usize::MAX,
            beside: false,
        }
    }

    /// Returns the headings of all columns, including those that only CSV contains.
    #[must_use]
    pub fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// Returns the table's cells, row by row.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Applies `change` to every cell; the first argument of `change` is the CSV name of the column.
    pub fn change(&mut self, mut change: impl FnMut(&'static str, &mut Cell)) {
        for row in &mut self.rows {
            self.heads.iter().zip(row).for_each(|(head, cell)| change(head.name, cell));
        }
    }

    /// Returns true if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns true if people can see something of the table: it has rows, and a column with a title.
    #[must_use]
    pub fn is_for_people(&self) -> bool {
        !self.is_empty() && self.heads.iter().any(|head| !head.title.is_empty())
    }

    /// Returns the table as people see it: only columns with a title, and only the first `most` rows.
    #[must_use]
    pub fn for_people(&self, most: usize) -> Self {
        fn titled<T: Clone>(heads: &[Head], all: &[T]) -> Vec<T> {
            heads.iter().zip(all).filter(|(head, _)| !head.title.is_empty()).map(|(_, one)| one.clone()).collect()
        }
        let rows = self.rows.iter().take(most).map(|row| titled(&self.heads, row)).collect();
        Self { heads: titled(&self.heads, &self.heads), rows, title: self.title.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_a_cell_for_each_heading_in_the_order_of_the_columns() {
        let factor = 3;
        let table = Table::of("t", "T", [1, 2].iter())
            .column("One", "one", |row| Cell::Count(**row))
            .csv("more", |row| Cell::Count(**row * factor))
            .column("Sign", "sign", |row| Cell::maybe((**row > 1).then_some(-1), Cell::Number))
            .done();
        assert_eq!(table.heads().iter().map(|head| head.name).collect::<Vec<_>>(), ["one", "more", "sign"]);
        assert_eq!(table.rows()[0], [Cell::Count(1), Cell::Count(3), Cell::None]);
        assert_eq!(table.rows()[1], [Cell::Count(2), Cell::Count(6), Cell::Number(-1)]);
        assert_eq!(table.for_people(1).rows(), [[Cell::Count(1), Cell::None]]);
        let empty = Table::of("t", "", Vec::<u64>::new()).csv("one", |row| Cell::Count(*row)).done();
        assert!(empty.is_empty() && empty.heads().len() == 1 && !empty.is_for_people());
    }
}
