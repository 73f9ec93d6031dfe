//! `live --from`: reads the calls of agents elsewhere from a NATS stream, and shows and delivers them as if observed here. Each call counts
//! once, though a stream may contain it twice.

mod counts;
mod deduplicate;
mod read;

use super::args::Args;
use super::board::{Board, Row};
use super::event::Event;
use super::interval::{Group, Interval, NotSeen, Open};
use super::nats::Address;
use super::sinks::Outlet;
use super::tally::{Files, Tally};
use anyhow::Result;
use counts::Counts;
use deduplicate::Known;
use dxt_base::exit::UsageError;
use read::{Came, Reader};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use trace_format::op::Layer;

const MOST_PROCESSES: usize = 100_000;
/// Maximum number of events read from the NATS stream before they are delivered.
const MOST_AT_ONCE: usize = 1 << 14;

/// Key that identifies the spool (file with recorded calls) of a process: node, pid, start of the process, number of the spool.
type Named = (String, u32, u64, u64);

pub(super) struct Remote {
    reader: Reader,
    known: Known,
    open: Open,
    processes: BTreeMap<Named, (Row, [Tally; 2])>,
    files: Files,
    jobs: Vec<String>,
    pids: Vec<u32>,
    group_ranks: u32,
    with_mpi: bool,
    interval: Duration,
    next_interval: Instant,
    outlets: Vec<Outlet>,
    board: Board,
    /// Number of calls dropped by each agent.
    dropped: Counts,
    /// Number of messages that the stream discarded before they were read.
    gone: u64,
    /// Number of processes that ended before they could be observed, by the agent that counted them.
    unseen: Counts,
    unknown: u64,
    said: Vec<String>,
    done: bool,
}

impl Remote {
    /// Opens the NATS stream at `url` and the destinations. Fails if the stream does not exist, or a destination cannot be used.
    pub(super) fn new(url: &str, args: &Args, mut outlets: Vec<Outlet>) -> Result<Self> {
        if args.state.is_some() || !args.directories.is_empty() {
            return Err(
                UsageError("--from reads a NATS stream from its start: omit directories and --state".into()).into()
            );
        }
        for outlet in &mut outlets {
            outlet.begin(None)?;
        }
        let length_ns = u64::try_from(args.interval.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self {
            reader: Reader::new(Address::new(url)?)?,
            known: Known::default(),
            open: Open::new(length_ns),
            processes: BTreeMap::new(),
            files: Files::default(),
            jobs: args.job.clone(),
            pids: args.pid.clone(),
            group_ranks: args.group,
            with_mpi: args.mpi,
            interval: args.interval,
            next_interval: Instant::now() + args.interval,
            outlets,
            board: Board { interval_ns: length_ns, ..Board::default() },
            dropped: Counts::default(),
            gone: 0,
            unseen: Counts::default(),
            unknown: 0,
            said: Vec::new(),
            done: false,
        })
    }

    /// Processes the messages that arrive within `most`. Returns true if an interval ended.
    pub(super) fn look(&mut self, most: Duration) -> bool {
        let until = Instant::now() + most.min(self.next_interval.saturating_duration_since(Instant::now()));
        let mut events = Vec::new();
        while let Some(came) = self.reader.next(until) {
            match came {
                Came::Event(event) => self.take(event, &mut events),
                Came::Dropped { agent, count } => self.unknown += u64::from(!self.dropped.take(agent, count)),
                Came::Unseen { watcher, count } => self.unknown += u64::from(!self.unseen.take(watcher, count)),
                Came::Gone(count) => self.gone = self.gone.saturating_add(count),
                Came::Unknown => self.unknown += 1,
                Came::Failed(why) => self.said.push(why),
                Came::End => self.done = true,
            }
            if events.len() >= MOST_AT_ONCE {
                break;
            }
        }
        if !events.is_empty() {
            self.outlets.iter_mut().for_each(|outlet| outlet.events(&events));
        }
        // Events are delivered before the interval ends, since an interval may be long.
        let over = Instant::now() >= self.next_interval;
        if over {
            self.next_interval = Instant::now() + self.interval;
            self.interval(super::time::unix_ns().saturating_sub_unsigned(self.board.interval_ns), false);
        }
        over
    }

