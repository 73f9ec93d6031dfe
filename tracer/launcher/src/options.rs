//! Command-line options of dxt-run, parsed by clap; `dxt-analyze generate` makes the man page and the completions from them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

const ABOUT: &str =
    "Runs a command, for instance `mpirun -n 4 ./app`, under the tracer and reports the traces it wrote";

const ENDING: &str = "\
Exit code: that of COMMAND (if a signal killed COMMAND, dxt-run ends by the same
signal); 2 if an option or a DXT_* variable is invalid: COMMAND is not run.
If the tracer library cannot be loaded, COMMAND runs untraced.";

const EXAMPLES: &str = "\
Examples:
  dxt-run -o traces -- mpirun -n 4 ./app
  dxt-run --counters -o traces -- srun ./app
  dxt-run --live -o traces -- mpirun -n 4 ./app
  dxt-run --dry-run -- ./app    # print the settings, run nothing";

const USAGE: &str = "dxt-run [options] [--] COMMAND [ARGUMENT...]";

/// Command line of dxt-run.
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
    /// Directory for traces; created if absent (default: DXT_OUTPUT_DIR or the current directory)
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, allow_hyphen_values = true)]
    pub output: Option<OsString>,
    /// Record exact counters (calls, bytes, time, ... per file and operation) instead of single calls, in bounded memory (docs/counters.md)
    #[arg(long)]
    pub counters: bool,
    /// Maximum size of the buffer of recorded calls in each process, such as 4M (default) or 1G
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub buffer_max: Option<OsString>,
    /// Form of an MPI program's trace: collective (one file of all ranks), process (a file per process) or auto (default: one file if
    /// possible)
    #[arg(long, value_name = "MODE", allow_hyphen_values = true)]
    pub flush: Option<OsString>,
    /// Configuration file of the site (DXT_CONFIG); -o and the environment override its DXT_OUTPUT_DIR
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, allow_hyphen_values = true)]
    pub config: Option<PathBuf>,
    /// Show the running job on a web page on 127.0.0.1, whose address is printed (docs/live.md)
    #[arg(long)]
    pub live: bool,
    /// Destination of calls, or of their sums, during the run, as for `dxt-analyze live --to`; may be given again; %h in file names stands
    /// for the node
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true)]
    pub live_to: Vec<OsString>,
    /// Command that starts one `dxt-analyze live` per node (default: 'srun --overlap --ntasks-per-node=1' on several Slurm nodes, else one
    /// here)
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    pub live_launch: Option<OsString>,
    /// Use the MPI-IO hints and settings that `dxt-analyze advise` wrote to DIR (docs/advice.md); settings in the environment or in COMMAND
    /// take precedence
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, allow_hyphen_values = true)]
    pub hints: Option<PathBuf>,
    /// Path of the tracer library, if dxt-run does not find it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, allow_hyphen_values = true)]
    pub lib: Option<PathBuf>,
    /// Print the settings and the command as shell lines, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the linker options that put the tracer into a static program, and exit. Name the libraries to trace besides libc: as -lhdf5, or
    /// by their compiler wrapper, such as mpicc (docs/static.md)
    #[arg(long, value_name = "LIBRARY|COMPILER", num_args = 0.., allow_hyphen_values = true)]
    pub link_flags: Option<Vec<OsString>>,
    /// Print the path of the tracer library, for LD_PRELOAD, and exit
    #[arg(long)]
    pub print_preload: bool,
    /// Let the tracer report each file that it writes
    #[arg(short, long)]
    pub verbose: bool,
    /// Do not report which traces were written, or that there is none
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the version and the files that would be used, and exit
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Print this help
    #[arg(short, long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Command and its arguments; begins with the first word that is not an option
    #[arg(value_name = "COMMAND", trailing_var_arg = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments, hide = true)]
    pub command: Vec<OsString>,
}

impl Options {
    /// Parses the command line. On error, returns the text to print, and true if it goes to standard output because the user asked for it
    /// (help).
    ///
    /// # Errors
    /// Returns an error if the command line is invalid or asks for help.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, (String, bool)> {
        let options = Self::try_parse_from(words).map_err(|error| reported(&error))?;
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

fn reported(error: &clap::Error) -> (String, bool) {
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
        // Words after --link-flags belong to the linker.
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
