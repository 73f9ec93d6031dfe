//! Result of `sites`: calls by the place in the program that makes them.

use super::args::{By, Options, Stacks};
use super::sums::{Partial, Sums};
use crate::findings::Finding;
use crate::limits::NAMED_EXAMPLES;
use crate::model::{FileId, ProcessId, Run, StreamIx, Within};
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use crate::symbols::{Place, Symbols, name_of};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Directories of the system's libraries, which make calls on behalf of programs.
const SYSTEM: [&str; 4] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];
/// Start of the names of programs and libraries that run code in other languages: their functions are no place in a program.
const INTERPRETERS: [&str; 6] = ["python", "libpython", "perl", "libperl", "java", "libjvm"];
/// Directories of libraries for Python, and start of the names of code that is part of the interpreter.
const PYTHON_LIBRARIES: [&str; 5] =
    ["/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3.", "<frozen "];
/// Minor version of Python 3 of which lines of scripts are recorded.
const WITH_LINES: &str = "13";
/// Start of the name of this tracer's library.
const TRACER: &str = "libdxt_tracer";

/// Place in a program from which calls are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CallSite {
    /// Function and line of the program that lead to the calls.
    pub place: Place,
    /// Function of a library that the program called there, such as `H5Dwrite`; `None` if it made the calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Functions that called the place, the nearest first.
    pub callers: Vec<Place>,
    /// File name of the program or library that contains the place.
    pub module: String,
}

/// Calls of one operation from one place.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Place in the program.
    #[serde(flatten)]
    pub site: CallSite,
    /// I/O layer and operation of the calls.
    pub layer: &'static str,
    /// Operation of the calls, such as `write`.
    pub operation: String,
    /// Number of calls.
    pub calls: u64,
    /// Bytes moved by the calls.
    pub bytes: u64,
    /// Time in the calls, ns.
    pub time_ns: u64,
    /// Share of the time in all calls of the program whose place is known; libraries' own calls are inside of these.
    pub share: f64,
    /// Number of processes that make the calls.
    pub processes: u64,
    /// Number of files that the calls are on.
    pub files: u64,
    /// Path of the file with most of the time.
    pub file: String,
}

/// Result of `sites`.
#[derive(Clone, Debug, Serialize)]
pub struct Sites {
    /// Calls by place and operation.
    pub sites: Vec<Row>,
    /// Number of rows that people see.
    #[serde(skip)]
    pub(super) top: usize,
    /// Form of call stacks that people see instead of places; `None` for places.
    #[serde(skip)]
    pub(super) wants_stacks: Option<Stacks>,
    /// Call stacks of the program's own calls with their sums, for flame graphs: functions from the outermost, and the operation.
    #[serde(skip)]
    pub(super) stacks: Vec<(Vec<String>, Sums)>,
    /// Number of calls whose place is unknown.
    pub unknown_calls: u64,
    /// True if no process of the run has call sites on record.
    pub none_recorded: bool,
    /// Python whose scripts have no lines on record, such as `Python 3.11`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_lines: Option<String>,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings on the trace itself.
    pub findings: Vec<Finding>,
}

