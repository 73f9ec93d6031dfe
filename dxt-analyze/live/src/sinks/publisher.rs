//! Child program that receives lines on its standard input. A thread writes the lines, so that the agent never waits for the program. If
//! the program ends, it is restarted; lines that it could not receive are counted.

use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum total bytes of queued lines: some 80,000 messages.
const WAITING_BYTES: usize = 32 << 20;
/// Maximum time that new lines wait for room in the queue.
const ROOM_WAIT: Duration = Duration::from_millis(200);
/// Pause before the publishing program is restarted after an unexpected end.
const AGAIN: Duration = Duration::from_secs(2);
/// Lifetime after which the program counts as connected to its daemon.
const LIVES: Duration = Duration::from_millis(500);
/// Maximum time at shutdown for the program to send the lines that it has received.
const END_WAIT: Duration = Duration::from_secs(10);
/// Period of the check if the program still runs.
const LOOK: Duration = Duration::from_millis(20);
/// Number of bytes written most recently for which line lengths are remembered: the default capacity of a pipe.
const PIPE_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
    /// Address of the daemon to which the publishing program sends, as shown in messages to the user.
    pub(super) daemon: String,
}

/// State shared by the thread that writes lines to the program and the owner of that thread.
#[derive(Default)]
struct Shared {
    waiting: AtomicUsize,
    dropped: AtomicU64,
    /// True if the thread must drop the remaining lines.
    gives_up: AtomicBool,
    /// Reason why the program accepts no lines at present; `None` if it accepts lines.
    trouble: Mutex<Option<String>>,
    child: Mutex<Option<Child>>,
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Publisher {
    shared: Arc<Shared>,
    lines: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts the program and the thread. Fails if one of them cannot be started.
    pub(super) fn start(program: Program) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (lines, receiver) = channel();
        let mut feeder =
            Feeder { program, shared: Arc::clone(&shared), input: None, latest: VecDeque::new(), latest_bytes: 0 };
        feeder.spawn(false)?;
        let thread = std::thread::Builder::new().name("ldms".into()).spawn(move || feeder.feed(&receiver))?;
        Ok(Self { shared, lines: Some(lines), thread: Some(thread) })
    }

