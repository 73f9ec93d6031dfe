//! Sentences on the I/O of single files through MPI-IO.

use crate::findings::{About, Evidence};
use crate::limits::NAMED_RANKS;
use crate::text::units;
use crate::words::Words;
use std::collections::BTreeMap;

/// Returns sentences as evidence; each names `file` in its facts for JSON output.
fn on(file: &str, sentences: impl IntoIterator<Item = String>) -> Vec<Evidence> {
    let about = About { file: Some(file.to_owned()), ..About::default() };
    sentences.into_iter().map(|words| Evidence::of(words, about.clone())).collect()
}

/// Returns the note that `more` other files have the same problem.
pub(crate) fn more(more: usize) -> String {
    format!("and {}", units::counted(more as u64, "more file"))
}

/// Bytes requested from MPI-IO, and bytes that POSIX calls move in the same direction to serve the requests.
pub(crate) struct Moved {
    /// Ratio of the bytes moved to the bytes requested.
    pub(crate) times: f64,
    pub(crate) requested_bytes: u64,
    pub(crate) posix_bytes: u64,
}

/// Data sieving on a file: MPI-IO moves contiguous ranges that include unrequested bytes.
pub(crate) struct Sieved<'a> {
    pub(crate) file: &'a str,
    pub(crate) processes: u64,
    /// True if most MPI-IO calls on the file are collective.
    pub(crate) is_collective: bool,
    /// Writes, if data sieving moves far more bytes than they request; else `None`.
    pub(crate) writes: Option<Moved>,
    /// Reads, if data sieving moves far more bytes than they request; else `None`.
    pub(crate) reads: Option<Moved>,
    /// Number of POSIX reads inside MPI-IO writes, their bytes, and their total time, ns.
    pub(crate) read_back: (u64, u64, u64),
}

/// Formats the finding that data sieving moves far more bytes than requested.
pub(crate) fn sieving(of: &Sieved<'_>) -> Words {
    let (calls, bytes, ns) = of.read_back;
    let writes = of.writes.as_ref().map(|writes| {
        format!(
            "MPI-IO writes of {} cause POSIX writes of {} and POSIX reads of {} ({}, {} summed over processes)",
            units::bytes(writes.requested_bytes),
            units::bytes(writes.posix_bytes),
            units::bytes(bytes),
            units::counted(calls, "read"),
            units::duration(ns)
        )
    });
    let reads = of.reads.as_ref().map(|reads| {
        format!(
            "MPI-IO reads of {} cause POSIX reads of {}",
            units::bytes(reads.requested_bytes),
            units::bytes(reads.posix_bytes)
        )
    });
    let times = |moved: &Option<Moved>| moved.as_ref().map_or(0.0, |moved| moved.times);
    let (of_writes, most) = (times(&of.writes), times(&of.writes).max(times(&of.reads)));
    let hint = match (writes.is_some(), of.processes) {
        (true, 2..) if of.is_collective => {
            "aggregators read the gaps between the ranks' pieces and write them back: store side by side what one collective call writes, or let one call \
             write several variables; if the pieces are few and large, disable data sieving (on Lustre: romio_lustre_ds_in_coll=disable)"
        }
        // A single process has no others with which to make a collective call.
        (true, 0 | 1) => {
            "if the pieces are small, store them side by side in the file and write them in one call; if they are few and large, set the hint \
             romio_ds_write=disable"
        }
        (false, 0 | 1) => {
            "if the pieces are small, read a large contiguous range once and pick them in memory; if they are few and large, set the hint \
             romio_ds_read=disable"
        }
        (true, _) => {
            "if the pieces are small, write them with a collective call (MPI_File_write_all with a file view); if they are few and large, set the hint \
             romio_ds_write=disable"
        }
        (false, _) => {
            "if the pieces are small, read them with a collective call (MPI_File_read_all with a file view); if they are few and large, set the hint \
             romio_ds_read=disable"
        }
    };
    Words {
        title: if writes.is_some() && of.is_collective {
            format!("collective writes with gaps move {of_writes:.1} times the requested bytes on {}", of.file).into()
        } else {
            format!("data sieving moves {most:.1} times the requested bytes on {}", of.file).into()
        },
        evidence: on(of.file, writes.into_iter().chain(reads)),
        hint: hint.into(),
    }
}

