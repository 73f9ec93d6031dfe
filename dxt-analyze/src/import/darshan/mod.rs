//! Import of Darshan logs. Every command accepts a `.darshan` log in place of a trace: the log is first converted to a trace in an unnamed
//! temporary file. The command `convert` writes the same trace to a named file. `docs/interop.md` documents the mapping.
//!
//! [`convert`] reads the log rank by rank: memory grows with the calls of one rank, not with the job, and is bounded for any content (`budget`).

mod counted;
mod cursor;
pub(crate) mod forms;
pub(crate) mod heat;
pub(crate) mod layouts;
pub(crate) mod libraries;
pub(crate) mod named;
mod nested;
pub(crate) mod ops;
pub(crate) mod plausible;
pub(crate) mod provenance;
mod rank;
mod shared;
mod tables;

use crate::import::budget::Budget;
use crate::import::written::Written;
use crate::input;
use crate::limits::{LOG_LAYOUTS, LOG_SHARED, of_log};
use crate::model::Problem;
use crate::model::converted::{Converted, DATA_ONLY, SOURCE};
use crate::text::paths::shown;
use anyhow::{Context, Result, anyhow};
use cursor::Cursors;
use darshan_log::packed::{compression, refuse_packed};
use darshan_log::{Log, Module};
use plausible::{Aside, Bounds};
use provenance::{has, job, remarks};
use rank::{Gathered, Ranks};
use shared::Shared;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use trace_format::meta::Note;
use trace_format::write::{Encoder, preamble};

/// Maximum number of converted ranks that wait to be encoded.
const WAITING: usize = 1;

/// Returns true if the file at `path`, whose first bytes are `head` (16 suffice), is a Darshan log of any version, or is named like one.
/// Logs inside a compressed stream, such as all logs of version 2.x, are included.
#[must_use]
pub fn is_log(path: &Path, head: &[u8]) -> bool {
    const MAGIC: i64 = 6_567_223;
    let magic = head.get(8..16).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    let is_magic = magic.is_some_and(|bytes| [i64::from_le_bytes(bytes), i64::from_be_bytes(bytes)].contains(&MAGIC));
    let named = || path.file_name().is_some_and(|name| name.to_string_lossy().contains(".darshan"));
    let packed =
        || compression(head).is_some() && input::open(path).is_ok_and(|mut file| refuse_packed(&mut file).is_err());
    is_magic || named() || packed()
}

/// Converts the log at `path` to a trace, and writes the trace to `out` from the current position on.
///
/// # Errors
/// Fails if `path` is not a readable log, or `out` cannot be written.
pub fn convert(path: &Path, out: &mut File) -> Result<Converted> {
    let place = || format!("failed to read {}", shown(path));
    let file = input::open_trace(path).with_context(place)?;
    let length = input::data_bytes(&file).with_context(place)?;
    let mut log = Log::new(file).with_context(place)?;
    let mut encoder = Encoder::new()?;
    let mut of_layouts = Budget::new("stripe layouts", of_log(LOG_LAYOUTS, length));
    let layouts = layouts::read(&mut log, &mut of_layouts);
    let counters_only = !has(&log, Module::DxtPosix) && !has(&log, Module::DxtMpiIo);
    let job = job(&log, counters_only);
    let start = out.stream_position().with_context(|| "failed to write the trace")?;
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let head = preamble(&mut encoder, &job, 0)?;
    out.write_all(&head)?;

    let mut logs = Logs::open(&log, path).with_context(place)?;
    let info = log.info();
    let bounds = Bounds::of(&info);
    let mut aside = Aside::default();
    let mut cursors = Cursors::new(&mut logs, log.info(), bounds, length);
    let mut ranks = Ranks::new(&log, layouts)?;
    let mut of_shared = Budget::new("records of all ranks", of_log(LOG_SHARED, length));
    let mut shared = Shared::read(&mut log, &bounds, &mut aside, &mut of_shared);
    let mut notes: Vec<Note> = provenance::notes(&mut log);
    let mut written = Written::behind(&head);
    // One thread decompresses the log, another compresses the trace: both take about the same time.
    let (sender, receiver) = sync_channel::<Gathered>(WAITING);
    let (unpacked, packed) = std::thread::scope(|scope| {
        let pack = scope.spawn(|| {
            receiver.into_iter().try_for_each(|gathered| written.add(gathered.region(&mut encoder)?, &mut out))
        });
        let mut unpack = || -> Result<()> {
            let mut number = 0;
            while let Some(rank) = cursors.next_rank().filter(|_| !cursors.is_full()) {
                let gathered = ranks.gather(rank, &mut cursors, &mut shared, number, std::mem::take(&mut notes))?;
                if sender.send(gathered).is_err() {
                    // The encoding thread has failed; its error is returned below.
                    break;
                }
                number += 1;
            }
            Ok(())
        };
        let unpacked = unpack();
        drop(sender);
        (unpacked, pack.join())
    });
    packed.map_err(|_| anyhow!("failed to convert {}: a thread ended early", shown(path)))??;
    unpacked?;
    let budgets = [&of_layouts, &of_shared].into_iter().chain(cursors.budgets());
    let mut problems: Vec<Problem> = budgets.filter_map(|budget| budget.problem(path)).collect();
    problems.extend(cursors.aside().problems(path, &info));
    problems.extend(aside.problems(path, &info));
    let of_job = bounds.job_problem(&info).filter(|_| info.header.job.length > 0);
    problems.extend(of_job.map(|what| Problem { file: shown(path), offset: info.header.job.offset, what }));
    if let Some(region) = shared.region(&log, ranks.into_layouts(), &mut encoder, written.regions(), notes)? {
        written.add(region, &mut out)?;
    }
    written.finish(&mut out)?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(start))?;
    file.write_all(&preamble(&mut encoder, &job, written.regions())?)?;
    file.seek(SeekFrom::End(0))?;

    let of_log = log.problems().iter().chain(logs.problems());
    let problem = |problem: &darshan_log::Problem| Problem {
        file: shown(path),
        offset: problem.offset,
        what: problem.error.to_string(),
    };
    problems.extend(of_log.map(problem));
    problems.sort();
    problems.dedup();
    Ok(Converted { problems, remarks: remarks(&log) })
}

/// Open handles of the log, one per module that is read concurrently.
#[derive(Debug)]
struct Logs(Vec<Log<File>>);

impl Logs {
    fn open(log: &Log<File>, path: &Path) -> std::io::Result<Self> {
        // The handles share the small parts of the log, above all the names of files.
        let logs = (0..cursor::MODULES).map(|_| Ok(log.another(input::open(path)?)));
        Ok(Self(logs.collect::<std::io::Result<_>>()?))
    }

    fn problems(&self) -> impl Iterator<Item = &darshan_log::Problem> {
        self.0.iter().flat_map(|log| log.problems())
    }
}
