//! Examples at the end of each command's help: common uses of the command, each with its purpose.

/// Command and its examples as pairs: arguments after `dxt-analyze`, and purpose of the example.
type OfVerb = (&'static str, &'static [(&'static str, &'static str)]);

pub(super) const EXAMPLES: [OfVerb; 27] = [
    (
        "summary",
        &[
            ("summary traces", "the job whose traces are in a directory"),
            ("summary --files '*.h5' --ranks 0:7 traces", "some files of some ranks"),
            ("summary --format json traces", "for scripts"),
        ],
    ),
    ("ledger", &[("ledger traces", "where the run time went"), ("ledger --top 32 traces", "with more processes")]),
    (
        "causes",
        &[
            ("causes traces", "causes of slow I/O, with seconds"),
            ("causes --layout stripes.txt traces", "with storage targets, from `lfs getstripe -y`"),
        ],
    ),
    (
        "outliers",
        &[
            ("outliers traces", "calls that are slower than their peers"),
            ("outliers --by rank --windows phases traces", "ranks, in each phase"),
            ("outliers --by ost --layout stripes.txt traces", "storage targets"),
        ],
    ),
    (
        "stripes",
        &[
            ("stripes traces", "alignment of accesses to stripes"),
            ("stripes --what-if size=16M,count=8 traces", "the same with another layout"),
            ("stripes --recommend traces", "the best stripe size and count"),
        ],
    ),
    (
        "counters",
        &[
            ("counters traces", "sizes, patterns and times by file"),
            ("counters --top 100 --format csv traces", "for a spreadsheet"),
        ],
    ),
    (
        "layers",
        &[
            ("layers traces", "calls inside of MPI-IO and HDF5 calls"),
            ("layers --files '*.h5' traces", "only for some files"),
        ],
    ),
    (
        "sites",
        &[
            ("sites traces", "functions and lines that make the calls"),
            ("sites --debug-dir symbols traces", "with debug information that lies apart"),
            ("sites --stacks collapsed traces", "call stacks, for flame graph tools"),
        ],
    ),
    (
        "checks",
        &[
            ("checks traces", "rules of thumb that the job breaks"),
            ("checks --all --fail-on high traces", "all rules; exit code 4 if a finding is `high`"),
        ],
    ),
    (
        "timeline",
        &[
            ("timeline traces", "bandwidth and phases"),
            ("timeline --time 10:20 traces", "ten seconds, at a finer resolution"),
        ],
    ),
    (
        "signatures",
        &[
            ("signatures traces", "reads and writes of all processes, as loops"),
            ("signatures --level local --verify traces", "each process, verified call by call"),
        ],
    ),
    (
        "compare",
        &[
            ("compare before.dxt after.dxt", "what changed, and what is significant"),
            ("compare --fail-on warn before.dxt after.dxt", "for tests: exit code 4 if I/O became worse"),
            (
                "compare -o both.html a1 a2 a3 -- b1 b2 b3",
                "repeated runs: differences beyond their variation, also as a page",
            ),
        ],
    ),
    (
        "corpus",
        &[
            ("corpus traces", "all jobs below a directory"),
            ("corpus --sort bytes --limit 50 traces", "jobs that move the most bytes"),
        ],
    ),
    (
        "scaling",
        &[
            ("scaling runs", "runs by number of ranks, repeats as median and range"),
            ("scaling --group-by=-t -o transfers.html runs", "by the value of the program's option -t, also as a page"),
        ],
    ),
    (
        "report",
        &[
            ("report traces", "the verdict, and report.html"),
            ("report --open -o job.html traces", "and open the page"),
            ("report --format json traces", "for scripts, without a page"),
        ],
    ),
    (
        "serve",
        &[
            ("serve traces", "the page, with single calls when zoomed in"),
            ("serve --live", "live page of running programs"),
        ],
    ),
    (
        "live",
        &[
            ("live", "programs running on this node"),
            ("live --pid 4711 --to events:calls.jsonl", "each call of one process, to a file"),
            ("live --to parquet:calls --until-end", "all calls to Parquet, until all processes end"),
        ],
    ),
    (
        "dump",
        &[
            ("dump traces", "every call"),
            ("dump --time 1.5:1.6 --format csv traces", "the calls of a tenth of a second"),
        ],
    ),
    ("convert", &[("convert -o job.dxt job.darshan", "a Darshan log as a trace")]),
    (
        "export",
        &[
            ("export --to parquet -o tables traces", "for DuckDB, pandas, polars"),
            ("export --to perfetto -o job.json traces", "for ui.perfetto.dev"),
            ("export --to darshan -o job.darshan traces", "for Darshan's tools"),
        ],
    ),
    ("advise", &[("advise -o hints traces", "files for `dxt-run --hints hints`")]),
    ("patterns", &[("patterns traces", "size, order, sharing, interface, balance: facts, with what they cost")]),
    ("check", &[("check traces", "verify that files are intact")]),
    (
        "expand",
        &[
            ("expand '16 x {write 0+4096 [65536]}' --ranks 16 --per-rank 4096", "each access, as CSV"),
            ("expand '16 x {write 0+4096 [65536]}' --to fio -o jobs", "for fio"),
        ],
    ),
    ("explain", &[("explain DXT-L004", "one finding"), ("explain", "all findings")]),
    ("generate", &[("generate ~/.local", "man pages and completions for one user")]),
    (
        "recover",
        &[
            ("recover -o traces /tmp/dxt-app-4711.spool", "a trace from the spool of a killed process"),
            ("recover --remove -o job.dxt a.spool b.spool", "one trace from two spools, which are then removed"),
        ],
    ),
];

/// Returns the examples of a command as text for the end of its help; `None` if it has no examples.
pub(super) fn of(subcommand: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(name, _)| *name == subcommand)?;
    let width = examples.iter().map(|(typed, _)| typed.len()).max()?;
    let line = |(typed, what): &(&str, &str)| {
        // The purpose goes on a separate line if both do not fit into 80 columns.
        let both = format!("  dxt-analyze {typed:<width$}  # {what}");
        if both.chars().count() <= 80 { both } else { format!("  # {what}\n  dxt-analyze {typed}") }
    };
    let lines: Vec<String> = examples.iter().map(line).collect();
    Some(format!("Examples:\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::command;

    #[test]
    fn every_verb_has_some_and_all_of_them_parse() {
        for subcommand in
            command().get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).filter(|name| name != "help")
        {
            let (_, examples) = EXAMPLES
                .iter()
                .find(|(name, _)| *name == subcommand)
                .unwrap_or_else(|| panic!("{subcommand} has no examples"));
            for (typed, _) in *examples {
                assert!(typed.starts_with(&subcommand), "{typed}");
                // Text in quotes is one argument.
                let parts = typed.split('\'').enumerate();
                let words = parts.flat_map(|(part, text)| match part % 2 {
                    1 => vec![text],
                    _ => text.split_whitespace().collect(),
                });
                let words = std::iter::once("dxt-analyze").chain(words);
                command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{typed}: {error}"));
            }
        }
    }

    #[test]
    fn help_fits_80_columns() {
        let mut command = command();
        command.build();
        for subcommand in command.get_subcommands_mut() {
            for help in [subcommand.render_help(), subcommand.render_long_help()] {
                let text = help.to_string();
                for line in text.lines() {
                    assert!(line.chars().count() <= 80, "{}: {line}", subcommand.get_name());
                }
            }
        }
    }
}
