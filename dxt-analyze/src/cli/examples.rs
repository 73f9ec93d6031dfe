//! Examples at the end of each command's help: common uses, each with its purpose.

/// Command, and its examples as pairs: arguments after `dxt-analyze`, and purpose of the example.
type OfVerb = (&'static str, &'static [(&'static str, &'static str)]);

/// Examples of all commands, one row per command.
pub(super) const EXAMPLES: [OfVerb; 25] = [
    (
        "summary",
        &[
            ("summary traces", "the job whose traces lie in a directory"),
            ("summary --files '*.h5' --ranks 0:7 traces", "some files of some ranks"),
            ("summary --format json traces", "for scripts"),
        ],
    ),
    ("ledger", &[("ledger traces", "where the run time went"), ("ledger --top 32 traces", "and of more processes")]),
    (
        "causes",
        &[
            ("causes traces", "who is to blame, with seconds"),
            ("causes --layout stripes.txt traces", "with storage targets: `lfs getstripe -y` wrote that file"),
        ],
    ),
    (
        "outliers",
        &[
            ("outliers traces", "calls that are slower than their like"),
            ("outliers --by rank --windows phases traces", "ranks, in each phase"),
            ("outliers --by ost --layout stripes.txt traces", "storage targets"),
        ],
    ),
    (
        "stripes",
        &[
            ("stripes traces", "how accesses lie on stripes"),
            ("stripes --what-if size=16M,count=8 traces", "how they would with others"),
            ("stripes --recommend traces", "the stripes that would be best"),
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
            ("layers traces", "what MPI-IO and HDF5 calls are made of"),
            ("layers --files '*.h5' traces", "of some files"),
        ],
    ),
    (
        "checks",
        &[
            ("checks traces", "rules of thumb that the job breaks"),
            ("checks --all --fail-on high traces", "all of them; ends with 4 if one is severe"),
        ],
    ),
    (
        "timeline",
        &[("timeline traces", "bandwidth and phases"), ("timeline --time 10:20 traces", "ten seconds of it, finer")],
    ),
    (
        "signatures",
        &[
            ("signatures traces", "what all processes do, as loops"),
            ("signatures --level local --verify traces", "each process, proven call by call"),
        ],
    ),
    (
        "compare",
        &[
            ("compare before.dxt after.dxt", "what changed, and whether more than chance"),
            ("compare --fail-on warn before.dxt after.dxt", "for tests: ends with 4 if it became worse"),
            ("compare -o both.html a1 a2 a3 -- b1 b2 b3", "repeats: what is more than their scatter, as a page too"),
        ],
    ),
    (
        "corpus",
        &[
            ("corpus traces", "all jobs below a directory"),
            ("corpus --sort bytes --limit 50 traces", "those that move most"),
        ],
    ),
    (
        "scaling",
        &[
            ("scaling runs", "runs by number of ranks, repeats as median and range"),
            ("scaling --group-by=-t -o transfers.html runs", "by the value of the program's option -t, as a page too"),
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
    ("serve", &[("serve traces", "the page, down to the single call"), ("serve --live", "of programs that run")]),
    (
        "live",
        &[
            ("live", "programs that run on this node"),
            ("live --pid 4711 --to events:calls.jsonl", "each call of one, into a file"),
            ("live --to parquet:calls --until-end", "until all have ended"),
        ],
    ),
    (
        "dump",
        &[("dump traces", "every call"), ("dump --time 1.5:1.6 --format csv traces", "those of a tenth of a second")],
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
    ("check", &[("check traces", "whether files are whole")]),
    (
        "expand",
        &[
            ("expand '16 x {write 0+4096 [65536]}' --ranks 16 --per-rank 4096", "each access, as CSV"),
            ("expand '16 x {write 0+4096 [65536]}' --to fio -o jobs", "for fio"),
        ],
    ),
    ("explain", &[("explain DXT-L004", "one finding"), ("explain", "all of them")]),
    ("generate", &[("generate ~/.local", "where shells and man look for them")]),
    (
        "recover",
        &[
            ("recover -o traces /tmp/dxt-app-4711.spool", "what killed processes left on this node"),
            ("recover --remove -o job.dxt a.spool b.spool", "and remove it"),
        ],
    ),
];

/// Returns the text with a command's examples, for the end of its help; `None` if there are none.
pub(super) fn of(verb: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(name, _)| *name == verb)?;
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
        for verb in command().get_subcommands().map(|verb| verb.get_name().to_owned()).filter(|name| name != "help") {
            let (_, examples) =
                EXAMPLES.iter().find(|(name, _)| *name == verb).unwrap_or_else(|| panic!("{verb} has no examples"));
            for (typed, _) in *examples {
                assert!(typed.starts_with(&verb), "{typed}");
                // Text in quotes is one word.
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
        for verb in command.get_subcommands_mut() {
            for help in [verb.render_help(), verb.render_long_help()] {
                let text = help.to_string();
                for line in text.lines() {
                    assert!(line.chars().count() <= 80, "{}: {line}", verb.get_name());
                }
            }
        }
    }
}
