//! Rows of `corpus` that describe the files of a job, and counts of files by size and by sharing.

use super::interface::{Interface, sums as interface_sums};
use crate::model::{File, Run};
use crate::shared::sums::{self, Called, Sums};
use crate::shared::totals::StreamTotal;
use serde::{Deserialize, Serialize};

/// Size classes of files: (inclusive upper bound in bytes, name). Larger files are in the last class.
pub const FILE_SIZES: [(u64, &str); 10] = [
    (0, "empty"),
    (4 << 10, "<= 4 KiB"),
    (64 << 10, "<= 64 KiB"),
    (1 << 20, "<= 1 MiB"),
    (16 << 20, "<= 16 MiB"),
    (256 << 20, "<= 256 MiB"),
    (4 << 30, "<= 4 GiB"),
    (64 << 30, "<= 64 GiB"),
    (1 << 40, "<= 1 TiB"),
    (u64::MAX, "> 1 TiB"),
];

/// Class of the number of ranks that used a file, in a job with several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// File used by one rank, as with one file per process.
    One,
    /// File used by several ranks, but not by all.
    Some,
    /// File used by all ranks.
    All,
}

impl Sharing {
    /// All sharing classes (one, some or all ranks use the file) with their names.
    pub const ALL: [(Self, &'static str); 3] = [(Self::One, "one"), (Self::Some, "some"), (Self::All, "all")];

    /// Classifies a file that `processes` of the job's `ranks` used; `None` for a job with one rank.
    #[must_use]
    pub fn of(processes: u64, ranks: u64) -> Option<Self> {
        match processes {
            _ if ranks < 2 => None,
            0 | 1 => Some(Self::One),
            several if several >= ranks => Some(Self::All),
            _ => Some(Self::Some),
        }
    }

    /// Returns the name of the sharing class: `one`, `some` or `all`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(sharing, _)| *sharing == self).map_or("?", |(_, name)| name)
    }
}

/// File of a job. Operations, bytes and times are those of the layer that the program called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobFile {
    /// Path of the file that the job used.
    pub file: String,
    /// Mount point and type of the file system that holds the file.
    pub place: String,
    /// Highest byte read or written + 1, a lower bound of the file size; `None` without data transfer.
    pub size: Option<u64>,
    /// Number of processes that used the file.
    pub processes: u64,
    /// Sharing class of the file; `None` for a job with one rank.
    pub sharing: Option<Sharing>,
    /// Interface through which the program used the file; if several, that with most bytes, then most time.
    pub interface: Option<Interface>,
    /// Stripe size (bytes) and stripe count of the first layout component; `None` if not known.
    pub stripe: Option<(u64, u32)>,
    /// Number, bytes and time of calls that the program itself made on the file.
    #[serde(flatten)]
    pub called: Called,
}

impl JobFile {
    /// Returns the approximate memory use of the row, bytes.
    #[must_use]
    pub fn held(&self) -> usize {
        size_of::<Self>() + self.file.len() + self.place.len()
    }
}

/// Totals of all calls on one file, by stream (operation and caller), and the file's size.
#[derive(Default)]
struct Use<'a> {
    totals: Vec<&'a StreamTotal>,
    size: Option<u64>,
}

/// Returns the files that the job used, sorted by path. `ranks` is the number of ranks of the job.
#[must_use]
pub fn files(run: &Run, totals: &[StreamTotal], ranks: u64) -> Vec<JobFile> {
    let mut uses: Vec<Use<'_>> = run.files.iter().map(|_| Use::default()).collect();
    for total in totals {
        let process = run.process(total.process);
        let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { continue };
        let Some(of_file) = uses.get_mut(stream.file.index()) else { continue };
        of_file.totals.push(total);
        // Only the layer that reaches storage has actual file offsets.
        let size = u64::try_from(total.all.max_end_offset).ok().filter(|_| stream.storage);
        of_file.size = of_file.size.max(size);
    }
    let sums = sums::by_file(run, totals).into_iter();
    let all = run.files.iter().zip(sums.zip(uses)).filter(|(_, (sums, _))| sums.all > 0);
    all.map(|(file, (sums, of_file))| row(run, file, &sums, of_file, ranks)).collect()
}

fn row(run: &Run, file: &File, sums: &Sums, of_file: Use<'_>, ranks: u64) -> JobFile {
    let interfaces = interface_sums(run, of_file.totals.into_iter());
    let called = interfaces.into_iter().filter(|(_, sum)| sum.calls > 0);
    let most = called.max_by_key(|(interface, sum)| (sum.bytes, sum.time_ns, std::cmp::Reverse(*interface)));
    let layout = file.layout.as_ref().filter(|layout| !layout.is_guess());
    let first = layout.and_then(|layout| layout.layout.components.first());
    JobFile {
        file: file.name.clone(),
        place: run.place_of(file),
        size: of_file.size,
        processes: sums.processes(),
        sharing: Sharing::of(sums.processes(), ranks),
        interface: most.map(|(interface, _)| interface),
        stripe: first.map(|part| (part.stripe_size, part.stripe_count)),
        called: sums.called,
    }
}

/// Totals over the files of one size class or sharing class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeSum {
    /// Number of files in the size class or sharing class.
    pub files: u64,
    /// Bytes read from the files of the size class or sharing class.
    pub bytes_read: u64,
    /// Bytes written to the files of the size class or sharing class.
    pub bytes_written: u64,
}

impl SizeSum {
    fn file(&mut self, file: &JobFile) {
        self.add(&Self { files: 1, bytes_read: file.called.bytes_read, bytes_written: file.called.bytes_written });
    }

    /// Adds the totals over other files of the same class.
    pub fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
    }
}

/// Totals over files by size class and by sharing class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Totals by size class, in the order of [`FILE_SIZES`].
    pub sizes: [SizeSum; FILE_SIZES.len()],
    /// Totals over files from which no bytes were read and to which none were written.
    pub no_data: SizeSum,
    /// Totals over the files of multi-rank jobs, in the order of [`Sharing::ALL`].
    pub sharing: [SizeSum; Sharing::ALL.len()],
}

impl Tally {
    /// Adds the totals over other files, by size class and by sharing class.
    pub fn add(&mut self, other: &Self) {
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(mine, theirs)| mine.add(theirs));
        self.sharing.iter_mut().zip(&other.sharing).for_each(|(mine, theirs)| mine.add(theirs));
        self.no_data.add(&other.no_data);
    }
}

/// Sums up `files` by size class and by sharing class.
#[must_use]
pub fn tally(files: &[JobFile]) -> Tally {
    let mut out = Tally::default();
    for file in files {
        match file.size {
            None => out.no_data.file(file),
            Some(size) => {
                let place = FILE_SIZES.iter().position(|(most, _)| size <= *most);
                place.and_then(|place| out.sizes.get_mut(place)).into_iter().for_each(|sum| sum.file(file));
            }
        }
        if let Some(sharing) = file.sharing
            && let Some(sum) = out.sharing.get_mut(sharing as usize)
        {
            sum.file(file);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shared_if_several_ranks_used_it() {
        let of = [(1, 1), (1, 4), (0, 4), (2, 4), (4, 4), (5, 4)].map(|(used, ranks)| Sharing::of(used, ranks));
        let (one, all) = (Some(Sharing::One), Some(Sharing::All));
        assert_eq!(of, [None, one, one, Some(Sharing::Some), all, all]);
    }

    #[test]
    fn sizes_grow() {
        assert!(FILE_SIZES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
