//! Replacement for the HTTP sender in builds without the feature `live-http`.

use crate::sinks::courier::{Carrier, Refused};
use anyhow::Result;
use dxt_base::exit::UsageError;

pub(super) enum Post {}

impl Post {
    /// Returns the error that this build has no HTTP. Always fails.
    pub(super) fn new(_url: &str) -> Result<Self> {
        Err(UsageError("this dxt-analyze was built without HTTP: build it with --features live-http, or use influx:udp://HOST:PORT".into()).into())
    }
}

impl Carrier for Post {
    type Item = String;

    fn carry(&mut self, _lines: &[String], _lost: u64) -> Result<(), Refused> {
        match *self {}
    }
}
