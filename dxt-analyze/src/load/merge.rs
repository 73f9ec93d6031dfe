//! Merges the tables of a job's trace files into one run. All orders depend on file contents only, not on the order of reading.

use super::aliases::merge_aliases;
use super::clock::{self, Moment};
use super::details::{Details, Finished};
use super::layouts::Choice;
use super::views::{shapes, whole_views};
use crate::limits;
use crate::model::filters;
use crate::model::origin::{Kept, Origin};
use crate::model::run::{Health, Input, Op, Problem, Process, Run};
use crate::model::users::FileRanks;
use crate::model::{File, FileId, Manner, Note, OverProcesses, Stream, sites};
use crate::text::paths::shown;
use crate::text::units;
use crate::thresholds::Thresholds;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use trace_format::meta::{self, JobInfo, Missing, Reduction, stream_flags};
use trace_format::op::{Layer, OpMode};
use trace_format::read::{BlockRef, Decoder, Region, RegionRef};

/// Metadata of a region (part of a trace file with one process's data), and the index of the input that contains the region.
struct Read {
    input: usize,
    number: u32,
    blocks: Vec<BlockRef>,
    process: meta::Process,
}

/// Merges `inputs`, which belong to one job, into one run. `problems` were found while opening the inputs.
pub(crate) fn merge(mut inputs: Vec<Input>, problems: Vec<Problem>) -> Run {
    let mut health = Health { unread_files: problems.len() as u64, problems, ..Health::default() };
    let (info, settings) = job_of(&inputs);
    let mounts = mounts(&inputs);
    let filters = filters::active(inputs.iter().flat_map(|input| &input.trace.job.settings));
    let mut reads = read_regions(&inputs, &mut health);
    let mut remarks = Vec::new();
    drop_repeated(&mut reads, &mut remarks);
    remarks.extend(several_runs(&reads, &inputs));
    for input in &inputs {
        let path = shown(&input.path);
        health.problems.extend(input.trace.problems.iter().map(|problem| as_problem(&path, problem)));
        if let Some(converted) = &input.converted {
            health.problems.extend(converted.problems.iter().cloned());
            remarks.extend(converted.remarks.iter().cloned());
        }
    }
    let nodes = node_table(&reads);
    let mut tables = Tables::new(&inputs);
    let node_of = |name: &str| nodes.binary_search_by(|node| node.as_str().cmp(name)).unwrap_or(nodes.len()) as u32;
    let moments: Vec<Moment> = reads
        .iter()
        .map(|read| {
            let info = &read.process.info;
            let node = node_of(&info.node);
            // A reduced record has the clock of rank 0.
            let rank = if read.process.reduction.is_none() { info.rank } else { 0 };
            Moment { rank, node, epoch_unix_ns: info.epoch_unix_ns, sync_ns: info.sync_ns }
        })
        .collect();
    let corrections = clock::corrections(&moments, nodes.len());
    let epochs: Vec<i64> = moments
        .iter()
        .map(|moment| {
            moment.epoch_unix_ns.saturating_add(corrections.get(moment.node as usize).copied().unwrap_or_default())
        })
        .collect();
    let start_unix_ns = epochs.iter().min().copied().unwrap_or(info.start_unix_ns);
    let mut processes = Vec::with_capacity(reads.len());
    let mut notes: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for ((read, moment), epoch) in reads.into_iter().zip(&moments).zip(&epochs) {
        for note in &read.process.notes {
            let count = notes.entry(note.what.clone()).or_default();
            *count = count.saturating_add(note.count);
        }
        let shift_ns = epoch.saturating_sub(start_unix_ns).max(0).unsigned_abs();
        processes.push(tables.process(read, moment.node, shift_ns));
    }
    let (files, place) = tables.finish(&mut processes);
    let streams = processes.iter_mut().flat_map(|process| &mut process.streams);
    let Finished { data_sets, hints, datatypes, datatype_extents } = tables.details.finish(&place, streams);
    let shapes = shapes(&processes);
    // A Darshan log covers all ranks, even ranks without records, so no rank is absent.
    health.absent_ranks =
        if Origin::of(&settings) == Origin::Darshan { 0 } else { absent_ranks(&info, &processes, &filters) };
    health.problems.sort();
    let shifted = nodes.iter().zip(&corrections).filter(|(_, shift)| **shift != 0);
    for input in &mut inputs {
        // Frees the names, which have been copied.
        input.trace.job.names = Vec::new();
    }
    let mount_of: Vec<u16> = files.iter().map(|file| crate::model::mount_number(&mounts, file)).collect();
    for stream in processes.iter_mut().flat_map(|process| &mut process.streams) {
        stream.mount = mount_of.get(stream.file.index()).copied().unwrap_or_default();
    }
    Run {
        info,
        mounts,
        settings,
        filters,
        start_unix_ns,
        clock_shifts: shifted.map(|(node, &shift)| (node.clone(), shift)).collect(),
        nodes,
        ops: tables.ops,
        over_processes: OverProcesses::of(&processes),
        processes,
        files,
        sites: tables.sites.take(),
        data_sets,
        hints,
        datatypes,
        datatype_extents,
        shapes,
        notes: notes.into_iter().map(|(what, count)| (Note::of(what), count)).collect(),
        health,
        remarks,
        selection: Vec::new(),
        window: None,
        thresholds: Thresholds::default(),
        inputs: Arc::new(inputs),
    }
}

