//! Agent of `live`: finds spools (files with recorded calls), polls them, and delivers their new calls to the destinations.

mod gaps;

use self::gaps::{add, note};
use super::board::Board;
use super::event::Event;
use super::interval::{Interval, LeftOut, NotSeen, Open};
use super::mounts::Mounts;
use super::open_spool::{Held, Kept, Wanted};
use super::sinks::Outlet;
use super::state::SavedState;
use super::tally::Files;
use super::time::unix_ns;
use super::watch::{Found, Watch};
use anyhow::Result;
use dxt_base::spools::files::own_user;
use dxt_base::text::units::agree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time without a running process after which the watched program is assumed to have ended.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum number of spills (files with compressed calls, which belong to spools) that wait for their spools to be found.
const MOST_SPILLS: usize = 100;
/// Maximum time per user and polling round for reading the user's spools (files in which processes record their calls).
const TURN: Duration = Duration::from_millis(50);
/// Maximum estimated memory for the spools (files with recorded calls) of all users other than the agent's together, in bytes.
const MOST_BYTES: usize = 80 << 20;
/// Maximum estimated memory for the spools of the agent's own user, in bytes.
const MOST_OWN_BYTES: usize = 512 << 20;
/// Growth of the memory used for spools, in bytes, after which a polling round stops to check the limits on memory.
const MOST_GROWN: usize = 16 << 20;
/// Maximum time to read the remaining data of all spools at shutdown.
const MOST_TO_END: Duration = Duration::from_secs(10);
/// Maximum number of messages about spools (files with recorded calls) shown per minute.
const MOST_SAID: u64 = 30;
/// Maximum number of distinct descriptions of calls that tracers did not record.
const MOST_LEFT_OUT: usize = 256;

/// Settings of an agent (the process that watches running programs and delivers their calls).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directories to watch, in which processes keep their spools (files with recorded calls).
    pub directories: Vec<PathBuf>,
    /// True if the user named the directories, so that failing to watch one is an error.
    pub named: bool,
    /// Ids of the processes to watch; all processes if empty.
    pub pids: Vec<u32>,
    /// Jobs to watch, by key or by the scheduler's number; all jobs if empty.
    pub jobs: Vec<String>,
    /// Length of the intervals of time for which calls are summed.
    pub interval: Duration,
    /// Sampling period: one of `sample` calls is delivered as an event (data of a single call).
    pub sample: u32,
    /// Number of consecutive ranks whose calls are summed together.
    pub group_ranks: u32,
    /// True to deliver MPI collective calls besides I/O calls.
    pub with_mpi: bool,
    /// Path of the state file, which records what was delivered; `None` for no state file.
    pub state: Option<PathBuf>,
}

/// Agent that watches the processes of one node and delivers their calls.
pub struct Agent {
    settings: Settings,
    watch: Watch,
    held: Vec<Held>,
    /// Spills (files with compressed calls, which belong to spools) whose spools have not been found yet.
    spills: Vec<Found>,
    /// Number of spools (files with a process's calls) found but not read, since their processes had ended before the agent started.
    left_behind: u64,
    found: u64,
    ended: u64,
    open: Open,
    mounts: Mounts,
    files: Files,
    events: Vec<Event>,
    outlets: Vec<Outlet>,
    earlier: SavedState,
    board: Board,
    /// Numbers of calls missing in the data of spools (files with recorded calls) that are no longer read, by cause.
    gone: NotSeen,
    gone_left_out: LeftOut,
    /// Number of calls summed by this agent and by earlier agents with this state file.
    calls: u64,
    next_interval: Instant,
    /// Time at which the latest process was found or seen to end.
    latest: Instant,
    /// Number of spools (files with recorded calls) that existed at shutdown but were never opened.
    unopened: u64,
    /// True if the latest write of the state file failed.
    state_failed: bool,
    said: Vec<String>,
    /// Rate limit of messages about spools: start of the current minute, messages shown in it, messages suppressed in it.
    said_of_spools: (Instant, u64, u64),
    round: u64,
    /// Polling round in which each user last had a time slice, by user id.
    turns: BTreeMap<u32, u64>,
    /// True if some spool has data that the latest polling round did not read.
    more: bool,
}

