//! Row of the LDMS-Darshan connector, which describes one call.

use super::columns::Places;
use super::fields::Fields;
use super::numbers::{RecordId, Seconds, seconds, whole};
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// Module names of the connector, with the corresponding I/O layers.
const MODULES: [(&str, Layer); 5] = [
    ("POSIX", Layer::Posix),
    ("MPIIO", Layer::Mpiio),
    ("STDIO", Layer::Stdio),
    ("H5F", Layer::Hdf5),
    ("H5D", Layer::Hdf5),
];

/// Operations of the connector: name in a row, class, and name in a trace.
const OPERATIONS: [(&str, OpClass, &str); 5] = [
    ("open", OpClass::Open, "open"),
    ("close", OpClass::Close, "close"),
    ("read", OpClass::Read, "read"),
    ("write", OpClass::Write, "write"),
    ("flush", OpClass::Sync, "sync"),
];

/// Plausible range of times, in ns since 1970-01-01 UTC: the years 2000 to 2100.
const TIMES_NS: std::ops::Range<i64> = 946_684_800_000_000_000..4_102_444_800_000_000_000;

/// Index of an operation in the trace's table of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Code(pub(super) u16);

impl Code {
    fn new(module: usize, operation: usize) -> Self {
        Self(1 + (module * OPERATIONS.len() + operation) as u16)
    }

    /// Returns true if the operation belongs to module H5D (HDF5 data sets).
    pub(super) fn is_of_data_sets(self) -> bool {
        let module = usize::from(self.0.saturating_sub(1)) / OPERATIONS.len();
        MODULES.get(module).is_some_and(|(word, _)| *word == "H5D")
    }

    pub(super) fn is_data(self) -> bool {
        let operation = usize::from(self.0.saturating_sub(1)) % OPERATIONS.len();
        OPERATIONS.get(operation).is_some_and(|(_, class, _)| class.is_data())
    }

    pub(super) fn layer(self) -> Layer {
        MODULES.get(usize::from(self.0.saturating_sub(1)) / OPERATIONS.len()).map_or(Layer::Posix, |(_, layer)| *layer)
    }
}

pub(super) fn table() -> Vec<OpDef> {
    let mut out = Vec::new();
    for (module, (word, layer)) in MODULES.into_iter().enumerate() {
        for (operation, (_, class, name)) in OPERATIONS.into_iter().enumerate() {
            let of_data_set = word == "H5D" && !class.is_data();
            let name = if of_data_set { format!("{name}_dataset") } else { name.to_owned() };
            out.push(OpDef { code: Code::new(module, operation).0, layer, class, mode: OpMode::Plain, name });
        }
    }
    out
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// Job number of the scheduler, as written in the row.
    pub(super) job: &'a [u8],
    pub(super) uid: Option<u32>,
    /// MPI rank; -1 if the row has none.
    pub(super) rank: i32,
    /// Host name of the node; empty if unknown.
    pub(super) node: &'a [u8],
    pub(super) exe: Option<&'a [u8]>,
    pub(super) file: Option<&'a [u8]>,
    pub(super) record: Option<RecordId>,
    /// Code of the row's module and operation.
    pub(super) code: Code,
    /// Byte offset in the file; -1 if the row has none.
    pub(super) offset: i64,
    /// Running counts of the data set's reads and writes by type of selection: points, irregular hyperslabs, regular hyperslabs. `None` if unknown.
    pub(super) selected: Option<[u64; 3]>,
    pub(super) length: u64,
    /// Start of the call, in ns since 1970-01-01 UTC.
    pub(super) start_unix_ns: i64,
    /// End of the call, in ns since 1970-01-01 UTC.
    pub(super) end_unix_ns: i64,
    /// Start of the call relative to the start of the job, in ns; `None` if unknown.
    pub(super) since_start_ns: Option<i64>,
    /// True if a spreadsheet rounded the call's times.
    pub(super) is_rounded: bool,
}

impl<'a> Row<'a> {
    /// Parses the values of a row; the error describes the invalid value for users.
    pub(super) fn of(fields: &'a Fields, places: &Places) -> Result<Self, String> {
        if fields.len() < places.width() {
            return Err(format!("it has {} values instead of {}", fields.len(), places.width()));
        }
        let value = |column| places.get(fields, column);
        let needed = |column| value(column).ok_or_else(|| format!("`{column}` is empty"));
        let wrong = |column: &str, text: &[u8]| {
            let text: String = String::from_utf8_lossy(text).chars().take(40).collect();
            format!("`{column}` has the invalid value {text:?}")
        };
        let number = |column| value(column).map_or(Ok(-1), |text| whole(text).ok_or_else(|| wrong(column, text)));
        let time = |column| needed(column).and_then(|text| seconds(text).ok_or_else(|| wrong(column, text)));
        let word = |column, words: &[&str]| {
            let text = needed(column)?;
            words.iter().position(|word| word.as_bytes().eq_ignore_ascii_case(text)).ok_or_else(|| wrong(column, text))
        };
        let module = word("module", &MODULES.map(|(word, _)| word))?;
        let operation = word("op", &OPERATIONS.map(|(word, ..)| word))?;
        let rank = needed("rank")?;
        let (end, duration): (Seconds, Seconds) = (time("timestamp")?, time("dur")?);
        if !TIMES_NS.contains(&end.ns) {
            return Err(wrong("timestamp", needed("timestamp")?));
        }
        if !(0..=end.ns).contains(&duration.ns) {
            return Err(wrong("dur", needed("dur")?));
        }
        Ok(Self {
            job: value("job_id").unwrap_or(b"0"),
            uid: value("uid").and_then(whole).and_then(|uid| u32::try_from(uid).ok()),
            rank: whole(rank)
                .and_then(|rank| i32::try_from(rank).ok())
                .filter(|rank| *rank >= -1)
                .ok_or_else(|| wrong("rank", rank))?,
            node: value("ProducerName").unwrap_or_default(),
            exe: value("exe"),
            file: value("file"),
            record: value("record_id").and_then(RecordId::of),
            code: Code::new(module, operation),
            offset: number("off")?.max(-1),
            selected: match [number("pt_sel")?, number("irreg_hslab")?, number("reg_hslab")?].map(u64::try_from) {
                [Ok(points), Ok(irregular), Ok(regular)] => Some([points, irregular, regular]),
                _ => None,
            },
            length: u64::try_from(number("len")?).unwrap_or(0),
            start_unix_ns: end.ns - duration.ns,
            end_unix_ns: end.ns,
            since_start_ns: value("start").and_then(seconds).map(|start| start.ns).filter(|start| *start >= 0),
            is_rounded: end.is_rounded || duration.is_rounded,
        })
    }
}
