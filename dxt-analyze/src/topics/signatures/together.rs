//! Signatures of all processes together: a line for each pattern, with the processes that have it.

use super::alike::{Group, Order, common, groups};
use super::args::Options;
use super::axes::{Axes, columns};
use super::engine::classes::{Repetition, classes, random_class};
use super::engine::global::{Direction, Line, globalize};
use super::engine::{Item, Pattern, Residue, Signature};
use super::names::writes;
use super::pass::Signed;
use super::views::unrolled;
use super::words::{file, shown, small, unknown, written};
use crate::model::{FileId, Run};
use crate::render::{Cell, Table};
use serde::Serialize;
use std::collections::BTreeSet;

/// A pattern that processes have in common.
#[derive(Clone, Debug, Serialize)]
pub struct GlobalRow {
    /// Processes.
    pub processes: String,
    /// How many.
    pub process_count: u64,
    /// File, or what names of files of their own have in common.
    pub file: String,
    /// How many.
    pub files: u64,
    /// Interface.
    pub layer: &'static str,
    /// Whether the calls were made inside those of another interface.
    pub inside: bool,
    /// Reads and writes of all.
    pub accesses: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the first began, ns since the job's start.
    pub start_ns: u64,
    /// When the last began, likewise.
    pub last_start_ns: u64,
    /// What kind of pattern it is.
    #[serde(flatten)]
    pub axes: Axes,
    /// The pattern of the first process; empty in loop notation: these accesses have none.
    pub signature: String,
    /// Where the others' begin.
    pub shift: String,
    /// `a` of `a x rank + b`, where a rank's first access is, if it is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift_per_rank: Option<i64>,
    /// The first byte and the length of what all together access, if that has no gap and no byte twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contiguous: Option<(u64, u64)>,
}

pub(super) fn rows(run: &Run, signed: &[Signed], options: &Options) -> Vec<GlobalRow> {
    let order = Order::new(run);
    let all = groups(run, &order, signed);
    let mut out: Vec<GlobalRow> = all.iter().flat_map(|group| Grouped::of(run, &order, group).rows(options)).collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    out
}

/// A group whose members have a number each: their process's place times `each`, and which of the process's members they are.
pub(super) struct Grouped<'a> {
    pub(super) run: &'a Run,
    pub(super) order: &'a Order<'a>,
    pub(super) group: &'a Group<'a>,
    /// Members that a process has at most.
    pub(super) each: u64,
    pub(super) numbered: Vec<(u64, &'a Signed)>,
}

impl<'a> Grouped<'a> {
    pub(super) fn of(run: &'a Run, order: &'a Order<'a>, group: &'a Group<'a>) -> Self {
        let of_process = group.members.chunk_by(|a, b| a.0 == b.0);
        let each = of_process.clone().map(<[_]>::len).max().unwrap_or(1) as u64;
        let number = |(k, (place, signed)): (usize, &(u64, &'a Signed))| (place * each + k as u64, *signed);
        let numbered = of_process.flat_map(|members| members.iter().enumerate().map(number)).collect();
        Self { run, order, group, each, numbered }
    }

    fn rows(&self, options: &Options) -> Vec<GlobalRow> {
        let of_all: Vec<(u64, &Signature)> = self.numbered.iter().map(|(n, signed)| (*n, &signed.signature)).collect();
        let global = globalize(&of_all);
        let mut out = Vec::new();
        for lines in global.lines.chunk_by(|a, b| a.first_rank == b.first_rank) {
            let items = lines.iter().map(|line| Item::Pattern(pattern(self.run, line))).collect();
            let of_first = Signature { items, ..Signature::default() };
            let kinds = classes(&of_first, |op| writes(self.run, op), options.tolerance);
            out.extend(lines.iter().zip(kinds).map(|(line, kind)| self.line(line, Axes::of(&kind), options)));
        }
        out.extend(self.residue(options));
        out
    }

    fn line(&self, line: &Line, axes: Axes, options: &Options) -> GlobalRow {
        let members: Vec<u64> = line.members().map(|(number, _)| number).collect();
        let who = self.who(&members);
        let signature = written(self.run, self.group.layer, &line.nest, &who.file, options);
        let blocks = Line { nest: unrolled(self.run, &line.nest), ..line.clone() };
        let contiguous = blocks.contiguous().filter(|_| line.ranks > 1 && self.group.one_file);
        let linear = line.linear().filter(|_| self.each == 1 && who.are_ranks);
        let mut shift = match linear {
            Some((0, _)) if self.group.one_file => "the same bytes".into(),
            Some((0, _)) => "the same".into(),
            Some((a, b)) => format!("{a} x rank {} {}", if b < 0 { '-' } else { '+' }, b.unsigned_abs()),
            None => self.directions(line, who.files > 1),
        };
        if contiguous.is_some() {
            shift.push_str("; together without a gap");
        }
        GlobalRow {
            accesses: line.accesses,
            bytes: small(line.bytes),
            start_ns: line.start_ns,
            last_start_ns: line.last_start_ns,
            shift,
            shift_per_rank: linear.map(|(a, _)| a),
            contiguous: contiguous.map(|(first, length)| (first, small(length))),
            ..self.row(who, axes, signature)
        }
    }

    /// A row without its sums.
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
            axes,
            signature,
            shift: String::new(),
            shift_per_rank: None,
            contiguous: None,
        }
    }

