//! Child processes of dxt-run: waits for them, forwards signals and, as the first process (PID 1) of a container, reaps orphans.

use crate::signals::{ENDING, Signals, send};
use rustix::process::WaitOptions;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Child processes of dxt-run, with the exit status of those that have ended.
pub(crate) struct Processes {
    pub(crate) signals: Signals,
    ended: BTreeMap<i32, ExitStatus>,
}

impl Processes {
    pub(crate) fn new(signals: Signals) -> Self {
        Self { signals, ended: BTreeMap::new() }
    }

    /// Starts `command` as a child process in which the `ignored` signals are ignored; returns its process ID.
    pub(crate) fn start(&self, command: &mut Command, ignored: &'static [i32]) -> io::Result<i32> {
        let child = self.signals.hand_on(command, ignored).spawn()?;
        Ok(child.id().cast_signed())
    }

    /// Returns the exit status of `process` if it has ended.
    pub(crate) fn ended(&mut self, process: i32) -> Option<ExitStatus> {
        // Reaps all children, since the first process of a container inherits orphans.
        while let Ok(Some((child, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            self.ended.insert(child.as_raw_nonzero().get(), ExitStatus::from_raw(status.as_raw()));
        }
        self.ended.get(&process).copied()
    }

    /// Waits for the command and forwards signals to it, except signals that the terminal has sent to the whole foreground process group.
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

    /// Waits for a process that runs after the command, such as the recovery of traces. Ignores the first terminating signal; the second
    /// one kills the process.
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

    /// Waits for `time`, or until a child ends. Returns a terminating signal that arrives meanwhile.
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
