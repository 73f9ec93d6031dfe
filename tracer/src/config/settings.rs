//! Reads the settings of the tracer, and defines their defaults and limits.

use super::made::Made;
use super::output_dir::OutputDir;
use super::site::{self, Site};
use super::source::Environment;
use super::values::{BadValue, bad, permissions, size};
use crate::filters::Filters;
use crate::memory;
use std::ffi::CStr;
use trace_format::profile::MEMORY_ALIGNMENT;

/// Level of detail of the recording (`DXT_ENABLE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One segment (record of a single call) per call.
    Trace,
    /// No segments: only counters per file and operation, and profiles per file and layer, in bounded memory.
    Counters,
}

/// Output layout chosen at MPI_Finalize (`DXT_FLUSH`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FlushMode {
    /// One file written collectively by all ranks, or one file per process where that is not possible.
    #[default]
    Auto,
    /// One file of all ranks, like `Auto`, but reports if each process must write its own file instead.
    Collective,
    /// One file per process, written without any communication.
    Process,
}

/// Treatment of segments (records of calls) when the buffer is full (`DXT_OVERFLOW`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// Compresses segments (records of calls) in memory; segments that still do not fit are folded into counters.
    #[default]
    Compact,
    /// Compresses segments (records of calls) and appends them to a node-local file.
    Spill,
    /// Adds segments (records of calls) to counters only: totals stay exact, single calls are lost.
    Fold,
}

/// Location of recorded data while the program runs; data in a spool file survives the process (`DXT_SPOOL`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spool {
    /// Spool file in this temporary directory (`TMPDIR`; may be empty), or in another directory on this node.
    Auto(Vec<u8>),
    /// Spool file (recorded data that survives the process) in this directory.
    In(Vec<u8>),
    /// No spool file: recorded data is only in process memory, and is lost if the process is killed.
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) mode: Mode,
    /// Maximum number of files with counters of their own, in counters mode.
    pub(crate) counters_files: usize,
    /// Output directory for traces; empty for the working directory at process start.
    pub(crate) output_dir: OutputDir,
    /// Identity (device, inode, path) of the output directory that dxt-run created for this run, if any.
    pub(crate) output_made: Option<Made>,
    /// File permissions of traces (mode bits as in chmod(2)).
    pub(crate) trace_mode: u32,
    /// Maximum size of the process's buffer for records of I/O calls, in bytes.
    pub(crate) buffer_max: usize,
    /// Maximum size of the buffer for records of collective MPI calls, in bytes.
    pub(crate) mpi_buffer_max: usize,
    pub(crate) overflow: Overflow,
    pub(crate) spool: Spool,
    /// Identity (device, inode, path) of the spool directory that dxt-run created for this run, if any.
    pub(crate) spool_made: Option<Made>,
    /// True if another process monitors this one while it runs (`DXT_LIVE`); `timing` is then always true.
    pub(crate) live: bool,
    /// Alignment in bytes, a power of two: memory buffers whose address is a multiple of it count as aligned.
    pub(crate) mem_align: usize,
    /// True if recorded calls get start and end times (`DXT_TIMING`).
    pub(crate) timing: bool,
    /// True if the places in the program that make calls are recorded (`DXT_SITES`).
    pub(crate) sites: bool,
    pub(crate) flush: FlushMode,
    /// Verbosity: 0 is quiet, 1 reports the files written, 2 reports more.
    pub(crate) verbose: u8,
    /// Path of the site's configuration file; empty if there is none.
    pub(crate) file: Vec<u8>,
    pub(crate) filters: Filters,
    pub(crate) site: Site,
}

impl Overflow {
    const fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Spill => "spill",
            Self::Fold => "fold",
        }
    }
}

impl Config {
    /// True if recorded data goes to a spool file, provided that the file can be created.
    pub(crate) fn is_spooled(&self) -> bool {
        // In counters mode, process memory takes less space than a spool.
        let is_scarce = self.mode == Mode::Counters && memory::is_scarce();
        self.spool != Spool::Off && !is_scarce
    }

