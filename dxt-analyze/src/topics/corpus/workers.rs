//! Worker processes that read jobs. One worker reads jobs for all threads. If it dies without an answer, one of its current jobs is to
//! blame: each of these jobs is read again by a worker of its own, and a job that kills that worker as well is skipped.

use super::Args;
use super::worker::{Answer, Asked, READY, Reading};
use crate::load::corpus::{JobFiles, LeftOut};
use crate::thresholds::Thresholds;
use anyhow::{Context, Result, anyhow, ensure};
use rustc_hash::FxHashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Number of bytes that are kept from the end of a worker's standard error.
const LAST_WORDS: usize = 4096;
/// Maximum number of characters of a worker's standard error that are reported.
const QUOTED: usize = 300;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(super) struct Workers {
    command: Vec<OsString>,
    /// Worker shared by all threads; `None` until it is started.
    shared: Mutex<Option<Arc<Worker>>>,
    /// Reader in this process, used if no worker can be started.
    here: Reading,
}

impl Workers {
    /// Prepares workers with the options of the command line; none is started yet.
    ///
    /// # Errors
    /// Fails if the thresholds cannot be read.
    pub(super) fn new(args: &Args) -> Result<Self> {
        let here = reading(args)?;
        let threads = rayon::current_num_threads().to_string();
        let mut command: Vec<OsString> = ["--threads", &threads, "corpus", "--worker"].map(OsString::from).into();
        command.extend(args.no_findings.then(|| "--no-findings".into()));
        command.extend(args.output.is_some().then(|| "--worker-files".into()));
        command.extend(args.thresholds.iter().flat_map(|path| ["--thresholds".into(), path.into()]));
        // The argument is required but has no effect: jobs arrive on the worker's standard input.
        command.push(".".into());
        Ok(Self { command, shared: Mutex::new(None), here })
    }

    pub(super) fn read(&self, number: u64, job: &JobFiles) -> Answer {
        let Ok(worker) = self.shared() else { return self.here.one(job) };
        if let Ok(answer) = worker.ask(number, job) {
            return answer;
        }
        self.forget(&worker);
        drop(worker);
        let alone = || -> Result<Answer> {
            let mut worker = Worker::new(&self.command, Stdio::piped())?;
            worker.ask(number, job).map_err(|_| worker.why_it_ended())
        };
        let first = job.paths.first().map(PathBuf::as_path).unwrap_or(Path::new(""));
        alone().unwrap_or_else(|error| Err(LeftOut::new(first, &error)))
    }

    pub(super) const fn thresholds(&self) -> &Thresholds {
        self.here.thresholds()
    }

    fn shared(&self) -> Result<Arc<Worker>> {
        let mut shared = lock(&self.shared);
        if let Some(worker) = shared.as_ref() {
            return Ok(Arc::clone(worker));
        }
        let worker = Arc::new(Worker::new(&self.command, Stdio::null())?);
        *shared = Some(Arc::clone(&worker));
        Ok(worker)
    }

    /// Drops a worker that has died, unless another thread has replaced it already. The next job starts a new worker.
    fn forget(&self, ended: &Arc<Worker>) {
        lock(&self.shared).take_if(|worker| Arc::ptr_eq(worker, ended));
    }
}

/// Returns a reader of jobs with the options of the command line.
pub(super) fn reading(args: &Args) -> Result<Reading> {
    let thresholds = crate::session::thresholds(args.thresholds.as_deref())?;
    Ok(Reading::new(thresholds, !args.no_findings, args.output.is_some() || args.worker_files))
}

/// Threads that wait for a worker's answer, by job number; `None` if no more answers will arrive.
type Waiting = Arc<Mutex<Option<FxHashMap<u64, Sender<String>>>>>;

/// Worker process that reads jobs.
#[derive(Debug)]
struct Worker {
    child: Child,
    /// Standard input of the worker; `None` once it is closed.
    questions: Mutex<Option<ChildStdin>>,
    waiting: Waiting,
    listener: Option<JoinHandle<()>>,
    /// Thread that drains the worker's standard error, so that the worker never blocks on writing to it.
    last_words: Option<JoinHandle<String>>,
}

