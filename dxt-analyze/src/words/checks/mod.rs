//! Sentences of the findings of `checks`; one file per group of checks.

pub(crate) mod balance;
pub(crate) mod interface;
pub(crate) mod metadata;
pub(crate) mod phases;
pub(crate) mod requests;
pub(crate) mod traffic;

use crate::text::units;

/// Formats a share (0 to 1) as a percentage, e.g. `12.3 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Example of a process's calls on a file.
pub(crate) struct Example {
    pub(crate) process: String,
    /// File offset at which the accessed range begins, in bytes.
    pub(crate) offset: u64,
    /// Length of the accessed range, in bytes.
    pub(crate) length: u64,
}

impl Example {
    fn place(&self) -> String {
        format!("{} at offset {}", self.process, self.offset)
    }
}

/// Returns `NAME: AMOUNT` for each file or rank; `show` formats the amount.
fn each<N: std::fmt::Display>(amounts: &[(N, u64)], show: impl Fn(u64) -> String) -> Vec<String> {
    amounts.iter().map(|(name, amount)| format!("{name}: {}", show(*amount))).collect()
}

/// Returns a formatter for numbers of `what`, e.g. `3 calls`.
fn counts(what: &str) -> impl Fn(u64) -> String {
    move |count| units::counted(count, what)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    let all = [
        interface::samples(),
        requests::samples(),
        balance::samples(),
        traffic::samples(),
        metadata::samples(),
        phases::samples(),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
const FILES: [(&str, u64); 2] = [("/scratch/out.h5", 40 << 20), ("/scratch/log", 8192)];
