//! Signatures of all processes together: one row per access pattern, with the processes that share the pattern. The merged signatures are
//! the numbered members of a group.

use super::args::Options;
use super::axes::{Axes, columns};
use super::comparable::{Group, Order, common, groups, series};
use super::names::writes;
use super::pass::Signed;
use super::views::unrolled;
use super::words::{file, shown, small, unknown, written};
use crate::model::{FileId, Run};
use crate::render::{Cell, Table};
use iosig::classes::{Class, Repetition, Spatial, class, classes, random_class};
use iosig::ranks::{Arrangement, Direction, Line, Tiling, globalize, tilings};
use iosig::{Item, Pattern, Residue, Signature};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Signatures with their member numbers in a group (signatures that are compared with each other).
type Members<'a> = Vec<(u64, &'a Signature)>;

/// Access pattern that several processes share.
#[derive(Clone, Debug, Serialize)]
pub struct GlobalRow {
    /// Names of the processes that share the pattern, e.g. `ranks 0-7`.
    pub processes: String,
    /// Number of processes that share the pattern.
    pub process_count: u64,
    /// Path of the accessed file; for several files, the common pattern of their paths with stars for differing parts.
    pub file: String,
    /// Number of files that are accessed with the pattern.
    pub files: u64,
    /// I/O interface of the accesses, e.g. `POSIX`.
    pub layer: &'static str,
    /// True for calls made inside another interface's calls, false for calls made by the program.
    pub inside: bool,
    /// Number of reads and writes with the pattern by all processes.
    pub accesses: u64,
    /// Bytes read and written with the pattern by all processes.
    pub bytes: u64,
    /// Start of the first access with the pattern, ns since the job's start.
    pub start_ns: u64,
    /// Start of the last access with the pattern, ns since the job's start.
    pub last_start_ns: u64,
    /// End of the last access with the pattern, ns since the job's start.
    pub end_ns: u64,
    /// Class of the pattern (operation, spatial order, size, ...).
    #[serde(flatten)]
    pub axes: Axes,
    /// Pattern of the first process, as text. Empty in loop notation if the accesses have no pattern.
    pub signature: String,
    /// Offset of the first access as a function of the rank, as text, e.g. `first + 100 per rank`.
    pub shift: String,
    /// Coefficient `a` in bytes, if each rank's first access begins at `a x rank + b`; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift_per_rank: Option<i64>,
    /// First byte and length of the accessed range, if all processes together access each of its bytes exactly once; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contiguous: Option<(u64, u64)>,
}

pub(super) fn rows(run: &Run, signed: &[Signed], options: &Options) -> Vec<GlobalRow> {
    let order = Order::new(run);
    let all = series(run, groups(run, &order, signed));
    let mut out: Vec<GlobalRow> = all.iter().flat_map(|group| Grouped::of(run, &order, group).rows(options)).collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    out
}

/// Group whose members (signatures) have numbers: number = file x `per_file` + place x `each` + k.
///
/// `place` is the index of the process (see [`Order`]). In a series of files, `file` is the file's index in order of first access, and k
/// counts a process's members on one file; otherwise `file` is 0, and k counts all members of the process.
pub(super) struct Grouped<'a> {
    pub(super) run: &'a Run,
    pub(super) order: &'a Order<'a>,
    pub(super) group: &'a Group<'a>,
    /// Maximum number of members (signatures) per process; in a series of files, per process and file.
    pub(super) each: u64,
    /// Step of the numbers from one file of a series to the next (the factor of `file` above).
    pub(super) per_file: u64,
    pub(super) numbered: Vec<(u64, &'a Signed)>,
}

