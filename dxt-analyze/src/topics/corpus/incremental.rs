//! Implements `corpus --incremental`: reads only jobs that are new or changed since the last run; the rows of all other jobs stay.

use super::args::Args;
use super::days::{Days, Unread};
use super::queue;
use super::repeated_runs::{OneRun, Runs};
use super::result::Corpus;
use super::sources::{Entry, Source};
use super::users::Users;
use super::workers::Workers;
use crate::load::corpus::{JobFiles, LeftOut, find_but};
use crate::progress::Bar;
use crate::scan::Progress;
use crate::topics::corpus::Together;
use anyhow::Result;
use std::path::Path;

/// Job to read: its files, its key in the traces, and the state of the files before reading.
struct Wanted {
    files: JobFiles,
    key: Option<String>,
    sources: Vec<Source>,
}

/// Reads new or changed jobs, and adds their rows to the corpus in directory `place`. Returns the result over the jobs read, and the number
/// of all other jobs in the corpus. `at_a_time`: maximum number of jobs read at a time.
///
/// # Errors
/// Fails if nothing is found, or the corpus cannot be read or written.
pub(super) fn collect(args: &Args, place: &Path, at_a_time: usize) -> Result<(Corpus, u64)> {
    let workers = Workers::new(args)?;
    let mut days = Days::open(place)?;
    let mut places = days.places();
    let before = places.count();
    let found = find_but(&args.places, |path| days.known(path))?;
    let (mut left_out, mut remarks, mut wanted) = (found.left_out, found.remarks, Vec::new());
    for (files, key) in found.jobs.into_iter().zip(found.keys) {
        if files.paths.iter().all(|path| days.known(path).is_some()) {
            continue;
        }
        match files.paths.iter().map(|path| Source::of(path)).collect() {
            Ok(sources) => wanted.push(Wanted { files, key, sources }),
            Err(error) => {
                let first = files.paths.first().map_or(Path::new(""), AsRef::as_ref);
                left_out.push(LeftOut::new(first, &error));
            }
        }
    }
    let (mut together, mut rows, mut users) = (Together::default(), Vec::new(), Users::default());
    let mut runs = Runs::default();
    let bar = Bar::jobs(wanted.len() as u64);
    let make = |number: usize| {
        let job = wanted.get(number);
        let done = job.map(|job| (job, workers.read(number as u64, &job.files)));
        bar.advance(1);
        let bytes = done.as_ref().map_or(0, |(_, done)| done.as_ref().map_or(0, super::worker::Done::held));
        (done, bytes)
    };
    let threads = rayon::current_num_threads().min(at_a_time);
    let mut incoming = days.incoming()?;
    queue::in_order(wanted.len(), threads, make, |done| {
        match done {
            None => {}
            Some((_, Err(failed))) => left_out.push(failed),
            Some((job, Ok(mut done))) => {
                let row = &mut done.row;
                let (name, day) = places.of(job.key.as_deref(), &job.sources, &row.job, row.start_unix_ns);
                row.job = name;
                row.user_name = row.uid.and_then(|uid| users.name(uid));
                together.add(&done.row, &done.tally, &done.findings);
                runs.add(OneRun::of(&done.row, done.paces.clone()));
                rows.push(done.row.clone());
                let entry = Entry { job: done.row.job.clone(), key: job.key.clone(), sources: job.sources.clone() };
                incoming.add(&day, entry, done)?;
            }
        }
        Ok(())
    })?;
    drop(bar);
    let new = places.new_jobs();
    let (mut groups, mut unread) = (runs.groups(), Unread::new());
    days.earlier(&mut groups, &rows.iter().map(|row| row.job.as_str()).collect(), &mut unread)?;
    let slow_runs = groups.slow(workers.thresholds());
    incoming.settle(&slow_runs.iter().map(|slow| slow.job.clone()).collect(), &mut unread)?;
    remarks.extend(unread.values().map(|why| {
        format!("{why:#}. Runs of that day that are stored after the damaged place are in the tables, but are not compared with other runs.")
    }));
    let kept = (before + new - rows.len()) as u64;
    let changed = rows.len() - new;
    remarks.push(format!("jobs: {new} new, {changed} changed; {kept} unchanged, which the sums here leave out"));
    left_out.sort();
    super::order::sort(&mut rows, args.sort);
    let mut result = together.finish(rows, left_out, remarks);
    result.slow_runs = slow_runs;
    Ok((result, kept))
}
