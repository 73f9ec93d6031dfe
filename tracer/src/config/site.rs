//! Settings for sites that trace all jobs by default: which processes and jobs to omit, and how many bytes a job may write.

use super::source::Environment;
use super::values::{BadValue, bad, seconds, size};
use crate::filters::Share;
use std::ffi::CStr;

/// Settings for sites that trace all jobs by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    /// True if processes without MPI are not traced (DXT_PROCESSES=mpi).
    pub(crate) mpi_only: bool,
    /// Thresholds of run time, bytes and calls below which a process without MPI gets no trace.
    pub(crate) least: Least,
    /// Share of jobs that are traced (DXT_SAMPLE); `None` for all.
    pub(crate) sample: Option<Share>,
    /// Maximum total size of a job's traces, in bytes (DXT_JOB_BYTES).
    pub(crate) job_bytes: Option<u64>,
    /// Path of a file that switches tracing off if it exists at process start (DXT_KILL_SWITCH); empty for none.
    pub(crate) kill_switch: Vec<u8>,
    /// Path of the file with the key for hashing names (DXT_ANONYMIZE); empty for none.
    pub(crate) anonymize: Vec<u8>,
    /// Pairs (variable, value) of the settings that leave processes or jobs untraced; stored in the trace.
    pub(super) described: Vec<(&'static str, String)>,
}

/// Thresholds of run time, bytes and calls below which a process without MPI gets no trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Least {
    /// Minimum run time of a process that gets a trace, in ns (DXT_MIN_RUN_TIME).
    pub(crate) run_time_ns: u64,
    /// Minimum of the bytes that a process reads and writes to get a trace (DXT_MIN_IO).
    pub(crate) bytes: Option<u64>,
    /// Minimum number of file calls, of any type, of a process that gets a trace (DXT_MIN_CALLS).
    pub(crate) calls: Option<u64>,
}

impl Site {
    /// True if any setting can exclude a process without MPI from tracing.
    pub(crate) fn judges_processes(&self) -> bool {
        self.mpi_only || self.least != Least::default()
    }
}

impl Least {
    pub(crate) const fn has_run(&self, run_time_ns: u64) -> bool {
        run_time_ns >= self.run_time_ns
    }

    /// True if `bytes` reaches DXT_MIN_IO or `calls` reaches DXT_MIN_CALLS, or if neither threshold is set.
    pub(crate) fn has_done(&self, bytes: u64, calls: u64) -> bool {
        let reached = |limit: Option<u64>, sum: u64| limit.map(|limit| sum >= limit);
        let (of_bytes, of_calls) = (reached(self.bytes, bytes), reached(self.calls, calls));
        of_bytes == Some(true) || of_calls == Some(true) || of_bytes.or(of_calls).is_none()
    }
}

/// Reads the site settings.
///
/// # Errors
/// Returns the first variable that has an invalid value.
pub(super) fn read(environment: &impl Environment) -> Result<Site, BadValue> {
    let mut site = Site::default();
    let mut take = |variable: &'static CStr, expected: &'static str, parse: &mut dyn FnMut(&[u8]) -> Option<bool>| {
        let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) else { return Ok(()) };
        let name = variable.to_str().unwrap_or_default();
        // Settings that omit nothing are not stored in the trace.
        if parse(value).ok_or_else(|| bad(name, value, expected))? {
            site.described.push((name, String::from_utf8_lossy(value).into_owned()));
        }
        Ok(())
    };
    let mut found = Site::default();
    take(c"DXT_PROCESSES", "all or mpi", &mut |value| {
        found.mpi_only = match value {
            b"all" => false,
            b"mpi" => true,
            _ => return None,
        };
        Some(found.mpi_only)
    })?;
    take(c"DXT_MIN_RUN_TIME", "seconds up to 1000000000, such as 10 or 0.5", &mut |value| {
        found.least.run_time_ns = seconds(value)?;
        Some(found.least.run_time_ns > 0)
    })?;
    take(c"DXT_MIN_IO", "a size in bytes, such as 65536 or 1M", &mut |value| {
        found.least.bytes = Some(size(value)? as u64);
        Some(true)
    })?;
    take(c"DXT_MIN_CALLS", "a number of calls, such as 1000 or 10K", &mut |value| {
        found.least.calls = Some(size(value)? as u64);
        Some(true)
    })?;
    take(c"DXT_SAMPLE", "a share of jobs from 0 to 1, such as 0.05", &mut |value| {
        found.sample = Some(Share::parse(value)?);
        Some(true)
    })?;
    take(c"DXT_JOB_BYTES", "a size in bytes, such as 512M or 1G", &mut |value| {
        found.job_bytes = Some(size(value)? as u64);
        Some(true)
    })?;
    let absolute = |value: &[u8]| (value.starts_with(b"/") && !value.contains(&0)).then(|| value.to_vec());
    take(c"DXT_KILL_SWITCH", "the absolute path of a file", &mut |value| {
        found.kill_switch = absolute(value)?;
        Some(false)
    })?;
    // The trace stores the key's fingerprint, not its path.
    take(c"DXT_ANONYMIZE", "the absolute path of a file", &mut |value| {
        found.anonymize = absolute(value)?;
        Some(false)
    })?;
    Ok(Site { described: site.described, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(variables: &[(&CStr, &str)]) -> Result<Site, BadValue> {
        read(&variables)
    }

    #[test]
    fn without_settings_nothing_is_left_out() {
        let site = site(&[]).unwrap();
        assert_eq!(site, Site::default());
        assert!(site.least.has_run(0) && site.least.has_done(0, 0));
    }

    #[test]
    fn a_process_must_run_long_enough_and_do_enough() {
        let least = |bytes, calls| {
            let variables = [(c"DXT_MIN_RUN_TIME", "0.5"), (c"DXT_MIN_IO", bytes), (c"DXT_MIN_CALLS", calls)];
            site(&variables).unwrap().least
        };
        assert!(least("", "").has_run(500_000_000) && !least("", "").has_run(499_999_999));
        assert!(least("", "").has_done(0, 0));
        assert!(least("1K", "").has_done(1024, 0) && !least("1K", "").has_done(1023, 1 << 40));
        assert!(least("1K", "5").has_done(0, 5) && least("1K", "5").has_done(1024, 1));
        assert!(!least("1K", "5").has_done(1023, 4) && least("", "5").has_done(0, 5));
    }

    #[test]
    fn what_leaves_something_out_is_reported_and_nonsense_is_named() {
        let reported = site(&[(c"DXT_PROCESSES", "all"), (c"DXT_SAMPLE", ".1"), (c"DXT_KILL_SWITCH", "/x")]).unwrap();
        assert_eq!(reported.described, [("DXT_SAMPLE", ".1".to_owned())]);
        for (variable, value) in [
            (c"DXT_PROCESSES", "some"),
            (c"DXT_MIN_RUN_TIME", "-1"),
            (c"DXT_MIN_RUN_TIME", "1m"),
            (c"DXT_MIN_RUN_TIME", "1e99"),
            (c"DXT_MIN_IO", "much"),
            (c"DXT_MIN_CALLS", "-5"),
            (c"DXT_SAMPLE", "10%"),
            (c"DXT_JOB_BYTES", "1X"),
            (c"DXT_KILL_SWITCH", "off"),
            (c"DXT_ANONYMIZE", "1"),
        ] {
            assert_eq!(site(&[(variable, value)]).unwrap_err().variable.as_bytes(), variable.to_bytes(), "{value}");
        }
    }
}
