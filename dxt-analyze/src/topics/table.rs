//! Macro that generates code from the table of topics in [`super`]: commands, list of finding codes, and the report on a whole run.

use crate::exit::Exit;
use crate::findings::{Finding, Severity};
use crate::shared::completeness::Completeness;

/// Result of a command, from which the exit code follows.
pub trait Outcome: crate::render::Report {
    /// Returns the findings in the command's result.
    fn findings(&self) -> &[Finding];
    /// Returns the completeness of the analysed run, or of the compared runs. Empty for results on many runs, which override
    /// [`Self::complete`].
    fn missing(&self) -> Vec<&Completeness> {
        Vec::new()
    }
    /// True if no part of the analysed data is missing.
    fn complete(&self) -> bool {
        self.missing().iter().all(|missing| missing.complete)
    }
    /// True if the calls of an analysed run were not timed.
    fn untimed(&self) -> bool {
        self.missing().iter().any(|missing| missing.untimed)
    }
    /// Returns the exit code; `fail_on` is the minimum severity of a finding that counts as failure.
    fn exit(&self, fail_on: Option<Severity>) -> Exit {
        let fails = fail_on.is_some_and(|least| self.findings().iter().any(|finding| finding.severity >= least));
        match (fails, self.complete()) {
            (true, _) => Exit::Findings,
            (false, false) => Exit::Incomplete,
            (false, true) => Exit::Fine,
        }
    }
}

/// Generates the code of all topics. A row `module: Command at N;` is a topic of one run, whose sections come N-th on the page; a row
/// `module: Command;` is a topic of several runs.
macro_rules! topics {
    (
        one run { $($(#[$doc:meta])* $topic:ident: $subcommand:ident at $place:literal;)+ }
        several runs { $($(#[$more_doc:meta])* $more:ident: $more_verb:ident;)* }
    ) => {
        /// Commands of the topics
        #[derive(Debug, clap::Subcommand)]
        pub enum Command {
            $($(#[$doc])* $subcommand($topic::Args),)+
            $($(#[$more_doc])* $more_verb($more::Args),)*
        }

        impl Command {
            /// Runs the command and writes its result in the output style `style`; calls `page` to write a page if the user requests one.
            ///
            /// # Errors
            /// Returns an error if nothing can be loaded or written, or if the options are invalid.
            pub fn run(&self, style: &Style, out: &mut dyn Write, page: PageWriter<'_>) -> Result<Exit> {
                // Unused if the table has no topic of several runs.
                let _ = page;
                match self {
                    $(Self::$subcommand(args) => finish(&$topic::run(args)?, &args.output, style, out),)+
                    $(Self::$more_verb(args) => {
                        let outcome = $more::run(args)?;
                        if let Some(place) = args.page() {
                            page(place, stringify!($more), &render::Report::view(&outcome))?;
                        }
                        finish(&outcome, &args.output(), style, out)
                    })*
                }
            }
        }

        /// Names of the topics, which are also the names of their commands and of their sections in docs/analyses.md.
        pub const NAMES: &[&str] = &[$(stringify!($topic),)+ $(stringify!($more),)*];

        /// Returns the finding codes of all topics, sorted.
        #[must_use]
        pub fn codes() -> Vec<Code> {
            let of = [completeness::CODES, $($topic::CODES,)+ $($more::CODES,)*];
            let mut all: Vec<Code> = of.into_iter().flatten().copied().collect();
            all.sort();
            all
        }

        together!(
            /// Analyses of the first pass: those of all topics, and the totals that the topics share.
            Reading, Partials { totals, $($topic),+ }
        );

        /// Results of all topics (analyses) for one run.
        #[derive(Debug)]
        pub(crate) struct Whole<'a> {
            pub(crate) sums: Sums,
            $(pub(crate) $topic: <$topic::InReport<'a> as Reported<'a>>::Found,)+
        }

        impl Whole<'_> {
            /// Returns the findings of all topics without duplicates, most severe first.
            pub(crate) fn findings(&self) -> Vec<Finding> {
                let mut all = [$(($place, Found::findings(&self.$topic)),)+];
                all.sort_by_key(|(place, _)| *place);
                report::each_once(all.into_iter().flat_map(|(_, findings)| findings))
            }

            /// Returns the sections of all topics, in the order of the page.
            pub(crate) fn sections(&self) -> Vec<Section> {
                let mut all = [$(($place, self.$topic.sections()),)+];
                all.sort_by_key(|(place, _)| *place);
                all.into_iter().flat_map(|(_, sections)| sections).collect()
            }
        }

        /// Computes the results of all topics for one run; reads the trace at most twice.
        ///
        /// # Errors
        /// Returns an error if a topic fails.
        pub(crate) fn whole<'a>(job: &'a Job<'a>) -> Result<Whole<'a>> {
            let run = job.run;
            let all = Partials { totals: (), $($topic: $topic::InReport::new(job)),+ };
            let bar = Bar::new(run.segments(), "reading");
            let (partials, lost) = scan(run, &Reading { totals: Totals, $($topic: all.$topic.first()),+ }, &bar);
            drop(bar);
            let sums = Sums { all: with_missing(run, partials.totals), lost };
            // Topics process their partial results in parallel, on all processors.
            let mut read = Partials { totals: (), $($topic: None),+ };
            rayon::scope(|scope| {
                $({
                    let (topic, partial, place) = (&all.$topic, partials.$topic, &mut read.$topic);
                    let sums = &sums;
                    scope.spawn(move |_| *place = Some(topic.read(partial, sums)));
                })+
            });
            let read = Partials { totals: (), $($topic: ::anyhow::Context::context(read.$topic, stringify!($topic))??),+ };
            let bar = Bar::new(run.segments(), "activity");
            let second = Reading { totals: Nothing, $($topic: all.$topic.second(&read.$topic, &sums)),+ };
            let (more, _) = scan(run, &second, &bar);
            drop((bar, second));
            let mut found = Partials { totals: (), $($topic: None),+ };
            rayon::scope(|scope| {
                $({
                    let (topic, read, more) = (all.$topic, read.$topic, more.$topic);
                    let (sums, place) = (&sums, &mut found.$topic);
                    scope.spawn(move |_| *place = Some(topic.found(read, more, sums)));
                })+
            });
            Ok(Whole { $($topic: ::anyhow::Context::context(found.$topic, stringify!($topic))?,)+ sums })
        }
    };
}
pub(super) use topics;