impl Worker {
    fn new(command: &[OsString], errors: Stdio) -> Result<Self> {
        // `/proc/self/exe` is the executable of this process, even if another file now has its name.
        let mut child = Command::new("/proc/self/exe")
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("failed to start a second process of dxt-analyze, which reads jobs")?;
        let questions = Mutex::new(child.stdin.take());
        let answers =
            child.stdout.take().context("failed to read from a second process of dxt-analyze, which reads jobs")?;
        let waiting: Waiting = Arc::new(Mutex::new(Some(FxHashMap::default())));
        let last_words = child.stderr.take().map(|errors| std::thread::spawn(|| last_words(errors)));
        let mut worker = Self { child, questions, waiting, listener: None, last_words };
        let mut answers = BufReader::new(answers);
        let mut first = String::new();
        answers
            .read_line(&mut first)
            .context("failed to read from a second process of dxt-analyze, which reads jobs")?;
        ensure!(first.trim_end() == READY, "a second process of dxt-analyze, which reads jobs, does not answer");
        let waiting = Arc::clone(&worker.waiting);
        worker.listener = Some(std::thread::spawn(move || listen(answers, &waiting)));
        Ok(worker)
    }

    /// Asks the worker to read a job, and waits for the answer. Returns an error if the worker dies before it answers.
    fn ask(&self, number: u64, job: &JobFiles) -> Result<Answer> {
        let ended = || anyhow!("the worker has ended");
        let (sender, answer) = channel();
        lock(&self.waiting).as_mut().ok_or_else(ended)?.insert(number, sender);
        let mut line = serde_json::to_vec(&Asked::new(number, job))?;
        line.push(b'\n');
        lock(&self.questions).as_mut().ok_or_else(ended)?.write_all(&line)?;
        let mut answer: Answer = serde_json::from_str(&answer.recv()?)?;
        if let Ok(done) = &mut answer {
            done.row.restore();
        }
        Ok(answer)
    }

    /// Waits for the end of the dead worker, and returns the reason for its death.
    fn why_it_ended(&mut self) -> anyhow::Error {
        lock(&self.questions).take();
        let status = self.child.wait();
        let said = self.last_words.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let killed = status.as_ref().is_ok_and(|status| status.signal() == Some(9));
        let how = status.map_or_else(|error| error.to_string(), |status| ended_by(status).to_string());
        let why = match (killed, said.contains("memory allocation of")) {
            (true, _) => "failed to analyze the job: the process was killed, perhaps because memory was used up",
            (_, true) => "failed to analyze the job: memory was used up",
            _ => "failed to analyze the job: a defect of dxt-analyze, please report it",
        };
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        anyhow!("{why} ({how}){said}")
    }
}

fn ended_by(status: ExitStatus) -> ExitStatus {
    // The core-dump flag is of no interest to users, so it is removed.
    ExitStatus::from_raw(status.into_raw() & !0x80)
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Closing its standard input ends the worker, and so the listening thread.
        lock(&self.questions).take();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        } else {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Passes the worker's answers to the waiting threads, until the worker ends.
fn listen(answers: impl BufRead, waiting: &Waiting) {
    for line in answers.lines().map_while(Result::ok) {
        let Some((number, answer)) = line.split_once(' ') else { break };
        let Ok(number) = number.parse::<u64>() else { break };
        let sender = lock(waiting).as_mut().and_then(|waiting| waiting.remove(&number));
        if let Some(sender) = sender {
            let _ = sender.send(answer.to_owned());
        }
    }
    // Removing the map tells the remaining threads that the worker has ended.
    lock(waiting).take();
}

/// Reads a worker's standard error to its end, and returns the last part as one line.
fn last_words(mut errors: ChildStderr) -> String {
    let (mut said, mut piece) = (Vec::new(), [0; LAST_WORDS]);
    while let Ok(count @ 1..) = errors.read(&mut piece) {
        said.extend_from_slice(piece.get(..count).unwrap_or_default());
        let older = said.len().saturating_sub(LAST_WORDS);
        said.drain(..older);
    }
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("note:"));
    let line = lines.collect::<Vec<&str>>().join(" ");
    line.chars().take(QUOTED).collect()
}
