//! Command `toy`: its pass over the segments, its result and its output.

use super::args::Args;
use crate::findings::{About, Code, Finding, Severity};
use crate::model::{Run, StreamIx};
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View};
use crate::scan::{Analysis, Block, Lost, scan};
use crate::shared::completeness::Completeness;
use crate::topics::Outcome;
use anyhow::Result;
use serde::Serialize;
use trace_format::op::OpClass;

/// Pass over the segments that counts reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads;

impl Analysis for Reads {
    type Partial = u64;

    fn start(&self) -> u64 {
        0
    }

    fn block(&self, partial: &mut u64, block: &Block<'_>) {
        let class = |stream: StreamIx| {
            let stream = block.process.stream(stream)?;
            block.run.ops.get(usize::from(stream.op))?.class
        };
        *partial += block.rows().filter(|row| class(row.stream) == Some(OpClass::Read)).count() as u64;
    }

    fn merge(&self, into: &mut u64, other: u64) {
        *into += other;
    }
}

/// Result of `toy`: number of reads, completeness and findings.
#[derive(Clone, Debug, Serialize)]
pub struct Toy {
    /// Number of recorded reads of the job.
    pub reads: u64,
    /// Completeness of the trace.
    pub missing: Completeness,
    /// Findings: one if the job has reads, and those on the trace itself.
    pub findings: Vec<Finding>,
}

impl Toy {
    /// Creates the result from the number of reads and from `lost`, the segments that the pass could not read.
    #[must_use]
    pub fn of(run: &Run, reads: u64, lost: &Lost) -> Self {
        let missing = Completeness::of(run, lost);
        let finding = Finding {
            code: Code::TOY,
            about: About::default(),
            severity: Severity::Info,
            title: crate::text::units::counted(reads, "read").into(),
            evidence: Vec::new(),
            cost_ns: None,
            saving: None,
            hint: "nothing".into(),
        };
        let mut findings = if reads > 0 { vec![finding] } else { Vec::new() };
        findings.extend(missing.findings());
        Self { reads, missing, findings }
    }
}

/// Loads a run and counts its reads.
///
/// # Errors
/// Returns an error if nothing can be loaded.
pub fn toy(args: &Args) -> Result<Toy> {
    let run: Run = crate::session::open(&args.inputs)?;
    let (reads, lost) = scan(&run, &Reads, &Bar::new(run.segments(), "reads"));
    Ok(Toy::of(&run, reads, &lost))
}

impl Outcome for Toy {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Report for Toy {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        let table = Table::of("reads", "Reads", [self.reads]);
        parts.push(Part::Table(table.column("Reads", "reads", |reads| Cell::Count(*reads)).done()));
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}
