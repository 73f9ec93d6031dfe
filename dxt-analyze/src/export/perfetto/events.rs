//! Writer of Chrome trace events: an object with a list `traceEvents`, one event per line. Times are µs since the job's start, with ns
//! precision. `displayTimeUnit` is omitted, because older versions of Perfetto took it for the unit of all times.

use super::lanes::lanes;
use super::level::Level;
use super::{Common, Counts, Slice, Slices, What};
use crate::model::{Process, ProcessId, Run};
use crate::topics::sites::numbered::Numbered;
use anyhow::{Context, Result};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;

pub(crate) struct Events<'a> {
    run: &'a Run,
    sites: &'a Numbered,
    out: &'a mut dyn Write,
    /// Paths of the run's files, by file number, encoded as JSON strings.
    files: Vec<String>,
    /// Ranks written so far. If a rank has several processes, the names of all but the first contain the pid.
    ranks: BTreeSet<i32>,
    /// Number of the next track (row of the viewer). It differs from all process numbers, because viewers show a thread with a process's
    /// number first.
    next: usize,
    empty: bool,
}

impl<'a> Events<'a> {
    /// Writes the start of the JSON object and the names of the nodes.
    pub(crate) fn new(run: &'a Run, sites: &'a Numbered, out: &'a mut dyn Write) -> Result<Self> {
        let files = run.files.iter().map(|file| serde_json::to_string(&file.name)).collect::<Result<_, _>>()?;
        let mut events =
            Self { run, sites, out, files, ranks: BTreeSet::new(), next: run.nodes.len() + 2, empty: true };
        write!(events.out, "{{\"traceEvents\":[").context("failed to write slices")?;
        let used: BTreeSet<u32> = run.processes.iter().map(|process| process.node).collect();
        for node in used {
            let name = run.nodes.get(node as usize).map_or("?", String::as_str);
            events.name("process_name", node, 0, json!({ "name": name }))?;
            events.name("process_sort_index", node, 0, json!({ "sort_index": node }))?;
        }
        Ok(events)
    }

    fn begin(&mut self) -> Result<()> {
        let separator = if std::mem::take(&mut self.empty) { "\n" } else { ",\n" };
        self.out.write_all(separator.as_bytes()).context("failed to write slices")
    }

    fn name(&mut self, what: &str, node: u32, track: usize, args: serde_json::Value) -> Result<()> {
        self.begin()?;
        let event = json!({ "ph": "M", "name": what, "pid": node + 1, "tid": track, "args": args });
        serde_json::to_writer(&mut self.out, &event).context("failed to write slices")
    }

    pub(crate) fn process(&mut self, number: ProcessId, slices: Slices) -> Result<()> {
        let Some(process) = self.run.process(number) else { return Ok(()) };
        let mut name = self.run.process_name(number);
        if process.rank >= 0 && !self.ranks.insert(process.rank) {
            name = format!("{name} pid {}", process.pid);
        }
        let threads: BTreeSet<u32> = slices.single.iter().chain(&slices.merged).map(|slice| slice.thread).collect();
        for (at, thread) in threads.into_iter().enumerate() {
            let name = if at == 0 { name.clone() } else { format!("{name} thread {}", process.tid(thread)) };
            let of = |slices: &[Slice]| slices.iter().filter(|slice| slice.thread == thread).copied().collect();
            self.tracks(process, &name, of(&slices.single))?;
            self.tracks(process, &format!("{name} merged"), of(&slices.merged))?;
        }
        Ok(())
    }

    fn tracks(&mut self, process: &Process, name: &str, slices: Vec<Slice>) -> Result<()> {
        for (at, lane) in lanes(slices).into_iter().enumerate() {
            let track = self.next;
            self.next += 1;
            let name = if at == 0 { name.to_owned() } else { format!("{name} ({})", at + 1) };
            self.name("thread_name", process.node, track, json!({ "name": name }))?;
            self.name("thread_sort_index", process.node, track, json!({ "sort_index": track }))?;
            for slice in lane {
                self.slice(process, track, &slice)?;
            }
        }
        Ok(())
    }

    fn slice(&mut self, process: &Process, track: usize, slice: &Slice) -> Result<()> {
        let Some(stream) = process.stream(slice.what.stream) else { return Ok(()) };
        self.begin()?;
        let op = self.run.op(stream);
        let (layer, single) = (op.layer_name(), slice.count == 1);
        let label = match slice.what.of {
            Common::Within => "calls".into(),
            _ => format!("{layer} {}", op.label()),
        };
        let (start, dur) = (slice.start, slice.end - slice.start);
        write!(
            self.out,
            "{{\"ph\":\"X\",\"pid\":{},\"tid\":{track},\"ts\":{}.{:03},\"dur\":{}.{:03},\"cat\":\"{layer}\",\"name\":{},\"args\":{{",
            process.node + 1,
            start / 1000,
            start % 1000,
            dur / 1000,
            dur % 1000,
            serde_json::to_string(&format!("{label}{}", if single { "" } else { " (merged)" }))?,
        )
        .context("failed to write slices")?;
        if let What { of: Common::Stream, .. } = slice.what {
            let file = self.files.get(stream.file.index()).map_or("\"?\"", String::as_str);
            write!(self.out, "\"file\":{file},").context("failed to write slices")?;
            let data_set = stream.data_set.and_then(|set| self.run.data_sets.get(set as usize));
            if let Some(set) = data_set {
                write!(self.out, "\"data_set\":{},", serde_json::to_string(&set.path)?)?;
            }
            if stream.failed {
                write!(self.out, "\"errno\":{},", stream.errno)?;
            }
        }
        if let Some(place) = slice.site.and_then(|site| self.sites.place(site)) {
            write!(self.out, "\"place\":{},", serde_json::to_string(place)?)?;
        }
        if single {
            if slice.offset >= 0 {
                write!(self.out, "\"offset\":{},", slice.offset)?;
            }
            write!(self.out, "\"length\":{}}}}}", slice.bytes)
        } else {
            write!(self.out, "\"calls\":{},\"bytes\":{},\"time_ns\":{}}}}}", slice.count, slice.bytes, slice.time)
        }
        .context("failed to write slices")
    }

    /// Writes the end of the JSON object: a description of the job, and the numbers of calls shown, merged and omitted.
    pub(crate) fn finish(self, level: &Level, counts: &Counts) -> Result<()> {
        let other = json!({
            "job": self.run.info.key,
            "exe": String::from_utf8_lossy(&self.run.info.exe),
            "start_unix_ns": self.run.start_unix_ns.to_string(),
            "calls": level.calls,
            "calls_one_by_one": counts.single,
            "calls_merged": counts.merged_calls,
            "slices_merged": counts.merged_slices,
            "calls_left_out": counts.left_out,
        });
        write!(self.out, "\n],\"otherData\":{other}}}\n").context("failed to write slices")?;
        self.out.flush().context("failed to write slices")
    }
}