/// Returns the mounts of all inputs, each path once; if one mount hides another at the same path, the later mount.
fn mounts(inputs: &[Input]) -> Vec<(String, String)> {
    let all = inputs.iter().flat_map(|input| &input.trace.job.mounts);
    let named = all.map(|mount| (String::from_utf8_lossy(&mount.path).into_owned(), mount.kind.clone()));
    named.collect::<std::collections::BTreeMap<_, _>>().into_iter().collect()
}

/// Returns the description and settings of the job, from the input with the most MPI ranks; among equals, from the one that started first.
fn job_of(inputs: &[Input]) -> (JobInfo, Vec<(String, String)>) {
    let rank = |input: &&Input| {
        let info = &input.trace.job.info;
        let ranks = info.mpi.as_ref().map_or(0, |mpi| mpi.ranks);
        (info.key.is_empty(), std::cmp::Reverse(ranks), info.start_unix_ns, input.path.clone())
    };
    let best = inputs.iter().min_by_key(rank);
    best.map(|input| (input.trace.job.info.clone(), input.trace.job.settings.clone())).unwrap_or_default()
}

fn as_problem(file: &str, problem: &trace_format::read::Problem) -> Problem {
    Problem { file: file.into(), offset: problem.offset, what: problem.error.to_string() }
}

/// Reads the metadata of all regions in parallel. A region whose process block cannot be read counts as a lost process.
fn read_regions(inputs: &[Input], health: &mut Health) -> Vec<Read> {
    let wanted: Vec<(usize, RegionRef)> = inputs
        .iter()
        .enumerate()
        .flat_map(|(number, input)| input.trace.regions.iter().map(move |region| (number, *region)))
        .collect();
    let mut reads = Vec::with_capacity(wanted.len());
    let read = |some: &[(usize, RegionRef)]| -> Vec<Region> {
        let of = |decoder: &mut Decoder, (input, region): &(usize, RegionRef)| {
            let mut region = inputs.get(*input).map(|of| of.trace.region_by(region, decoder)).unwrap_or_default();
            region.blocks.shrink_to_fit();
            region
        };
        some.par_iter().map_init(Decoder::default, of).collect()
    };
    let regions = wanted.chunks(limits::REGIONS_AT_A_TIME).flat_map(read);
    for (&(input, place), mut region) in wanted.iter().zip(regions) {
        let path = inputs.get(input).map(|input| shown(&input.path)).unwrap_or_default();
        health.problems.extend(region.problems.iter().map(|problem| as_problem(&path, problem)));
        let found: u64 = region.blocks.iter().map(|block| u64::from(block.head.segments)).sum();
        let expected = region.expected_segments.unwrap_or(found);
        let Some(process) = region.process.take() else {
            health.lost_processes += 1;
            health.lost_segments = health.lost_segments.saturating_add(expected.max(found));
            let who =
                place.entry.map_or_else(String::new, |entry| format!(" of rank {}, pid {}", entry.rank, entry.pid));
            let what =
                format!("the description of the process{who} is lost: its recorded calls are missing in all numbers");
            health.problems.push(Problem { file: path, offset: place.offset, what });
            continue;
        };
        health.lost_segments = health.lost_segments.saturating_add(expected.saturating_sub(found));
        reads.push(Read { input, number: place.number, blocks: region.blocks, process });
    }
    reads.sort_by_key(order);
    reads
}

fn order(read: &Read) -> (i32, u32, i64, usize, u32) {
    let info = &read.process.info;
    (info.rank, info.pid, info.epoch_unix_ns, read.input, read.number)
}

