//! Processes that dxt-run starts: it waits for them, passes signals on, and, as the first process of a container, takes in orphans.

use crate::signals::{ENDING, Signals, send};
use rustix::process::WaitOptions;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Children that have been started and how those ended that are over.
pub(crate) struct Processes {
    pub(crate) signals: Signals,
    ended: BTreeMap<i32, ExitStatus>,
}

impl Processes {
    pub(crate) fn new(signals: Signals) -> Self {
        Self { signals, ended: BTreeMap::new() }
    }

    /// Starts a process; `ignored` signals do not end it.
    pub(crate) fn start(&self, command: &mut Command, ignored: &'static [i32]) -> io::Result<i32> {
        let child = self.signals.hand_on(command, ignored).spawn()?;
        Ok(child.id().cast_signed())
    }

    /// How a process ended, if it has.
    pub(crate) fn ended(&mut self, process: i32) -> Option<ExitStatus> {
        // All children: those of processes that have ended come to the first process of a container.
        while let Ok(Some((child, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.ended.insert(child.as_raw_nonzero().get(), ExitStatus::from_raw(status.as_raw()));
        }
        self.ended.get(&process).copied()
    }

    /// Waits for the command, which gets the signals that dxt-run gets. Those of a terminal went to the whole foreground group.
    pub(crate) fn wait_and_forward(&mut self, process: i32) -> ExitStatus {
        loop {
            if let Some(status) = self.ended(process) {
                return status;
            }
            let Some(arrival) = self.signals.wait(None) else { continue };
            let signal = arrival.signal;
            if signal != libc::SIGCHLD && !arrival.by_kernel && arrival.sender != process {
                send(process, signal);
            }
            if signal == libc::SIGTSTP {
                self.signals.stop(signal);
            }
        }
    }

    /// Waits for a process that finishes what the command has left. The first signal to end is passed over, and the second ends it.
    pub(crate) fn wait_patiently(&mut self, process: i32) -> ExitStatus {
        let mut asked = 0;
        loop {
            if let Some(status) = self.ended(process) {
                return status;
            }
            if self.signals.wait(None).is_some_and(|arrival| ENDING.contains(&arrival.signal)) {
                asked += 1;
                if asked > 1 {
                    send(process, libc::SIGKILL);
                }
            }
        }
    }

    /// Waits for some time, or until a child ends; the signal, if one tells dxt-run to end.
    pub(crate) fn pause(&self, time: Duration) -> Option<i32> {
        let end = Instant::now() + time;
        loop {
            let arrival = self.signals.wait(Some(end.saturating_duration_since(Instant::now())))?;
            match arrival.signal {
                libc::SIGCHLD => return None,
                libc::SIGTSTP => self.signals.stop(arrival.signal),
                signal if ENDING.contains(&signal) => return Some(signal),
                _ => {}
            }
        }
    }
}
