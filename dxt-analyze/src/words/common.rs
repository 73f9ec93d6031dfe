//! Text fragments that several findings share.

use super::Words;
use crate::text::units as show;

impl Words {
    /// Appends evidence: the file with most of the lost time, if known.
    pub(crate) fn on(self, lost: Option<LostOn>) -> Self {
        self.and(lost.map(|lost| lost.sentence().into()))
    }
}

/// File on which most of the time of a finding is lost.
pub(crate) struct LostOn {
    pub(crate) file: String,
    /// Share of a finding's lost time that is on this file, percent.
    pub(crate) percent: f64,
    pub(crate) files: u64,
}

impl LostOn {
    /// Returns the share of lost time on this file as a sentence of evidence.
    pub(crate) fn sentence(&self) -> String {
        let (percent, files) = (self.percent, show::counted(self.files, "file"));
        if self.files == 1 {
            return format!("{} is the only file affected", self.file);
        }
        if percent < 1.0 {
            return format!("{files} affected, each with less than 1 % of the time that this costs");
        }
        format!("{files} affected, most of all {} ({percent:.0} % of the time that this costs)", self.file)
    }
}

/// Processes as the subject of a sentence.
pub(crate) enum Who {
    /// Single process, given by its name.
    One(String),
    /// Number of processes, more than one.
    Many(u64),
}

impl Who {
    /// Creates the subject for `count` processes; `name` is used if there is only one.
    pub(crate) fn of(count: usize, name: String) -> Self {
        if count == 1 { Self::One(name) } else { Self::Many(count as u64) }
    }

    /// Returns the word form that agrees with the number of processes: `one` (`waits`) for one, else `many` (`wait`).
    pub(crate) const fn agree<'a>(&self, one: &'a str, many: &'a str) -> &'a str {
        if matches!(self, Self::One(_)) { one } else { many }
    }

    /// Returns the processes and what they do, in agreement with their number, e.g. `rank 3 waits`, `4 processes wait`.
    pub(crate) fn does(&self, one: &str, many: &str) -> String {
        match self {
            Self::One(name) => format!("{name} {one}"),
            Self::Many(count) => format!("{} {many}", show::counted(*count, "process")),
        }
    }
}

/// Returns the items as a list in words: `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(all: &[T]) -> String {
    let mut names: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} and {last}", names.join(", ")),
        (last, _) => last.unwrap_or_default().to_owned(),
    }
}

/// Formats the mean number of bytes per call.
pub(crate) fn each_bytes(bytes: u64, calls: u64) -> String {
    show::bytes(bytes / calls.max(1))
}

/// Formats the mean time per call; `time_ns` is the time of all `calls`.
pub(crate) fn each_ns(time_ns: f64, calls: u64) -> String {
    show::duration((time_ns / calls.max(1) as f64) as u64)
}

#[cfg(test)]
pub(crate) fn lost_sample() -> Option<LostOn> {
    Some(LostOn { file: "/scratch/out.h5".into(), percent: 97.0, files: 2 })
}
