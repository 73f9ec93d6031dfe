//! Sentences on MPI-IO and HDF5 calls that spend much of their time outside of system calls.

use super::Words;
use super::common::each_bytes;
use crate::findings::{About, Evidence};
use crate::model::Class;
use crate::text::units;

/// Library calls that spend much of their time outside of system calls. Times are in ns, summed over processes.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    pub(crate) class: Class,
    /// True for HDF5 calls, false for MPI-IO calls.
    pub(crate) hdf5: bool,
    pub(crate) collective: bool,
    /// True if the job has one process, or has no MPI ranks.
    pub(crate) alone: bool,
    /// Share of the calls' time that is outside of system calls, 0 to 1.
    pub(crate) share: f64,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// True if the mean call is so small that the number of calls decides the time.
    pub(crate) small: bool,
    /// Total time in the MPI-IO or HDF5 calls.
    pub(crate) time_ns: u64,
    /// Part of `time_ns` that is in system calls.
    pub(crate) inside_ns: u64,
    /// Number of MPI_File_set_view calls and their time; `None` if there are none.
    pub(crate) views: Option<(u64, u64)>,
    /// Mean time per process in MPI_File_set_view, ns; `None` if the other time outside system calls is as long or longer.
    pub(crate) more_in_views_ns: Option<u64>,
    /// Number of large files with only one stripe, and size of the largest, bytes; `None` if there are none.
    pub(crate) one_stripe: Option<(u64, u64)>,
    /// Facts of the finding for JSON output; the operation is added later.
    pub(crate) about: About,
}

impl Outside {
    /// Returns the name of the calls, e.g. `collective MPI-IO writes`.
    pub(crate) fn operation(&self) -> String {
        let form = match (self.collective, self.alone) {
            (true, _) => "collective ",
            (false, false) => "independent ",
            (false, true) => "",
        };
        format!("{form}{} {}", if self.hdf5 { "HDF5" } else { "MPI-IO" }, self.class.plural())
    }

    /// Returns a list of likely activities of the calls outside of system calls. A single process waits for no other.
    const fn doing(&self) -> &'static str {
        match (self.alone, self.hdf5) {
            (true, true) => "compression and other filters, type conversion, fill values, copies",
            (true, false) => "copies and data sieving in the MPI library",
            (false, true) => "waits for other ranks, communication, HDF5's own work",
            (false, false) => "communication, locks, copies",
        }
    }

    fn title(&self) -> String {
        let (what, percent) = (self.operation(), self.share * 100.0);
        let what = if self.small {
            let bytes = each_bytes(self.bytes, self.calls);
            format!("{} small {what} ({bytes} each)", units::count(self.calls))
        } else {
            what
        };
        let title = format!("{what} spend {percent:.1} % of their time outside POSIX calls");
        match self.more_in_views_ns {
            Some(ns) => format!("{title}; setting file views takes another {} per process", units::duration(ns)),
            None => title,
        }
    }

    fn hint(&self) -> &'static str {
        match (self.small, self.collective, self.hdf5) {
            (true, true, _) => {
                "combine the pieces of several calls into one: each call waits for all ranks and exchanges data, however few bytes it moves"
            }
            (true, false, _) => "read and write larger pieces: each call has a fixed cost, however few bytes it moves",
            (false, true, false) => {
                "try more aggregators (cb_nodes) with larger buffers (cb_buffer_size); write fewer, larger pieces per call; stripe large files over more \
                 targets (`lfs setstripe -c 8 DIR`)"
            }
            (false, true, true) => {
                "use larger selections, whole chunks and the data set's own datatype: in a call HDF5 also fills new chunks with fill values, compresses, converts, sets an \
                 MPI file view and waits for the slowest rank"
            }
            (false, false, true) if self.alone => {
                "reduce HDF5's own work: compress less or faster (level 1 of H5Pset_deflate, LZ4, Zstandard); use the same datatype in memory as in the file; write no fill \
                 values where data follow anyway (H5Pset_fill_time)"
            }
            (false, false, true) => {
                "make the calls collective (H5FD_MPIO_COLLECTIVE) or larger: each independent call locks, copies and waits separately"
            }
            (false, false, false) if self.class == Class::Read => {
                "make the calls collective (MPI_File_read_at_all) or larger: each independent call locks, copies and waits separately"
            }
            (false, false, false) => {
                "make the calls collective (MPI_File_write_at_all) or larger: each independent call locks, copies and waits separately"
            }
        }
    }
}

