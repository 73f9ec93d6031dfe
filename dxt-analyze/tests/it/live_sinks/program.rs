//! Real traced program, dd(1), with an agent that passes on its calls. The test provides dd's input.

use crate::live_sinks::server::{Server, until};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Size of each write, bytes.
pub(crate) const BLOCK: usize = 4096;

/// Traced dd(1) with its agent.
pub(crate) struct Traced {
    folder: tempfile::TempDir,
    to: Vec<String>,
    env: Vec<(String, String)>,
    agent: Option<Child>,
    dd: Option<Child>,
}

impl Traced {
    /// Starts dd and an agent with the destinations `to`.
    pub(crate) fn watched(to: &[&str]) -> Self {
        Self::watched_with(to, &[])
    }

    /// Starts dd and an agent with the destinations `to` and the environment variables `env`.
    pub(crate) fn watched_with(to: &[&str], env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let to = to.iter().map(|to| (*to).to_owned()).collect();
        let mut traced = Self { folder: tempfile::tempdir().unwrap(), to, env, agent: None, dd: None };
        traced.watch();
        traced
    }

    /// Starts a new agent that continues where the previous one ended.
    pub(crate) fn watch(&mut self) {
        let mut agent = agent();
        agent
            .arg(self.folder.path())
            .args(["--interval", "100ms", "--until-end", "--state"])
            .arg(self.folder.path().join("state"));
        agent.envs(self.env.iter().map(|(name, value)| (name, value)));
        for to in &self.to {
            agent.args(["--to", to]);
        }
        self.agent = Some(agent.spawn().expect("the agent starts"));
    }

    /// Kills the agent (SIGKILL).
    #[cfg(any(feature = "postgres", feature = "nats"))]
    pub(crate) fn kill_agent(&mut self) {
        Server(self.agent.take().unwrap()).kill();
    }

    /// Returns what other users can see of the agent (its command line), and the contents of its state file.
    #[cfg(all(feature = "live-http", feature = "postgres", feature = "nats"))]
    pub(crate) fn seen_by_others(&self) -> String {
        let number = self.agent.as_ref().unwrap().id();
        let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap();
        let state = until("the state", || std::fs::read_to_string(self.folder.path().join("state")).ok());
        format!("{} {state}", String::from_utf8_lossy(&words))
    }

    /// Returns the directory that contains dd's spool and the agent's state file.
    #[cfg(all(feature = "live-http", feature = "postgres", feature = "nats"))]
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Returns the file that dd writes.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Lets dd write `blocks` more blocks.
    pub(crate) fn write(&mut self, blocks: usize) {
        let output = self.output();
        let folder = self.folder.path();
        let dd = self.dd.get_or_insert_with(|| {
            Command::new("dd")
                .args(["bs=4096", "iflag=fullblock", "status=none"])
                .arg(format!("of={}", output.display()))
                .envs([("DXT_ENABLE", "trace"), ("DXT_JOB_ID", "job, \"of\" test")])
                .env("DXT_SPOOL", folder)
                .env("DXT_OUTPUT_DIR", folder)
                .env("LD_PRELOAD", crate::harness::library())
                .stdin(Stdio::piped())
                .spawn()
                .expect("dd starts")
        });
        dd.stdin.as_mut().unwrap().write_all(&vec![b'x'; blocks * BLOCK]).unwrap();
    }

    /// Ends dd, and waits for dd and the agent; returns the agent's messages.
    pub(crate) fn end(self) -> String {
        self.end_with(0)
    }

    /// Ends dd as [`Self::end`] does, for an agent that must exit with `code`.
    pub(crate) fn end_with(mut self, code: i32) -> String {
        let mut dd = self.dd.take().unwrap();
        drop(dd.stdin.take());
        assert!(dd.wait().unwrap().success());
        // An agent that never saw the program would wait forever.
        until("the agent's end", || self.agent.as_mut().unwrap().try_wait().unwrap());
        let output = self.agent.take().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.dd.take().into_iter().chain(self.agent.take()).for_each(|child| drop(Server(child)));
    }
}

/// Returns the command `dxt-analyze live`, without environment variables that could affect it.
pub(crate) fn agent() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    command.arg("live").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in
        ["INFLUX_TOKEN", "INFLUX_USERNAME", "INFLUX_PASSWORD", "NATS_TOKEN", "NATS_USER", "NATS_PASSWORD", "PGPASSWORD"]
    {
        command.env_remove(name);
    }
    command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
    command
}
