//! Columns of the LDMS-Darshan connector's rows: `live` writes them, and the analyzer reads them.

/// Names of columns, in the CSV order of the connector's paper.
pub const COLUMNS: [&str; 26] = [
    "module",
    "uid",
    "ProducerName",
    "switches",
    "file",
    "rank",
    "flushes",
    "record_id",
    "exe",
    "max_byte",
    "type",
    "job_id",
    "op",
    "cnt",
    "off",
    "pt_sel",
    "dur",
    "len",
    "ndims",
    "reg_hslab",
    "irreg_hslab",
    "data_set",
    "npoints",
    "timestamp",
    "total",
    "start",
];

/// Number of columns that belong to the message itself; the others belong to its segment.
const OF_MESSAGE: usize = 14;

/// Returns the header line of CSV.
pub fn header() -> String {
    let name = |(at, name): (usize, &&str)| if at < OF_MESSAGE { (*name).to_owned() } else { format!("seg:{name}") };
    format!("#{}", COLUMNS.iter().enumerate().map(name).collect::<Vec<_>>().join(","))
}

/// Text that the connector writes for missing values.
pub const NOTHING: &str = "N/A";
