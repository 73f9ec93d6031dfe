//! A job for other programs, as tables of Arrow and texts of JSON: what `python/` is made of. It is opened, chosen from and read as the
//! commands do it; columns are those of `export --to parquet`. [`stream`] gives segments batch by batch, [`pool`] says on which threads.

mod layouts;
pub mod pool;
pub mod stream;

use crate::export::parquet::batches;
use crate::export::parquet::tables;
use crate::findings::Finding;
use crate::model::{FileLayout, Run};
use crate::scan::Lost;
use crate::session::{self, Inputs};
use crate::shared::completeness::Completeness;
use crate::topics::summary::view::summary_of;
use crate::topics::timeline::charts::totals;
use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::path::PathBuf;
use std::sync::Arc;
use stream::{Damage, Segments};

/// A job that is open, or a part of one. Copies share what is large.
#[derive(Clone, Debug)]
pub struct Opened {
    run: Arc<Run>,
    /// File of stripe layouts.
    stripes: Option<PathBuf>,
    /// Per file, where the trace or the user knows one: no guesses.
    layouts: Arc<Vec<Option<FileLayout>>>,
}

/// A table that is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row for each file that was used.
    Files,
    /// A row for each process.
    Ranks,
    /// A row for each finding, the most severe first.
    Findings,
}

impl Opened {
    /// Opens what `inputs` name; `stripes` is a file of stripe layouts, as the commands' `--layout`.
    ///
    /// # Errors
    /// [`crate::exit::UsageError`] if what is asked for makes no sense, otherwise if nothing can be read.
    pub fn new(inputs: &Inputs, stripes: Option<PathBuf>) -> Result<Self> {
        pool::within(|| {
            let run = session::open(inputs)?;
            let layouts = Arc::new(crate::layouts::certain(session::layouts(&run, stripes.as_deref())?));
            Ok(Self { run: Arc::new(run), stripes, layouts })
        })?
    }

    /// The part that `inputs` choose; what they name is not looked at.
    ///
    /// # Errors
    /// [`crate::exit::UsageError`] if what is chosen makes no sense.
    pub fn part(&self, inputs: &Inputs) -> Result<Self> {
        let chosen = session::selection(inputs)?;
        if chosen.is_all() {
            return Ok(self.clone());
        }
        let mut run = Run::clone(&self.run);
        run.select(chosen);
        Ok(Self { run: Arc::new(run), ..self.clone() })
    }

    /// Whether nothing is known to be missing before any segment is read, and what the user is to know, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> (bool, Vec<String>) {
        let missing = Completeness::of(&self.run, &Lost::default());
        (missing.complete, missing.sentences())
    }

    /// What `summary --format json` says, with `top` files.
    ///
    /// # Errors
    /// If there are no threads to read it.
    pub fn summary(&self, top: usize, profiles: bool) -> Result<String> {
        pool::within(|| Ok(serde_json::to_string(&summary_of(&self.run, top, profiles))?))?
    }

    /// The findings of `report`, as its JSON has them.
    ///
    /// # Errors
    /// If the layouts make no sense.
    pub fn findings(&self) -> Result<String> {
        let found = || -> Result<Vec<Finding>> { crate::export::parquet::findings(&self.run, self.stripes.as_deref()) };
        Ok(serde_json::to_string(&pool::within(found)??)?)
    }

    /// Stripe layouts of files, where they are known, as JSON.
    ///
    /// # Errors
    /// If it cannot be put in words of JSON.
    pub fn layouts(&self) -> Result<String> {
        Ok(serde_json::to_string(&layouts::rows(&self.run, &self.layouts))?)
    }

    /// A small table, with the columns that docs/interop.md names.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn table(&self, table: Table) -> Result<RecordBatch> {
        pool::within(|| match table {
            Table::Files => tables::files(&self.run, &self.layouts, &totals(&self.run)),
            Table::Ranks => tables::ranks(&self.run, &totals(&self.run)),
            Table::Findings => tables::findings(&self.run, self.stripes.as_deref()),
        })?
    }

    /// The columns of segments that are called so, or all.
    ///
    /// # Errors
    /// [`crate::exit::UsageError`] if there is no such column.
    pub fn columns(chosen: Option<&[String]>) -> Result<SchemaRef> {
        batches::schema(chosen)
    }

    /// The segments with the named columns, or all; they are read while they are taken.
    ///
    /// # Errors
    /// [`crate::exit::UsageError`] if there is no such column, otherwise if no thread can be started.
    pub fn segments(&self, columns: Option<&[String]>, damage: Damage) -> Result<Segments> {
        Segments::new(self.clone(), batches::schema(columns)?, damage)
    }
}
