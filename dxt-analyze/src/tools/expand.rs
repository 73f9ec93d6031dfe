//! Command `expand`: expands a signature (loops that describe a process's accesses) to single reads and writes, as CSV or fio jobs, without
//! the trace.

use crate::exit::{Exit, UsageError};
use crate::export::jobs::Jobs;
use crate::topics::signatures::uses::fio::{Call, Op, Timing};
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use iosig::text::{Operations, parse_nest};
use iosig::{Loop, Untimed, expand_nest};
use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

/// Output formats of `expand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExpandFormat {
    /// One row per access: rank, file, operation, offset, length
    Csv,
    /// Directory of fio jobs and iologs that repeat the reads and writes
    Fio,
}

/// Options of `expand`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Signature as `dxt-analyze signatures` prints it by default (not with `--notation iosig`); - reads standard input
    #[arg(value_name = "SIGNATURE")]
    pub signature: String,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "csv")]
    pub to: ExpandFormat,
    /// With --to fio: new or empty directory for the jobs
    #[arg(short, long, value_name = "DIRECTORY", required_if_eq("to", "fio"))]
    pub output: Option<PathBuf>,
    /// Number of ranks that make these accesses
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: u32,
    /// Distance from one rank's offsets to those of the next rank, in bytes: S if `dxt-analyze signatures` shows `S x rank + ...` as first access
    #[arg(long, default_value_t = 0, value_name = "BYTES", allow_negative_numbers = true)]
    pub per_rank: i64,
    /// Name of the file; * stands for the rank, for one file per rank
    #[arg(long, default_value = "file", value_name = "NAME")]
    pub file: String,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
}

/// Names of operations, numbered in the order of first use.
#[derive(Default)]
struct Words(RefCell<Vec<String>>);

impl Operations for Words {
    fn name(&self, op: u16) -> String {
        self.0.borrow().get(usize::from(op)).cloned().unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<u16> {
        let mut words = self.0.borrow_mut();
        let place = words.iter().position(|word| word == name).unwrap_or_else(|| {
            words.push(name.to_owned());
            words.len() - 1
        });
        kind(name).and_then(|_| u16::try_from(place).ok())
    }
}

/// Returns the kind of the operation called `name`, read or write; `None` if the name contains neither word.
fn kind(name: &str) -> Option<Op> {
    let kinds = [("read", Op::Read), ("write", Op::Write)];
    kinds.into_iter().find(|(word, _)| name.contains(word)).map(|(_, op)| op)
}

/// Writes the accesses that the signature stands for, to `out` (standard output) or to fio jobs.
///
/// # Errors
/// Fails if the text is no signature, an access of a rank lies outside the valid file offsets, or the output cannot be written.
pub fn expand(args: &Args, out: &mut dyn Write) -> Result<Exit> {
    let text = match args.signature.as_str() {
        "-" => std::io::read_to_string(std::io::stdin()).context("failed to read standard input")?,
        text => text.to_owned(),
    };
    let words = Words::default();
    let nest = parse_nest(&text, &words).map_err(|error| UsageError(error.to_string()))?;
    match (args.to, &args.output) {
        (ExpandFormat::Fio, Some(place)) => jobs(args, &nest, &words, place),
        _ => rows(args, &nest, &words, out),
    }?;
    Ok(Exit::Fine)
}

impl Args {
    fn file_of(&self, rank: u32) -> String {
        self.file.replace('*', &rank.to_string())
    }

    /// Adds a rank's offset (rank x distance between ranks) to an access.
    fn placed(&self, rank: u32, (op, offset, length): Untimed) -> Result<Untimed> {
        let moved = i128::from(offset) + i128::from(self.per_rank) * i128::from(rank);
        let end = moved + i128::from(length);
        ensure!(
            moved >= 0 && end <= i128::from(i64::MAX),
            "rank {rank} would access bytes {moved} to {end}, which no file can have"
        );
        Ok((op, moved as u64, length))
    }
}

fn rows(args: &Args, nest: &Loop, words: &Words, out: &mut dyn Write) -> Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["rank", "file", "operation", "offset", "length"])?;
    for rank in 0..args.ranks {
        let file = args.file_of(rank);
        for access in expand_nest(nest) {
            let (op, offset, length) = args.placed(rank, access)?;
            let [number, offset, length] = [u64::from(rank), offset, length].map(|number| number.to_string());
            table.write_record([&number, &file, &words.name(op), &offset, &length])?;
        }
    }
    table.flush().context("failed to write to standard output")
}

fn jobs(args: &Args, nest: &Loop, words: &Words, place: &std::path::Path) -> Result<()> {
    let mut jobs = Jobs::new(place, None, args.force)?;
    for rank in 0..args.ranks {
        let file = args.file_of(rank);
        let mut wrong = None;
        let calls = expand_nest(nest).map_while(|access| match args.placed(rank, access) {
            Ok((op, offset, length)) => {
                let op = kind(&words.name(op)).unwrap_or(Op::Read);
                Some(Call { op, file: &file, offset, length, start_ns: 0 })
            }
            Err(error) => {
                wrong = Some(error);
                None
            }
        });
        jobs.add(calls, Timing::AtOnce, || format!("rank-{rank}"))?;
        wrong.map_or(Ok(()), Err)?;
    }
    jobs.finish()
}