    /// True if the places in the program that make calls are recorded: not in counters mode, whose memory is bounded by the number of files,
    /// and not where names must not leave the process.
    pub(crate) fn records_sites(&self) -> bool {
        self.sites && self.mode == Mode::Trace && self.site.anonymize.is_empty()
    }

    /// Returns the settings that affect a trace's content, as pairs (variable, value), to be stored in the trace.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        let mut all = match self.mode {
            Mode::Counters => vec![
                ("DXT_ENABLE".to_owned(), "counters".to_owned()),
                ("DXT_COUNTERS_FILES".to_owned(), self.counters_files.to_string()),
            ],
            Mode::Trace => vec![
                ("DXT_ENABLE".to_owned(), "trace".to_owned()),
                ("DXT_BUFFER_MAX".to_owned(), self.buffer_max.to_string()),
                ("DXT_MPI_BUFFER_MAX".to_owned(), self.mpi_buffer_max.to_string()),
                ("DXT_OVERFLOW".to_owned(), self.overflow.name().to_owned()),
            ],
        };
        // The file permissions are needed if the trace is recovered from a spool.
        if self.trace_mode != DEFAULT_TRACE_MODE {
            all.push(("DXT_TRACE_MODE".to_owned(), format!("{:04o}", self.trace_mode)));
        }
        if self.mem_align != MEMORY_ALIGNMENT {
            all.push(("DXT_MEM_ALIGN".to_owned(), self.mem_align.to_string()));
        }
        if !self.timing {
            all.push(("DXT_TIMING".to_owned(), "off".to_owned()));
        }
        if !self.sites {
            all.push(("DXT_SITES".to_owned(), "off".to_owned()));
        }
        if self.live {
            all.push(("DXT_LIVE".to_owned(), "1".to_owned()));
        }
        if !self.file.is_empty() {
            all.push(("DXT_CONFIG".to_owned(), String::from_utf8_lossy(&self.file).into_owned()));
        }
        let described = self.filters.described.iter().chain(&self.site.described);
        all.extend(described.map(|(name, value)| ((*name).to_owned(), value.clone())));
        all
    }
}

/// Maximum of `DXT_MEM_ALIGN`, in bytes: the size of a huge page.
const LARGEST_ALIGNMENT: usize = 1 << 30;

/// Default of `DXT_TRACE_MODE`: owner only, since a trace reveals which files a program used and how.
const DEFAULT_TRACE_MODE: u32 = 0o600;
/// Default of `DXT_BUFFER_MAX`, in bytes: 4 MiB.
pub(crate) const DEFAULT_BUFFER_MAX: usize = 4 << 20;
/// Minimum of `DXT_BUFFER_MAX`, in bytes: room for a few chunks (units in which threads get buffer memory).
pub(crate) const LEAST_BUFFER_MAX: usize = 16 << 10;
/// Maximum of `DXT_BUFFER_MAX`, in bytes: 1 TiB.
pub(crate) const LARGEST_BUFFER_MAX: usize = 1 << 40;

/// Default of `DXT_MPI_BUFFER_MAX`, in bytes: 256 KiB.
pub(crate) const DEFAULT_MPI_BUFFER_MAX: usize = 256 << 10;
/// Maximum of `DXT_MPI_BUFFER_MAX`, in bytes: 1 GiB.
const LARGEST_MPI_BUFFER_MAX: usize = 1 << 30;

/// Default of `DXT_COUNTERS_FILES`, the number of files with counters of their own.
pub(crate) const DEFAULT_COUNTERS_FILES: usize = 1024;
pub(crate) const COUNTERS_FILES: std::ops::RangeInclusive<usize> = 64..=1 << 20;

