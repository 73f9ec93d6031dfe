//! Sentences of the findings on the pattern of I/O ([`crate::topics::causes::shape`]).

mod again;
mod balance;
mod cpu_wait;
mod files;
mod hdf5;
mod late;
mod polls;
mod small;
mod waits;

pub(crate) use again::*;
pub(crate) use balance::*;
pub(crate) use cpu_wait::*;
pub(crate) use files::*;
pub(crate) use hdf5::*;
pub(crate) use late::*;
pub(crate) use polls::*;
pub(crate) use small::*;
pub(crate) use waits::*;

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    let all = [
        again::samples(),
        balance::samples(),
        cpu_wait::samples(),
        files::samples(),
        hdf5::samples(),
        late::samples(),
        polls::samples(),
        small::samples(),
        waits::samples(),
    ];
    all.into_iter().flatten().collect()
}
