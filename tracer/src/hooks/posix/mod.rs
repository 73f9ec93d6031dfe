//! Wraps POSIX calls on descriptors and path names, as exported by the C library.

mod asynchronous;
mod closing;
mod copies;
mod kernel_aio;
mod locks;
mod maps;
mod metadata;
mod naming;
mod opening;
mod positions;
mod readable;
mod sharing;
mod system_calls;
mod transfers;

pub(super) use asynchronous::ASYNCHRONOUS;
pub(super) use closing::CLOSING;
pub(super) use copies::COPIES;
pub(super) use kernel_aio::resolve as resolve_late;
pub(super) use locks::LOCKS;
pub(super) use maps::MAPS;
pub(super) use metadata::METADATA;
pub(super) use naming::NAMING;
pub(super) use opening::OPENING;
pub(super) use positions::POSITIONS;
pub(super) use sharing::SHARING;
pub(super) use system_calls::prepare;
pub(super) use transfers::TRANSFERS;