/// Small independent MPI-IO calls on a shared file.
pub(crate) struct Independent<'a> {
    pub(crate) file: &'a str,
    pub(crate) processes: u64,
    /// Number of small independent MPI-IO calls on the file.
    pub(crate) calls: u64,
    /// Mean number of bytes per independent call.
    pub(crate) mean_bytes: u64,
    /// Mean duration of an independent call, ns.
    pub(crate) mean_ns: u64,
    /// Number of collective calls on the file.
    pub(crate) collective: u64,
    /// Number of all blocking MPI-IO calls on the file.
    pub(crate) all: u64,
}

/// Formats the finding that ranks make small independent calls on a shared file.
pub(crate) fn independent(of: &Independent<'_>) -> Words {
    let (ranks, make) = (units::counted(of.processes, "rank"), units::agree(of.processes, "makes", "make"));
    let calls = units::counted(of.calls, "small independent MPI-IO call");
    let evidence = format!(
        "{} of {} {} collective; an independent call moves {} in {} on average",
        if of.collective == 0 { "none".to_owned() } else { format!("only {}", units::count(of.collective)) },
        units::counted(of.all, "blocking MPI-IO call"),
        units::agree(of.collective, "is", "are"),
        units::bytes(of.mean_bytes),
        units::duration(of.mean_ns)
    );
    Words {
        title: format!("{ranks} {make} {calls} on the shared file {}", of.file).into(),
        evidence: on(of.file, [evidence]),
        hint:
            "let all ranks call MPI_File_write_all or MPI_File_read_all with a file view (HDF5: H5FD_MPIO_COLLECTIVE; \
               netCDF: NC_COLLECTIVE): aggregators then make few large requests"
                .into(),
    }
}

/// Collective reads or writes of a file.
pub(crate) struct Collective<'a> {
    pub(crate) file: &'a str,
    /// Direction of the collective calls: `read` or `write`.
    pub(crate) op: &'static str,
    /// Names of the aggregators: processes that make the system calls; most bytes first.
    pub(crate) aggregators: Vec<&'a str>,
    /// Number of ranks that take part in the collective calls.
    pub(crate) processes: u64,
    /// Number of nodes on which the participating ranks run.
    pub(crate) nodes: u64,
    pub(crate) hints: &'a BTreeMap<String, String>,
}

impl Collective<'_> {
    fn evidence(&self, first: String) -> Vec<Evidence> {
        let hints: Vec<String> = self.hints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let hints = (!hints.is_empty()).then(|| format!("hints in effect: {}", hints.join(" ")));
        on(self.file, std::iter::once(first).chain(hints))
    }
}

/// Formats the finding that a file has too few aggregators (fewer than `wanted`: its stripes if known, else its nodes), or more than two
/// per stripe.
pub(crate) fn aggregators(of: &Collective<'_>, stripes: Option<u64>, wanted: u64) -> Words {
    let count = of.aggregators.len() as u64;
    let first: Vec<&str> = of.aggregators.iter().take(NAMED_RANKS).copied().collect();
    let more = if count > 8 { format!(" and {} more", count - 8) } else { String::new() };
    let evidence = of.evidence(format!(
        "aggregators: {count} ({}{more}), of {} {} on {}",
        first.join(", "),
        of.processes,
        units::agree(of.processes, "rank", "ranks"),
        units::counted(of.nodes, "node")
    ));
    if let Some(stripes) = stripes.filter(|_| count >= wanted) {
        let title = format!(
            "{count} aggregators write {}, which has only {} (storage targets)",
            of.file,
            units::counted(stripes, "stripe")
        );
        let hint = format!(
            "set cb_nodes={stripes}, or use more stripes: aggregators on one storage target take its locks from each other"
        );
        return Words { title: title.into(), evidence, hint };
    }
    // ROMIO's default is one aggregator per node.
    let each = wanted.div_ceil(of.nodes.max(1));
    let (hints, list) =
        if each > 1 { ("hints", format!(" and cb_config_list=*:{each}")) } else { ("hint", String::new()) };
    Words {
        title: format!(
            "collective calls on {} use only {} for {}",
            of.file,
            units::counted(count, "aggregator"),
            units::counted(wanted, if stripes.is_some() { "stripe" } else { "node" })
        )
        .into(),
        evidence,
        hint: format!(
            "set the {hints} cb_nodes={wanted}{list} (in OMPIO, Open MPI's own MPI-IO: parameter io_ompio_num_aggregators={wanted}): \
             all ranks wait while too few aggregators do the I/O"
        ),
    }
}