impl Agent {
    /// Creates an agent; nothing is read yet.
    ///
    /// # Errors
    /// Fails if directories cannot be watched, a destination cannot be used, or the state of an earlier agent is invalid.
    pub fn new(settings: Settings, mut outlets: Vec<Outlet>) -> Result<Self> {
        let watch = Watch::new(settings.directories.clone(), settings.named)?;
        let earlier = settings.state.as_deref().map(SavedState::read).transpose()?.unwrap_or_default();
        let mut said = Vec::new();
        for outlet in &mut outlets {
            outlet.begin(earlier.sinks.get(outlet.name()).copied())?;
            let lacking = earlier.lacking(outlet.name());
            if lacking > 0 {
                let (name, calls) = (outlet.name(), agree(lacking, "call that was", "calls that were"));
                said.push(format!(
                    "{name}: the --state file does not have this destination, which therefore lacks {lacking} {calls} delivered before"
                ));
            }
        }
        let length_ns = u64::try_from(settings.interval.as_nanos()).unwrap_or(u64::MAX);
        let next_interval = Instant::now() + settings.interval;
        let mut agent = Self {
            watch,
            held: Vec::new(),
            spills: Vec::new(),
            left_behind: 0,
            found: 0,
            ended: 0,
            open: Open::new(length_ns),
            mounts: Mounts::read(),
            files: Files::default(),
            events: Vec::new(),
            outlets,
            board: Board { interval_ns: length_ns, ..Board::default() },
            gone: earlier.gone,
            calls: earlier.calls,
            earlier,
            gone_left_out: LeftOut::new(),
            next_interval,
            latest: Instant::now(),
            unopened: 0,
            state_failed: false,
            said,
            said_of_spools: (Instant::now(), 0, 0),
            round: 0,
            turns: BTreeMap::new(),
            more: false,
            settings,
        };
        // Saved before the first delivery: after a crash, only the state says how much of a destination's file is valid.
        let (positions, names) = (agent.positions(), agent.names());
        agent.write(&agent.earlier.with_sinks(positions, names));
        Ok(agent)
    }

    /// Waits up to `most` for a new spool (file with recorded calls) to appear.
    pub fn wait(&mut self, most: Duration) {
        let most = if self.more { Duration::ZERO } else { most };
        let most = most.min(self.next_interval.saturating_duration_since(Instant::now()));
        if let Some(found) = self.watch.wait(most) {
            self.begin(found);
        }
    }

    /// Polls all spools (files with recorded calls) once; returns true if an interval ended.
    pub fn look(&mut self) -> bool {
        self.watch.failed().into_iter().for_each(|said| self.say_of_spool(said));
        self.take_found();
        self.more = self.round();
        self.send_events();
        self.bound_memory();
        let (ended, held) = std::mem::take(&mut self.held).into_iter().partition(Held::has_ended);
        self.held = held;
        self.end(ended);
        let over = Instant::now() >= self.next_interval;
        if over {
            self.next_interval = Instant::now() + self.settings.interval;
            let until = unix_ns().saturating_sub_unsigned(self.board.interval_ns);
            // A resumed agent does not know the sums of incomplete intervals, so with a state file these sums are delivered in parts.
            self.interval(if self.settings.state.is_some() { i64::MAX } else { until }, false);
        }
        over
    }

    /// Gives each user's spools a time slice, starting with the user who waited longest. Returns true if unread data remains.
    fn round(&mut self) -> bool {
        self.round += 1;
        let mut order: Vec<usize> = (0..self.held.len()).collect();
        self.turns.retain(|user, _| self.held.iter().any(|held| held.owner() == *user));
        order
            .sort_by_key(|at| self.held.get(*at).map(|held| (self.turns.get(&held.owner()), held.owner(), held.round)));
        let (mut more, mut user, mut began, mut grown) = (false, None, Instant::now(), 0);
        for index in order {
            let Some(held) = self.held.get_mut(index) else { continue };
            if user != Some(held.owner()) {
                (user, began) = (Some(held.owner()), Instant::now());
                self.turns.insert(held.owner(), self.round);
            }
            if began.elapsed() >= TURN {
                more = true;
                continue;
            }
            held.round = self.round;
            let before = held.weight();
            more |= self.look_at(index);
            grown += self.held.get(index).map_or(0, |held| held.weight().saturating_sub(before));
            // Delivers events early, so that a spool with much new data does not fill the memory.
            if self.events.len() >= 1 << 16 {
                self.send_events();
            }
            if self.open.is_full() {
                self.pass_on(i64::MAX, false);
                self.open.forget();
            }
            if grown > MOST_GROWN {
                return true;
            }
        }
        more
    }

    /// Enforces the memory limits. Of the user whose spools take the most memory, drops the remembered paths of the largest spool; if that
    /// frees less than 25 %, stops reading the spool.
    fn bound_memory(&mut self) {
        loop {
            let mut users: BTreeMap<u32, usize> = BTreeMap::new();
            self.held.iter().for_each(|held| *users.entry(held.owner()).or_default() += held.weight());
            let own = users.remove(&own_user()).unwrap_or(0);
            let largest = if users.values().sum::<usize>() > MOST_BYTES {
                users.into_iter().max_by_key(|(_, weight)| *weight).map(|(user, _)| user)
            } else if own > MOST_OWN_BYTES {
                Some(own_user())
            } else {
                return;
            };
            let of_user = self.held.iter().enumerate().filter(|(_, held)| Some(held.owner()) == largest);
            let Some(at) = of_user.max_by_key(|(_, held)| held.weight()).map(|(at, _)| at) else { return };
            let Some(held) = self.held.get_mut(at) else { return };
            let before = held.weight();
            held.forget_paths();
            if held.weight() <= before / 4 * 3 {
                continue;
            }
            let said = format!(
                "{}: this spool (file with a process's calls so far) takes too much memory and is no longer read",
                held.path().display()
            );
            held.give_up();
            let held = self.held.swap_remove(at);
            self.gone.too_large += 1;
            self.say_of_spool(said);
            self.end(vec![held]);
        }
    }