/// Reads the settings; returns `None` if tracing is off.
///
/// # Errors
/// Returns the first variable that has an invalid value.
pub(crate) fn read(environment: &impl Environment) -> Result<Option<Config>, BadValue> {
    let Some(mode) = mode(environment)? else { return Ok(None) };
    let counters_files = match environment.get(c"DXT_COUNTERS_FILES") {
        None | Some(b"") => DEFAULT_COUNTERS_FILES,
        Some(value) => size(value)
            .filter(|files| COUNTERS_FILES.contains(files))
            .ok_or_else(|| bad("DXT_COUNTERS_FILES", value, "a number of files from 64 to 1M"))?,
    };
    let buffer_max = match environment.get(c"DXT_BUFFER_MAX") {
        None | Some(b"") => DEFAULT_BUFFER_MAX,
        Some(value) => size(value)
            .filter(|bytes| (LEAST_BUFFER_MAX..=LARGEST_BUFFER_MAX).contains(bytes))
            .ok_or_else(|| bad("DXT_BUFFER_MAX", value, "a size from 16K to 1T, such as 4194304, 64M or 1G"))?,
    };
    let mpi_buffer_max = match environment.get(c"DXT_MPI_BUFFER_MAX") {
        None | Some(b"") => DEFAULT_MPI_BUFFER_MAX,
        // Rounded down to whole slots of 32 bytes.
        Some(value) => {
            size(value).filter(|&bytes| bytes <= LARGEST_MPI_BUFFER_MAX).map(|bytes| bytes & !31).ok_or_else(|| {
                bad("DXT_MPI_BUFFER_MAX", value, "a size up to 1G, such as 65536 or 1M; 0 records counters only")
            })?
        }
    };
    let overflow = match environment.get(c"DXT_OVERFLOW") {
        None | Some(b"" | b"compact") => Overflow::Compact,
        Some(b"spill") => Overflow::Spill,
        Some(b"fold") => Overflow::Fold,
        Some(value) => return Err(bad("DXT_OVERFLOW", value, "compact, spill or fold")),
    };
    let spool = match environment.get(c"DXT_SPOOL") {
        None | Some(b"" | b"auto") => Spool::Auto(environment.get(c"TMPDIR").unwrap_or_default().to_vec()),
        Some(b"off") => Spool::Off,
        Some(directory) => Spool::In(directory.to_vec()),
    };
    let live = match environment.get(c"DXT_LIVE") {
        None | Some(b"" | b"0") => false,
        Some(b"1") => true,
        Some(value) => return Err(bad("DXT_LIVE", value, "1 or 0")),
    };
    let mem_align = match environment.get(c"DXT_MEM_ALIGN") {
        None | Some(b"") => MEMORY_ALIGNMENT,
        Some(value) => size(value)
            .filter(|bytes| bytes.is_power_of_two() && *bytes <= LARGEST_ALIGNMENT)
            .ok_or_else(|| bad("DXT_MEM_ALIGN", value, "a power of two up to 1G, such as 8, 512 or 4K"))?,
    };
    let can_be_untimed = (mode == Mode::Counters || super::check::is_of_any_mode(environment)) && !live;
    let timing = match environment.get(c"DXT_TIMING") {
        // DARSHAN_DISABLE_TIMING is Darshan 2's equivalent switch.
        None | Some(b"") => !can_be_untimed || environment.get(c"DARSHAN_DISABLE_TIMING").is_none(),
        Some(b"on") => true,
        Some(b"off") if can_be_untimed => false,
        Some(value @ b"off") => {
            return Err(bad("DXT_TIMING", value, "on: only DXT_ENABLE=counters without DXT_LIVE allows off"));
        }
        Some(value) => return Err(bad("DXT_TIMING", value, "on or off")),
    };
    let sites = match environment.get(c"DXT_SITES") {
        None | Some(b"" | b"on") => true,
        Some(b"off") => false,
        Some(value) => return Err(bad("DXT_SITES", value, "on or off")),
    };
    let flush = match environment.get(c"DXT_FLUSH") {
        None | Some(b"" | b"auto") => FlushMode::Auto,
        Some(b"collective") => FlushMode::Collective,
        Some(b"process") => FlushMode::Process,
        Some(value) => return Err(bad("DXT_FLUSH", value, "auto, collective or process")),
    };
    let verbose = match environment.get(c"DXT_VERBOSE") {
        None | Some(b"" | b"0") => 0,
        Some(b"1") => 1,
        Some(b"2") => 2,
        Some(value) => return Err(bad("DXT_VERBOSE", value, "0, 1 or 2")),
    };
    let output_dir = environment.get(c"DXT_OUTPUT_DIR").unwrap_or_default();
    let output_dir = OutputDir::parse(output_dir).ok_or_else(|| {
        let expected = "a directory; %u (user), %j (job) and %d (day) are replaced (%u must come before the others), and %% is a percent sign";
        bad("DXT_OUTPUT_DIR", output_dir, expected)
    })?;
    let made = |name: &'static CStr, variable| match environment.get(name) {
        None | Some(b"") => Ok(None),
        Some(value) => {
            let made = Made::parse(value);
            made.map(Some).ok_or_else(|| bad(variable, value, "the value that dxt-run sets: DEVICE:INODE:BOOT:PATH"))
        }
    };
    let trace_mode = match environment.get(c"DXT_TRACE_MODE") {
        None | Some(b"") => DEFAULT_TRACE_MODE,
        Some(value) => permissions(value)
            .ok_or_else(|| bad("DXT_TRACE_MODE", value, "permissions in octal from 0600 to 0666, such as 0640"))?,
    };
    // Only validated here: `seccomp::may_start` has evaluated the variable earlier.
    if let Some(value) = environment.get(c"DXT_SECCOMP").filter(|value| !matches!(*value, b"" | b"trust")) {
        return Err(bad("DXT_SECCOMP", value, "trust, or an empty value"));
    }
    let file = environment.get(c"DXT_CONFIG").unwrap_or_default().to_vec();
    let filters = super::filters::read(environment)?;
    let site = site::read(environment)?;
    Ok(Some(Config {
        mode,
        counters_files,
        output_dir,
        output_made: made(c"DXT_OUTPUT_ID", "DXT_OUTPUT_ID")?,
        trace_mode,
        buffer_max,
        mpi_buffer_max,
        overflow,
        spool,
        spool_made: made(c"DXT_SPOOL_ID", "DXT_SPOOL_ID")?,
        live,
        mem_align,
        timing,
        sites,
        flush,
        verbose,
        file,
        filters,
        site,
    }))
}

