//! A job as Arrow tables and JSON texts, for other programs such as the Python package (`python/`). Jobs are opened, selected and read as
//! by the commands; columns are those of `export --to parquet`. [`stream`] yields segments batch by batch; [`pool`] provides the threads.

mod layouts;
pub mod pool;
pub mod stream;

use crate::export::parquet::batches;
use crate::export::parquet::{sites, tables};
use crate::findings::Finding;
use crate::model::{FileLayout, Run};
use crate::scan::Lost;
use crate::session::{self, Inputs};
use crate::shared::completeness::Completeness;
use crate::symbols::Symbols;
use crate::topics::summary::view::summary_of;
use crate::topics::timeline::charts::totals;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use stream::{Damage, Segments};

/// Opened job, or a selected part of a job. Clones share large data.
#[derive(Clone, Debug)]
pub struct Opened {
    run: Arc<Run>,
    stripes: Option<PathBuf>,
    /// Stripe layout of each file, if the trace or the user provides one; guessed layouts are excluded.
    layouts: Arc<Vec<Option<FileLayout>>>,
    debug_dirs: Vec<PathBuf>,
    /// Functions and lines of call sites, looked up at first use.
    symbols: Arc<OnceLock<Symbols>>,
}

/// Tables that are small enough to be returned whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Table of files: one row per file that the job used.
    Files,
    /// Table of ranks: one row per process of the job.
    Ranks,
    /// Table of findings: one row per finding, most severe first.
    Findings,
    /// Table of call sites: one row per place in the program and call stack that leads to it.
    Sites,
}

impl Opened {
    /// Opens the job in `inputs`; `stripes` is a file with stripe layouts, as for the option `--layout`, `debug_dirs` are directories with
    /// debug information, as for `--debug-dir`.
    ///
    /// # Errors
    /// Fails with [`crate::exit::UsageError`] if the request is invalid; otherwise fails if nothing can be read.
    pub fn new(inputs: &Inputs, stripes: Option<PathBuf>, debug_dirs: &[PathBuf]) -> Result<Self> {
        pool::within(|| {
            let run = session::open(inputs)?;
            let layouts = Arc::new(crate::layouts::certain(session::layouts(&run, stripes.as_deref())?));
            let debug_dirs = debug_dirs.to_vec();
            Ok(Self { run: Arc::new(run), stripes, layouts, debug_dirs, symbols: Arc::default() })
        })?
    }

    /// Returns the part of the job that the options in `inputs` select; the files named in `inputs` are ignored.
    ///
    /// # Errors
    /// Fails with [`crate::exit::UsageError`] if the selection is invalid; a selection that matches nothing is no error.
    pub fn part(&self, inputs: &Inputs) -> Result<Self> {
        let chosen = session::selection(inputs)?;
        if chosen.is_all() {
            return Ok(self.clone());
        }
        let mut run = Run::clone(&self.run);
        run.select(chosen);
        Ok(Self { run: Arc::new(run), ..self.clone() })
    }

    /// Returns true if nothing seems to be missing from the trace (no segment is read yet), and sentences on missing data for the user.
    #[must_use]
    pub fn remarks(&self) -> (bool, Vec<String>) {
        let missing = Completeness::of(&self.run, &Lost::default());
        (missing.complete, missing.sentences())
    }

    /// Returns the JSON of `summary --format json`, limited to `top` files; with `profiles`, access profiles are computed from segments.
    ///
    /// # Errors
    /// Fails if no threads can be started.
    pub fn summary(&self, top: usize, profiles: bool) -> Result<String> {
        pool::within(|| Ok(serde_json::to_string(&summary_of(&self.run, top, profiles))?))?
    }

    /// Returns the findings of `report` as JSON, in the form of the JSON report.
    ///
    /// # Errors
    /// Fails if the layouts are invalid.
    pub fn findings(&self) -> Result<String> {
        let found = || -> Result<Vec<Finding>> { crate::export::parquet::findings(&self.run, self.stripes.as_deref()) };
        Ok(serde_json::to_string(&pool::within(found)??)?)
    }

    /// Returns the known stripe layouts of files, as JSON.
    ///
    /// # Errors
    /// Fails if serialization fails.
    pub fn layouts(&self) -> Result<String> {
        Ok(serde_json::to_string(&layouts::rows(&self.run, &self.layouts))?)
    }

    /// Returns one of the small tables, with the columns documented in docs/interop.md.
    ///
    /// # Errors
    /// Fails if the table cannot be made.
    pub fn table(&self, table: Table) -> Result<RecordBatch> {
        pool::within(|| match table {
            Table::Files => tables::files(&self.run, &self.layouts, &totals(&self.run)),
            Table::Ranks => tables::ranks(&self.run, &totals(&self.run)),
            Table::Findings => tables::findings(&self.run, self.stripes.as_deref()),
            Table::Sites => sites::sites(&self.run, self.symbols()?),
        })?
    }

    /// Returns the functions and lines of call sites. They are looked up on this process's thread pool, and no lock is held meanwhile, since a
    /// forked child would wait for it forever.
    fn symbols(&self) -> Result<&Symbols> {
        if let Some(known) = self.symbols.get() {
            return Ok(known);
        }
        let found = pool::within(|| Symbols::of(&self.run, &self.debug_dirs))?;
        Ok(self.symbols.get_or_init(|| found))
    }

    /// Returns the Arrow schema of the segments, limited to the columns named in `chosen`; all columns for `None`.
    ///
    /// # Errors
    /// Fails with [`crate::exit::UsageError`] if there is no such column.
    pub fn columns(chosen: Option<&[String]>) -> Result<SchemaRef> {
        batches::schema(chosen)
    }

    /// Returns a stream of the segments, read on demand, with the columns named in `columns`; with all columns for `None`.
    ///
    /// # Errors
    /// Fails with [`crate::exit::UsageError`] if there is no such column; otherwise fails if no thread can be started.
    pub fn segments(&self, columns: Option<&[String]>, damage: Damage) -> Result<Segments> {
        Segments::new(self.clone(), batches::schema(columns)?, damage)
    }
}