    /// Queues a message about a spool, rate-limited because any user can create spools.
    fn say_of_spool(&mut self, what: String) {
        let (began, said, more) = &mut self.said_of_spools;
        if began.elapsed() >= Duration::from_secs(60) {
            if *more > 0 {
                let messages = agree(*more, "message about spools was", "messages about spools were");
                self.said.push(format!("{more} {messages} not printed"));
            }
            (*began, *said, *more) = (Instant::now(), 0, 0);
        }
        *said += 1;
        if *said <= MOST_SAID { self.said.push(what) } else { *more += 1 }
    }

    /// Delivers all intervals, complete or not, ends the destinations and saves the state.
    pub fn finish(&mut self) {
        let begun = Instant::now();
        while self.more && begun.elapsed() < MOST_TO_END {
            self.more = self.round();
            self.send_events();
            self.bound_memory();
        }
        self.unopened = self.watch.unopened();
        self.interval(i64::MAX, true);
        let before = self.not_seen();
        self.outlets.iter_mut().filter(|outlet| outlet.wants_events()).for_each(Outlet::end);
        let not_seen = self.not_seen();
        // Gaps found only while the destinations of events ended must still reach the destinations of sums.
        if not_seen != before {
            let left_out = Arc::new(self.left_out());
            let last = Interval { not_seen, left_out, ..Interval::empty(unix_ns(), self.board.interval_ns) };
            let of_sums = self.outlets.iter_mut().filter(|outlet| !outlet.wants_events());
            of_sums.for_each(|outlet| outlet.interval(&last));
        }
        self.outlets.iter_mut().filter(|outlet| !outlet.wants_events()).for_each(Outlet::end);
        self.board.not_seen = not_seen;
        self.outlets.iter_mut().for_each(Outlet::finish);
        self.save();
    }

