//! Output files of `signatures`: figures and protocol buffers.

use super::args::{Files, Options};
use super::pass::Signed;
use super::uses::proto;
use crate::model::Run;
use crate::progress::say;
use crate::render::svg;
use crate::text::units;
use crate::written::{Ours, Target};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Names of the figures, also used as file names.
const FIGURES: [&str; 3] = ["offsets", "sizes", "bandwidth"];

fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).with_extension("svg")
}

impl Files {
    /// Checks, before the trace is read, that the output files may be written; returns an error if an existing file must not be replaced.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(folder) = &self.svg {
            let is_folder = std::fs::metadata(folder).map_or(true, |about| about.is_dir());
            ensure!(is_folder, "failed to write {}: it is not a directory", folder.display());
            for name in FIGURES {
                Target::new(&place(folder, name), Ours::Never, self.force).check()?;
            }
        }
        self.protobuf.as_ref().map_or(Ok(()), |path| Target::new(path, Ours::Never, self.force).check_early())
    }

    /// Writes the output files that the options request.
    pub(super) fn write(&self, run: &Run, signed: &[Signed], options: &Options) -> Result<()> {
        if let Some(folder) = &self.svg {
            self.draw(run, folder)?;
        }
        let Some(path) = &self.protobuf else { return Ok(()) };
        let bytes = proto::encode(&super::protobuf::messages(run, signed, options))?;
        Target::new(path, Ours::Never, self.force).stream(|out| Ok(out.write_all(&bytes)?))?;
        say!("wrote {} ({})", path.display(), units::bytes(bytes.len() as u64));
        Ok(())
    }

    fn draw(&self, run: &Run, folder: &Path) -> Result<()> {
        let figures = super::figures::figures(run);
        if figures.is_empty() {
            say!("no figures: no single reads or writes are recorded");
            return Ok(());
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the directory {}", folder.display()))?;
        for figure in &figures {
            let (path, text) = (place(folder, figure.name), svg::file(figure));
            Target::new(&path, Ours::Never, self.force).stream(|out| Ok(out.write_all(text.as_bytes())?))?;
            say!("wrote {} ({})", path.display(), units::bytes(text.len() as u64));
        }
        Ok(())
    }
}