pub(crate) struct Sizes {
    pub(crate) calls: u64,
    pub(crate) mean_bytes: u64,
}

/// Formats the finding that ranks make small system calls (`requests`) inside collective calls. `wanted`: right number of aggregators, if
/// requests are small because too many aggregators share a call's bytes; else `None`.
pub(crate) fn no_buffering(of: &Collective<'_>, calls: &Sizes, requests: &Sizes, wanted: Option<u64>) -> Words {
    let (Collective { file, op, processes, .. }, ranks) = (of, of.aggregators.len() as u64);
    let evidence = of.evidence(format!(
        "{} ({} on average) became {} ({} on average), made by {ranks} of {processes} {}",
        units::counted(calls.calls, "collective call"),
        units::bytes(calls.mean_bytes),
        units::counted(requests.calls, "system call"),
        units::bytes(requests.mean_bytes),
        units::agree(*processes, "rank", "ranks")
    ));
    let key = if *op == "write" { "romio_cb_write" } else { "romio_cb_read" };
    let Some(wanted) = wanted else {
        let title = format!("collective {op}s on {file} are not aggregated: ranks make their own small requests");
        let hint = format!("set the hint {key}=enable, so that aggregators merge the pieces of all ranks");
        return Words { title: title.into(), evidence, hint };
    };
    Words {
        title: format!(
            "collective {op}s of {} on {file} become system calls of {}, made by {}",
            units::bytes(calls.mean_bytes),
            units::bytes(requests.mean_bytes),
            units::counted(ranks, "rank")
        )
        .into(),
        evidence,
        hint: format!(
            "set the hints cb_nodes={wanted} (too many aggregators split calls), cb_buffer_size=16777216 or more (so does a small buffer), and {key}=enable"
        ),
    }
}

/// Calls on a file whose bytes an MPI-IO buffer of limited size splits into several rounds (requests, one buffer each).
pub(crate) struct Rounds<'a> {
    pub(crate) file: &'a str,
    /// Direction of the calls: `read` or `write`.
    pub(crate) op: &'static str,
    pub(crate) is_collective: bool,
    /// Name of the hint that sets the buffer size.
    pub(crate) hint: &'static str,
    /// Present size of the MPI-IO buffer, bytes.
    pub(crate) buffer_bytes: u64,
    /// Advised size of the MPI-IO buffer, bytes.
    pub(crate) wanted_bytes: u64,
    /// Mean number of rounds (requests of one buffer each) per call.
    pub(crate) rounds: f64,
    pub(crate) requests: Sizes,
    /// Number of ranks that make the system calls for the MPI-IO calls.
    pub(crate) movers: u64,
    /// Time of the ranks with system calls that is in MPI-IO calls but not in system calls: data exchange, waiting and locks, ns.
    pub(crate) rest_ns: u64,
    /// Time per process that a larger buffer would save, ns; `None` if unknown.
    pub(crate) each_ns: Option<u64>,
}

