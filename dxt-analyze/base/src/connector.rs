//! Columns of the rows of the LDMS-Darshan connector, which the live view writes and the analyzer reads.

/// Names of the columns, in the CSV order of the paper on the LDMS-Darshan connector.
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

/// Number of leading columns for fields of the message itself (job, process, file). The other columns are for fields of its `seg` list,
/// which describe the call.
const OF_MESSAGE: usize = 14;

/// Returns the header line of a CSV file in the connector's format.
pub fn header() -> String {
    let name = |(at, name): (usize, &&str)| if at < OF_MESSAGE { (*name).to_owned() } else { format!("seg:{name}") };
    format!("#{}", COLUMNS.iter().enumerate().map(name).collect::<Vec<_>>().join(","))
}

/// Text that the LDMS-Darshan connector writes instead of missing values.
pub const NOTHING: &str = "N/A";