/// Drops processes that occur in two inputs (a trace and its copy), so that each process counts once.
fn drop_repeated(reads: &mut Vec<Read>, remarks: &mut Vec<String>) {
    let before = reads.len();
    let mut seen = FxHashSet::default();
    reads.retain(|read| {
        let info = &read.process.info;
        // A process that continues after MPI_Finalize writes a second trace, which is no copy of the first.
        let counts = (info.segments, info.missing, info.end_ns);
        seen.insert((info.rank, info.pid, info.epoch_unix_ns, info.node.clone(), counts))
    });
    if before > reads.len() {
        let repeated = units::counted((before - reads.len()) as u64, "process");
        remarks.push(format!("{repeated} found in more than one input file; the report counts each process once"));
    }
}

/// Returns a remark if several complete trace files contain different processes of the same rank. Such files are separate runs within one
/// job (steps of a batch job that share its id), and numbers per rank are sums over these runs. A file of one process counts as a run only
/// if that process was the only rank of its MPI job: ranks can have child processes, and each rank can write a file of its own.
fn several_runs(reads: &[Read], inputs: &[Input]) -> Option<String> {
    let ranks = || reads.iter().filter(|read| read.process.info.rank >= 0 && read.process.reduction.is_none());
    let mut of_file: FxHashMap<usize, FxHashSet<i32>> = FxHashMap::default();
    ranks().for_each(|read| {
        of_file.entry(read.input).or_default().insert(read.process.info.rank);
    });
    let mut first: FxHashMap<i32, (&str, u32, usize)> = FxHashMap::default();
    let (mut repeated, mut files) = (FxHashSet::default(), std::collections::BTreeSet::new());
    let is_alone = |input: &Input| input.trace.job.info.mpi.as_ref().is_some_and(|mpi| mpi.ranks == 1);
    let is_run = |read: &&Read| {
        of_file.get(&read.input).is_some_and(|ranks| ranks.len() > 1) || inputs.get(read.input).is_some_and(is_alone)
    };
    for read in ranks().filter(is_run) {
        let info = &read.process.info;
        let (node, pid, file) = *first.entry(info.rank).or_insert((&info.node, info.pid, read.input));
        if file != read.input && (node, pid) != (info.node.as_str(), info.pid) {
            repeated.insert(info.rank);
            files.extend([file, read.input]);
        }
    }
    let one = files.first().and_then(|&input| inputs.get(input)).map(|input| shown(&input.path))?;
    Some(format!(
        "{} runs share one job key: {} trace files have different processes for {} of the job's ranks. Numbers per rank are sums over the runs; \
         to analyze one run, name only its file, such as {one}",
        files.len(),
        files.len(),
        repeated.len(),
    ))
}

fn node_table(reads: &[Read]) -> Vec<String> {
    let mut nodes: Vec<String> = reads.iter().map(|read| read.process.info.node.clone()).collect();
    nodes.sort();
    nodes.dedup();
    nodes.retain(|node| !node.is_empty());
    nodes
}

fn absent_ranks(info: &JobInfo, processes: &[Process], filters: &filters::Filters) -> u64 {
    let mut seen: Vec<i32> = processes.iter().map(|process| process.rank).filter(|&rank| rank >= 0).collect();
    seen.sort_unstable();
    seen.dedup();
    let reduced = processes.iter().map(|process| u64::from(process.reduction.ranks)).max().unwrap_or_default();
    info.mpi.as_ref().map_or(0, |mpi| {
        filters::absent_ranks(filters, mpi.ranks, &seen).min(u64::from(mpi.ranks).saturating_sub(reduced))
    })
}

/// Returns true for layers of libraries such as HDF5, whose calls do not determine file offsets.
fn is_library(layer: Option<Layer>) -> bool {
    matches!(layer, Some(Layer::Hdf5 | Layer::Pnetcdf))
}

struct Tables {
    ops: Vec<Op>,
    /// For each input: index into the run's operations (`ops`) by the operation's code in this input.
    codes: Vec<FxHashMap<u16, u16>>,
    names: FxHashMap<u64, Vec<u8>>,
    files: Vec<File>,
    file_of: FxHashMap<u64, FileId>,
    layouts: Vec<Choice>,
    /// Layers that read or wrote each file, as a bit mask, see [`layer_bit`].
    layers: Vec<u8>,
    details: Details,
    sites: sites::Merged,
    /// For each input: rule for which operations are recorded call by call, as segments; all others have only counters.
    by_design: Vec<Kept>,
    /// True for each input that was converted from a Darshan log.
    of_logs: Vec<bool>,
}

