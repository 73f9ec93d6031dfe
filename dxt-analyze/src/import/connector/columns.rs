//! Columns of the connector's rows, and their positions in a file. LDMS writes the column names after a `#`, possibly among other columns,
//! and names the columns of a segment `seg:off` etc. Spreadsheets put a byte order mark at the start of the file.

pub(super) use dxt_base::connector::{COLUMNS, NOTHING};

use super::fields::Fields;

/// Names of columns in the order of the connector's messages, which `--to csv` used until version 0.2.0.
const OLDER: [&str; 25] = [
    "uid",
    "exe",
    "job_id",
    "rank",
    "ProducerName",
    "file",
    "record_id",
    "module",
    "type",
    "max_byte",
    "switches",
    "flushes",
    "cnt",
    "op",
    "pt_sel",
    "irreg_hslab",
    "reg_hslab",
    "ndims",
    "npoints",
    "off",
    "len",
    "start",
    "dur",
    "total",
    "timestamp",
];

/// Columns without which a row does not describe a call.
const NEEDED: [&str; 6] = ["rank", "module", "op", "len", "dur", "timestamp"];

/// Minimum number of the connector's columns in a header line for the file to be recognized.
const ENOUGH: usize = 8;

/// Byte order mark that spreadsheets write at the start of a file.
pub(super) const MARK: &[u8] = "\u{feff}".as_bytes();

/// Position of each of [`COLUMNS`] in the rows of a file; `None` if the column is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places([Option<usize>; COLUMNS.len()]);

impl Places {
    /// Returns the column positions that the header line `first` gives; the connector's order if `first` is already a row; `None` if it is neither.
    pub(super) fn of(first: &Fields) -> Option<Self> {
        let mut places = [None; COLUMNS.len()];
        for (at, name) in first.iter().enumerate() {
            let name = name.trim_ascii();
            let name = name.strip_prefix(b"#").unwrap_or(name).trim_ascii();
            let name = name.rsplit(|byte| *byte == b':').next().unwrap_or(name);
            let column = COLUMNS.iter().position(|column| column.as_bytes().eq_ignore_ascii_case(name));
            if let Some(place) = column.and_then(|column| places.get_mut(column)).filter(|place| place.is_none()) {
                *place = Some(at);
            }
        }
        if places.iter().flatten().count() >= ENOUGH {
            return Some(Self(places));
        }
        let is_row = |of: &Self| of.get(first, "type").is_some_and(|kind| matches!(kind, b"MET" | b"MOD"));
        let orders = [(Self::usual(), COLUMNS.len()), (Self::older(), OLDER.len())];
        orders.into_iter().find(|(of, width)| first.len() == *width && is_row(of)).map(|(of, _)| of)
    }

    /// Returns the column positions of files whose columns are in the order of [`OLDER`].
    fn older() -> Self {
        Self(COLUMNS.map(|name| OLDER.iter().position(|older| *older == name)))
    }

    /// Returns the column positions of files whose columns are in the order of [`COLUMNS`].
    pub(super) fn usual() -> Self {
        Self(std::array::from_fn(Some))
    }

    /// Returns the names of the required columns that the file lacks.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        NEEDED.into_iter().filter(|name| self.place(name).is_none()).collect()
    }

    /// Returns the minimum number of fields that a row must have.
    pub(super) fn width(&self) -> usize {
        self.0.iter().flatten().max().map_or(0, |last| last + 1)
    }

    /// Returns the value of a column; `None` if the column is missing or the value is empty, `N/A` or NaN.
    pub(super) fn get<'a>(&self, row: &'a Fields, column: &str) -> Option<&'a [u8]> {
        let value = row.get(self.place(column)?)?.trim_ascii();
        let is_nothing = value.is_empty() || value == NOTHING.as_bytes() || value.eq_ignore_ascii_case(b"nan");
        (!is_nothing).then_some(value)
    }

    fn place(&self, column: &str) -> Option<usize> {
        let at = COLUMNS.iter().position(|name| *name == column)?;
        self.0.get(at).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dxt_base::connector::header;

    fn fields(line: &str) -> Fields {
        let mut fields = Fields::default();
        fields.split(line.as_bytes()).unwrap();
        fields
    }

    #[test]
    fn a_head_is_known_in_all_its_forms() {
        assert!(
            header().starts_with("#module,uid,ProducerName,")
                && header().ends_with(",seg:timestamp,seg:total,seg:start")
        );
        for usual in [header(), COLUMNS.join(",")] {
            assert_eq!(Places::of(&fields(&usual)), Some(Places::usual()));
        }
        let usual = OLDER.join(",");
        assert_eq!(Places::of(&fields(&usual)), Some(Places::older()));
        assert_eq!(Places::of(&fields(&format!("#{usual}"))), Some(Places::older()));
        // Without a header, the order is recognized by the number of columns and the values.
        for (order, of) in [(&COLUMNS[..], Places::usual()), (&OLDER[..], Places::older())] {
            let row: Vec<&str> = order.iter().map(|name| if *name == "type" { "MOD" } else { "1" }).collect();
            assert_eq!(Places::of(&fields(&row.join(","))), Some(of));
        }
        let store = format!("#schema,{},store_recv_time", usual.replace(",off,len", ",seg:off,seg:len"));
        let places = Places::of(&fields(&store)).unwrap();
        assert_eq!((places.place("uid"), places.place("len"), places.width()), (Some(1), Some(21), 26));
        assert!(places.missing().is_empty());
        let short = Places::of(&fields("uid,exe,job_id,rank,ProducerName,file,record_id,module")).unwrap();
        assert_eq!(short.missing(), ["op", "len", "dur", "timestamp"]);
        assert_eq!(Places::of(&fields("name,age,rank,file,module,op,len")), None);
    }

    #[test]
    fn what_is_not_there_is_nothing() {
        let row = fields("0, N/A ,,nan,x");
        let value = |column| Places::older().get(&row, column);
        assert_eq!((value("uid"), value("exe"), value("job_id"), value("rank")), (Some(&b"0"[..]), None, None, None));
        assert_eq!((value("ProducerName"), value("off")), (Some(&b"x"[..]), None));
    }
}