impl Sites {
    /// Computes the result from the sums of the pass.
    #[must_use]
    pub fn of(run: &Run, partial: &Partial, symbols: &Symbols, options: &Options, lost: &Lost) -> Self {
        #[derive(Default)]
        struct Of {
            sums: Sums,
            processes: BTreeSet<ProcessId>,
            files: BTreeMap<FileId, u64>,
        }
        let mut rows: BTreeMap<(CallSite, u16), Of> = BTreeMap::new();
        let mut stacks: BTreeMap<Vec<String>, Sums> = BTreeMap::new();
        let mut chooser = Chooser::new(run, symbols);
        let (mut unknown_calls, mut all) = (0_u64, 0_u64);
        let mut keys: Vec<_> = partial.iter().collect();
        keys.sort_unstable_by_key(|(key, _)| **key);
        for (&(process, id), &(stream, sums)) in keys {
            let Some(of) = run.process(process) else { continue };
            let (Some(site), Some(stream)) = (of.site(id), of.stream(stream)) else {
                unknown_calls = unknown_calls.saturating_add(sums.calls);
                continue;
            };
            // Calls of libraries are inside of the program's calls, whose time has theirs.
            if stream.within() == Within::Nothing {
                all = all.saturating_add(sums.time_ns);
            }
            let row = rows.entry((chooser.of(site).clone(), stream.op)).or_default();
            row.sums.add(sums);
            row.processes.insert(process);
            let of_file = row.files.entry(stream.file).or_default();
            *of_file = of_file.saturating_add(sums.time_ns);
            if (options.stacks.is_some() || options.draw) && stream.within() == Within::Nothing {
                let op = run.op(stream);
                let leaf = format!("{} {}", op.layer_name(), op.label());
                stacks.entry(stack(run, symbols, site, &leaf)).or_default().add(sums);
            }
        }
        let counted = run.processes.iter().filter(|process| !process.sites.is_empty());
        let counted = counted.flat_map(|process| &process.missing).map(|missing| missing.counters.segments);
        let unknown_calls = counted.fold(unknown_calls, u64::saturating_add);
        let row = |((site, op), of): ((CallSite, u16), Of)| {
            let op = run.ops.get(usize::from(op));
            let file = of.files.iter().max_by_key(|(_, time)| **time).map_or("", |(file, _)| run.file_name(*file));
            Row {
                site,
                layer: op.map_or("?", crate::model::Op::layer_name),
                operation: op.map(crate::model::Op::label).unwrap_or_default(),
                calls: of.sums.calls,
                bytes: of.sums.bytes,
                time_ns: of.sums.time_ns,
                share: crate::shared::ratio::share(of.sums.time_ns, all),
                processes: of.processes.len() as u64,
                files: of.files.len() as u64,
                file: file.to_owned(),
            }
        };
        let mut sites: Vec<Row> = rows.into_iter().map(row).collect();
        sites.sort_by_key(|row| {
            std::cmp::Reverse(match options.by {
                By::Time => row.time_ns,
                By::Bytes => row.bytes,
                By::Calls => row.calls,
            })
        });
        let missing = Completeness::of(run, lost);
        Self {
            sites,
            top: options.top,
            wants_stacks: options.stacks,
            stacks: stacks.into_iter().collect(),
            unknown_calls,
            none_recorded: run.processes.iter().all(|process| process.sites.is_empty()),
            without_lines: without_lines(run),
            findings: missing.findings(),
            missing,
        }
    }
}

