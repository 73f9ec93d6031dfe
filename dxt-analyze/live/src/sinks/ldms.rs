//! LDMS: sends messages in the LDMS-Darshan connector's format to a daemon, through LDMS's own publishing program. The environment
//! variables of the published connector apply.

use super::publisher::{Program, Publisher};
use super::{Sink, connector};
use crate::event::Event;
use crate::shown;
use anyhow::{Result, anyhow, bail};
use dxt_base::exit::UsageError;
use dxt_base::progress::tell;
use dxt_base::text::units::agree;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Address of an LDMS daemon and its stream, as in `--to ldms:`: transport, host, port, authentication, stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address([String; 5]);

/// Connector's environment variable and default for each part of an address.
const PARTS: [(&str, &str); 5] = [
    ("DARSHAN_LDMS_XPRT", "sock"),
    ("DARSHAN_LDMS_HOST", "localhost"),
    ("DARSHAN_LDMS_PORT", "412"),
    ("DARSHAN_LDMS_AUTH", "munge"),
    ("DARSHAN_LDMS_STREAM", "darshanConnector"),
];

/// Environment variables of the connector that select modules, and prefixes of the modules' names in messages.
const MODULES: [(&str, &str); 4] = [
    ("DARSHAN_LDMS_ENABLE_POSIX", "POSIX"),
    ("DARSHAN_LDMS_ENABLE_MPIIO", "MPIIO"),
    ("DARSHAN_LDMS_ENABLE_STDIO", "STDIO"),
    ("DARSHAN_LDMS_ENABLE_HDF5", "H5"),
];

/// Publishing programs of LDMS, newest first: name, option for the stream, and maximum bytes of a line that the program does not split.
const PROGRAMS: [(&str, &str, usize); 2] =
    [("ldms_msg_publish", "-m", usize::MAX), ("ldmsd_stream_publish", "-s", 4094)];

impl Address {
    /// Parses the text after `ldms:`. Missing parts are taken from `environment`, else from the defaults.
    pub(super) fn of(text: &str, environment: impl Fn(&str) -> Option<String>) -> Self {
        let mut given = text.split(',');
        Self(PARTS.map(|(variable, usual)| {
            let given = given.next().filter(|part| !part.is_empty()).map(str::to_owned);
            let set = || environment(variable).filter(|value| !value.is_empty());
            given.or_else(set).unwrap_or_else(|| usual.to_owned())
        }))
    }

    /// Checks the syntax of the text after `ldms:`. Fails if the text has more than five parts.
    pub(super) fn check(text: &str) -> Result<()> {
        if text.split(',').count() <= PARTS.len() {
            Ok(())
        } else {
            bail!(UsageError(format!("`{}` has more parts than XPRT,HOST,PORT,AUTH,STREAM", shown::url(text))))
        }
    }

    /// Returns the address as the user would write it, with passwords removed.
    pub(super) fn name(&self) -> String {
        format!("ldms:{}", shown::url(&self.0.join(",")))
    }

    /// Returns the command line of a publishing program that sends its standard input line by line. The input is named as a file, since the
    /// programs read lines from a file only.
    fn program(&self, path: PathBuf, stream_option: &str) -> Program {
        let [xprt, host, port, auth, stream] = &self.0;
        let options = [("-x", xprt), ("-h", host), ("-p", port), ("-a", auth), (stream_option, stream)];
        let mut args: Vec<String> =
            options.iter().flat_map(|(name, value)| [(*name).into(), (*value).clone()]).collect();
        args.extend(["-t", "json", "-f", "/dev/stdin", "-l"].map(String::from));
        Program { path, args, daemon: shown::url(&format!("{host}:{port}")) }
    }
}

/// Returns the modules whose calls are sent: those that environment variables select, or all.
fn modules(environment: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let chosen: Vec<&str> =
        MODULES.into_iter().filter(|(name, _)| environment(name).is_some()).map(|(_, module)| module).collect();
    if chosen.is_empty() || environment("DARSHAN_LDMS_ENABLE_ALL").is_some() {
        return MODULES.map(|(_, module)| module).to_vec();
    }
    chosen
}

/// Returns path, stream option and maximum line length of the first of [`PROGRAMS`] that is installed. `path` is the value of `PATH`.
fn installed(path: &str) -> Option<(PathBuf, &'static str, usize)> {
    PROGRAMS.into_iter().find_map(|(name, option, most)| {
        let found = std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| is_program(file))?;
        Some((found, option, most))
    })
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

