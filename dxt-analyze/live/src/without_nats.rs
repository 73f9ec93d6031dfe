//! Replacement for `live --from` in builds without the feature `nats`.

use super::args::Args;
use super::board::Board;
use super::sinks::Outlet;
use anyhow::Result;
use dxt_base::exit::UsageError;
use std::time::Duration;

pub(super) enum Remote {}

impl Remote {
    /// Returns the error that this build has no NATS. Always fails.
    pub(super) fn new(_url: &str, _args: &Args, _outlets: Vec<Outlet>) -> Result<Self> {
        Err(UsageError("this dxt-analyze was built without NATS: build it with --features nats".into()).into())
    }

    pub(super) fn look(&mut self, _most: Duration) -> bool {
        match *self {}
    }

    pub(super) fn finish(&mut self) {
        match *self {}
    }

    pub(super) const fn is_done(&self) -> bool {
        match *self {}
    }

    pub(super) const fn is_incomplete(&self) -> bool {
        match *self {}
    }

    pub(super) const fn board(&self) -> &Board {
        match *self {}
    }

    pub(super) fn messages(&mut self) -> Vec<String> {
        match *self {}
    }
}
