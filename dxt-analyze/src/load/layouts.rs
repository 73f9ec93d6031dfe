//! Selection of a file's stripe layout: several processes record the layout, at open and at close, and a progressive layout grows in between.

use crate::limits::LAYOUT_COMPONENTS;
use crate::model::{FileLayout, LayoutOrigin};
use trace_format::layout::{Layout, parse_ceph, parse_lustre};
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

/// Best layout found so far for one file.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    best: Option<(u64, Vec<u8>, FileLayout)>,
    problem: Option<String>,
}

impl Choice {
    /// Keeps `def` if it is better than the best layout so far. Priority: recorded at close, then more storage targets in use, then earlier process.
    pub(crate) fn offer(&mut self, def: &LayoutDef) {
        let closed = u64::from(def.moment == LayoutMoment::Close) << 32;
        // Most ranks record the same bytes, which are parsed only once.
        if self.best.as_ref().is_some_and(|(score, bytes, _)| *bytes == def.bytes && *score >= closed) {
            return;
        }
        let parsed = match def.source {
            LayoutSource::Lustre => parse_lustre(&def.bytes).map(|layout| (layout, LayoutOrigin::Lustre)),
            LayoutSource::Ceph => parse_ceph(&def.bytes).map(|layout| (layout, LayoutOrigin::Ceph)),
            _ => return,
        };
        match parsed {
            Ok((layout, _)) if layout.components.len() > LAYOUT_COMPONENTS => {
                let count = layout.components.len();
                self.problem.get_or_insert(format!("a layout of {count} components: more than {LAYOUT_COMPONENTS}"));
            }
            Ok((layout, origin)) => {
                let score = closed + targets_in_use(&layout);
                if self.best.as_ref().is_none_or(|(best, ..)| *best < score) {
                    self.best = Some((score, def.bytes.clone(), FileLayout { layout, origin }));
                }
            }
            Err(error) if self.problem.is_none() => self.problem = Some(error.to_string()),
            Err(_) => {}
        }
    }

    /// Returns the best layout; or `None` and the reason if no layout could be parsed.
    pub(crate) fn take(self) -> (Option<FileLayout>, Option<String>) {
        let problem = if self.best.is_some() { None } else { self.problem };
        (self.best.map(|(_, _, layout)| layout), problem)
    }
}

fn targets_in_use(layout: &Layout) -> u64 {
    let active = layout.components.iter().filter(|component| component.active);
    active.map(|component| 1 + component.targets.len() as u64).sum::<u64>().min(u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dxt_synth::lustre::attribute as lustre;

    fn def(moment: LayoutMoment, bytes: Vec<u8>) -> LayoutDef {
        LayoutDef { file: 0, moment, source: LayoutSource::Lustre, bytes }
    }

    #[test]
    fn the_layout_at_close_wins_whatever_the_order() {
        let (open, close) = (lustre(1 << 20, &[1, 2, 3]), lustre(4 << 20, &[7]));
        for order in [[LayoutMoment::Open, LayoutMoment::Close], [LayoutMoment::Close, LayoutMoment::Open]] {
            let mut choice = Choice::default();
            for moment in order {
                let bytes = if moment == LayoutMoment::Open { &open } else { &close };
                choice.offer(&def(moment, bytes.clone()));
            }
            let (layout, problem) = choice.take();
            assert_eq!(layout.unwrap().layout, Layout::plain(4 << 20, 1, vec![7]));
            assert!(problem.is_none());
        }
    }

    #[test]
    fn bytes_that_are_no_layout_are_said() {
        let mut choice = Choice::default();
        choice.offer(&def(LayoutMoment::Close, vec![1, 2, 3, 4]));
        let (layout, problem) = choice.take();
        assert!(layout.is_none() && problem.unwrap().contains("magic"));
    }
}
