//! Model of the file system: OSTs and a metadata server that serve one request at a time, and stripe locks that one node at a time holds.

use super::calls::{Call, Op};
use super::chance::{lognormal, uniform};
use super::job::{Job, factor};
use super::work::is_header;
use std::collections::HashMap;

/// State of the file system during a simulation.
pub(super) struct Storage<'a> {
    job: &'a Job,
    osts_free: Vec<f64>,
    metadata_free: f64,
    /// State of stripe locks by (file, stripe): the node that holds the lock, and the time when that node's writes end.
    stripes: HashMap<(u32, u64), (u32, f64)>,
    stalled: bool,
}

/// Time and caller of a call; the fields except `now` are also keys of the call's random numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) now: f64,
    pub(super) rank: u32,
    pub(super) thread: u32,
    pub(super) phase: u32,
    /// Number of the call among the thread's calls of the same operation in the phase.
    pub(super) number: u64,
}

impl<'a> Storage<'a> {
    pub(super) fn new(job: &'a Job) -> Self {
        Self {
            job,
            osts_free: vec![0.0; job.osts as usize],
            metadata_free: 0.0,
            stripes: HashMap::new(),
            stalled: false,
        }
    }

    /// Returns the time when a call that is made at `by.now` ends, in ns since the epoch.
    pub(super) fn serve(&mut self, by: Request, call: &Call) -> f64 {
        let job = self.job;
        let worker = u64::from(by.rank) << 16 | u64::from(by.thread);
        let keys = |what: u64| [job.seed, what, call.op.code().into(), worker, by.phase.into(), by.number];
        let mut slow = factor(&job.slow_ranks, by.rank) * factor(&job.slow_nodes, job.node_of(by.rank));
        let now = by.now;
        for window in &job.windows {
            if now >= window.from * job.undisturbed_ns && now < window.to * job.undisturbed_ns {
                slow *= window.factor;
            }
        }
        if let Some((part, times)) = job.tail
            && uniform(&keys(3)) <= part
        {
            slow *= times;
        }
        let luck = lognormal(job.sigma, &keys(2)) * slow;
        let mut end = match call.op {
            Op::Read | Op::Write | Op::StreamRead | Op::StreamWrite => self.data(by, call, luck),
            Op::Open | Op::StreamOpen => {
                self.metadata(now, (job.open_ns) * luck, luck) + factor_or_0(&job.slow_opens, by.rank)
            }
            Op::Close | Op::StreamClose => now + job.close_ns * luck,
            Op::Stat => self.metadata(now, job.stat_ns * luck, luck),
            Op::Sync => now + job.sync_ns * luck,
            Op::StreamFlush => now + job.write_ns * luck,
            Op::Lock | Op::Unlock => now + job.lock_ns * luck,
            _ => now + 1e3,
        };
        if let Some(stall) = job.stall
            && (stall.rank, stall.phase) == (by.rank, by.phase)
            && call.op.moves()
            && !self.stalled
        {
            self.stalled = true;
            end += stall.ns;
        }
        end.max(now + 100.0)
    }

    fn metadata(&mut self, now: f64, own_ns: f64, luck: f64) -> f64 {
        self.metadata_free = self.metadata_free.max(now) + self.job.metadata_ns * luck;
        self.metadata_free.max(now + own_ns)
    }

    /// Returns the time when a read or write ends, in ns since the epoch: the later of the end at the caller's transfer rate and the end on
    /// the last OST involved.
    fn data(&mut self, by: Request, call: &Call, luck: f64) -> f64 {
        let job = self.job;
        let (offset, length) = (call.offset.unwrap_or(0), call.length.max(1));
        let latency = match call.op {
            Op::Write => job.write_ns,
            Op::Read => job.read_ns,
            // A C stream fills its buffer and calls the kernel when the buffer is full.
            _ => 300.0 + job.write_ns * (length as f64 / 4096.0).min(1.0),
        };
        let own = |bytes: u64| (latency + bytes as f64 * 1e9 / job.client_rate) * luck;
        let now = if call.op.writes() { self.locks(by, call, offset, length) } else { by.now };
        let (first, last) = (offset / job.stripe_size, (offset + length - 1) / job.stripe_size);
        let mut end = now + own(length);
        let first_ost = if job.crowded { 0 } else { call.file % job.osts };
        let mut on_ost: Vec<(u32, u64)> = Vec::new();
        for stripe in first..=last {
            let (from, to) = (stripe * job.stripe_size, (stripe + 1) * job.stripe_size);
            let bytes = to.min(offset + length) - from.max(offset);
            let ost = ost_of(job, first_ost, stripe);
            match on_ost.iter_mut().find(|there| there.0 == ost) {
                Some(there) => there.1 += bytes,
                None => on_ost.push((ost, bytes)),
            }
        }
        for (ost, bytes) in on_ost {
            let slow = factor(&job.slow_osts, ost);
            let request =
                if is_header(call.file) { job.header.map_or(0.0, |header| header.ost_ns) } else { job.ost_ns };
            let service = (request + bytes as f64 * 1e9 / job.ost_rate()) * luck * slow;
            let free = &mut self.osts_free[ost as usize];
            *free = free.max(now) + service;
            end = end.max(*free).max(now + own(bytes) * slow);
        }
        self.hold(by, call, offset, length, end);
        end
    }

    /// Returns the time when the caller's node holds the locks of all stripes of the write, in ns since the epoch.
    fn locks(&self, by: Request, call: &Call, offset: u64, length: u64) -> f64 {
        let (first, last) = (offset / self.job.stripe_size, (offset + length - 1) / self.job.stripe_size);
        let node = self.job.node_of(by.rank);
        (first..=last).fold(by.now, |now, stripe| match self.stripes.get(&(call.file, stripe)) {
            Some(&(holder, until)) if holder != node => now.max(until) + self.job.handover_ns,
            _ => now,
        })
    }

    fn hold(&mut self, by: Request, call: &Call, offset: u64, length: u64, end: f64) {
        if call.op.writes() {
            let node = self.job.node_of(by.rank);
            for stripe in offset / self.job.stripe_size..=(offset + length - 1) / self.job.stripe_size {
                let held = self.stripes.entry((call.file, stripe)).or_insert((node, end));
                *held = (node, if held.0 == node { held.1.max(end) } else { end });
            }
        }
    }
}

/// Returns the OST of a file's stripe `stripe`; the file begins on `first_ost`.
pub(super) fn ost_of(job: &Job, first_ost: u32, stripe: u64) -> u32 {
    (first_ost + (stripe % u64::from(job.stripe_count.min(job.osts))) as u32) % job.osts
}

fn factor_or_0(list: &[(u32, f64)], which: u32) -> f64 {
    list.iter().filter(|(number, _)| *number == which).map(|(_, ns)| ns).sum()
}