pub(super) struct Ldms {
    address: Address,
    modules: Vec<&'static str>,
    /// True if messages are also copied to standard error.
    verbose: bool,
    publisher: Option<Publisher>,
    /// Maximum length of a line that the publishing program sends as one message, in bytes; longer lines are dropped.
    most_bytes: usize,
    too_long: u64,
    others: u64,
    /// Number of dropped events already reported to the user.
    reported: Cell<u64>,
}

impl Ldms {
    pub(super) fn new(address: Address) -> Self {
        let environment = |name: &str| std::env::var(name).ok();
        Self {
            address,
            modules: modules(environment),
            verbose: environment("DARSHAN_LDMS_VERBOSE").is_some(),
            publisher: None,
            most_bytes: usize::MAX,
            too_long: 0,
            others: 0,
            reported: Cell::new(0),
        }
    }

    fn lost(&self) -> u64 {
        self.too_long + self.publisher.as_ref().map_or(0, Publisher::dropped)
    }
}

impl Sink for Ldms {
    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        let path = std::env::var("PATH").unwrap_or_default();
        let Some((path, option, most_bytes)) = installed(&path) else {
            let names = PROGRAMS.map(|(name, ..)| name).join(" or ");
            return Err(UsageError(format!(
                "--to ldms needs {names} of LDMS, and neither is in PATH: load LDMS's module, or use --to connector:FILE"
            ))
            .into());
        };
        self.most_bytes = most_bytes;
        self.publisher = Some(Publisher::start(self.address.program(path, option))?);
        Ok(())
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        let Some(publisher) = &self.publisher else { return Err(anyhow!("it was not started")) };
        if let Some(trouble) = publisher.trouble() {
            return Err(anyhow!(trouble));
        }
        let mut lines = Vec::with_capacity(events.len());
        for event in events {
            let Some(message) = connector::message(event) else {
                self.others += 1;
                continue;
            };
            if !self.modules.iter().any(|module| message.module.starts_with(module)) {
                continue;
            }
            let mut line = serde_json::to_vec(&message)?;
            if self.verbose {
                tell(format_args!("JSON Message: {}", String::from_utf8_lossy(&line)));
            }
            line.push(b'\n');
            if line.len() > self.most_bytes {
                self.too_long += 1;
            } else {
                lines.push(line);
            }
        }
        publisher.publish(lines);
        Ok(())
    }

    fn end(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.end();
        }
    }

    fn dropped(&self) -> u64 {
        self.reported.set(self.lost());
        self.lost()
    }

    fn other_operations(&self) -> u64 {
        self.others
    }
}

impl Drop for Ldms {
    /// Reports the events lost after the last regular report.
    fn drop(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.end();
        }
        let late = self.lost().saturating_sub(self.reported.get());
        if late > 0 {
            let name = self.address.name();
            tell(format_args!(
                "dxt-analyze: {name}: {late} more {} dropped at the end",
                agree(late, "event was", "events were")
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_is_given_then_what_is_set_then_what_is_usual() {
        let set = |name: &str| match name {
            "DARSHAN_LDMS_HOST" => Some("n7".to_owned()),
            "DARSHAN_LDMS_PORT" => Some("10444".to_owned()),
            "DARSHAN_LDMS_AUTH" => Some(String::new()),
            _ => None,
        };
        assert_eq!(Address::of("", set).name(), "ldms:sock,n7,10444,munge,darshanConnector");
        assert_eq!(Address::of(",,411,none", set).name(), "ldms:sock,n7,411,none,darshanConnector");
        assert_eq!(Address::of("rdma,h,1,ovis,s", |_| None).name(), "ldms:rdma,h,1,ovis,s");
        assert!(Address::check("a,b,c,d,e").is_ok() && Address::check("a,b,c,d,e,f").is_err());
        let program = Address::of("", |_| None).program("p".into(), "-m");
        assert_eq!(
            program.args.join(" "),
            "-x sock -h localhost -p 412 -a munge -m darshanConnector -t json -f /dev/stdin -l"
        );
    }

    #[test]
    fn modules_are_those_that_are_named_or_all() {
        let set = |names: &'static [&str]| modules(|name| names.contains(&name).then(String::new));
        assert_eq!(set(&[]).len(), 4);
        assert_eq!(set(&["DARSHAN_LDMS_ENABLE_STDIO", "DARSHAN_LDMS_ENABLE_HDF5"]), ["STDIO", "H5"]);
        assert_eq!(set(&["DARSHAN_LDMS_ENABLE_STDIO", "DARSHAN_LDMS_ENABLE_ALL"]).len(), 4);
    }
}