/// Formats the finding that a buffer splits collective calls, or independent calls with data sieving, into rounds.
pub(crate) fn buffer_size(of: &Rounds<'_>) -> Words {
    let Rounds { hint, op, file, rounds, wanted_bytes, .. } = of;
    let calls = if of.is_collective { "collective" } else { "independent" };
    let evidence = format!(
        "{} {} {} of {} on average; besides these, {} of data exchange, waiting and locks, summed over ranks",
        units::counted(of.movers, "rank"),
        units::agree(of.movers, "makes", "make"),
        units::counted(of.requests.calls, "system call"),
        units::bytes(of.requests.mean_bytes),
        units::duration(of.rest_ns)
    );
    let about = About {
        file: Some((*file).to_owned()),
        bytes: Some(*wanted_bytes),
        time_ns: of.each_ns,
        operation: Some((*op).into()),
        ..About::default()
    };
    Words {
        title: format!(
            "{hint} of {} splits {calls} {op}s on {file} into {rounds:.0} rounds each",
            units::bytes(of.buffer_bytes)
        )
        .into(),
        evidence: vec![Evidence::of(evidence, about)],
        hint: format!(
            "set the hint {hint}={wanted_bytes} ({}): {} then handles a call in one round instead of {rounds:.0}",
            units::bytes(*wanted_bytes),
            if of.is_collective { "each aggregator" } else { "a rank" }
        ),
    }
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    let file = "/scratch/out.nc";
    let moved = |times: f64| Some(Moved { times, requested_bytes: 1 << 30, posix_bytes: 4 << 30 });
    let sieved = |writes, reads, processes, is_collective| {
        let read_back = (1024, 4 << 30, 2_000_000_000);
        (Code::SIEVING, sieving(&Sieved { file, processes, is_collective, writes, reads, read_back }))
    };
    let calls = Independent {
        file,
        processes: 64,
        calls: 100_000,
        mean_bytes: 4096,
        mean_ns: 900_000,
        collective: 12,
        all: 100_012,
    };
    let hints = BTreeMap::from([("cb_nodes".to_owned(), "2".to_owned())]);
    let names = ["rank 0", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5", "rank 6", "rank 7", "rank 8", "rank 9"];
    let collective = |op, count| Collective {
        file,
        op,
        aggregators: names.into_iter().take(count).collect(),
        processes: 64,
        nodes: 4,
        hints: &hints,
    };
    let [large, small] = [(4096, 65_536), (65_536, 4096)].map(|(calls, mean_bytes)| Sizes { calls, mean_bytes });
    let rounds = |is_collective, op, hint| Rounds {
        file,
        op,
        is_collective,
        hint,
        buffer_bytes: 1 << 20,
        wanted_bytes: 16 << 20,
        rounds: 16.0,
        requests: Sizes { calls: 65_536, mean_bytes: 1 << 20 },
        movers: 4,
        rest_ns: 9_000_000_000,
        each_ns: Some(2_000_000_000),
    };
    vec![
        sieved(moved(8.0), None, 64, true),
        sieved(moved(8.0), moved(4.0), 64, false),
        sieved(None, moved(4.0), 64, false),
        sieved(moved(8.0), None, 1, false),
        sieved(None, moved(4.0), 1, false),
        (Code::INDEPENDENT, independent(&calls)),
        (Code::AGGREGATORS, aggregators(&collective("write", 2), Some(8), 8)),
        (Code::AGGREGATORS, aggregators(&collective("read", 2), None, 4)),
        (Code::AGGREGATORS, aggregators(&collective("write", 10), Some(4), 4)),
        (Code::NO_BUFFERING, no_buffering(&collective("write", 10), &small, &small, None)),
        (Code::NO_BUFFERING, no_buffering(&collective("read", 10), &large, &small, Some(4))),
        (Code::BUFFER_SIZE, buffer_size(&rounds(true, "write", "cb_buffer_size"))),
        (Code::SIEVING_BLOCK, buffer_size(&rounds(false, "read", "ind_rd_buffer_size"))),
    ]
}
