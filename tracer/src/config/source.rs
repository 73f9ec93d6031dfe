//! List of known variables that the environment or a configuration file may set.

pub(crate) use crate::environment::Environment;
use std::ffi::CStr;

/// Variables that a configuration file may not set, because they take effect before the file is read.
pub(super) const FROM_ENVIRONMENT: [&CStr; 2] = [c"DXT_CONFIG", c"DXT_SECCOMP"];

/// Variables that a configuration file may set: all known variables except [`FROM_ENVIRONMENT`].
pub(super) const VARIABLES: [&CStr; 38] = [
    c"DXT_ENABLE",
    c"DXT_ENABLE_IO_TRACE",
    c"DXT_DISABLE_IO_TRACE",
    c"DXT_OUTPUT_DIR",
    c"DXT_OUTPUT_ID",
    c"DXT_TRACE_MODE",
    c"DXT_BUFFER_MAX",
    c"DXT_COUNTERS_FILES",
    c"DXT_MPI_BUFFER_MAX",
    c"DXT_OVERFLOW",
    c"DXT_SPOOL",
    c"DXT_SPOOL_ID",
    c"DXT_LIVE",
    c"DXT_SITES",
    c"DXT_TIMING",
    c"DXT_MEM_ALIGN",
    c"DXT_FLUSH",
    c"DXT_VERBOSE",
    c"DXT_JOB_ID",
    c"DXT_INCLUDE",
    c"DXT_EXCLUDE",
    c"DARSHAN_EXCLUDE_DIRS",
    c"DXT_RANKS",
    c"DXT_APPS",
    c"DXT_LAYERS",
    c"DXT_MIN_SIZE",
    c"DXT_SMALL_IO_TRIGGER",
    c"DXT_SMALL_IO_SIZE",
    c"DXT_UNALIGNED_IO_TRIGGER",
    c"DXT_TRIGGER_CONF_PATH",
    c"DXT_PROCESSES",
    c"DXT_MIN_RUN_TIME",
    c"DXT_MIN_IO",
    c"DXT_MIN_CALLS",
    c"DXT_SAMPLE",
    c"DXT_JOB_BYTES",
    c"DXT_KILL_SWITCH",
    c"DXT_ANONYMIZE",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_set_every_variable_that_is_asked_for() {
        let asked = [
            include_str!("settings.rs"),
            include_str!("filters.rs"),
            include_str!("site.rs"),
            include_str!("../job.rs"),
        ];
        let names = asked.iter().flat_map(|text| text.split("c\"").skip(1)).filter_map(|rest| rest.split('"').next());
        for name in names.filter(|name| {
            name.starts_with("DXT_") && !FROM_ENVIRONMENT.iter().any(|known| known.to_bytes() == name.as_bytes())
        }) {
            assert!(VARIABLES.iter().any(|known| known.to_bytes() == name.as_bytes()), "{name}");
        }
    }
}
