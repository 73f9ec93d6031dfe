//! Command `generate`: man pages and shell completions, generated from the command line definitions, so that they are always up to date.

use crate::exit::Exit;
use crate::progress::say;
use crate::written::{Ours, Target};
use anyhow::{Context, Result};
use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Options of `generate`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Target directory, for share/man/man1, share/bash-completion/completions, share/zsh/site-functions and
    /// share/fish/vendor_completions.d; existing files are replaced
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Supported shells: (shell, directory of completions, prefix of the file name, suffix of the file name).
const SHELLS: [(Shell, &str, &str, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions", "", ""),
    (Shell::Zsh, "share/zsh/site-functions", "_", ""),
    (Shell::Fish, "share/fish/vendor_completions.d", "", ".fish"),
];

/// Writes all man pages and shell completions of this program and of `dxt-run`; `analyzer` is the command line definition of this program.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn generate(args: &Args, analyzer: Command) -> Result<Exit> {
    let mut written = 0_usize;
    for mut command in [analyzer, dxt_run::options::Options::command()] {
        command = command.disable_help_subcommand(true);
        let man = args.directory.join("share/man/man1");
        written += pages(&command, &man)?;
        let name = command.get_name().to_owned();
        for (shell, directory, before, behind) in SHELLS {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, &name, &mut text);
            write(&args.directory.join(directory), &format!("{before}{name}{behind}"), &text)?;
            written += 1;
        }
    }
    say!("wrote {written} files below {}", args.directory.join("share").display());
    Ok(Exit::Fine)
}

/// Writes the man pages of a command and its subcommands, named `program-command.1`; returns the number of pages.
fn pages(command: &Command, directory: &Path) -> Result<usize> {
    let mut command = command.clone();
    command.build();
    let name = command.get_name().to_owned();
    let mut count = 1;
    page(&command, directory, &name)?;
    for subcommand in command.get_subcommands() {
        let full = format!("{name}-{}", subcommand.get_name());
        // The page's name is the word that users type after `man`.
        page(&subcommand.clone().display_name(full.clone()), directory, &full)?;
        count += 1;
    }
    Ok(count)
}

fn page(command: &Command, directory: &Path, name: &str) -> Result<()> {
    let mut text = Vec::new();
    // Text below the options in the help: examples, or the exit codes.
    let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let without = command.clone().after_help(Resettable::Reset);
    let man = clap_mangen::Man::new(without).title(name.to_uppercase()).manual("DXT tracer");
    man.render(&mut text).with_context(|| format!("failed to make the page of {name}"))?;
    text.extend_from_slice(section(&below).as_bytes());
    write(directory, &format!("{name}.1"), &text)
}

/// Formats a help text that begins with `Title:` as a man page section. Later lines are copied verbatim: commands must not be filled or hyphenated.
fn section(text: &str) -> String {
    let escaped = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
        // Escapes a dot at the start of a line, which would begin a roff(7) command.
        if line.starts_with('.') { format!("\\&{line}\n") } else { format!("{line}\n") }
    };
    let titled = |title: &str, body: &str| format!(".SH {}\n{body}", title.to_uppercase());
    match (text.split_once(":\n"), text.split_once(": ")) {
        (Some((title, lines)), _) => {
            titled(title, &format!(".nf\n{}.fi\n", lines.lines().map(escaped).collect::<String>()))
        }
        (None, Some((title, text))) => titled(title, &escaped(text)),
        (None, None) => escaped(text),
    }
}

fn write(directory: &Path, name: &str, text: &[u8]) -> Result<()> {
    let path = directory.join(name);
    std::fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
    Target::new(&path, Ours::Never, true).stream(|out| Ok(out.write_all(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_there_and_name_the_options() {
        let directory = tempfile::tempdir().unwrap();
        let args = Args { directory: directory.path().to_owned() };
        let analyzer =
            Command::new("dxt-analyze").subcommand(Command::new("summary").arg(clap::Arg::new("top").long("top")));
        generate(&args, analyzer).unwrap();
        let read = |name: &str| std::fs::read_to_string(directory.path().join("share").join(name)).unwrap();
        assert!(read("man/man1/dxt-analyze.1").contains("dxt\\-analyze\\-summary(1)"));
        assert!(read("man/man1/dxt-analyze-summary.1").contains("\\-\\-top"));
        for name in ["bash-completion/completions/dxt-analyze", "zsh/site-functions/_dxt-analyze"] {
            assert!(read(name).contains("--top"), "{name}");
        }
        assert!(read("fish/vendor_completions.d/dxt-analyze.fish").contains("-l top"));
        assert!(read("bash-completion/completions/dxt-run").contains("--hints"));
        let page = read("man/man1/dxt-run.1");
        assert!(page.contains("\\-\\-hints") && !page.contains("EXTRA"), "{page}");
        // Commands are shown as typed, one per line.
        assert!(page.contains(".SH EXAMPLES\n.nf\n  dxt\\-run \\-o traces \\-\\- mpirun \\-n 4 ./app\n"), "{page}");
    }
}