/// Replaces each item's process-local file index by the run's file id; drops items without a valid file.
fn of_files<T>(defs: Vec<T>, files: &[FileId], file: impl Fn(&mut T) -> &mut u32) -> Vec<T> {
    let renamed = |mut def: T| {
        let place = file(&mut def);
        *place = files.get(*place as usize)?.0;
        Some(def)
    };
    defs.into_iter().filter_map(renamed).collect()
}

impl Tables {
    fn new(inputs: &[Input]) -> Self {
        let mut defined: Vec<_> = inputs.iter().flat_map(|input| &input.trace.job.ops).collect();
        defined.sort_by(|a, b| (a.layer, a.class, &a.name, a.mode).cmp(&(b.layer, b.class, &b.name, b.mode)));
        defined.dedup_by(|a, b| (a.layer, a.class, &a.name, a.mode) == (b.layer, b.class, &b.name, b.mode));
        // Indices have 16 bits, like the operation codes; one index is reserved for undefined operations.
        defined.truncate(usize::from(u16::MAX) - 1);
        let mut ops: Vec<Op> = defined.into_iter().map(Op::from).collect();
        let place: FxHashMap<_, u16> = ops
            .iter()
            .enumerate()
            .map(|(index, op)| ((op.layer, op.class, op.name.clone(), op.mode), index as u16))
            .collect();
        let codes = inputs
            .iter()
            .map(|input| {
                let defs = input.trace.job.ops.iter();
                defs.filter_map(|def| {
                    let op = Op::from(def);
                    Some((def.code, *place.get(&(op.layer, op.class, op.name, op.mode))?))
                })
                .collect()
            })
            .collect();
        ops.push(Op { layer: None, class: None, mode: OpMode::Plain, name: "unknown".into() });
        let mut names = FxHashMap::default();
        for name in inputs.iter().flat_map(|input| &input.trace.job.names) {
            names.entry(name.hash).or_insert_with(|| name.path.clone());
        }
        Self {
            ops,
            codes,
            names,
            files: Vec::new(),
            file_of: FxHashMap::default(),
            layouts: Vec::new(),
            layers: Vec::new(),
            details: Details::default(),
            sites: sites::Merged::default(),
            of_logs: inputs.iter().map(|input| Origin::of(&input.trace.job.settings) == Origin::Darshan).collect(),
            by_design: inputs
                .iter()
                .map(|input| &input.trace.job.settings)
                .map(|settings| Kept::of(settings))
                .collect(),
        }
    }

    fn process(&mut self, read: Read, node: u32, shift_ns: u64) -> Process {
        let Read { input, mut blocks, mut process, .. } = read;
        let aliases = merge_aliases(&mut process);
        let sites = self.sites.add(&std::mem::take(&mut process.sites));
        let files: Vec<FileId> = process.files.iter().map(|def| self.file(def)).collect();
        for def in &process.layouts {
            let choice = files.get(def.file as usize).and_then(|&file| self.layouts.get_mut(file.index()));
            if let Some(choice) = choice {
                choice.offer(def);
            }
        }
        let mut streams: Vec<Stream> = process.streams.iter().map(|def| self.stream(def, &files, input)).collect();
        streams.sort_by_key(|stream| stream.id);
        streams.dedup_by_key(|stream| stream.id);
        for (alias, id) in &aliases {
            if let Ok(at) = streams.binary_search_by_key(id, |stream| stream.id) {
                streams[at].mask |= 1 << (alias % 64);
            }
        }
        self.details.add(&process, &files, &mut streams, &self.ops);
        let views = whole_views(&process);
        let meets = |missing: &Missing| {
            streams.binary_search_by_key(&missing.stream, |stream| stream.id).is_ok_and(|at| streams[at].meets)
        };
        let (met, missing) = process.missing.into_iter().partition(meets);
        blocks.sort_by_key(|block| (block.head.thread, block.offset));
        Process {
            rank: process.info.rank,
            node,
            pid: process.info.pid,
            ppid: process.info.ppid,
            exe: String::from_utf8_lossy(&process.info.exe).into_owned(),
            shift_ns,
            end_ns: shift_ns.saturating_add(process.info.end_ns),
            ended_by: process.info.ended_by,
            threads: process.threads,
            streams,
            aliases,
            sites,
            missing,
            met,
            communicators: process.communicators,
            profiles: of_files(process.profiles, &files, |def| &mut def.file),
            whole: of_files(process.whole, &files, |def| &mut def.file),
            reduction: Reduction {
                spreads: of_files(process.reduction.spreads, &files, |def| &mut def.file),
                ..process.reduction
            },
            file_ranks: FileRanks::default(),
            views: of_files(views, &files, |def| &mut def.file),
            heat: process.heat,
            memory: process.memory,
            cpu: crate::model::CpuWaits::of(process.processor, shift_ns, shift_ns.saturating_add(process.info.end_ns)),
            counters_only: self.by_design.get(input).is_some_and(|design| design.counters_only),
            data_only: self.by_design.get(input).is_some_and(|design| design.data_only),
            input: input as u32,
            blocks,
        }
    }

