//! Sentences on load balance over ranks.

use super::{counts, each, percent};
use crate::text::units;
use crate::words::Words;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Formats the finding that one of the `ranks` moves a `share` (0 to 1) of all bytes: `bytes`, in `accesses` that take `time_ns`.
pub(crate) fn one_rank(process: &str, share: f64, ranks: u64, (bytes, accesses, time_ns): (u64, u64, u64)) -> Words {
    let (bytes, accesses) = (units::bytes(bytes), units::accesses(accesses));
    Words::saying(
        format!("{process} moves {} of the bytes of {ranks} ranks", percent(share)),
        [format!("{process}: {bytes} in {accesses}, which take {} in total", units::duration(time_ns))],
        "let every rank read and write its own part (MPI_File_write_at_all, parallel HDF5): a single rank uses only \
         one node's network",
    )
}

/// Formats the finding on unequal bytes per rank. `imbalance`: 0 if all are equal, 1 if one rank has all. `most`: ranks with the most bytes.
pub(crate) fn byte_imbalance(imbalance: f64, mean: u64, most: &[(String, u64)]) -> Words {
    unequal("bytes", units::bytes, imbalance, mean, most)
}

/// Formats the finding on unequal time in reads and writes per rank, ns; parameters as for [`byte_imbalance`].
pub(crate) fn time_imbalance(imbalance: f64, mean: u64, most: &[(String, u64)]) -> Words {
    unequal("time in reads and writes", units::duration, imbalance, mean, most)
}

fn unequal(what: &str, show: fn(u64) -> String, imbalance: f64, mean: u64, most: &[(String, u64)]) -> Words {
    Words::saying(
        format!("ranks have unequal {what}: imbalance {} (0 %: equal, 100 %: one rank has all)", percent(imbalance)),
        each(most, |value| format!("{}, mean over ranks {}", show(value), show(mean))),
        "give all ranks equal bytes; if bytes are equal and times are not, find slow ranks and nodes: `dxt-analyze outliers --by rank` (or `--by node`)",
    )
}

/// Shared file: its path, imbalance of its bytes over ranks (0 to 1), process with most bytes and their number (`None` if unknown).
pub(crate) type UnequalFile<'a> = (&'a str, f64, Option<(String, u64)>);

/// Formats the finding that ranks move unequal shares of `files` shared files, some of which are `named`.
pub(crate) fn shared_imbalance(files: u64, named: &[UnequalFile<'_>]) -> Words {
    let evidence = named.iter().map(|(file, imbalance, most)| {
        let most = most.as_ref().map(|(process, bytes)| format!("; {process} moves most, {}", units::bytes(*bytes)));
        format!(
            "{file}: imbalance of bytes {} (0 %: equal shares, 100 %: one rank moves all){}",
            percent(*imbalance),
            most.unwrap_or_default()
        )
    });
    Words::saying(
        format!("ranks move unequal shares of {}", units::counted(files, "shared file")),
        evidence,
        "give each rank an equal part of the file, or use collective calls, whose aggregators divide the file evenly",
    )
}

/// Formats the finding that ranks access shared files without collective calls. `files`: path, independent calls, ranks making them, their
/// time in ns.
pub(crate) fn shared_independent(files: &[(&str, u64, usize, u64)]) -> Words {
    let call = counts("independent call");
    let evidence = files.iter().map(|(file, calls, ranks, time_ns)| {
        format!("{file}: {} by {ranks} ranks, {} summed over ranks", call(*calls), units::duration(*time_ns))
    });
    Words::saying(
        "several ranks access a shared file without any collective MPI-IO call",
        evidence,
        "use collective calls; if ranks need no common file, use one file per rank or node; `dxt-analyze stripes` shows whether ranks wait for each other's locks on the same stripes",
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let (file, process, time_ns) = ("/scratch/out.h5", "rank 0".to_owned(), 42_000_000_000);
    let most = [(process.clone(), 3 << 30), ("rank 17".to_owned(), 1 << 30)];
    let unequal: [UnequalFile<'_>; 2] = [(file, 0.8, Some((process.clone(), 3 << 30))), ("/scratch/log", 0.4, None)];
    let independent = [(file, 12_000, 64, time_ns)];
    vec![
        (Code::ONE_RANK, one_rank(&process, 0.991, 64, (9 << 30, 2304, time_ns))),
        (Code::BYTE_IMBALANCE, byte_imbalance(0.6, 1 << 29, &most)),
        (Code::TIME_IMBALANCE, time_imbalance(0.6, 500_000_000, &most)),
        (Code::SHARED_READ_IMBALANCE, shared_imbalance(2, &unequal)),
        (Code::SHARED_WRITE_IMBALANCE, shared_imbalance(1, &unequal[..1])),
        (Code::SHARED_INDEPENDENT, shared_independent(&independent)),
    ]
}
