//! Checks before the run that the tracer's library can be loaded on this machine and accepts the settings, by running the library.

use crate::settings::Settings;
use crate::texts::print_error;
use std::path::Path;

/// Result of checking the tracer's library and the settings.
pub(crate) enum Verdict {
    /// The tracer's library can be loaded and accepts the settings.
    Fine,
    /// The tracer rejects the settings and has reported why.
    Refused,
    /// The dynamic linker cannot load the tracer's library, for this reason.
    CannotLoad(String),
}

/// Runs the tracer to check the settings for the recording mode `mode` (DXT_ENABLE), since only the tracer knows the rules, and prints the
/// tracer's messages.
pub(crate) fn ask(settings: &Settings, mode: &str, library: &Path) -> Verdict {
    let (loads, said) = probe(|command| {
        command.envs(settings.0.iter().map(|(name, value)| (name, value))).env("DXT_ENABLE", format!("check:{mode}"));
    });
    let refuses = |line: &&str| line.contains("cannot be preloaded") && line.contains(&*library.to_string_lossy());
    if !loads || said.lines().any(|line| refuses(&line)) {
        // If the program does not run without the library either, the library is not the cause.
        if probe(|command| {
            command.env_remove("LD_PRELOAD");
        })
        .0
        {
            let why = said.lines().find(refuses).or_else(|| said.lines().last()).unwrap_or("no reason given");
            let why = why.split_once(": ").map_or(why, |(_, why)| why);
            return Verdict::CannotLoad(why.to_owned());
        }
    }
    let mut verdict = Verdict::Fine;
    for line in said.lines().filter_map(|line| line.strip_prefix("dxt: ")) {
        print_error(line);
        if line.contains(": not tracing") {
            verdict = Verdict::Refused;
        }
    }
    verdict
}

/// Argument with which dxt-run exits at once, to serve as the program with which the library is tested.
pub const PROBE: &str = "--end-at-once";

/// Runs dxt-run itself as a program that does nothing. Returns true if it could run with the variables that `set` adds, and its output on
/// standard error.
fn probe(set: impl Fn(&mut std::process::Command)) -> (bool, String) {
    let program = std::env::current_exe().unwrap_or_else(|_| "true".into());
    let mut command = std::process::Command::new(program);
    command.arg(PROBE).stdin(std::process::Stdio::null());
    set(&mut command);
    command.output().map_or_else(
        |_| (false, String::new()),
        |output| (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()),
    )
}