/// Environment in which DXT_ENABLE is `trace`; all other variables come from the wrapped environment.
pub(crate) struct Enabled<'a, E>(pub(crate) &'a E);

impl<E: Environment> Environment for Enabled<'_, E> {
    fn get(&self, name: &std::ffi::CStr) -> Option<&[u8]> {
        if name.to_bytes() == b"DXT_ENABLE" { Some(b"trace") } else { self.0.get(name) }
    }

    fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
        self.0.each_name(see);
    }
}

/// Returns minimal settings for a process whose own settings are invalid: it records nothing, but takes part in the collective write at
/// MPI_Finalize, so that other ranks do not hang. `None` if each process writes its own file.
pub(crate) fn standing_by(environment: &impl Environment) -> Option<Config> {
    struct Least<'a, E>(&'a E);
    impl<E: Environment> Environment for Least<'_, E> {
        fn get(&self, name: &std::ffi::CStr) -> Option<&[u8]> {
            match name.to_bytes() {
                b"DXT_ENABLE" => Some(b"trace"),
                b"DXT_SPOOL" => Some(b"off"),
                b"DXT_BUFFER_MAX" => Some(b"16K"),
                b"DXT_FLUSH" => self.0.get(name).filter(|value| *value == b"process"),
                _ => None,
            }
        }

        fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
            self.0.each_name(see);
        }
    }
    read(&Least(environment)).ok().flatten().filter(|config| config.flush != FlushMode::Process)
}

/// True if the environment alone shows that tracing is off: either it is switched off, or neither a variable nor a configuration file could
/// switch it on. Allocates nothing.
pub(crate) fn is_off(environment: &impl Environment) -> bool {
    let is_set = |name| environment.get(name).is_some_and(|value| !value.is_empty());
    let by_name = matches!(environment.get(c"DXT_ENABLE"), Some(b"off" | b"0"));
    let may_be_on = is_set(c"DXT_ENABLE")
        || is_set(c"DXT_CONFIG")
        || !matches!(environment.get(c"DXT_ENABLE_IO_TRACE"), None | Some(b"" | b"0"))
        || super::darshan::enables(environment);
    by_name || super::darshan::is_disabled(environment) || !may_be_on
}