    /// Queues lines; drops lines that find no room within [`ROOM_WAIT`].
    pub(super) fn publish(&self, lines: Vec<Vec<u8>>) {
        let until = Instant::now() + ROOM_WAIT;
        for line in lines {
            let has_room = || self.shared.waiting.load(Ordering::Relaxed) + line.len() <= WAITING_BYTES;
            while !has_room() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            let length = line.len();
            let fits = has_room();
            // Added before the line is queued, since the thread subtracts the length when it takes the line.
            self.shared.waiting.fetch_add(if fits { length } else { 0 }, Ordering::Relaxed);
            if !fits || self.lines.as_ref().is_none_or(|lines| lines.send(line).is_err()) {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of lost lines: the program did not receive them, or may not have sent them.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Returns the reason why the program accepts no lines at present; `None` if it accepts lines.
    pub(super) fn trouble(&self) -> Option<String> {
        held(&self.shared.trouble).clone()
    }

    /// Lets the program send the queued lines, then ends it. Drops lines that take longer than [`END_WAIT`].
    pub(super) fn end(&mut self) {
        self.lines = None;
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + END_WAIT;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.shared.gives_up.store(true, Ordering::Relaxed);
        if !thread.is_finished()
            && let Some(child) = held(&self.shared.child).as_mut()
        {
            // The program no longer reads its input. Killing it unblocks the thread, which may be in a write to the program.
            let _ = child.kill();
        }
        let _ = thread.join();
    }
}

struct Feeder {
    program: Program,
    shared: Arc<Shared>,
    input: Option<ChildStdin>,
    /// Lengths of the lines most recently written to the program.
    latest: VecDeque<usize>,
    latest_bytes: usize,
}

impl Feeder {
    /// Starts the program. `again` is true for a restart: the program's output, which would repeat its first messages, is then suppressed.
    fn spawn(&mut self, again: bool) -> Result<()> {
        let says = || if again { Stdio::null() } else { Stdio::from(std::io::stderr()) };
        let mut child = Command::new(&self.program.path)
            .args(&self.program.args)
            .stdin(Stdio::piped())
            .stdout(says())
            .stderr(says())
            // Own process group, so that the program still gets all lines from the agent after Ctrl-C.
            .process_group(0)
            .spawn()
            .with_context(|| format!("failed to start {}", self.program.path.display()))?;
        self.input = child.stdin.take();
        (self.latest, self.latest_bytes) = (VecDeque::new(), 0);
        *held(&self.shared.child) = Some(child);
        Ok(())
    }

    fn feed(&mut self, lines: &Receiver<Vec<u8>>) {
        loop {
            match lines.recv_timeout(LIVES) {
                Ok(line) => {
                    self.shared.waiting.fetch_sub(line.len(), Ordering::Relaxed);
                    if self.shared.gives_up.load(Ordering::Relaxed) || !self.give(&line) {
                        self.drop_lines(1);
                        self.recover(lines);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.has_ended() {
                        self.recover(lines);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
            }
        }
    }

    fn give(&mut self, line: &[u8]) -> bool {
        let Some(input) = &mut self.input else { return false };
        if input.write_all(line).is_err() {
            return false;
        }
        self.latest.push_back(line.len());
        self.latest_bytes += line.len();
        while self.latest_bytes > PIPE_BYTES {
            self.latest_bytes -= self.latest.pop_front().unwrap_or(self.latest_bytes);
        }
        true
    }

    fn has_ended(&self) -> bool {
        held(&self.shared.child).as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn drop_lines(&self, count: u64) {
        self.shared.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts as dropped the lines that the program left unread in the pipe.
    fn count_unread(&mut self) {
        let Some(input) = self.input.take() else { return };
        let mut unread = rustix::io::ioctl_fionread(&input).unwrap_or(0);
        while unread > 0 {
            let Some(length) = self.latest.pop_back() else { break };
            unread = unread.saturating_sub(length as u64);
            self.drop_lines(1);
        }
    }

    /// Handles an unexpected end of the program: drops the queued lines, and restarts the program until it keeps running.
    fn recover(&mut self, lines: &Receiver<Vec<u8>>) {
        self.count_unread();
        let mut status = String::new();
        let ended = held(&self.shared.child).take();
        if let Some(mut child) = ended {
            // The program has closed its input, but may still be running.
            let _ = child.kill();
            status = child.wait().map(|status| format!(" ({status})")).unwrap_or_default();
        }
        let name = self.program.path.file_name().unwrap_or_default().to_string_lossy();
        let trouble = format!("{name} has ended{status}: does an ldmsd run at {} and accept it?", self.program.daemon);
        *held(&self.shared.trouble) = Some(trouble);
        while !self.shared.gives_up.load(Ordering::Relaxed) {
            if self.drop_until(lines, Instant::now() + AGAIN) {
                return;
            }
            let stays = self.spawn(true).is_ok() && {
                let over = self.drop_until(lines, Instant::now() + LIVES);
                !over && !self.has_ended()
            };
            if stays {
                break;
            }
        }
        *held(&self.shared.trouble) = None;
    }

    /// Drops lines that arrive before `until`; returns true if no more lines will arrive.
    fn drop_until(&self, lines: &Receiver<Vec<u8>>, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) => {
                    self.shared.waiting.fetch_sub(line.len(), Ordering::Relaxed);
                    self.drop_lines(1);
                }
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    /// Ends the program after the last line: closes its input, lets it send the rest, and waits for its exit.
    fn finish(&mut self) {
        let until = Instant::now() + END_WAIT;
        // Closes the program's input.
        self.input = None;
        while !self.has_ended() && Instant::now() < until && !self.shared.gives_up.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        let ended = held(&self.shared.child).take();
        if let Some(mut child) = ended {
            let _ = child.kill();
            // After a failure, all of the latest lines count as lost: nobody knows which of them the program sent.
            if !child.wait().is_ok_and(|status| status.success()) {
                self.drop_lines(self.latest.len() as u64);
            }
        }
    }
}