    /// Where the nests of others begin, direction by direction: `first + 100 per rank, + 6400 per 64 ranks`.
    fn directions(&self, line: &Line, several_files: bool) -> String {
        let each = i64::try_from(self.each).unwrap_or(i64::MAX);
        let one = |direction: &Direction| {
            let shift = line.shift(direction).map_or_else(
                || format!("({})", direction.shifts.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
                |shift| shift.to_string(),
            );
            let unit = match (direction.rank_step / each, direction.rank_step % each) {
                (1, 0) => "rank".into(),
                (ranks, 0) => format!("{ranks} ranks"),
                (0, 1) if several_files => "file".into(),
                (0, files) if several_files => format!("{files} files"),
                (0, 1) => "thread".into(),
                _ => "next".into(),
            };
            format!("+ {shift} per {unit}")
        };
        let all: Vec<String> = line.directions.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("first {}", all.join(", ")) }
    }

    /// The line of what has no pattern.
    fn residue(&self, options: &Options) -> Option<GlobalRow> {
        let with = || self.numbered.iter().filter(|(_, signed)| signed.signature.covered < signed.signature.accesses);
        let parts: Vec<Residue> = with().map(|(_, signed)| signed.signature.residue_sum()).collect();
        let start_ns = parts.iter().map(|part| part.start_ns).min()?;
        let last_start_ns = parts.iter().map(|part| part.last_start_ns).max()?;
        let again = with().any(|(_, signed)| signed.signature.residue().count() > 1);
        let all = Signature { items: parts.into_iter().map(Item::Residue).collect(), ..Signature::default() };
        let mut kind = random_class(&all, |op| writes(self.run, op), options.tolerance)?;
        kind.repetition = if again { Repetition::Repeating } else { Repetition::Single };
        let sum = all.residue_sum();
        let members: Vec<u64> = with().map(|(number, _)| *number).collect();
        let row = self.row(self.who(&members), Axes::of_random(&kind), unknown(&kind, options));
        Some(GlobalRow { accesses: sum.accesses, bytes: small(sum.bytes), start_ns, last_start_ns, ..row })
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

    /// The member of a number.
    pub(super) fn member(&self, number: u64) -> Option<&'a Signed> {
        let at = self.numbered.binary_search_by_key(&number, |(known, _)| *known).ok()?;
        self.numbered.get(at).map(|(_, signed)| *signed)
    }

    /// Places of members' processes, in order and each there once.
    pub(super) fn places(&self, members: &[u64]) -> Vec<u64> {
        let places: BTreeSet<u64> = members.iter().map(|number| number / self.each).collect();
        places.into_iter().collect()
    }

    /// What the names of members' files have in common, and how many files they are.
    pub(super) fn files(&self, members: &[u64]) -> (String, u64) {
        let found = |number: &u64| self.member(*number).map(|signed| signed.whose.file);
        let files: BTreeSet<FileId> = members.iter().filter_map(found).collect();
        let names: Vec<String> = files.iter().map(|of| file(self.run, *of)).collect();
        (common(names.iter().map(String::as_str)), files.len() as u64)
    }
}

/// Processes and files of a row.
struct Who {
    processes: String,
    process_count: u64,
    are_ranks: bool,
    file: String,
    files: u64,
}

fn pattern(run: &Run, line: &Line) -> Pattern {
    Pattern {
        position: line.position,
        accesses: line.accesses,
        bytes: line.bytes,
        start_ns: line.start_ns,
        last_start_ns: line.last_start_ns,
        nest: unrolled(run, &line.nest),
    }
}

pub(super) fn table(rows: &[GlobalRow], top: usize) -> Table {
    let table = Table::of("global", "Signatures of all processes together, those of most bytes first", rows)
        .column("Processes", "processes", |row| Cell::text(&row.processes))
        .csv("process_count", |row| Cell::Count(row.process_count))
        .column("File", "file", |row| Cell::path(&row.file))
        .csv("files", |row| Cell::Count(row.files))
        .column("Interface", "layer", |row| Cell::Layer(row.layer.into()))
        .csv("inside", |row| Cell::text(if row.inside { "yes" } else { "" }))
        .column("Calls", "accesses", |row| Cell::Count(row.accesses))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Begins", "start_ns", |row| Cell::Moment(row.start_ns))
        .column("Last begins", "last_start_ns", |row| Cell::Moment(row.last_start_ns));
    columns(table, |row| &row.axes)
        .column("Signature", "signature", |row| Cell::text(shown(&row.signature)))
        .column("First access", "shift", |row| Cell::text(&row.shift))
        .most(top)
        .done()
}