fn mode(environment: &impl Environment) -> Result<Option<Mode>, BadValue> {
    match environment.get(c"DXT_ENABLE") {
        // `1` and `0` are accepted as in `DXT_ENABLE_IO_TRACE`.
        Some(b"trace" | b"1" | b"check" | b"check:trace") => Ok(Some(Mode::Trace)),
        Some(b"counters" | b"check:counters") => Ok(Some(Mode::Counters)),
        Some(b"off" | b"0") => Ok(None),
        // Darshan's equivalent switch is DXT_ENABLE_IO_TRACE.
        None | Some(b"") => match environment.get(c"DXT_ENABLE_IO_TRACE") {
            Some(b"1") => Ok(Some(Mode::Trace)),
            None | Some(b"" | b"0") => Ok(None),
            // Darshan accepts any value; its documentation once used 4.
            Some(value) if value.iter().all(u8::is_ascii_digit) => Ok(Some(Mode::Trace)),
            Some(value) => Err(bad("DXT_ENABLE_IO_TRACE", value, "1 or 0")),
        },
        Some(value) => Err(bad("DXT_ENABLE", value, "off, counters, trace or check")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&CStr, &str)]) -> Result<Option<Config>, BadValue> {
        read(&variables)
    }

    #[test]
    fn unset_is_off_and_the_alias_counts_only_when_unset() {
        assert_eq!(settings(&[]), Ok(None));
        assert!(settings(&[(c"DXT_ENABLE_IO_TRACE", "1")]).unwrap().is_some());
        assert_eq!(settings(&[(c"DXT_ENABLE", "off"), (c"DXT_ENABLE_IO_TRACE", "1")]), Ok(None));
        assert_eq!(settings(&[(c"DXT_ENABLE", "1")]).unwrap().unwrap().mode, Mode::Trace);
        assert_eq!(settings(&[(c"DXT_ENABLE", "0"), (c"DXT_ENABLE_IO_TRACE", "1")]), Ok(None));
    }

    #[test]
    fn a_check_is_of_the_mode_that_is_meant() {
        let untimed = |mode| settings(&[(c"DXT_ENABLE", mode), (c"DXT_TIMING", "off")]);
        for (mode, fine) in [("check", true), ("check:counters", true), ("check:trace", false)] {
            assert_eq!(untimed(mode).is_ok(), fine, "{mode}");
        }
    }

    #[test]
    fn sizes_have_suffixes_and_bounds() {
        let buffer = |value| {
            settings(&[(c"DXT_ENABLE", "trace"), (c"DXT_BUFFER_MAX", value)]).map(|config| config.unwrap().buffer_max)
        };
        assert_eq!(buffer(""), Ok(DEFAULT_BUFFER_MAX));
        assert_eq!(buffer("64M"), Ok(64 << 20));
        assert_eq!(buffer("20000"), Ok(20000));
        for wrong in ["1", "4X", "-4M", "M", "99999999T", "4 M"] {
            assert_eq!(buffer(wrong).unwrap_err().variable, "DXT_BUFFER_MAX", "{wrong}");
        }
    }

    #[test]
    fn collective_calls_have_a_buffer_of_their_own() {
        let buffer = |value| {
            let settings = settings(&[(c"DXT_ENABLE", "trace"), (c"DXT_MPI_BUFFER_MAX", value)]);
            settings.map(|config| config.unwrap().mpi_buffer_max)
        };
        assert_eq!(buffer(""), Ok(DEFAULT_MPI_BUFFER_MAX));
        assert_eq!((buffer("0"), buffer("1M"), buffer("100")), (Ok(0), Ok(1 << 20), Ok(96)));
        for wrong in ["-1", "2G", "all"] {
            assert_eq!(buffer(wrong).unwrap_err().variable, "DXT_MPI_BUFFER_MAX", "{wrong}");
        }
    }

    #[test]
    fn counters_have_a_number_of_files() {
        let counters = |files| settings(&[(c"DXT_ENABLE", "counters"), (c"DXT_COUNTERS_FILES", files)]);
        for (value, files) in [("", DEFAULT_COUNTERS_FILES), ("64", 64), ("4K", 4096)] {
            let config = counters(value).unwrap().unwrap();
            assert_eq!((config.mode, config.counters_files), (Mode::Counters, files));
        }
        for wrong in ["0", "63", "2M", "many"] {
            assert_eq!(counters(wrong).unwrap_err().variable, "DXT_COUNTERS_FILES");
        }
    }

    #[test]
    fn a_trace_is_its_users_unless_others_are_let_in() {
        let mode = |value| {
            settings(&[(c"DXT_ENABLE", "trace"), (c"DXT_TRACE_MODE", value)]).map(|config| config.unwrap().trace_mode)
        };
        for (value, expected) in [("", 0o600), ("600", 0o600), ("0640", 0o640), ("0664", 0o664), ("00644", 0o644)] {
            assert_eq!(mode(value), Ok(expected), "{value}");
        }
        let wrong =
            ["0", "0400", "0200", "0700", "0650", "4600", "01644", "0x180", "rw", "0640 ", "-600", "+600", "888"];
        for value in wrong.into_iter().chain(["77777777777777777777600"]) {
            assert_eq!(mode(value).unwrap_err().variable, "DXT_TRACE_MODE", "{value}");
        }
    }

    #[test]
    fn there_is_a_spool_in_every_mode() {
        let spooled = |mode, spool, live| {
            let settings = settings(&[(c"DXT_ENABLE", mode), (c"DXT_SPOOL", spool), (c"DXT_LIVE", live)]);
            settings.map(|config| config.map(|config| (config.is_spooled(), config.describe())).unwrap())
        };
        let reported = |live: &str| vec![("DXT_LIVE".to_owned(), live.to_owned())];
        for (mode, live) in [("trace", ""), ("trace", "1"), ("counters", "0"), ("counters", "1")] {
            let (is_spooled, settings) = spooled(mode, "auto", live).unwrap();
            assert!(is_spooled, "{mode} {live}");
            assert_eq!(settings.ends_with(&reported("1")), live == "1");
            assert!(!spooled(mode, "off", live).unwrap().0);
        }
        assert_eq!(spooled("counters", "auto", "yes").unwrap_err().variable, "DXT_LIVE");
    }

    #[test]
    fn only_counters_that_nobody_watches_can_do_without_times() {
        let timing = |mode, live, variable, value| {
            let settings = settings(&[(c"DXT_ENABLE", mode), (c"DXT_LIVE", live), (variable, value)]);
            settings.map(|config| config.map(|config| (config.timing, config.describe())).unwrap())
        };
        let reported = ("DXT_TIMING".to_owned(), "off".to_owned());
        for (variable, value) in [(c"DXT_TIMING", "off"), (c"DARSHAN_DISABLE_TIMING", "")] {
            let (timed, settings) = timing("counters", "", variable, value).unwrap();
            assert!(!timed && settings.contains(&reported));
        }
        let (timed, settings) = timing("counters", "", c"DXT_TIMING", "on").unwrap();
        assert!(timed && !settings.contains(&reported));
        for (mode, live, value) in [("trace", "", "off"), ("counters", "1", "off"), ("counters", "", "no")] {
            assert_eq!(timing(mode, live, c"DXT_TIMING", value).unwrap_err().variable, "DXT_TIMING", "{mode} {live}");
        }
        assert!(timing("trace", "", c"DARSHAN_DISABLE_TIMING", "1").unwrap().0);
        assert!(!timing("check", "", c"DXT_TIMING", "off").unwrap().0);
    }

    #[test]
    fn a_wrong_value_names_its_variable() {
        let wrong = settings(&[(c"DXT_ENABLE", "yes")]).unwrap_err();
        assert_eq!((wrong.variable, wrong.value.as_slice()), ("DXT_ENABLE", b"yes".as_slice()));
        assert_eq!(settings(&[(c"DXT_ENABLE", "trace"), (c"DXT_FLUSH", "x")]).unwrap_err().variable, "DXT_FLUSH");
    }
}
