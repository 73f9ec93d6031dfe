//! Sentences on metadata calls, e.g. opens, closes, stats.

use super::{counts, each, percent};
use crate::text::units;
use crate::words::Words;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

const HINT: &str = "open each file once and keep it open; let one rank open and stat files and broadcast the result; \
                    use fewer, larger files or a container (HDF5, ADIOS)";

/// Formats the finding that metadata calls take more than `least_ns` on `ranks` ranks; some are `named`, each with its time in ns.
pub(crate) fn metadata_time(least_ns: u64, ranks: u64, named: &[(String, u64)]) -> Words {
    let least = units::duration(least_ns);
    let on = if ranks == 1 { "1 rank".to_owned() } else { format!("each of {}", units::counted(ranks, "rank")) };
    Words::saying(
        format!("metadata calls take more than {least} on {on}"),
        each(named, |ns| format!("{} in metadata calls", units::duration(ns))),
        HINT,
    )
}

/// Formats the finding that metadata calls take a `share` (0 to 1) of I/O time. `files`: time in opens and closes of each, ns.
pub(crate) fn metadata_share(share: f64, files: &[(&str, u64)]) -> Words {
    Words::saying(
        format!("{} of the time in I/O calls is spent in metadata calls", percent(share)),
        each(files, |ns| format!("{} in opens and closes, summed over processes", units::duration(ns))),
        HINT,
    )
}

/// Formats the finding that single processes open `files` files `least` times or more. `named`: path, opens, process, and its accesses.
pub(crate) fn repeated_opens(files: u64, least: u64, named: &[(&str, u64, String, u64)]) -> Words {
    let evidence = named.iter().map(|(file, opens, process, accesses)| {
        format!("{file}: {} by {process} for {}", units::counted(*opens, "open"), units::accesses(*accesses))
    });
    Words::saying(
        format!(
            "{} {} opened {} or more by a single process",
            units::counted(files, "file"),
            units::agree(files, "is", "are"),
            units::counted(least, "time")
        ),
        evidence,
        "keep the file open between accesses: each open queries the metadata server, and each close writes back \
         cached data",
    )
}

/// Formats the finding that the program opens files `opens` times for few `accesses`. `files`: number of opens of each.
pub(crate) fn open_per_access(opens: u64, accesses: u64, files: &[(&str, u64)]) -> Words {
    Words::saying(
        format!("the program makes {} for {}", units::counted(opens, "open"), units::accesses(accesses)),
        each(files, counts("open")),
        "keep files open, or pack small files into one (HDF5, tar with an index, a database)",
    )
}

/// Formats the finding that `failed` of `opens` opens fail. `files`: number of failed opens of each.
pub(crate) fn failed_opens(failed: u64, opens: u64, files: &[(&str, u64)]) -> Words {
    let fail = units::agree(failed, "fails", "fail");
    Words::saying(
        format!("{} of {} {fail}", units::count(failed), units::counted(opens, "open")),
        each(files, counts("failed open")),
        "if the program searches for files: shorten search paths (PYTHONPATH, LD_LIBRARY_PATH), remember which files are \
         absent, put packages into one container image",
    )
}

/// Formats the finding that metadata calls peak at `per_second`, in the second that begins `start_ns` after the job's start.
pub(crate) fn metadata_rate(per_second: u64, start_ns: u64) -> Words {
    Words::saying(
        format!("the job's metadata calls peak at {} per second", units::count(per_second)),
        [format!("the busiest second begins {} s after the job's start", units::seconds(start_ns))],
        HINT,
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let (file, process) = ("/scratch/out.h5", "rank 3".to_owned());
    let slow = [(process.clone(), 42_000_000_000), ("rank 0".to_owned(), 31_000_000_000)];
    let times = [(file, 9_000_000_000), ("/scratch/log", 42_000)];
    let opens = [(file, 4000), ("/scratch/log", 1)];
    vec![
        (Code::METADATA_TIME, metadata_time(30_000_000_000, 2, &slow)),
        (Code::METADATA_SHARE, metadata_share(0.42, &times)),
        (Code::REPEATED_OPENS, repeated_opens(1, 100, &[(file, 4000, process, 4000)])),
        (Code::OPEN_PER_ACCESS, open_per_access(4001, 4010, &opens)),
        (Code::OPEN_PER_ACCESS, open_per_access(1, 1, &opens[1..])),
        (Code::FAILED_OPENS, failed_opens(4001, 9000, &opens)),
        (Code::FAILED_OPENS, failed_opens(1, 3, &opens[1..])),
        (Code::METADATA_RATE, metadata_rate(12_000, 3_500_000_000)),
    ]
}
