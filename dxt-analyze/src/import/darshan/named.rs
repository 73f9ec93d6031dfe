//! Access to the counters of a record by name, and their interpretation for reads and writes.

use crate::sum::Sum;
use darshan_log::counters::SIZE_NAMES;
use darshan_log::{CounterRecord, Module};
use trace_format::counters::Counters;
use trace_format::meta::Order;
use trace_format::op::Layer;

/// Counter record with access by counter name; names omit the prefix of the module.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) module: Module,
    pub(crate) record: &'a CounterRecord,
}

impl Named<'_> {
    fn prefix(self) -> &'static str {
        match self.module {
            Module::Posix => "POSIX",
            Module::MpiIo => "MPIIO",
            Module::H5F => "H5F",
            Module::H5D => "H5D",
            Module::PnetcdfFile => "PNETCDF_FILE",
            Module::PnetcdfVar => "PNETCDF_VAR",
            Module::Dfs => "DFS",
            Module::Daos => "DAOS",
            _ => "STDIO",
        }
    }

    /// Returns the value of a counter; 0 if the counter was not monitored.
    pub(crate) fn count(self, name: &str) -> u64 {
        let found = self.record.int(self.module, &format!("{}_{name}", self.prefix()));
        found.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
    }

    pub(crate) fn value(self, name: &str) -> i64 {
        self.record.int(self.module, &format!("{}_{name}", self.prefix())).unwrap_or(0)
    }

    /// Returns the value of a time counter, converted from seconds to ns.
    pub(crate) fn ns(self, name: &str) -> u64 {
        ns(self.record.float(self.module, &format!("{}_F_{name}", self.prefix())).unwrap_or(0.0))
    }

    pub(crate) fn number(self, name: &str) -> f64 {
        self.record.float(self.module, &format!("{}_F_{name}", self.prefix())).unwrap_or(0.0)
    }

    pub(crate) fn layer(self) -> Layer {
        match self.module {
            Module::Posix => Layer::Posix,
            Module::MpiIo => Layer::Mpiio,
            Module::H5F | Module::H5D => Layer::Hdf5,
            Module::PnetcdfFile | Module::PnetcdfVar => Layer::Pnetcdf,
            Module::Dfs => Layer::Dfs,
            Module::Daos => Layer::Daos,
            _ => Layer::Stdio,
        }
    }

    /// Returns true if the module counts reads and writes separately by form (independent, collective, ...).
    pub(crate) fn has_forms(self) -> bool {
        matches!(self.module, Module::MpiIo | Module::PnetcdfVar | Module::Dfs)
    }

    /// Returns the number of reads, or of writes if `writes` is true, by form (independent, collective, ...), in the order of
    /// [`super::ops::FORMS`].
    pub(crate) fn forms(self, writes: bool) -> [u64; 4] {
        let what = if writes { "WRITES" } else { "READS" };
        if self.module == Module::Dfs {
            // The number of DFS calls includes the nonblocking calls.
            let (all, nonblocking) = (self.calls(writes), self.count(&format!("NB_{what}")));
            return [all.saturating_sub(nonblocking), 0, 0, nonblocking.min(all)];
        }
        ["INDEP", "COLL", "SPLIT", "NB"].map(|form| self.count(&format!("{form}_{what}")))
    }

    /// Returns the number of reads, or of writes if `writes` is true, in a module that does not distinguish collective, nonblocking, ... calls.
    fn calls(self, writes: bool) -> u64 {
        let counters: &[&str] = match (self.module, writes) {
            (Module::Dfs, false) => &["READS", "READXS"],
            (Module::Dfs, true) => &["WRITES", "WRITEXS"],
            (Module::Daos, false) => &["OBJ_FETCHES", "ARRAY_READS", "KV_GETS"],
            (Module::Daos, true) => &["OBJ_UPDATES", "ARRAY_WRITES", "KV_PUTS"],
            (_, false) => &["READS"],
            (_, true) => &["WRITES"],
        };
        counters.iter().map(|counter| self.count(counter)).sum::<Sum>().get()
    }

    /// Returns the number of consecutive and of sequential reads, or writes if `writes` is true; unknown if the module does not count these.
    pub(crate) fn order(self, writes: bool) -> Order {
        if self.module != Module::Posix {
            return Order::default();
        }
        let what = if writes { "WRITES" } else { "READS" };
        let known = self.count(what);
        let part = |name: &str| self.count(&format!("{name}_{what}")).min(known);
        Order { known, consecutive: part("CONSEC"), sequential: part("SEQ") }
    }

    /// Returns the counters of all reads, or of all writes if `writes` is true, over all forms.
    pub(crate) fn data(self, writes: bool) -> Counters {
        let (what, bytes) = if writes { ("WRITE", "BYTES_WRITTEN") } else { ("READ", "BYTES_READ") };
        let done = if writes { "WRITTEN" } else { "READ" };
        let aggregate = !matches!(self.layer(), Layer::Posix | Layer::Stdio | Layer::Dfs | Layer::Daos);
        let group = if aggregate { format!("SIZE_{what}_AGG") } else { format!("SIZE_{what}") };
        let segments = if self.has_forms() { total(self.forms(writes)) } else { self.calls(writes) };
        let start = self.ns(&format!("{what}_START_TIMESTAMP"));
        let duration = self.ns(&format!("{what}_TIME"));
        let highest = self.count(&format!("MAX_BYTE_{done}"));
        Counters {
            segments,
            bytes: self.count(bytes),
            duration,
            max_duration: self.ns(&format!("MAX_{what}_TIME")).min(duration),
            first_start: start,
            last_end: self.ns(&format!("{what}_END_TIMESTAMP")).max(start),
            // The lowest byte is unknown. The access order, which logs define differently, is handled separately.
            min_offset: i64::MAX,
            max_end_offset: if highest > 0 { highest.saturating_add(1).min(i64::MAX as u64) as i64 } else { 0 },
            consecutive: 0,
            sequential: 0,
            sizes: SIZE_NAMES.map(|size| self.count(&format!("{group}_{size}"))),
        }
    }
}

pub(crate) fn total(forms: [u64; 4]) -> u64 {
    forms.iter().sum::<Sum>().get()
}

/// Converts seconds to ns; invalid times become 0.
pub(crate) fn ns(seconds: f64) -> u64 {
    // The cast saturates: negative values and NaN become 0, large values become `u64::MAX`.
    (seconds * 1e9).round() as u64
}
