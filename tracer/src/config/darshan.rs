//! Translates Darshan's environment variables (3.4 and 3.5; darshan-runtime's documentation, "Environment variables") to DXT variables. A
//! Darshan variable takes effect only if the corresponding DXT variable is not set. Values that Darshan would reject are errors here too,
//! reported under Darshan's name.

use super::source::Environment;
use crate::filters::Ranks;
use std::ffi::{CStr, CString};

/// Environment in which Darshan's variables replace DXT variables that are not set.
pub(crate) struct WithDarshan<'a, E> {
    environment: &'a E,
    /// Variables set by Darshan variables, as tuples (DXT variable, value, Darshan variable).
    translated: Vec<(&'static CStr, Vec<u8>, &'static str)>,
}

/// Pairs (DXT variable, Darshan variable) of equal meaning and syntax.
const SIMILAR: [(&CStr, &CStr); 4] = [
    (c"DXT_SMALL_IO_TRIGGER", c"DARSHAN_DXT_SMALL_IO_TRIGGER"),
    (c"DXT_UNALIGNED_IO_TRIGGER", c"DARSHAN_DXT_UNALIGNED_IO_TRIGGER"),
    (c"DXT_SPOOL", c"DARSHAN_MMAP_LOGPATH"),
    (c"DXT_MEM_ALIGN", c"DARSHAN_MEMALIGN"),
];

impl<'a, E: Environment> WithDarshan<'a, E> {
    pub(crate) fn new(environment: &'a E) -> Self {
        let mut translated: Vec<(&'static CStr, Vec<u8>, &'static str)> = Vec::new();
        let set = |name: &CStr| environment.get(name).filter(|value| !value.is_empty());
        let mut add = |ours: &'static CStr, value: Option<Vec<u8>>, darshan: &'static CStr| {
            if let Some(value) = value.filter(|_| set(ours).is_none()) {
                translated.push((ours, value, darshan.to_str().unwrap_or_default()));
            }
        };
        for (ours, darshan) in SIMILAR {
            add(ours, set(darshan).map(<[u8]>::to_vec), darshan);
        }
        if is_disabled(environment) {
            add(c"DXT_ENABLE", Some(b"off".to_vec()), c"DARSHAN_DISABLE");
        } else if set(c"DXT_ENABLE_IO_TRACE").is_none() && enables_dxt(environment) {
            add(c"DXT_ENABLE", Some(b"trace".to_vec()), c"DARSHAN_MOD_ENABLE");
        } else if enables_triggers(environment) {
            add(c"DXT_ENABLE", Some(b"trace".to_vec()), c"DXT_TRIGGER_CONF_PATH");
        }
        // DARSHAN_MODMEM is in MiB.
        let memory = set(c"DARSHAN_MODMEM").map(|value| [value, b"M"].concat());
        add(c"DXT_BUFFER_MAX", memory, c"DARSHAN_MODMEM");
        let timing = environment.get(c"DARSHAN_INTERNAL_TIMING").map(|_| b"2".to_vec());
        add(c"DXT_VERBOSE", timing, c"DARSHAN_INTERNAL_TIMING");
        add(c"DXT_LAYERS", layers(environment), c"DARSHAN_MOD_DISABLE");
        add(c"DXT_RANKS", ranks(environment), c"DARSHAN_RANK_EXCLUDE");
        // DARSHAN_JOBID holds the name of another variable.
        let job = set(c"DARSHAN_JOBID").and_then(|name| set(&CString::new(name).ok()?).map(<[u8]>::to_vec));
        add(c"DXT_JOB_ID", job, c"DARSHAN_JOBID");
        Self { environment, translated }
    }

    /// Returns the name of the variable that the user set: `ours`, or the Darshan variable that was translated to `ours`.
    pub(crate) fn name_of(&self, ours: &'static str) -> &'static str {
        let found = self.translated.iter().find(|(name, ..)| name.to_bytes() == ours.as_bytes());
        found.map_or(ours, |(.., darshan)| darshan)
    }
}

impl<E: Environment> Environment for WithDarshan<'_, E> {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        let found = self.translated.iter().find(|(ours, ..)| *ours == name);
        found.map(|(_, value, _)| value.as_slice()).or_else(|| self.environment.get(name))
    }

    fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
        self.environment.each_name(see);
    }
}

/// True if DARSHAN_DISABLE is set and DXT_ENABLE is not.
pub(super) fn is_disabled(environment: &impl Environment) -> bool {
    let ours = environment.get(c"DXT_ENABLE").filter(|value| !value.is_empty());
    ours.is_none() && environment.get(c"DARSHAN_DISABLE").is_some()
}

/// True if one of Darshan's variables switches DXT tracing on.
pub(super) fn enables(environment: &impl Environment) -> bool {
    enables_dxt(environment) || enables_triggers(environment)
}