/// Returns the Python whose scripts have no lines on record, by the name of its program or library; `None` without one.
fn without_lines(run: &Run) -> Option<String> {
    run.sites.modules.iter().find_map(|module| {
        let name = name_of(&module.path);
        let rest = name.strip_prefix("lib").unwrap_or(name).strip_prefix("python3.")?;
        let (minor, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let is_free_threaded = rest.starts_with('t');
        let has_none = is_free_threaded || minor != WITH_LINES;
        has_none.then(|| format!("Python 3.{minor}{}", if is_free_threaded { " (free-threaded)" } else { "" }))
    })
}

/// Returns the functions of a call stack from the outermost, and the operation.
fn stack(run: &Run, symbols: &Symbols, frame: u32, operation: &str) -> Vec<String> {
    let mut out = vec![operation.to_owned()];
    for frame in run.sites.stack(frame) {
        out.extend(symbols.places(frame).iter().map(|place| place.function.clone()));
    }
    out.reverse();
    out
}

/// Chooses the places of call stacks that a reader would look for.
pub(super) struct Chooser<'a> {
    run: &'a Run,
    symbols: &'a Symbols,
    /// Paths of the programs of the run's processes.
    executables: BTreeSet<&'a str>,
    /// Places that were chosen so far, by frame.
    chosen: FxHashMap<u32, CallSite>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(run: &'a Run, symbols: &'a Symbols) -> Self {
        let executables = run.processes.iter().map(|process| process.exe.as_str()).collect();
        Self { run, symbols, executables, chosen: FxHashMap::default() }
    }

    /// Returns the place of the call stack with this innermost frame.
    pub(super) fn of(&mut self, frame: u32) -> &CallSite {
        if !self.chosen.contains_key(&frame) {
            let site = self.choose(frame);
            self.chosen.insert(frame, site);
        }
        self.chosen.entry(frame).or_default()
    }

    /// Returns the path of a frame's module; empty if no module contains its address.
    fn module(&self, frame: u32) -> &'a str {
        self.run.sites.module(frame)
    }

    /// Chooses the innermost function of the program itself: one with a line, or else one of the executable, or of a library of its own. In a
    /// Python program, the innermost line of a script that is no library's.
    fn choose(&self, frame: u32) -> CallSite {
        let stack: Vec<u32> = self.run.sites.stack(frame).collect();
        let symbols = self.symbols;
        let starts =
            |frame: u32, names: &[&str]| names.iter().any(|start| name_of(self.module(frame)).starts_with(start));
        let is_script = |frame: u32| self.run.sites.is_script(frame);
        let is_interpreter = |frame: u32| !is_script(frame) && starts(frame, &INTERPRETERS);
        let is_tracer = |frame: u32| starts(frame, &[TRACER]);
        let is_program = |frame: u32| {
            let path = self.module(frame);
            let is_library = SYSTEM.iter().any(|directory| path.starts_with(directory)) && path.contains(".so");
            let is_of_python = PYTHON_LIBRARIES.iter().any(|part| path.contains(part));
            !is_library && !is_of_python && (is_script(frame) || !is_interpreter(frame) && !is_tracer(frame))
        };
        let has_line = |frame: u32| symbols.places(frame).iter().any(|place| place.line.is_some());
        let is_named = |frame: u32| symbols.places(frame).first().is_some_and(|place| !place.is_address());
        // Behind the C library's and the dynamic linker's own functions comes the library that the program uses.
        let is_of_system = |frame: u32| starts(frame, &["libc.", "libc-", "ld-", TRACER]);
        let numbered = || stack.iter().copied().enumerate();
        let mine = || numbered().filter(|(_, frame)| is_program(*frame));
        let own = mine().find(|(_, frame)| has_line(*frame));
        let own = own.or_else(|| mine().find(|(_, frame)| self.executables.contains(self.module(*frame))));
        // Without a script of the user's, one of a package rather than of Python's own library.
        let scripts = || numbered().filter(|(_, frame)| is_script(*frame));
        let is_of_package = |frame: u32| self.module(frame).contains("-packages/");
        let own = own.or_else(|| scripts().find(|(_, frame)| is_of_package(*frame))).or_else(|| scripts().next());
        let own = own.or_else(|| mine().next());
        // Without any, the function that an interpreter has called: the outermost one of a library that has a name.
        let of_library = || {
            let inside = numbered().take_while(|(_, frame)| !is_interpreter(*frame));
            inside.filter(|(_, frame)| !is_of_system(*frame) && is_named(*frame)).last()
        };
        let other = || of_library().or_else(|| numbered().find(|(_, frame)| !is_of_system(*frame)));
        let (chosen, at) = own.or_else(other).unwrap_or((0, frame));
        let places = symbols.places(at);
        let mut inner = stack.iter().take(chosen).rev().filter(|frame| !is_tracer(**frame));
        // Modules for Python that are written in C or Cython name few of their functions; the library that they call may.
        let is_glue = |frame: u32| {
            symbols
                .places(frame)
                .last()
                .is_some_and(|place| place.function.starts_with("__Pyx") || place.function.starts_with("__pyx"))
        };
        let inner =
            if is_script(at) { inner.find(|frame| is_named(**frame) && !is_glue(**frame)) } else { inner.next() };
        let through = inner.filter(|_| own.is_some()).and_then(|inner| symbols.places(*inner).last());
        // MPI libraries name a function twice, so that tools can wrap it (MPI 4.0, 15.2).
        let through = through.filter(|place| !place.is_address()).map(|place| {
            let name = place.function.as_str();
            name.strip_prefix('P').filter(|name| name.starts_with("MPI_")).unwrap_or(name).to_owned()
        });
        let outer = stack.iter().skip(chosen + 1).filter(|frame| is_program(**frame));
        let callers = places.iter().skip(1).chain(outer.flat_map(|frame| symbols.places(*frame)));
        let is_start = |place: &Place| place.function == "_start" || place.function.starts_with("__libc_start_");
        CallSite {
            place: places.first().cloned().unwrap_or_default(),
            through,
            callers: callers.filter(|place| !is_start(place)).take(NAMED_EXAMPLES).cloned().collect(),
            module: name_of(self.module(at)).to_owned(),
        }
    }
}

