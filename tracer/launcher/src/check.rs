//! Asks the tracer's library whether it can be loaded here, and what it makes of the settings.

use crate::settings::Settings;
use crate::texts::print_error;
use std::path::Path;

/// What the tracer says of the settings, or why it cannot be loaded here.
pub(crate) enum Verdict {
    /// It can be loaded, and is content with the settings.
    Fine,
    /// It would not trace.
    Refused,
    /// The dynamic linker cannot load it.
    CannotLoad(String),
}

/// Asks the tracer itself, which alone knows its rules, and prints what it says.
pub(crate) fn ask(settings: &Settings, mode: &str, library: &Path) -> Verdict {
    let (loads, said) = probe(|command| {
        command.envs(settings.0.iter().map(|(name, value)| (name, value))).env("DXT_ENABLE", format!("check:{mode}"));
    });
    let refuses = |line: &&str| line.contains("cannot be preloaded") && line.contains(&*library.to_string_lossy());
    if !loads || said.lines().any(|line| refuses(&line)) {
        // Where nothing runs without it either, it is not the library's fault.
        if probe(|command| {
            command.env_remove("LD_PRELOAD");
        })
        .0
        {
            let why = said.lines().find(refuses).or_else(|| said.lines().last()).unwrap_or("it does not say why");
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

/// Word with which dxt-run does nothing: it is the program that the library is tried with.
pub const PROBE: &str = "--end-at-once";

/// Runs a program that does nothing; true if it could, and what was printed on standard error.
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