    /// True if there were processes and the last one ended at least 500 ms ago (`GRACE`), a delay in which a script can start its next process.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let any = self.found > 0 || self.watch.missed() > 0 || self.watch.unopened() > 0;
        any && !self.more && self.held.is_empty() && self.latest.elapsed() >= GRACE
    }

    /// Returns the data that the views (terminal, web page) show.
    #[must_use]
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// Returns the number of spools (files with recorded calls) not read because their processes had already ended; the command `recover`
    /// handles them.
    #[must_use]
    pub const fn left_behind(&self) -> u64 {
        self.left_behind
    }

    /// True if spools (files with recorded calls) were not read, or if data is missing in a destination or in the state.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.unopened > 0 || self.gone.too_large > 0 || self.state_failed || self.outlets.iter().any(Outlet::has_lost)
    }

    /// Returns the number of spools that existed at shutdown but were never opened.
    #[must_use]
    pub const fn unopened(&self) -> u64 {
        self.unopened
    }

    /// Returns the messages for standard error since the last call.
    pub fn messages(&mut self) -> Vec<String> {
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.outlets.iter_mut().flat_map(Outlet::messages));
        said
    }

    fn take_found(&mut self) {
        let found: Vec<Found> = self.watch.found().collect();
        found.into_iter().for_each(|found| self.begin(found));
        // A spill is found after its spool, which may have ended since.
        let spills = std::mem::take(&mut self.spills);
        self.spills = spills.into_iter().filter_map(|spill| offer(&mut self.held, spill)).collect();
        while self.spills.len() > MOST_SPILLS {
            // Too many spills wait: drops the oldest one of the user with the most.
            let mut users: BTreeMap<u32, usize> = BTreeMap::new();
            self.spills.iter().for_each(|spill| *users.entry(spill.file.owner).or_default() += 1);
            let most = users.into_iter().max_by_key(|(_, count)| *count).map(|(user, _)| user);
            let oldest = self.spills.iter().position(|spill| Some(spill.file.owner) == most);
            self.spills.remove(oldest.unwrap_or(0));
        }
    }

    fn begin(&mut self, found: Found) {
        if found.is_spill() {
            return self.spills.push(found);
        }
        let was_there = found.was_there;
        let held = Held::new(found, Kept::default());
        // One file may be reported twice.
        if self.held.iter().any(|other| other.identity() == held.identity()) {
            return;
        }
        let kept = self.earlier.take(&held.key());
        // A spool that an earlier agent began is read to its end, even if its process has ended since.
        if kept.is_none() && was_there && held.is_left_behind() {
            self.left_behind += 1;
            return;
        }
        self.found += 1;
        self.latest = Instant::now();
        self.held.push(match kept {
            Some(kept) => held.with(kept),
            None => held,
        });
    }

    /// Reads one spool, given by its index; returns true if unread data remains.
    fn look_at(&mut self, index: usize) -> bool {
        let Some(held) = self.held.get_mut(index) else { return false };
        let wants_events = self.outlets.iter().any(Outlet::wants_events);
        let mut wanted = Wanted {
            open: &mut self.open,
            events: wants_events.then_some(&mut self.events),
            sample: self.settings.sample,
            group_ranks: self.settings.group_ranks,
            with_mpi: self.settings.with_mpi,
            mounts: &self.mounts,
            now_unix_ns: unix_ns(),
            files: &mut self.files,
            only: (&self.settings.pids, &self.settings.jobs),
        };
        match held.look(&mut wanted) {
            Ok(more) => more,
            Err(error) => {
                let said = format!("{}: {error:#}", held.path().display());
                held.give_up();
                self.say_of_spool(said);
                false
            }
        }
    }

    fn send_events(&mut self) {
        if !self.events.is_empty() {
            self.outlets.iter_mut().for_each(|outlet| outlet.events(&self.events));
            self.events.clear();
        }
    }

    fn end(&mut self, ended: Vec<Held>) {
        for held in &ended {
            self.ended += 1;
            self.latest = Instant::now();
            add(&mut self.gone, held);
            note(&mut self.gone_left_out, held);
        }
    }

    /// Delivers the intervals that ended before `until_unix_ns`. `is_last` is true for the agent's last delivery.
    fn pass_on(&mut self, until_unix_ns: i64, is_last: bool) {
        let (not_seen, left_out) = (self.not_seen(), Arc::new(self.left_out()));
        let mut first = self.open.take_ended(until_unix_ns);
        // The last interval reports the gaps, even if there were no calls since the previous one.
        if is_last && first.is_none() {
            first = Some(Interval::empty(unix_ns(), self.board.interval_ns));
        }
        while let Some(interval) = first.take().or_else(|| self.open.take_ended(until_unix_ns)) {
            let interval = Interval { not_seen, left_out: left_out.clone(), ..interval };
            self.calls = interval.sums.values().fold(self.calls, |calls, sums| calls.saturating_add(sums.calls));
            self.outlets.iter_mut().for_each(|outlet| outlet.interval(&interval));
            self.board.add(&interval);
        }
        self.board.not_seen = not_seen;
        self.board.left_out = left_out;
    }

    /// Delivers intervals (see [`Self::pass_on`]), updates the data of the views, and saves the state.
    fn interval(&mut self, until_unix_ns: i64, is_last: bool) {
        self.pass_on(until_unix_ns, is_last);
        self.open.forget();
        self.board.rank(&mut self.held, &self.files);
        (self.board.watched, self.board.ended) = (self.held.len() as u64, self.ended);
        self.save();
    }

    /// Flushes the destinations, and returns the output position of each destination that can resume, by its name.
    fn positions(&mut self) -> BTreeMap<String, u64> {
        let settled = self.outlets.iter_mut().map(|outlet| (outlet.name().to_owned(), outlet.settle()));
        settled.filter_map(|(name, at)| Some((name, at?))).collect()
    }

    fn names(&self) -> BTreeSet<String> {
        self.outlets.iter().map(|outlet| outlet.name().to_owned()).collect()
    }

    fn save(&mut self) {
        let sinks = self.positions();
        // A resumed agent must redeliver what has not arrived, so it needs the previous state.
        if self.settings.state.is_some() && self.outlets.iter().any(Outlet::is_behind) {
            return;
        }
        let spools = self.held.iter().map(|held| (held.key(), held.kept())).collect();
        let state = SavedState::new(spools, sinks, self.names(), self.gone(), self.calls);
        self.write(&state);
    }

    fn write(&mut self, state: &SavedState) {
        match self.settings.state.as_deref().map(|path| state.write(path)) {
            Some(Err(error)) => {
                // A repeated failure to write the state is reported once, not per interval.
                if !std::mem::replace(&mut self.state_failed, true) {
                    self.said.push(format!("{error:#}; retrying"));
                }
            }
            Some(Ok(())) | None => {
                self.state_failed = false;
                self.outlets.iter_mut().for_each(Outlet::saved);
            }
        }
    }
}

fn offer(held: &mut [Held], spill: Found) -> Option<Found> {
    held.iter_mut().try_fold(spill, |spill, held| held.offer(spill).err())
}