/// Call sites by the streams of analyses, with the time that each has.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfStreams {
    by: FxHashMap<(ProcessId, StreamIx), Vec<(CallSite, Sums)>>,
}

impl OfStreams {
    /// Groups the sums of the pass; empty without symbols.
    pub(crate) fn of(run: &Run, partial: &Partial, symbols: &Symbols) -> Self {
        let mut by: FxHashMap<(ProcessId, StreamIx), Vec<(CallSite, Sums)>> = FxHashMap::default();
        let mut chooser = Chooser::new(run, symbols);
        // In a fixed order, so that sums of floating-point numbers do not vary.
        let mut all: Vec<_> = partial.iter().collect();
        all.sort_unstable_by_key(|(key, _)| **key);
        for (&(process, id), &(stream, sums)) in all {
            let site = run.process(process).and_then(|process| process.site(id));
            if let Some(site) = site.filter(|site| !symbols.places(*site).is_empty()) {
                by.entry((process, stream)).or_default().push((chooser.of(site).clone(), sums));
            }
        }
        Self { by }
    }

    /// Iterates over the time in the calls of each stream whose call sites are known, ns.
    pub(crate) fn times(&self) -> impl Iterator<Item = ((ProcessId, StreamIx), f64)> {
        self.by.iter().map(|(key, sites)| (*key, sites.iter().map(|(_, sums)| sums.time_ns as f64).sum()))
    }

    /// Distributes time in calls of streams over their call sites, in proportion to the time of each; returns the call sites with their time,
    /// ns, and calls, most time first, and the time without a call site.
    pub(crate) fn shares(
        &self,
        times: impl Iterator<Item = ((ProcessId, StreamIx), f64)>,
    ) -> (Vec<(CallSite, f64, u64)>, f64) {
        let mut of: BTreeMap<(ProcessId, StreamIx), f64> = BTreeMap::new();
        times.for_each(|(key, time)| *of.entry(key).or_default() += time);
        let mut sums: BTreeMap<&CallSite, (f64, u64)> = BTreeMap::new();
        let mut without = 0.0;
        for (key, time) in of {
            let sites = self.by.get(&key).map(Vec::as_slice).unwrap_or_default();
            let all: f64 = sites.iter().map(|(_, sums)| sums.time_ns as f64).sum();
            if all <= 0.0 {
                without += time;
            }
            for (site, of) in sites.iter().filter(|_| all > 0.0) {
                let sum = sums.entry(site).or_default();
                sum.0 += time * of.time_ns as f64 / all;
                sum.1 = sum.1.saturating_add(of.calls);
            }
        }
        let mut out: Vec<_> = sums.into_iter().map(|(site, (time, calls))| (site.clone(), time, calls)).collect();
        out.sort_by(|a, b| b.1.total_cmp(&a.1));
        (out, without)
    }
}
