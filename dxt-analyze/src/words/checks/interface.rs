//! Sentences on the choice of I/O interfaces.

use super::{counts, each, percent};
use crate::text::units;
use crate::words::Words;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Formats the finding that C streams move a `share` (0 to 1) of all bytes: `bytes`, in `calls` calls that take `time_ns`.
pub(crate) fn stdio_share(share: f64, bytes: u64, calls: u64, time_ns: u64) -> Words {
    let (bytes, calls) = (units::bytes(bytes), units::counted(calls, "call"));
    Words::saying(
        format!("{} of all bytes go through C streams (fread, fwrite, fprintf)", percent(share)),
        [format!("{bytes} in {calls} on C streams, {} summed over processes", units::duration(time_ns))],
        "move large data with read(2) and write(2), MPI-IO or HDF5, or give each stream a buffer of the stripe size \
         (setvbuf(3))",
    )
}

/// Formats the finding that none of `ranks` ranks uses MPI-IO, but they share `files`, each with the bytes of its independent calls.
pub(crate) fn no_mpi_io(ranks: u32, files: &[(&str, u64)]) -> Words {
    Words::saying(
        format!("none of {ranks} ranks uses MPI-IO, although ranks share files"),
        each(files, |bytes| format!("{} in calls other than MPI-IO", units::bytes(bytes))),
        "let MPI_File_write_at_all and MPI_File_read_at_all (or HDF5 with collective transfer) merge the ranks' parts into \
         large requests",
    )
}

/// Formats the finding that only a `share` (0 to 1) of MPI-IO `calls` is collective. `files`: independent calls on each. `call`: collective
/// call to advise.
pub(crate) fn few_collective(share: f64, calls: u64, files: &[(&str, u64)], call: &str) -> Words {
    Words::saying(
        format!("only {} of {} are collective", percent(share), units::counted(calls, "MPI-IO call")),
        each(files, counts("independent call")),
        format!(
            "where all ranks move data in the same step, call {call} (in HDF5: H5Pset_dxpl_mpio with \
             H5FD_MPIO_COLLECTIVE)"
        ),
    )
}

/// Formats the finding that all MPI-IO `calls` are blocking, and the job does no I/O for `idle_ns` in total, in `gaps` gaps.
pub(crate) fn blocking_only(idle_ns: u64, calls: u64, gaps: u64) -> Words {
    Words::saying(
        format!(
            "all MPI-IO calls are blocking, and the gaps between I/O phases add up to {}",
            units::duration(idle_ns)
        ),
        [format!("{}, {} between I/O phases", units::counted(calls, "blocking call"), units::counted(gaps, "gap"))],
        "call MPI_File_iwrite_at_all or MPI_File_iread_at_all (HDF5: the asynchronous VOL connector) and compute \
         before MPI_Wait",
    )
}

/// Formats the finding that a file's collective calls use `aggregators` on only `on` of `nodes` nodes. `hints`: names and values of MPI-IO
/// hints in effect that choose aggregators.
pub(crate) fn few_aggregators(file: &str, (aggregators, on, nodes): (u64, u64, u64), hints: &[(&str, &str)]) -> Words {
    let through = format!("{file}: all data go through {aggregators} of the ranks, on {on} of {nodes} nodes");
    let aggregators = units::counted(aggregators, "aggregator");
    Words::saying(
        format!("collective calls go through {aggregators} on {on} of {nodes} nodes"),
        std::iter::once(through).chain(hints.iter().map(|(key, value)| format!("hint in effect: {key}={value}"))),
        format!("set the MPI-IO hints cb_nodes={nodes} (or a multiple) and cb_config_list=*:1"),
    )
}

/// Formats the finding that `unaligned` of `known` memory buffers, a `share` (0 to 1), are not aligned to `alignment` bytes.
pub(crate) fn memory_unaligned(share: f64, alignment: u64, unaligned: u64, known: u64) -> Words {
    Words::saying(
        format!("{} of reads and writes use memory buffers that are not aligned to {alignment} bytes", percent(share)),
        [format!("{} of {} use unaligned memory buffers", units::count(unaligned), units::accesses(known))],
        "allocate buffers with posix_memalign(3); O_DIRECT needs buffers that are aligned to blocks (often 4096 bytes)",
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let hints = [("cb_nodes", "1"), ("cb_config_list", "*:1")];
    let files = [("/scratch/out.h5", 4000), ("/scratch/log", 1)];
    vec![
        (Code::STDIO_SHARE, stdio_share(0.42, 3 << 30, 12_000, 4_200_000_000)),
        (Code::NO_MPIIO, no_mpi_io(64, &super::FILES)),
        (Code::NO_COLLECTIVE_READS, few_collective(0.031, 4130, &files, "MPI_File_read_at_all")),
        (Code::NO_COLLECTIVE_WRITES, few_collective(0.0, 4001, &files, "MPI_File_write_at_all")),
        (Code::BLOCKING_ONLY, blocking_only(93_000_000_000, 640, 9)),
        (Code::FEW_AGGREGATORS, few_aggregators("/scratch/out.h5", (1, 1, 4), &hints)),
        (Code::MEMORY_UNALIGNED, memory_unaligned(0.953, 8, 20_001, 20_990)),
    ]
}
