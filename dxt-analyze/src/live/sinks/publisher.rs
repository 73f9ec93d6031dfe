//! A program that is given lines on its standard input, by a thread of its own, so that nobody else waits for it. It is started again
//! when it ends; what it could not be given is counted.

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

/// Bytes of lines that may wait: some 80,000 messages.
const WAITING_BYTES: usize = 32 << 20;
/// How long new lines wait for room.
const ROOM_WAIT: Duration = Duration::from_millis(200);
/// From one start of the program to the next.
const AGAIN: Duration = Duration::from_secs(2);
/// A program that lives so long has found its daemon.
const LIVES: Duration = Duration::from_millis(500);
/// How long the program may take for what it was given, at the end.
const END_WAIT: Duration = Duration::from_secs(10);
/// How often it is looked whether it still runs.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the latest lines whose lengths are kept: no pipe holds more, unless it was told to.
const PIPE_BYTES: usize = 64 << 10;

/// What is started.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Its file.
    pub(super) path: PathBuf,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// What it talks to, for people.
    pub(super) daemon: String,
}

/// What the thread and its owner both know.
#[derive(Default)]
struct Shared {
    /// Bytes of lines that wait.
    waiting: AtomicUsize,
    dropped: AtomicU64,
    /// Nothing is to wait any more.
    gives_up: AtomicBool,
    /// Why lines are not taken at present.
    trouble: Mutex<Option<String>>,
    child: Mutex<Option<Child>>,
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program and its thread.
pub(super) struct Publisher {
    shared: Arc<Shared>,
    lines: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(program: Program) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let (lines, receiver) = channel();
        let mut feeder =
            Feeder { program, shared: Arc::clone(&shared), input: None, latest: VecDeque::new(), latest_bytes: 0 };
        feeder.spawn(false)?;
        let thread = std::thread::Builder::new().name("ldms".into()).spawn(move || feeder.feed(&receiver))?;
        Ok(Self { shared, lines: Some(lines), thread: Some(thread) })
    }

    /// Gives it lines; those without room are dropped.
    pub(super) fn publish(&self, lines: Vec<Vec<u8>>) {
        let until = Instant::now() + ROOM_WAIT;
        for line in lines {
            let has_room = || self.shared.waiting.load(Ordering::Relaxed) + line.len() <= WAITING_BYTES;
            while !has_room() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            let length = line.len();
            let fits = has_room();
            // Before it is sent: the thread takes it away.
            self.shared.waiting.fetch_add(if fits { length } else { 0 }, Ordering::Relaxed);
            if !fits || self.lines.as_ref().is_none_or(|lines| lines.send(line).is_err()) {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Lines that it was not given.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Why it takes none, if so.
    pub(super) fn trouble(&self) -> Option<String> {
        held(&self.shared.trouble).clone()
    }

    /// Lets it take what waits, and ends it; what takes too long is dropped.
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
            // It takes nothing: the thread, which may wait for it to, goes on.
            let _ = child.kill();
        }
        let _ = thread.join();
    }
}

/// The thread.
struct Feeder {
    program: Program,
    shared: Arc<Shared>,
    input: Option<ChildStdin>,
    /// Lengths of the latest lines that it was given.
    latest: VecDeque<usize>,
    latest_bytes: usize,
}

impl Feeder {
    /// Starts the program; `again` without what it says, which it said before.
    fn spawn(&mut self, again: bool) -> Result<()> {
        let says = || if again { Stdio::null() } else { Stdio::from(std::io::stderr()) };
        let mut child = Command::new(&self.program.path)
            .args(&self.program.args)
            .stdin(Stdio::piped())
            .stdout(says())
            .stderr(says())
            // A Ctrl-C is for us: it gets to the end of its lines.
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

    /// Counts what the program left in the pipe.
    fn count_unread(&mut self) {
        let Some(input) = self.input.take() else { return };
        let mut unread = rustix::io::ioctl_fionread(&input).unwrap_or(0);
        while unread > 0 {
            let Some(length) = self.latest.pop_back() else { break };
            unread = unread.saturating_sub(length as u64);
            self.drop_lines(1);
        }
    }

    /// The program has ended: drops what waits, and starts it again until it stays.
    fn recover(&mut self, lines: &Receiver<Vec<u8>>) {
        self.count_unread();
        let mut status = String::new();
        let ended = held(&self.shared.child).take();
        if let Some(mut child) = ended {
            // It has closed its input and may be about to end.
            let _ = child.kill();
            status = child.wait().map(|status| format!(" ({status})")).unwrap_or_default();
        }
        let name = self.program.path.file_name().unwrap_or_default().to_string_lossy();
        let trouble =
            format!("{name} has ended{status}: is there an ldmsd at {} that lets it in?", self.program.daemon);
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

    /// Drops what comes until a moment; true if nothing more will come.
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

    /// All lines are given: the program sends what it has and ends.
    fn finish(&mut self) {
        let until = Instant::now() + END_WAIT;
        // The end of its input.
        self.input = None;
        while !self.has_ended() && Instant::now() < until && !self.shared.gives_up.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        let ended = held(&self.shared.child).take();
        if let Some(mut child) = ended {
            let _ = child.kill();
            // Where it did not end well, nobody knows what of the latest lines it sent: all are taken for lost.
            if !child.wait().is_ok_and(|status| status.success()) {
                self.drop_lines(self.latest.len() as u64);
            }
        }
    }
}