/// Formats finding DXT-V008 (independent calls), DXT-V019 (collective HDF5 calls) or DXT-L004 (collective MPI-IO calls).
pub(crate) fn outside_posix(facts: &Outside) -> Words {
    let words = format!(
        "{} in {}, summed over all ranks: {} in POSIX calls, the rest in {}; {} moved",
        units::duration(facts.time_ns),
        units::counted(facts.calls, "call"),
        units::duration(facts.inside_ns),
        facts.doing(),
        units::bytes(facts.bytes)
    );
    let views = facts.views.map(|(calls, ns)| {
        let (time, calls) = (units::duration(ns), units::counted(calls, "call"));
        Evidence::from(format!("besides, {time} in {calls} of MPI_File_set_view (file views), summed over all ranks"))
    });
    // A single process waits for no other.
    let one_stripe = facts.one_stripe.filter(|_| !facts.alone).map(|(files, most)| {
        let (count, have) =
            (units::counted(files, "file"), units::agree(files, "has one stripe", "have one stripe each"));
        let size = if files == 1 { units::bytes(most) } else { format!("up to {}", units::bytes(most)) };
        let serves = match facts.collective {
            true => "MPI-IO may then use few aggregators, for which all ranks wait",
            false => "its storage target serves all ranks",
        };
        Evidence::from(format!("{count} ({size}) {have}: {serves} (for new files: `lfs setstripe -c 8 DIR`)"))
    });
    let about = About { operation: Some(facts.operation()), ..facts.about.clone() };
    let evidence = std::iter::once(Evidence::of(words, about)).chain(views).chain(one_stripe);
    Words::of(facts.title(), evidence, facts.hint())
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let of = Outside {
        class: Class::Write,
        hdf5: false,
        collective: true,
        alone: false,
        share: 0.625,
        calls: 640,
        bytes: 64 << 30,
        small: false,
        time_ns: 80_000_000_000,
        inside_ns: 30_000_000_000,
        views: None,
        more_in_views_ns: None,
        one_stripe: Some((2, 32 << 30)),
        about: About::default(),
    };
    let views = Outside {
        views: Some((640, 96_000_000_000)),
        more_in_views_ns: Some(1_500_000_000),
        one_stripe: None,
        ..of.clone()
    };
    let hdf5 = Outside { hdf5: true, one_stripe: Some((1, 32 << 30)), ..of.clone() };
    let independent = Outside { collective: false, one_stripe: None, ..of.clone() };
    let own = Outside { hdf5: true, ..independent.clone() };
    let small = |of: &Outside| Outside { small: true, bytes: 640 << 10, ..of.clone() };
    let said = |code: Code, facts: &Outside| (code, outside_posix(facts));
    vec![
        said(Code::COMMUNICATION, &of),
        said(Code::COMMUNICATION, &views),
        said(Code::COMMUNICATION, &small(&of)),
        said(Code::HDF5_COLLECTIVE, &hdf5),
        said(Code::HDF5_COLLECTIVE, &small(&hdf5)),
        said(Code::OUTSIDE_POSIX, &independent),
        said(Code::OUTSIDE_POSIX, &Outside { class: Class::Read, ..independent.clone() }),
        said(Code::OUTSIDE_POSIX, &small(&independent)),
        said(Code::OUTSIDE_POSIX, &own),
        said(Code::OUTSIDE_POSIX, &Outside { alone: true, ..own }),
        said(Code::OUTSIDE_POSIX, &Outside { alone: true, ..independent }),
    ]
}
