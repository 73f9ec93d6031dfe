//! Interfaces as the Darshan paper tells them apart: what a program called.

use crate::model::{Op, Run, Within};
use crate::shared::totals::StreamTotal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpMode};

/// An interface that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interface {
    /// System calls.
    Posix,
    /// C streams.
    Stdio,
    /// MPI-IO, each rank for itself.
    MpiioIndependent,
    /// MPI-IO, all ranks together; split and ordered calls are.
    MpiioCollective,
    /// HDF5.
    Hdf5,
    /// Parallel netCDF.
    Pnetcdf,
}

/// All of them, with their names in columns.
pub const INTERFACES: [(Interface, &str); 6] = [
    (Interface::Posix, "posix"),
    (Interface::Stdio, "stdio"),
    (Interface::MpiioIndependent, "mpiio_independent"),
    (Interface::MpiioCollective, "mpiio_collective"),
    (Interface::Hdf5, "hdf5"),
    (Interface::Pnetcdf, "pnetcdf"),
];

impl Interface {
    /// Of an operation, unless its description is lost.
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

    /// Its name in columns.
    #[must_use]
    pub fn name(self) -> &'static str {
        INTERFACES.iter().find(|(interface, _)| *interface == self).map_or("?", |(_, name)| name)
    }
}

/// What a program did through an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceSum {
    /// Calls of every kind that the program made.
    pub calls: u64,
    /// Bytes read and written by them.
    pub bytes: u64,
    /// Time in them, summed over processes, ns.
    pub time_ns: u64,
    /// Whether it was used at all, also by a library: MPI-IO by HDF5. What MPI-IO calls inside does not count.
    pub used: bool,
}

impl InterfaceSum {
    /// Adds those of other calls.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.used |= other.used;
    }
}

/// Sums of `totals` by interface.
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