fn modules<'e>(environment: &'e impl Environment, name: &CStr) -> impl Iterator<Item = &'e [u8]> {
    environment.get(name).unwrap_or_default().split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// True if DARSHAN_MOD_ENABLE enables Darshan's extended tracing (DXT) of POSIX or MPI-IO calls.
fn enables_dxt(environment: &impl Environment) -> bool {
    modules(environment, c"DARSHAN_MOD_ENABLE").any(|module| matches!(module, b"DXT_POSIX" | b"DXT_MPIIO" | b"*"))
}

/// True if a Darshan trigger file (DXT_TRIGGER_CONF_PATH) switches tracing on, as in Darshan: the file does so unless DXT_ENABLE_IO_TRACE
/// or DXT_DISABLE_IO_TRACE is set.
fn enables_triggers(environment: &impl Environment) -> bool {
    let set = |name: &CStr| environment.get(name).is_some_and(|value| !value.is_empty());
    let switched = environment.get(c"DXT_DISABLE_IO_TRACE").is_some() || set(c"DXT_ENABLE_IO_TRACE");
    set(c"DXT_TRIGGER_CONF_PATH") && !switched
}

/// Returns the layers that DARSHAN_MOD_DISABLE leaves enabled, in the syntax of DXT_LAYERS; `None` if all remain enabled.
fn layers(environment: &impl Environment) -> Option<Vec<u8>> {
    let disabled = |module: &[u8]| modules(environment, c"DARSHAN_MOD_DISABLE").any(|one| one == module);
    let layers: [(&[u8], bool); 5] = [
        (b"posix", disabled(b"POSIX")),
        (b"stdio", disabled(b"STDIO")),
        (b"mpiio", disabled(b"MPI-IO")),
        (b"hdf5", disabled(b"H5F") && disabled(b"H5D")),
        (b"mpi", false),
    ];
    let left: Vec<&[u8]> = layers.iter().filter(|(_, disabled)| !disabled).map(|(layer, _)| *layer).collect();
    (left.len() < layers.len()).then(|| left.join(&b','))
}

/// Returns the ranks to trace, in the syntax of DXT_RANKS: all ranks that DARSHAN_RANK_EXCLUDE does not exclude, plus the ranks that
/// DARSHAN_RANK_INCLUDE includes again. `None` if no rank is excluded.
fn ranks(environment: &impl Environment) -> Option<Vec<u8>> {
    let list = |name: &CStr| environment.get(name).filter(|value| !value.is_empty()).map(<[u8]>::to_vec);
    let excluded = list(c"DARSHAN_RANK_EXCLUDE")?;
    let all = |list: &[u8]| list.split(|&byte| byte == b',').any(|item| item.trim_ascii() == b"*");
    let rest = if all(&excluded) { Some(Vec::new()) } else { Ranks::parse(&excluded).map(|ranks| ranks.others()) };
    // An invalid list is passed on, so that the error is reported where DXT_RANKS is read.
    let Some(mut rest) = rest else { return Some(excluded) };
    if let Some(included) = list(c"DARSHAN_RANK_INCLUDE") {
        rest.push(if all(&included) { ":".to_owned() } else { String::from_utf8_lossy(&included).into_owned() });
    }
    // If no rank is left, returns the largest number, which no rank has.
    Some(if rest.is_empty() { i32::MAX.to_string().into_bytes() } else { rest.join(",").into_bytes() })
}

#[cfg(test)]
mod tests {
    use super::super::{Mode, read};
    use super::*;

