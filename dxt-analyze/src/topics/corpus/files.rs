//! The files of a job, a row each, and how many there are of which size and use.

use super::interface::{Interface, sums as interface_sums};
use crate::model::{File, Run};
use crate::shared::sums::{self, Called, Sums};
use crate::shared::totals::StreamTotal;
use serde::{Deserialize, Serialize};

/// Upper bounds of the sizes that files are counted by, inclusive, with their names: powers of 16. Larger ones come last.
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

/// How many ranks of a job of several used a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// One: as with a file per process.
    One,
    /// Several.
    Some,
    /// All.
    All,
}

impl Sharing {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 3] = [(Self::One, "one"), (Self::Some, "some"), (Self::All, "all")];

    /// Of a file that `processes` of `ranks` used; `None` in a job of one.
    #[must_use]
    pub fn of(processes: u64, ranks: u64) -> Option<Self> {
        match processes {
            _ if ranks < 2 => None,
            0 | 1 => Some(Self::One),
            several if several >= ranks => Some(Self::All),
            _ => Some(Self::Some),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(sharing, _)| *sharing == self).map_or("?", |(_, name)| name)
    }
}

/// A file of a job. Operations, bytes and times are those of the layer that the program called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobFile {
    /// Path.
    pub file: String,
    /// Mount point and type of its file system.
    pub place: String,
    /// Highest byte that was read or written plus one: no less than that is its size. `None` if no data moved.
    pub size: Option<u64>,
    /// Processes that used it.
    pub processes: u64,
    /// How many of the job's ranks that is; `None` in a job of one.
    pub sharing: Option<Sharing>,
    /// What the program called on it: with several, that which most bytes went through, then most time.
    pub interface: Option<Interface>,
    /// Stripe size and count of its layout's first component, if one is known.
    pub stripe: Option<(u64, u32)>,
    /// What the program called on it.
    #[serde(flatten)]
    pub called: Called,
}

impl JobFile {
    /// Bytes that it takes in memory, about.
    #[must_use]
    pub fn held(&self) -> usize {
        size_of::<Self>() + self.file.len() + self.place.len()
    }
}

/// What totals say of a file.
#[derive(Default)]
struct Use<'a> {
    totals: Vec<&'a StreamTotal>,
    size: Option<u64>,
}

/// The files that were used, in order of their names; `ranks` are the job's.
#[must_use]
pub fn files(run: &Run, totals: &[StreamTotal], ranks: u64) -> Vec<JobFile> {
    let mut uses: Vec<Use<'_>> = run.files.iter().map(|_| Use::default()).collect();
    for total in totals {
        let process = run.process(total.process);
        let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { continue };
        let Some(of_file) = uses.get_mut(stream.file.index()) else { continue };
        of_file.totals.push(total);
        // Where bytes lie is known best by the layer that reaches storage.
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

/// Files of one size or use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeSum {
    /// Files.
    pub files: u64,
    /// Bytes read from them.
    pub bytes_read: u64,
    /// Bytes written to them.
    pub bytes_written: u64,
}

impl SizeSum {
    fn file(&mut self, file: &JobFile) {
        self.add(&Self { files: 1, bytes_read: file.called.bytes_read, bytes_written: file.called.bytes_written });
    }

    /// Adds that of others.
    pub fn add(&mut self, other: &Self) {
        self.files = self.files.saturating_add(other.files);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
    }
}

/// Files of a job or of many by size and use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// By size, in the order of [`FILE_SIZES`].
    pub sizes: [SizeSum; FILE_SIZES.len()],
    /// Those through which no data moved.
    pub no_data: SizeSum,
    /// Of jobs of several ranks by how many of them used it, in the order of [`Sharing::ALL`].
    pub sharing: [SizeSum; Sharing::ALL.len()],
}

impl Tally {
    /// Adds that of other files.
    pub fn add(&mut self, other: &Self) {
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(mine, theirs)| mine.add(theirs));
        self.sharing.iter_mut().zip(&other.sharing).for_each(|(mine, theirs)| mine.add(theirs));
        self.no_data.add(&other.no_data);
    }
}

/// Counts files.
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
