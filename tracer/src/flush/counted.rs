//! Counts in counters mode, taken once from the registry for a trace. They describe all files of one process, or only the files that are
//! not in the common record of several ranks ([`super::reduce`]).

use crate::registry::{self, File, Stream};
use crate::{buffer, clock};
use std::collections::BTreeMap;
use trace_format::columns::TickScale;
use trace_format::counters::Counters;
use trace_format::meta::{FileDef, LayoutDef, LayoutMoment, Missing, Process, ProfileDef, StreamDef};
use trace_format::op::Layer;
use trace_format::profile::{Profile, Slowest};

/// Counters per stream (file and operation) and access profiles per file, taken from the registry for a trace. Times are in ticks.
pub(super) struct Counted {
    pub(super) streams: Vec<(u32, &'static Stream, Counters)>,
    pub(super) profiles: Vec<(&'static File, Layer, Profile)>,
}

impl Counted {
    /// Takes all counts from the registry (tables of files and counters) for the trace about to be written; `None` in trace mode.
    pub(super) fn taken() -> Option<Self> {
        if !buffer::counting::is_on() {
            return None;
        }
        let streams = registry::taken_counts();
        let of_file =
            |file: &'static File| file.take_profiles().into_iter().map(move |(layer, profile)| (file, layer, profile));
        Some(Self { streams, profiles: registry::files().flat_map(of_file).collect() })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &'static File> {
        let files: BTreeMap<_, _> =
            self.streams.iter().map(|(_, stream, _)| (std::ptr::from_ref(stream.file), stream.file)).collect();
        files.into_values()
    }

    /// Returns the access profiles to the registry (tables of files and counters) because the trace could not be written, so that the next
    /// trace gets them.
    pub(super) fn give_back(&self) {
        self.profiles.iter().for_each(|(file, layer, profile)| file.give_back(*layer, profile));
    }

    /// Adds the counts to `process`, except for files for which `left_out` returns true. Omits paths whose hash is in `known`: the job
    /// block stores them once for all processes.
    pub(super) fn describe(
        &self,
        process: &mut Process,
        scale: &TickScale,
        known: &[u64],
        left_out: impl Fn(&File) -> bool,
    ) {
        let mut files = Files::default();
        for (id, stream, counters) in self.streams.iter().filter(|(_, stream, _)| !left_out(stream.file)) {
            let file = files.number(process, stream.file, known);
            let (op, flags, errno) = (stream.op, stream.flags, stream.errno);
            process.streams.push(StreamDef { id: *id, file, op, flags, errno });
            process.missing.push(Missing { stream: *id, counters: in_nanoseconds(counters.clone(), scale) });
        }
        for (file, layer, profile) in self.profiles.iter().filter(|(file, ..)| !left_out(file)) {
            let file = files.number(process, file, known);
            process.profiles.push(ProfileDef { file, layer: *layer, profile: profile_in_nanoseconds(*profile, scale) });
        }
    }

    /// Returns a note (text and number for the trace) with the estimated number of files counted as <other files>; `None` in trace mode if
    /// there is no record of <other files>.
    pub(super) fn notes() -> Option<(String, u64)> {
        let what = "different files counted as <other files>, summed over processes, to within 5 %";
        let may_be = buffer::counting::is_on() || registry::other_files_record().is_some();
        may_be.then(|| (what.to_owned(), registry::other_files()))
    }
}

/// Files of one process's record in the trace, numbered in order of first use.
#[derive(Default)]
pub(super) struct Files(BTreeMap<*const File, u32>);

impl Files {
    /// Returns the number of `file` in the record. A new file is also described in `process`, without the path if its hash is in `known`.
    pub(super) fn number(&mut self, process: &mut Process, file: &'static File, known: &[u64]) -> u32 {
        if let Some(&number) = self.0.get(&std::ptr::from_ref(file)) {
            return number;
        }
        let number = process.files.len() as u32;
        self.0.insert(file, number);
        process.files.push(definition(file, known));
        process.layouts.extend(layouts(file, number));
        number
    }
}

/// Returns the file's definition for a trace. Omits the path if its hash is in `known`: the job block stores it once for all processes.
pub(super) fn definition(file: &File, known: &[u64]) -> FileDef {
    let path = known.binary_search(&file.hash).is_err().then(|| file.reported.to_vec());
    FileDef { path, ..registry::file_definition(file) }
}

/// Returns the file's stripe layouts at open and close. `number`: number of the file in the process's record.
pub(super) fn layouts(file: &File, number: u32) -> impl Iterator<Item = LayoutDef> {
    let moments = [LayoutMoment::Open, LayoutMoment::Close].into_iter().zip(file.layouts());
    moments.filter_map(move |(moment, layout)| {
        layout.map(|layout| LayoutDef { file: number, moment, source: layout.source, bytes: layout.bytes.to_vec() })
    })
}

/// Converts counters from ticks to ns since the process's epoch (time zero). Without timing, first start and last end are left empty.
pub(super) fn in_nanoseconds(ticks: Counters, scale: &TickScale) -> Counters {
    if !clock::times_calls() {
        let none = Counters::default();
        return Counters {
            duration: 0,
            max_duration: 0,
            first_start: none.first_start,
            last_end: none.last_end,
            ..ticks
        };
    }
    Counters {
        duration: passed(ticks.duration, scale),
        max_duration: passed(ticks.max_duration, scale),
        first_start: scale.nanoseconds(ticks.first_start),
        last_end: scale.nanoseconds(ticks.last_end),
        ..ticks
    }
}

/// Converts a profile from ticks to ns since the process's epoch (time zero).
pub(super) fn profile_in_nanoseconds(ticks: Profile, scale: &TickScale) -> Profile {
    if !clock::times_calls() {
        return Profile { slowest_read: Slowest::default(), slowest_write: Slowest::default(), ..ticks };
    }
    let slowest = |slowest: Slowest| match slowest.start {
        0 => slowest,
        start => {
            Slowest { duration: passed(slowest.duration, scale), start: scale.nanoseconds(start), bytes: slowest.bytes }
        }
    };
    Profile { slowest_read: slowest(ticks.slowest_read), slowest_write: slowest(ticks.slowest_write), ..ticks }
}

fn passed(ticks: u64, scale: &TickScale) -> u64 {
    scale.nanoseconds(scale.base.saturating_add(ticks))
}