    /// Returns the provisional id of the file that `def` defines; adds the file if it is new. A path that the process did not record is
    /// taken from any other input.
    fn file(&mut self, def: &meta::FileDef) -> FileId {
        let path = def.path.as_ref().or_else(|| self.names.get(&def.hash));
        let index = *self.file_of.entry(def.hash).or_insert_with(|| {
            self.files.push(File { hash: def.hash, ..File::default() });
            self.layouts.push(Choice::default());
            self.layers.push(0);
            FileId::at(self.files.len() - 1)
        });
        if let Some(file) = self.files.get_mut(index.index()) {
            file.block_size = file.block_size.max(def.block_size);
            if file.name.is_empty() {
                file.name = path.map(|path| String::from_utf8_lossy(path).into_owned()).unwrap_or_default();
            }
        }
        index
    }

    fn stream(&mut self, def: &meta::StreamDef, files: &[FileId], input: usize) -> Stream {
        let unknown = self.ops.len() as u16 - 1;
        let op = self.codes.get(input).and_then(|codes| codes.get(&def.op)).copied().unwrap_or(unknown);
        let file = match files.get(def.file as usize) {
            Some(&file) => file,
            None => self.file(&meta::FileDef::default()),
        };
        let failed = def.flags & stream_flags::FAILED != 0;
        let operation = &self.ops[usize::from(op)];
        if operation.is_data() && !failed {
            self.layers[file.index()] |= layer_bit(operation.layer);
        }
        let nested = def.flags & stream_flags::NESTED != 0;
        let in_hdf5 = def.flags & stream_flags::IN_HDF5 != 0;
        Stream {
            id: def.id,
            mask: 1 << (def.id % 64),
            file,
            op,
            nested,
            in_hdf5,
            overview: is_library(operation.layer) && self.of_logs.get(input) == Some(&true),
            data_set: None,
            manner: Manner::of(def.flags),
            mount: 0,
            failed,
            errno: def.errno,
            storage: false,
            meets: operation.layer.is_some_and(|layer| !layer.is_io()),
            chosen: true,
        }
    }

    /// Names files whose path is lost, sorts all files, and sets values that depend on all processes. Returns the files, and final ids by
    /// provisional id.
    fn finish(&mut self, processes: &mut [Process]) -> (Vec<File>, Vec<FileId>) {
        let mut files = std::mem::take(&mut self.files);
        for (file, choice) in files.iter_mut().zip(std::mem::take(&mut self.layouts)) {
            (file.layout, file.layout_problem) = choice.take();
            if file.name.is_empty() {
                file.name = format!("file#{:016x}", file.hash);
            }
        }
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&files[a], &files[b]);
            (&a.name, a.hash).cmp(&(&b.name, b.hash))
        });
        let mut place = vec![FileId::default(); files.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = FileId::at(new);
        }
        for stream in processes.iter_mut().flat_map(|process| &mut process.streams) {
            let op = &self.ops[usize::from(stream.op)];
            let layers = self.layers[stream.file.index()];
            // POSIX calls reach storage if they were recorded; otherwise the calls of any other layer that is no library.
            let posix = layer_bit(Some(Layer::Posix));
            let other = !stream.nested && !is_library(op.layer);
            let reaches = layers & posix == 0 && other || op.layer == Some(Layer::Posix);
            stream.storage = op.is_data() && !stream.failed && reaches;
            stream.file = place[stream.file.index()];
        }
        for process in processes {
            process.profiles.iter_mut().for_each(|def| def.file = place[def.file as usize].0);
            process.whole.iter_mut().for_each(|def| def.file = place[def.file as usize].0);
            process.views.iter_mut().for_each(|def| def.file = place[def.file as usize].0);
            process.reduction.spreads.iter_mut().for_each(|def| def.file = place[def.file as usize].0);
            process.file_ranks = FileRanks::of(&process.reduction.spreads);
        }
        (order.iter().map(|&old| std::mem::take(&mut files[old])).collect(), place)
    }
}

fn layer_bit(layer: Option<Layer>) -> u8 {
    match layer {
        Some(Layer::Posix) => 1,
        Some(_) => 2,
        None => 0,
    }
}