impl<'a> Grouped<'a> {
    pub(super) fn of(run: &'a Run, order: &'a Order<'a>, group: &'a Group<'a>) -> Self {
        let mut members: Vec<(u64, u64, &'a Signed)> =
            group.members.iter().map(|(place, signed)| (0, *place, *signed)).collect();
        if group.is_series {
            let mut files: BTreeMap<FileId, u64> = BTreeMap::new();
            for (_, _, signed) in &members {
                let first = files.entry(signed.whose.file).or_insert(u64::MAX);
                *first = signed.signature.start_ns().min(*first);
            }
            let mut by_time: Vec<(u64, FileId)> = files.into_iter().map(|(file, start)| (start, file)).collect();
            by_time.sort_unstable();
            let places: BTreeMap<FileId, u64> = by_time.into_iter().map(|(_, file)| file).zip(0..).collect();
            for member in &mut members {
                member.0 = places.get(&member.2.whose.file).copied().unwrap_or(0);
            }
            members.sort_by_key(|(file, place, signed)| (*file, *place, signed.whose));
        }
        let of_process = members.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let each = of_process.clone().map(<[_]>::len).max().unwrap_or(1) as u64;
        // One place stays unused, so that the last process of a file and the first process of the next file do not have consecutive numbers.
        let most = members.iter().map(|(_, place, _)| *place).max().unwrap_or(0);
        let per_file = if group.is_series { (most + 2) * each } else { u64::MAX };
        let number = |(k, &(file, place, signed)): (usize, &(u64, u64, &'a Signed))| {
            (file.saturating_mul(per_file).saturating_add(place * each + k as u64), signed)
        };
        let numbered = of_process.flat_map(|members| members.iter().enumerate().map(number)).collect();
        Self { run, order, group, each, per_file, numbered }
    }

    /// Returns the signatures of the group, each with its member number (encodes file and process).
    pub(super) fn signatures(&self) -> Vec<(u64, &'a Signature)> {
        self.numbered.iter().map(|(number, signed)| (*number, &signed.signature)).collect()
    }

    /// Returns the index of the file of the member (signature) `number`: only members of one file can fill a range together.
    pub(super) fn part(&self, number: u64) -> u64 {
        if self.group.one_file || self.group.is_series { number / self.per_file } else { number }
    }

    fn rows(&self, options: &Options) -> Vec<GlobalRow> {
        let lines = globalize(&self.signatures()).lines;
        let mut out = Vec::new();
        let mut in_tiling = vec![false; lines.len()];
        for tiling in tilings(&lines, &|number| self.part(number)) {
            let of: Vec<&Line> = tiling.lines.iter().filter_map(|at| lines.get(*at)).collect();
            out.extend(self.tiled(&tiling, &of, options));
            tiling.lines.iter().filter_map(|at| in_tiling.get_mut(*at).map(|is| *is = true)).for_each(drop);
        }
        let mut in_tiling = in_tiling.into_iter();
        for lines in lines.chunk_by(|a, b| a.first_rank == b.first_rank) {
            let items = lines.iter().map(|line| Item::Pattern(pattern(self.run, line))).collect();
            let of_first = Signature { items, ..Signature::default() };
            let kinds = classes(&of_first, |op| writes(self.run, op), options.tolerance);
            for ((line, kind), _) in lines.iter().zip(kinds).zip(in_tiling.by_ref()).filter(|(_, tiled)| !tiled) {
                out.push(self.line(line, kind, options));
            }
        }
        out.extend(self.residue(options));
        out
    }

    /// Converts a pattern over a series of files to the pattern within one file: without the direction along files if all files are
    /// accessed equally, and with the first member number relative to the file.
    fn in_file(&self, line: &Line) -> Line {
        let along = |direction: &Direction| direction.rank_step.unsigned_abs() >= self.per_file;
        let other = |direction: &Direction| !along(direction) || direction.shifts.iter().any(|shift| *shift != 0);
        let directions: Vec<Direction> = line.directions.iter().filter(|one| other(one)).cloned().collect();
        let ranks = directions.iter().map(|direction| direction.count).product();
        let nest = unrolled(self.run, &line.nest);
        Line { nest, directions, ranks, first_rank: line.first_rank % self.per_file, ..line.clone() }
    }

    fn line(&self, line: &Line, kind: Class, options: &Options) -> GlobalRow {
        let members: Vec<u64> = line.numbers().collect();
        let who = self.who(&members);
        let signature = written(self.run, self.group.layer, &line.nest, &who.file, options);
        let in_file = self.in_file(line);
        let is_one_file = self.group.one_file || self.group.is_series;
        let contiguous = in_file.contiguous().filter(|_| in_file.ranks > 1 && is_one_file);
        let linear = in_file.linear().filter(|_| self.each == 1 && who.are_ranks);
        let mut shift = match linear {
            Some((0, _)) if is_one_file => "the same bytes".into(),
            Some((a, b)) => of_rank(a, b),
            None => self.directions(&in_file, who.files > 1),
        };
        if contiguous.is_some() {
            shift.push_str("; together without a gap");
        }
        let kind = if line.nest.count == 1 {
            class(&in_file.over_members(), who.files > 1, &|op| writes(self.run, op), options.tolerance)
        } else {
            kind
        };
        GlobalRow {
            shift,
            shift_per_rank: linear.map(|(a, _)| a),
            contiguous: contiguous.map(|(first, length)| (first, small(length))),
            ..self.row(who, Axes::of(&kind), signature).of([line].into_iter())
        }
    }

    /// Returns the row for patterns (`lines`) that together fill a range of the file, or that begin at equal distances; `None` if there is
    /// none.
    fn tiled(&self, tiling: &Tiling, lines: &[&Line], options: &Options) -> Option<GlobalRow> {
        let mut members: Vec<u64> = lines.iter().flat_map(|line| line.numbers()).collect();
        members.sort_unstable();
        let who = self.who(&members);
        let first = lines.iter().min_by_key(|line| line.first_rank)?;
        let signature = written(self.run, self.group.layer, &first.nest, &who.file, options);
        let kinds = lines
            .iter()
            .map(|line| class(&unrolled(self.run, &line.nest), false, &|op| writes(self.run, op), options.tolerance));
        let mut kind = kinds.reduce(Class::with)?;
        kind.variable_size |= lines.iter().any(|line| line.nest.first_length() != first.nest.first_length());
        let (filled, shift, per_rank) = match tiling.arrangement {
            Arrangement::Filled { first, bytes, in_order } => {
                kind.spatial = Spatial::Contiguous;
                let order = if in_order { "where the one before ends" } else { "in another order" };
                (Some((first, small(bytes))), format!("{order}; together without a gap"), None)
            }
            Arrangement::Even { stride } => {
                kind.spatial = if stride < 0 { Spatial::Negative } else { Spatial::FixedStride };
                let place = i128::from(first.first_rank % self.per_file);
                let at = i128::from(first.first_offset()) - i128::from(stride) * place;
                let linear = self.each == 1 && who.are_ranks;
                let shift = if linear { of_rank(stride, at) } else { format!("first + {stride} per next") };
                (None, shift, linear.then_some(stride))
            }
        };
        let row = self.row(who, Axes::of(&kind), signature).of(lines.iter().copied());
        Some(GlobalRow { shift, shift_per_rank: per_rank, contiguous: filled, ..row })
    }

    /// Creates a row whose totals (accesses, bytes, times) are still 0.
    fn row(&self, who: Who, axes: Axes, signature: String) -> GlobalRow {
        GlobalRow {
            processes: who.processes,
            process_count: who.process_count,
            file: who.file,
            files: who.files,
            layer: self.group.layer.name(),
            inside: self.group.inside,
            accesses: 0,
            bytes: 0,
            start_ns: 0,
            last_start_ns: 0,
            end_ns: 0,
            axes,
            signature,
            shift: String::new(),
            shift_per_rank: None,
            contiguous: None,
        }
    }

    /// Describes how the offset changes in each direction of the pattern: `first + 100 per rank, + 6400 per 64 ranks`. `several_files`:
    /// true if the processes access several files.
    fn directions(&self, line: &Line, several_files: bool) -> String {
        let one = |direction: &Direction| {
            let shift = line.shift(direction).map_or_else(
                || format!("({})", direction.shifts.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
                |shift| shift.to_string(),
            );
            let unit = match self.steps(direction) {
                [0, 1, 0] => "rank".into(),
                [0, ranks, 0] => format!("{ranks} ranks"),
                [1, 0, 0] => "file".into(),
                [files, 0, 0] => format!("{files} files"),
                [0, 0, 1] if several_files => "file".into(),
                [0, 0, files] if several_files => format!("{files} files"),
                [0, 0, 1] => "thread".into(),
                _ => "next".into(),
            };
            format!("+ {shift} per {unit}")
        };
        let all: Vec<String> = line.directions.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("first {}", all.join(", ")) }
    }

    /// Splits a direction's step in member numbers into three steps: over files of a series, over ranks, and over threads or files of a
    /// process.
    pub(super) fn steps(&self, direction: &Direction) -> [i64; 3] {
        let [per_file, each] = [self.per_file, self.each].map(|by| i64::try_from(by).unwrap_or(i64::MAX));
        let in_file = direction.rank_step % per_file;
        [direction.rank_step / per_file, in_file / each, in_file % each]
    }

    /// Returns the rows for accesses without a pattern (residue), one per spatial order.
    fn residue(&self, options: &Options) -> Vec<GlobalRow> {
        let by = self.by_order();
        by.into_iter().filter_map(|(spatial, members)| self.residue_of(spatial, &members, options)).collect()
    }

    /// Returns the members (signatures) that have accesses without a pattern, grouped by the spatial order of these accesses.
    pub(super) fn by_order(&self) -> Vec<(Spatial, Members<'a>)> {
        let mut by: BTreeMap<String, (Spatial, Members<'a>)> = BTreeMap::new();
        for (number, signature) in self.signatures() {
            if signature.covered < signature.accesses {
                let spatial = signature.residue_sum().succession.spatial();
                let like = by.entry(format!("{spatial:?}")).or_insert_with(|| (spatial, Vec::new()));
                like.1.push((number, signature));
            }
        }
        by.into_values().collect()
    }

    /// Sums the accesses without a pattern of `members` (signatures); returns the sums and the class of these accesses. `None` without such
    /// accesses.
    pub(super) fn rest(&self, members: &[(u64, &Signature)], options: &Options) -> Option<(Residue, Class)> {
        let parts: Vec<Residue> = members.iter().map(|(_, signature)| signature.residue_sum()).collect();
        let start_ns = parts.iter().map(|part| part.start_ns).min()?;
        let last_start_ns = parts.iter().map(|part| part.last_start_ns).max()?;
        let again = members.iter().any(|(_, signature)| signature.residue().count() > 1);
        let all = Signature { items: parts.into_iter().map(Item::Residue).collect(), ..Signature::default() };
        let mut kind = random_class(&all, |op| writes(self.run, op), options.tolerance)?;
        kind.repetition = if again { Repetition::Repeating } else { Repetition::Single };
        Some((Residue { start_ns, last_start_ns, ..all.residue_sum() }, kind))
    }

    fn residue_of(&self, spatial: Spatial, members: &[(u64, &Signature)], options: &Options) -> Option<GlobalRow> {
        let (sum, mut kind) = self.rest(members, options)?;
        kind.spatial = spatial;
        let members: Vec<u64> = members.iter().map(|(number, _)| *number).collect();
        let axes = Axes::of(&kind);
        let signature = unknown(&axes, options);
        let row = self.row(self.who(&members), axes, signature);
        let (accesses, bytes) = (sum.accesses, small(sum.bytes));
        let (start_ns, last_start_ns, end_ns) = (sum.start_ns, sum.last_start_ns, sum.end_ns);
        Some(GlobalRow { accesses, bytes, start_ns, last_start_ns, end_ns, ..row })
    }

    fn who(&self, members: &[u64]) -> Who {
        let places = self.places(members);
        let (file, files) = self.files(members);
        Who {
            processes: self.order.names(&places),
            process_count: places.len() as u64,
            are_ranks: self.order.are_ranks(&places),
            file,
            files,
        }
    }

    pub(super) fn member(&self, number: u64) -> Option<&'a Signed> {
        let at = self.numbered.binary_search_by_key(&number, |(known, _)| *known).ok()?;
        self.numbered.get(at).map(|(_, signed)| *signed)
    }

    /// Returns the places in [`Order`] of the members' processes (a rank's place is its rank number), sorted, without duplicates.
    pub(super) fn places(&self, members: &[u64]) -> Vec<u64> {
        let places: BTreeSet<u64> = members.iter().map(|number| number % self.per_file / self.each).collect();
        places.into_iter().collect()
    }

    /// Returns the common pattern of the file names of `members` (member numbers of signatures), and the number of files.
    pub(super) fn files(&self, members: &[u64]) -> (String, u64) {
        let found = |number: &u64| self.member(*number).map(|signed| signed.whose.file);
        let files: BTreeSet<FileId> = members.iter().filter_map(found).collect();
        let names: Vec<String> = files.iter().map(|of| file(self.run, *of)).collect();
        (common(names.iter().map(String::as_str)), files.len() as u64)
    }
}

struct Who {
    processes: String,
    process_count: u64,
    are_ranks: bool,
    file: String,
    files: u64,
}

impl GlobalRow {
    /// Sets the row's totals (accesses, bytes, times) to the sums over the patterns `lines`.
    fn of<'a>(self, lines: impl Iterator<Item = &'a Line> + Clone) -> Self {
        let sum = |of: fn(&Line) -> u128| lines.clone().map(of).fold(0_u128, u128::saturating_add);
        Self {
            accesses: small(sum(|line| u128::from(line.accesses))),
            bytes: small(sum(|line| line.bytes)),
            start_ns: lines.clone().map(|line| line.start_ns).min().unwrap_or(0),
            last_start_ns: lines.clone().map(|line| line.last_start_ns).max().unwrap_or(0),
            end_ns: lines.clone().map(|line| line.end_ns).max().unwrap_or(0),
            ..self
        }
    }
}

fn of_rank(a: i64, b: i128) -> String {
    if a == 0 {
        return "the same".into();
    }
    format!("{a} x rank {} {}", if b < 0 { '-' } else { '+' }, b.unsigned_abs())
}

fn pattern(run: &Run, line: &Line) -> Pattern {
    Pattern {
        position: line.position,
        accesses: line.accesses,
        bytes: line.bytes,
        start_ns: line.start_ns,
        last_start_ns: line.last_start_ns,
        end_ns: line.end_ns,
        nest: unrolled(run, &line.nest),
    }
}

pub(super) fn table(rows: &[GlobalRow], top: usize) -> Table {
    let table = Table::of("global", "Signatures of all processes together, most bytes first", rows)
        .column("Processes", "processes", |row| Cell::text(&row.processes))
        .csv("process_count", |row| Cell::Count(row.process_count))
        .column("File", "file", |row| Cell::path(&row.file))
        .csv("files", |row| Cell::Count(row.files))
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .csv("inside", |row| Cell::text(if row.inside { "yes" } else { "" }))
        .column("Calls", "accesses", |row| Cell::Count(row.accesses))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Begins", "start_ns", |row| Cell::Moment(row.start_ns))
        .column("Last begins", "last_start_ns", |row| Cell::Moment(row.last_start_ns))
        .column("Ends", "end_ns", |row| Cell::Moment(row.end_ns));
    columns(table, |row| &row.axes)
        .column("Signature", "signature", |row| Cell::text(shown(&row.signature, &row.axes)))
        .column("First access", "shift", |row| Cell::text(&row.shift))
        .most(top)
        .done()
}