    fn reported(variables: &[(&CStr, &str)], name: &CStr) -> Option<String> {
        let variables = &variables;
        WithDarshan::new(variables).get(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    #[test]
    fn what_says_the_same_is_read_where_ours_is_not_set() {
        for (ours, darshan) in SIMILAR {
            assert_eq!(reported(&[(darshan, "8")], ours).as_deref(), Some("8"));
            assert_eq!(reported(&[(darshan, "8"), (ours, "7")], ours).as_deref(), Some("7"));
            assert_eq!(reported(&[(darshan, "8"), (ours, "")], ours).as_deref(), Some("8"));
        }
        assert_eq!(reported(&[(c"DARSHAN_MODMEM", "8")], c"DXT_BUFFER_MAX").as_deref(), Some("8M"));
        assert_eq!(reported(&[(c"DARSHAN_INTERNAL_TIMING", "")], c"DXT_VERBOSE").as_deref(), Some("2"));
        let job = [(c"DARSHAN_JOBID", "PBS_JOBID"), (c"PBS_JOBID", "7.host")];
        assert_eq!(reported(&job, c"DXT_JOB_ID").as_deref(), Some("7.host"));
        assert_eq!(reported(&job[..1], c"DXT_JOB_ID"), None);
        let layers = reported(&[(c"DARSHAN_MOD_DISABLE", "STDIO, H5F,BG/Q")], c"DXT_LAYERS");
        assert_eq!(layers.as_deref(), Some("posix,mpiio,hdf5,mpi"));
        assert_eq!(reported(&[(c"DARSHAN_MOD_DISABLE", "PNETCDF_FILE")], c"DXT_LAYERS"), None);
    }

    #[test]
    fn ranks_that_are_excluded_are_left_out_unless_they_are_included() {
        let ranks = |excluded, included| {
            let variables = [(c"DARSHAN_RANK_EXCLUDE", excluded), (c"DARSHAN_RANK_INCLUDE", included)];
            reported(&variables, c"DXT_RANKS").unwrap_or_default()
        };
        assert_eq!(ranks("0:3,7", ""), "4:6,8:");
        assert_eq!(ranks("2:,0", "5:6"), "1:1,5:6");
        assert_eq!((ranks(":", "0:3"), ranks("*", "0:3"), ranks("", "0:3")), ("0:3".into(), "0:3".into(), "".into()));
        let nobody = Ranks::parse(ranks("*", "").as_bytes()).unwrap();
        assert!((0..100_000).all(|rank| !nobody.contain(rank)));
        assert_eq!(ranks("1-2", ""), "1-2");
    }

    #[test]
    fn dxt_is_on_and_off_by_darshans_words() {
        let mode = |variables: &[(&CStr, &str)]| {
            let variables = &variables;
            read(&WithDarshan::new(variables)).map(|config| config.map(|config| config.mode))
        };
        assert_eq!(mode(&[(c"DARSHAN_MOD_ENABLE", "HEATMAP,DXT_MPIIO")]), Ok(Some(Mode::Trace)));
        assert_eq!(mode(&[(c"DARSHAN_MOD_ENABLE", "HEATMAP")]), Ok(None));
        assert_eq!(mode(&[(c"DXT_ENABLE_IO_TRACE", "4")]), Ok(Some(Mode::Trace)));
        let both = [(c"DXT_ENABLE_IO_TRACE", "1"), (c"DARSHAN_DISABLE", "1")];
        assert_eq!(mode(&both), Ok(None));
        assert_eq!(mode(&[both[0], both[1], (c"DXT_ENABLE", "counters")]), Ok(Some(Mode::Counters)));
    }

    #[test]
    fn a_file_of_triggers_switches_dxt_on_unless_all_is_traced() {
        let path = std::env::temp_dir().join(format!("triggers.{}", std::process::id()));
        std::fs::write(&path, "FILE .h5$\nSMALL_IO .5\nRANK (\nSMALL_IO .75\n").unwrap();
        let file = (c"DXT_TRIGGER_CONF_PATH", path.to_str().unwrap());
        let config = |more: &[(&CStr, &str)]| {
            let variables = [&[file], more].concat();
            read(&WithDarshan::new(&variables.as_slice()))
        };
        let found = config(&[]).unwrap().unwrap();
        assert_eq!(found.mode, Mode::Trace);
        let settings = [("DXT_TRIGGER_CONF_PATH", "FILE .h5$; SMALL_IO .5; SMALL_IO .75".to_owned())];
        assert_eq!(found.filters.described, settings);
        let wrong = format!("DXT_TRIGGER_CONF_PATH: {} line 3 is ignored: a parenthesis is not closed", file.1);
        assert_eq!(found.filters.left_out, [wrong]);
        assert_eq!(found.filters.triggers.small, crate::filters::Share::parse(b".5"));
        assert_eq!(config(&[(c"DXT_DISABLE_IO_TRACE", "")]), Ok(None));
        assert_eq!(config(&[(c"DARSHAN_DISABLE", "1")]), Ok(None));
        let all = config(&[(c"DXT_ENABLE_IO_TRACE", "1")]).unwrap().unwrap();
        assert!(!all.filters.triggers.are_set() && all.filters.described.is_empty());
        // Our variable takes precedence.
        let ours = config(&[(c"DXT_SMALL_IO_TRIGGER", ".9"), (c"DXT_ENABLE", "trace")]).unwrap().unwrap();
        assert_eq!(ours.filters.triggers.small, crate::filters::Share::parse(b".9"));
        std::fs::write(&path, "# nothing\n").unwrap();
        assert_eq!(config(&[]).unwrap_err().variable, "DXT_TRIGGER_CONF_PATH");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_wrong_value_is_reported_under_the_name_that_was_set() {
        let variables: &[(&CStr, &str)] = &[(c"DXT_ENABLE", "trace"), (c"DARSHAN_DXT_SMALL_IO_TRIGGER", "2")];
        let environment = WithDarshan::new(&variables);
        let bad = read(&environment).unwrap_err();
        assert_eq!(environment.name_of(bad.variable), "DARSHAN_DXT_SMALL_IO_TRIGGER");
        assert_eq!(environment.name_of("DXT_RANKS"), "DXT_RANKS");
    }
}
