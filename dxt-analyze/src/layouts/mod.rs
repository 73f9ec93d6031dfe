//! Parser of the stripe layouts given with `--layout`: actual layouts of files on Lustre (`lfs getstripe -y`), or hypothetical ones in a
//! line format of this project. `docs/layouts.md` describes both formats. Callers read the file.

mod lines;
pub mod placed;
pub mod spread;
mod yaml;

pub(crate) use lines::parse_size;

use crate::model::{File, FileLayout, LayoutOrigin};
use crate::pattern::Pattern;
use anyhow::Result;
use trace_format::layout::Layout;

/// Files to which a layout rule applies.
#[derive(Clone, Debug)]
pub enum Target {
    /// The layout rule applies to every file of the job.
    Every,
    /// The layout rule applies to the file with this path.
    Path(String),
    /// The layout rule applies to files whose name matches a pattern.
    Glob(Pattern),
}

impl Target {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Every => true,
            Self::Path(wanted) => wanted == path,
            Self::Glob(pattern) => pattern.matches(path),
        }
    }
}

/// Layout rule: a stripe layout, and the files to which it applies.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Files to which the layout rule applies.
    pub target: Target,
    /// Stripe layout of the files in `target`.
    pub layout: Layout,
}

/// Layout rules in order of priority: the first rule that matches a file applies.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Rules {
    /// Parses layout rules in either format: a line that begins with `lmm_` or `lcm_` shows that the text comes from `lfs getstripe -y`.
    ///
    /// # Errors
    /// Fails with the number of the line and the mistake in it.
    pub fn parse(text: &str) -> Result<Self> {
        let is_yaml = text.lines().any(|line| {
            let line = line.trim_start().trim_start_matches("- ");
            line.starts_with("lmm_") || line.starts_with("lcm_")
        });
        let rules = if is_yaml { yaml::parse(text)? } else { lines::parse(text)? };
        anyhow::ensure!(!rules.is_empty(), "it contains no layout");
        Ok(Self { rules })
    }

    /// Returns the stripe layout for `path` from the first rule that matches; `None` if no rule does.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Layout> {
        self.rules.iter().find(|rule| rule.target.matches(path)).map(|rule| &rule.layout)
    }
}

/// Returns the stripe layout of `file` that analyses use: the user's, else the one in the trace, else a guess from the preferred I/O size;
/// `None` if there is none of these.
#[must_use]
pub fn effective(file: &File, rules: Option<&Rules>) -> Option<FileLayout> {
    if let Some(layout) = rules.and_then(|rules| rules.find(&file.name)) {
        return Some(FileLayout { layout: layout.clone(), origin: LayoutOrigin::Given });
    }
    if file.layout.is_some() {
        return file.layout.clone();
    }
    let guess = || Layout::plain(u64::from(file.block_size), 1, Vec::new());
    (file.block_size > 1).then(|| FileLayout { layout: guess(), origin: LayoutOrigin::Guess })
}

/// Replaces guessed layouts by `None`: only a known layout may assign bytes to storage targets.
pub(crate) fn certain(mut layouts: Vec<Option<FileLayout>>) -> Vec<Option<FileLayout>> {
    layouts.iter_mut().for_each(|layout| {
        layout.take_if(|layout| layout.is_guess());
    });
    layouts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rules = Rules::parse("/scratch/*.h5 size=4M count=2\n*.h5 size=1M count=1\n").unwrap();
        assert_eq!(rules.find("/scratch/run/a.h5").unwrap().components[0].stripe_size, 4 << 20);
        assert_eq!(rules.find("/home/a.h5").unwrap().components[0].stripe_size, 1 << 20);
        assert!(rules.find("/home/a.nc").is_none());
    }

    #[test]
    fn given_goes_before_found_and_found_before_guessed() {
        let found = FileLayout { layout: Layout::plain(1 << 20, 1, vec![3]), origin: LayoutOrigin::Lustre };
        let mut file = File { name: "/a".into(), block_size: 4096, layout: Some(found), ..File::default() };
        let rules = Rules::parse("* size=64K count=1").unwrap();
        assert_eq!(effective(&file, Some(&rules)).unwrap().origin, LayoutOrigin::Given);
        assert_eq!(effective(&file, None).unwrap().origin, LayoutOrigin::Lustre);
        file.layout = None;
        assert_eq!(effective(&file, None).unwrap().origin, LayoutOrigin::Guess);
        file.block_size = 0;
        assert!(effective(&file, None).is_none());
    }
}
