//! The command line of `dxt-run`, which is a script, for its man page and completions. A test holds it against what the script says.

use clap::{Arg, ArgAction, Command, ValueHint};

/// An option of the script: its short name, its long one, its value, and what it does.
type Row = (Option<char>, &'static str, Option<&'static str>, &'static str);

const OPTIONS: [Row; 17] = [
    (
        Some('o'),
        "output",
        Some("DIR"),
        "Where traces are written; made if it is absent [default: DXT_OUTPUT_DIR, or the current directory]",
    ),
    (None, "counters", None, "Keep exact counters instead of segments, in bounded memory"),
    (None, "buffer-max", Some("SIZE"), "Cap on the segment buffer of each process, such as 4M (the default) or 1G"),
    (None, "flush", Some("MODE"), "How an MPI program's trace is written: auto, collective or process"),
    (
        None,
        "config",
        Some("FILE"),
        "A site's configuration (DXT_CONFIG); its DXT_OUTPUT_DIR counts where neither -o nor the environment says otherwise",
    ),
    (None, "live", None, "Watch it while it runs: a page on 127.0.0.1, whose address is printed"),
    (
        None,
        "live-to",
        Some("WHERE"),
        "Pass calls or sums on while it runs, as dxt-analyze live --to does; may be given again",
    ),
    (
        None,
        "live-launch",
        Some("CMD"),
        "What starts the agent on each node, such as 'srun --overlap --ntasks-per-node=1'",
    ),
    (None, "hints", Some("DIR"), "Use what `dxt-analyze advise` wrote there; what is set already goes first"),
    (None, "lib", Some("FILE"), "The tracer library, if it is not where this script looks for it"),
    (None, "dry-run", None, "Say what would be set and run, and do neither"),
    (
        None,
        "link-flags",
        None,
        "Print the options that link the tracer into a static program; what it is linked with besides the C library follows, such as mpicc",
    ),
    (None, "print-preload", None, "Print the path of the tracer library, for LD_PRELOAD, and end"),
    (Some('v'), "verbose", None, "The tracer says what it writes"),
    (Some('q'), "quiet", None, "Do not say which traces were written, or that none was"),
    (Some('V'), "version", None, "Print the version and the files that would be used, and end"),
    (Some('h'), "help", None, "Print help"),
];

/// As clap would parse it.
pub(super) fn command() -> Command {
    let mut command = Command::new("dxt-run")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs a command under the tracer and says which traces it wrote")
        .long_about(
            "Runs COMMAND, for instance `mpirun -n 4 ./app`, under the tracer and says which traces it wrote. Ends as COMMAND does; with 2 \
             where it is not run, since an option or a DXT_* variable makes no sense. Each DXT_* variable of the environment counts, too.",
        )
        .disable_help_flag(true)
        .disable_version_flag(true)
        .after_help(
            "Examples:\n  dxt-run -o traces -- mpirun -n 4 ./app\n  dxt-run --counters -o traces -- srun ./app\n  \
             dxt-run --live -o traces -- mpirun -n 4 ./app\n  dxt-run --dry-run -- ./app",
        );
    for (short, long, value, help) in OPTIONS {
        let mut arg = Arg::new(long).long(long).help(help);
        if let Some(short) = short {
            arg = arg.short(short);
        }
        arg = match value {
            Some(name) => arg.value_name(name).value_hint(match name {
                "DIR" => ValueHint::DirPath,
                "FILE" => ValueHint::FilePath,
                _ => ValueHint::Other,
            }),
            None => arg.action(ArgAction::SetTrue),
        };
        if long == "flush" {
            arg = arg.value_parser(["auto", "collective", "process"]);
        }
        command = command.arg(arg);
    }
    let run = Arg::new("command").value_name("COMMAND").num_args(1..).trailing_var_arg(true).required(true);
    command.arg(run.value_hint(ValueHint::CommandWithArguments).help("What is run, with its arguments"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_script_has_the_same_options() {
        let script = include_str!("../../../../scripts/dxt-run");
        let help = script.split("<<'END'\n").nth(1).unwrap().split("\nEND\n").next().unwrap();
        let words = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        let said: BTreeSet<&str> = words
            .map(|word| &word[2..])
            .filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
            .collect();
        let here: BTreeSet<&str> = OPTIONS.iter().map(|(_, long, ..)| *long).collect();
        let others = BTreeSet::from(["overlap", "to"]);
        assert_eq!(said.difference(&others).collect::<Vec<_>>(), here.iter().collect::<Vec<_>>());
        command().debug_assert();
    }
}
