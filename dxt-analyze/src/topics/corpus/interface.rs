//! I/O interfaces that programs call, as distinguished in the Darshan paper.

use crate::model::{Op, Run, Within};
use crate::shared::totals::StreamTotal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpMode};

/// I/O interface that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// Interface of system calls (POSIX).
    Posix,
    /// Interface of C streams (stdio).
    Stdio,
    /// Interface of independent MPI-IO calls (each made by one rank by itself).
    MpiioIndependent,
    /// Interface of collective MPI-IO calls, including split collective and ordered ones.
    MpiioCollective,
    /// Interface of the library HDF5.
    Hdf5,
    /// Interface of the library Parallel netCDF.
    Pnetcdf,
}

/// All I/O interfaces with their names in columns of tables.
pub const INTERFACES: [(Interface, &str); 6] = [
    (Interface::Posix, "posix"),
    (Interface::Stdio, "stdio"),
    (Interface::MpiioIndependent, "mpiio_independent"),
    (Interface::MpiioCollective, "mpiio_collective"),
    (Interface::Hdf5, "hdf5"),
    (Interface::Pnetcdf, "pnetcdf"),
];

impl Interface {
    /// Returns the interface of an operation; `None` if the operation's definition is lost, or if it is not I/O.
    #[must_use]
    pub fn of(op: &Op) -> Option<Self> {
        let together = matches!(op.mode, OpMode::Collective | OpMode::Ordered | OpMode::Split);
        match op.layer? {
            Layer::Posix => Some(Self::Posix),
            Layer::Stdio => Some(Self::Stdio),
            Layer::Mpiio if together => Some(Self::MpiioCollective),
            Layer::Mpiio => Some(Self::MpiioIndependent),
            Layer::Hdf5 => Some(Self::Hdf5),
            Layer::Pnetcdf => Some(Self::Pnetcdf),
            _ => None,
        }
    }

    /// Returns the name of the interface for columns.
    #[must_use]
    pub fn name(self) -> &'static str {
        INTERFACES.iter().find(|(interface, _)| *interface == self).map_or("?", |(_, name)| name)
    }
}

/// Totals over the calls through one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceSum {
    /// Number of calls of every kind that the program made through the interface.
    pub calls: u64,
    /// Bytes read and written by calls through the interface.
    pub bytes: u64,
    /// Time in calls through the interface, summed over processes, ns.
    pub time_ns: u64,
    /// True if the program or a library (HDF5 calling MPI-IO, for example) used the interface. Calls inside MPI-IO do not count.
    pub used: bool,
}

impl InterfaceSum {
    /// Adds the totals over other calls through the same interface.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.used |= other.used;
    }
}

/// Returns the sums of `totals` (totals per stream) by I/O interface.
#[must_use]
pub fn sums<'a>(run: &Run, totals: impl Iterator<Item = &'a StreamTotal>) -> BTreeMap<Interface, InterfaceSum> {
    let mut out: BTreeMap<Interface, InterfaceSum> = BTreeMap::new();
    for total in totals {
        let process = run.process(total.process);
        let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { continue };
        let op = run.op(stream);
        let Some(interface) = Interface::of(op).filter(|_| stream.within() != Within::Mpiio) else { continue };
        let mut sum = InterfaceSum { used: true, ..InterfaceSum::default() };
        if stream.within() == Within::Nothing {
            sum.calls = total.all.segments;
            sum.time_ns = total.all.duration;
            sum.bytes = if op.is_data() && !stream.failed { total.all.bytes } else { 0 };
        }
        out.entry(interface).or_default().add(&sum);
    }
    out
}