    /// Delivers all intervals, and ends the destinations.
    pub(super) fn finish(&mut self) {
        self.interval(i64::MAX, true);
        let before = self.not_seen();
        self.outlets.iter_mut().filter(|outlet| outlet.wants_events()).for_each(Outlet::end);
        let not_seen = self.not_seen();
        // Gaps found only while the destinations of events ended must still reach the destinations of sums.
        if not_seen != before {
            let last = Interval { not_seen, ..Interval::empty(super::time::unix_ns(), self.board.interval_ns) };
            let of_sums = self.outlets.iter_mut().filter(|outlet| !outlet.wants_events());
            of_sums.for_each(|outlet| outlet.interval(&last));
        }
        self.outlets.iter_mut().filter(|outlet| !outlet.wants_events()).for_each(Outlet::end);
        self.board.not_seen = not_seen;
    }

    /// True if all messages of the NATS stream were read.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    /// True if calls are missing: agents dropped calls, the stream discarded some, or a destination did not accept some.
    pub(super) fn is_incomplete(&self) -> bool {
        self.dropped.sum() > 0 || self.gone > 0 || self.outlets.iter().any(Outlet::has_lost)
    }

    pub(super) const fn board(&self) -> &Board {
        &self.board
    }

    pub(super) fn messages(&mut self) -> Vec<String> {
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.outlets.iter_mut().flat_map(Outlet::messages));
        said
    }

    fn take(&mut self, event: Event, events: &mut Vec<Event>) {
        let of_job = |job: &String| *job == event.process.job || *job == event.process.job_id.to_string();
        let is_wanted = (self.jobs.is_empty() || self.jobs.iter().any(of_job))
            && (self.pids.is_empty() || self.pids.contains(&event.process.pid))
            && (self.with_mpi || event.target.layer != Layer::Mpi);
        if !is_wanted || !self.known.is_new(&event.id()) {
            return;
        }
        let event = self.known.shared(event);
        let group =
            self.open.number(Group::of(&event.process, &event.target, self.group_ranks), event.process.uid, false);
        let (length, duration_ns, calls) = (event.length, event.duration_ns(), u64::from(event.stands_for));
        self.open.at(event.end_unix_ns, group).add_calls(length, duration_ns, calls);
        if event.target.layer.is_io() && !event.target.nested {
            let tally = Tally {
                calls,
                bytes: length.saturating_mul(calls),
                time_ns: duration_ns.saturating_mul(calls),
                longest_ns: duration_ns,
            };
            let process = &event.process;
            let key = (process.node.clone(), process.pid, process.started, process.spool);
            if self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&key) {
                self.processes.clear();
            }
            let (row, tallies) = self.processes.entry(key).or_default();
            // The process may have reported its rank only after its first call.
            *row =
                Row { name: process.label(), node: process.node.clone(), job: process.job.clone(), ..Row::default() };
            tallies.iter_mut().for_each(|mine| mine.merge(&tally));
            self.files.add(&event.target.file, &tally);
        }
        events.push(event);
    }

    fn not_seen(&self) -> NotSeen {
        let mut all = NotSeen {
            dropped: self.dropped.sum().saturating_add(self.gone),
            damaged: self.unknown,
            spools: self.unseen.sum(),
            ..NotSeen::default()
        };
        for outlet in &self.outlets {
            all.dropped = all.dropped.saturating_add(outlet.dropped());
            all.other_operations += outlet.other_operations();
        }
        all
    }

    fn interval(&mut self, until_unix_ns: i64, is_last: bool) {
        let not_seen = self.not_seen();
        let mut first = self.open.take_ended(until_unix_ns);
        // The last interval reports the gaps, even if there were no calls since the previous one.
        if is_last && first.is_none() && not_seen != NotSeen::default() {
            first = Some(Interval::empty(super::time::unix_ns(), self.board.interval_ns));
        }
        while let Some(interval) = first.take().or_else(|| self.open.take_ended(until_unix_ns)) {
            let interval = Interval { not_seen, ..interval };
            self.outlets.iter_mut().for_each(|outlet| outlet.interval(&interval));
            self.board.add(&interval);
        }
        for outlet in &mut self.outlets {
            outlet.settle();
        }
        self.board.not_seen = not_seen;
        self.board.watched = self.processes.len() as u64;
        let rows = self.processes.values_mut().map(|(row, [all, now])| Row {
            now: std::mem::take(now),
            all: *all,
            ..row.clone()
        });
        self.board.set_rows(rows.collect(), &self.files);
    }
}
