//! Executes the command line: runs a command, writes its report, and derives the exit code from the result.

use crate::cli::args::{Cli, Command, command};
use crate::exit::Exit;
use crate::render::{self, Format, Style};
use crate::{export, live, page, progress, serve, tools, topics};
use anyhow::{Context, Result};
use std::io::{BufWriter, IsTerminal, Write};

/// Executes the command line; results go to standard output.
///
/// # Errors
/// Returns any failure; it contains a [`crate::exit::UsageError`] if the command line is wrong.
pub fn run(cli: &Cli) -> Result<Exit> {
    if cli.quiet {
        progress::be_quiet();
    }
    cli.mode.into_iter().for_each(crate::written::ask_for);
    // Fails only if a thread pool already exists, as in tests; the existing pool is then used.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(cli.threads).build_global();
    if let Command::Topic(topics::Command::Corpus(args)) = &cli.subcommand
        && args.worker
    {
        // The threads of `corpus` write their results themselves.
        return topics::corpus::work(args);
    }
    let color = cli.color.decide();
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    let exit = match &cli.subcommand {
        Command::Topic(subcommand) => subcommand.run(&style(Format::Table, None, color), &mut out, &page::of_view),
        Command::Report(args) => page::report(args, &style(Format::Table, None, color), &mut out),
        // `live` and `serve` write their output themselves, while running and from other threads.
        Command::Live(args) => {
            drop(out);
            return live::live(args);
        }
        Command::Serve(args) => {
            drop(out);
            return serve::serve(args);
        }
        Command::Convert(args) => tools::convert::convert(args),
        Command::Generate(args) => tools::generate::generate(args, command()),
        Command::Dump(args) => tools::dump::dump(args, &mut out),
        Command::Export(args) => export::export(args, &mut out),
        Command::Expand(args) => tools::expand::expand(args, &mut out),
        Command::Explain(args) => {
            let style = style(args.format, None, color);
            render::write(&tools::explain::explain(args)?, &style, &mut out).map(|()| Exit::Fine)
        }
        Command::Advise(args) => {
            let report = tools::advise::advise(args)?;
            let style = style(args.format, None, color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Command::Patterns(args) => {
            let report = tools::patterns::patterns(args)?;
            let style = style(args.format, None, color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Command::Check(args) => {
            let report = tools::check::check(args)?;
            let style = style(args.format, args.table.clone(), color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
        Command::Recover(args) => {
            let report = tools::recover::view::recover(args)?;
            let style = style(args.format, None, color);
            render::write(&report, &style, &mut out).map(|()| report.exit())
        }
    }?;
    out.flush().context("failed to write to standard output")?;
    Ok(exit)
}

fn style(format: Format, table: Option<String>, color: bool) -> Style {
    Style { format, color, width: terminal_width(), table }
}

/// Returns the width of the terminal in columns; `None` if standard output is no terminal.
fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    comfy_table::Table::new().width().map(usize::from).filter(|&width| width > 0)
}
