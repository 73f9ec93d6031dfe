//! The command line. clap reads it; `dxt-analyze generate` makes the man page and the completions of it.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

const ABOUT: &str =
    "Runs a command, for instance `mpirun -n 4 ./app`, under the tracer and reports the traces it wrote";

const ENDING: &str = "\
Ends as COMMAND does, by the same signal if one ended it; with 2, and without
having run it, where an option or a DXT_* variable makes no sense. Where the
library cannot be loaded, COMMAND runs without it.";

const EXAMPLES: &str = "\
Examples:
  dxt-run -o traces -- mpirun -n 4 ./app
  dxt-run --counters -o traces -- srun ./app
  dxt-run --live -o traces -- mpirun -n 4 ./app
  dxt-run --dry-run -- ./app    # what it would set";

const USAGE: &str = "dxt-run [options] [--] COMMAND [ARGUMENT...]";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "dxt-run",
    override_usage = USAGE,
    about = ABOUT,
    long_about = format!("{ABOUT}. {ENDING}"),
    help_template = format!("usage: {{usage}}

{{about}}.

{{options}}

{ENDING}{{after-help}}"),
    after_help = EXAMPLES,
    term_width = 80,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Options {
    /// Where traces are written; made if absent (default: DXT_OUTPUT_DIR or the current directory)
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, allow_hyphen_values = true)]
    pub output: Option<OsString>,
    /// Keep exact counters instead of segments, in bounded memory (docs/counters.md)
    #[arg(long)]
    pub counters: bool,
    /// Cap on the segment buffer of each process, such as 4M (default) or 1G
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub buffer_max: Option<OsString>,
    /// How an MPI program's trace is written: auto, collective or process
    #[arg(long, value_name = "MODE", allow_hyphen_values = true)]
    pub flush: Option<OsString>,
    /// A site's configuration (DXT_CONFIG); its DXT_OUTPUT_DIR counts where neither -o nor the environment says otherwise
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, allow_hyphen_values = true)]
    pub config: Option<PathBuf>,
    /// Watch it while it runs: a page on 127.0.0.1, whose address is printed (docs/live.md)
    #[arg(long)]
    pub live: bool,
    /// Pass calls or sums on while it runs, as dxt-analyze live --to does; may be given again. In the names of files, %h is the node
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub live_to: Vec<OsString>,
    /// Starts the agent on each node, such as 'srun --overlap --ntasks-per-node=1' (of srun's jobs on several nodes: that is the
    /// default; else one agent, on this node)
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub live_launch: Option<OsString>,
    /// Use what `dxt-analyze advise` wrote there (docs/advice.md); what is set already goes first
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, allow_hyphen_values = true)]
    pub hints: Option<PathBuf>,
    /// The tracer library, if it is not where dxt-run looks for it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, allow_hyphen_values = true)]
    pub lib: Option<PathBuf>,
    /// Print what would be set and run, as lines for a shell, and do neither
    #[arg(long)]
    pub dry_run: bool,
    /// Print the options that link the tracer into a static program, and end. What it is linked with besides the C library follows,
    /// such as mpicc or -lhdf5 (docs/static.md)
    #[arg(long, value_name = "LIBRARY|COMPILER", num_args = 0.., allow_hyphen_values = true)]
    pub link_flags: Option<Vec<OsString>>,
    /// Print the path of the tracer library, for LD_PRELOAD, and end
    #[arg(long)]
    pub print_preload: bool,
    /// Let the tracer report what it writes
    #[arg(short, long)]
    pub verbose: bool,
    /// Do not report which traces were written, or that none was
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the version and the files that would be used, and end
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print this text
    #[arg(short, long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// The command and its arguments: the first word that is no option begins it
    #[arg(value_name = "COMMAND", trailing_var_arg = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments, hide = true)]
    pub command: Vec<OsString>,
}

impl Options {
    /// Reads the command line; `Err` is the text to print and whether it goes to standard output, where the user asked for it.
    ///
    /// # Errors
    /// If it makes no sense, or asks for help.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, (String, bool)> {
        let options = Self::try_parse_from(words).map_err(|error| told(&error))?;
        let runs_nothing = options.version || options.print_preload || options.link_flags.is_some();
        if options.command.is_empty() && !runs_nothing {
            return Err((help(), false));
        }
        Ok(options)
    }
}

fn help() -> String {
    <Options as clap::CommandFactory>::command().render_help().to_string()
}

fn told(error: &clap::Error) -> (String, bool) {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => name.split([' ', '=']).next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::DisplayHelp => (help(), true),
        ErrorKind::UnknownArgument => {
            (format!("dxt-run: unknown option {}; see dxt-run --help\n", named(ContextKind::InvalidArg)), false)
        }
        ErrorKind::InvalidValue => (format!("dxt-run: {} needs a value\n", named(ContextKind::InvalidArg)), false),
        _ => (error.to_string().replacen("error", "dxt-run", 1), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, (String, bool)> {
        Options::read(std::iter::once("dxt-run").chain(words.iter().copied()).map(OsString::from))
    }

    #[test]
    fn first_word_that_is_no_option_begins_the_command() {
        for words in [&["-o", "d", "app", "--help", "-o", "x"][..], &["--output=d", "--", "app", "--help", "-o", "x"]] {
            let options = read(words).unwrap();
            assert_eq!(options.output.as_deref(), Some("d".as_ref()));
            assert_eq!(options.command, ["app", "--help", "-o", "x"]);
        }
        assert_eq!(read(&["--", "-odd"]).unwrap().command, ["-odd"]);
        assert_eq!(read(&["-o", "-x", "app"]).unwrap().output.as_deref(), Some("-x".as_ref()));
        assert_eq!(read(&["app", "--", "x"]).unwrap().command, ["app", "--", "x"]);
        // What follows is the linker's.
        let linked = read(&["--lib", "l", "--link-flags", "-lz", "mpicc", "-o", "--"]).unwrap();
        assert_eq!(linked.link_flags.unwrap()[..3], ["-lz", "mpicc", "-o"]);
        assert_eq!(read(&["--link-flags"]).unwrap().link_flags, Some(vec![]));
    }

    #[test]
    fn wrong_options_are_named() {
        let said = |words| read(words).unwrap_err();
        assert_eq!(said(&["--bogus"]), ("dxt-run: unknown option --bogus; see dxt-run --help\n".into(), false));
        assert_eq!(said(&["--output"]), ("dxt-run: --output needs a value\n".into(), false));
        assert!(said(&[]).0.starts_with("usage: dxt-run [options]") && !said(&["-v"]).1);
        assert!(said(&["-h"]).1);
    }
}
