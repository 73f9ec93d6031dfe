//! A real program under the library, watched by an agent that passes on what it does: dd(1), whose input the test gives.

use crate::live_sinks::server::{Server, until};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Bytes of each write.
pub(crate) const BLOCK: usize = 4096;

/// Where it all is.
pub(crate) struct Traced {
    folder: tempfile::TempDir,
    to: Vec<String>,
    env: Vec<(String, String)>,
    agent: Option<Child>,
    dd: Option<Child>,
}

impl Traced {
    /// Begins to watch, with these destinations.
    pub(crate) fn watched(to: &[&str]) -> Self {
        Self::watched_with(to, &[])
    }

    /// The same, by an agent with this environment.
    pub(crate) fn watched_with(to: &[&str], env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let to = to.iter().map(|to| (*to).to_owned()).collect();
        let mut traced = Self { folder: tempfile::tempdir().unwrap(), to, env, agent: None, dd: None };
        traced.watch();
        traced
    }

    /// Starts an agent, which goes on where the one before it had come.
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

    /// Kills the agent, as it may happen at any time.
    #[cfg(any(feature = "postgres", feature = "nats"))]
    pub(crate) fn kill_agent(&mut self) {
        Server(self.agent.take().unwrap()).kill();
    }

    /// What others on this machine and who reads the state see of the agent.
    #[cfg(all(feature = "live-http", feature = "postgres", feature = "nats"))]
    pub(crate) fn seen_by_others(&self) -> String {
        let number = self.agent.as_ref().unwrap().id();
        let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap();
        let state = until("the state", || std::fs::read_to_string(self.folder.path().join("state")).ok());
        format!("{} {state}", String::from_utf8_lossy(&words))
    }

    /// Where its spool and the state are.
    #[cfg(all(feature = "live-http", feature = "postgres", feature = "nats"))]
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The file that is written.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Lets the program write so many blocks more.
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

    /// Ends the program, and waits for it and for the agent; what the agent said.
    pub(crate) fn end(self) -> String {
        self.end_with(0)
    }

    /// The same, of an agent that ends with another exit code.
    pub(crate) fn end_with(mut self, code: i32) -> String {
        let mut dd = self.dd.take().unwrap();
        drop(dd.stdin.take());
        assert!(dd.wait().unwrap().success());
        // One that saw nothing of the program waits for it for ever.
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

/// `dxt-analyze live`, without what this machine's settings would change.
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
