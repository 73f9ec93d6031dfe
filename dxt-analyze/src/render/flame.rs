//! Flame graph: time by call stack, drawn as SVG. The outermost function is at the top; a bar below another one is what it called, and the
//! width is the share of the time. Widths are shares of the figure's width, so that text keeps its size; text that does not fit is cut off.

use super::figure::Ink;
use super::svg::percent;
use super::{Cell, Table, table};
use crate::limits::{FLAME_BARS, FLAME_DEPTH};
use crate::text::printable::printable;
use crate::text::units;
use maud::{Markup, html};

/// Height of a bar, in pixels.
const HEIGHT: u32 = 18;
/// Width of a flame graph in a separate SVG file, in pixels.
const WIDTH: u32 = 1200;
/// Colours of functions, of operations, and of merged bars.
const INKS: [Ink; 3] = [Ink(4), Ink(0), Ink(7)];

/// Flame graph of call stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct FlameGraph {
    /// Bars, from the outermost functions to the operations.
    bars: Vec<Bar>,
    /// Number of rows.
    depth: u32,
    /// Time of all stacks, ns.
    all_ns: u64,
}

/// Bar of a flame graph.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    /// Row, from 0 at the top.
    row: u32,
    /// Left edge, as a share of the width.
    from: f64,
    name: String,
    time_ns: u64,
    ink: Ink,
}

impl FlameGraph {
    /// Explanation of how to read a flame graph.
    pub(crate) const CAPTION: &str = "Time in the program's own calls, summed over processes, by the functions that lead to them: the width \
        of a bar is its share of the time. A bar below another one is what it called; the operations (blue) come last. Bars \
        narrower than a pixel are merged. Move the mouse over a bar for its name and numbers.";

    /// Draws call stacks with their time in ns; each stack has functions from the outermost, then the operation. Leaves out functions that
    /// all stacks begin with, except the innermost. Returns `None` if no stack has two functions, or if there is no time.
    #[must_use]
    pub fn of<'a>(stacks: impl Iterator<Item = (&'a [String], u64)>) -> Option<Self> {
        let mut stacks: Vec<(&[String], u64)> = stacks.filter(|(_, time)| *time > 0).collect();
        stacks.sort_unstable();
        let deepest = stacks.iter().map(|(stack, _)| stack.len()).max().filter(|deepest| *deepest > 2)?;
        let (first, _) = stacks.first()?;
        let shared = |other: &[String]| first.iter().zip(other).take_while(|(one, two)| one == two).count();
        let common = stacks.iter().map(|(stack, _)| shared(stack)).min().unwrap_or_default();
        let skipped = common.saturating_sub(1).min(deepest.saturating_sub(3));
        let stacks: Vec<(&[String], u64)> =
            stacks.into_iter().map(|(stack, time)| (stack.get(skipped..).unwrap_or_default(), time)).collect();
        let all_ns = total(&stacks);
        // Bars narrower than a pixel would not be seen.
        let mut least = 1.0 / f64::from(WIDTH);
        loop {
            let mut drawing = Drawing { bars: Vec::new(), all_ns, least: least * all_ns as f64 };
            drawing.row(&stacks, 0, 0);
            if drawing.bars.len() <= FLAME_BARS {
                let depth = drawing.bars.iter().map(|bar| bar.row + 1).max()?;
                return Some(Self { bars: drawing.bars, depth, all_ns });
            }
            least *= 2.0;
        }
    }

    /// Returns the flame graph for a page.
    pub(crate) fn inline(&self) -> Markup {
        html! {
            svg.figure role="img" width="100%" height=(self.depth * HEIGHT) font-family="sans-serif" font-size="12" {
                title { "Flame graph" }
                (self.body(0))
            }
        }
    }

    /// Returns the flame graph as the text of a separate SVG file.
    #[must_use]
    pub fn file(&self) -> String {
        let head = HEIGHT + 8;
        let drawing = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" width=(WIDTH) height=(self.depth * HEIGHT + head) font-family="sans-serif" font-size="12" {
                rect width="100%" height="100%" fill="#ffffff" {}
                text x="4" y="17" font-size="15" font-weight="bold" fill="#1b2430" { "Time in calls by call stack: " (units::duration(self.all_ns)) }
                (self.body(head))
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", drawing.into_string())
    }

    /// Returns the numbers of the bars as a table, for readers who cannot see the figure.
    pub(crate) fn numbers(&self) -> Table {
        Table::of("flame", "", &self.bars)
            .column("Depth", "depth", |bar| Cell::Count(u64::from(bar.row) + 1))
            .column("Function", "function", |bar| Cell::text(bar.name.as_str()))
            .column("Time", "time_s", |bar| Cell::Duration(bar.time_ns))
            .column("Share", "share", |bar| Cell::Share(self.share(bar)))
            .done()
    }

    fn share(&self, bar: &Bar) -> f64 {
        bar.time_ns as f64 / self.all_ns as f64
    }

    fn body(&self, top: u32) -> Markup {
        let words = |bar: &Bar| {
            format!(
                "{}\n{}, {}",
                printable(&bar.name),
                units::duration(bar.time_ns),
                table::human(&Cell::Share(self.share(bar)))
            )
        };
        html! {
            // A drawing inside of a drawing cuts off what is wider than itself.
            @for bar in &self.bars {
                svg x=(percent(bar.from)) y=(top + bar.row * HEIGHT) width=(percent(self.share(bar))) height=(HEIGHT - 1) {
                    title { (words(bar)) }
                    rect width="100%" height="100%" fill=(bar.ink.colour()) fill-opacity="0.35" {}
                    rect width="1" height="100%" fill=(bar.ink.colour()) {}
                    text x="5" y="13" fill="#1b2430" { (printable(&bar.name)) }
                }
            }
        }
    }
}

/// Flame graph under construction.
struct Drawing {
    bars: Vec<Bar>,
    all_ns: u64,
    /// Minimum time of a bar, ns.
    least: f64,
}

impl Drawing {
    /// Draws `stacks`, which begin at `from_ns` and are equal up to their element `row`, from that element on. Bars are sorted by name.
    fn row(&mut self, stacks: &[(&[String], u64)], row: usize, from_ns: u64) {
        if row >= FLAME_DEPTH || self.bars.len() > FLAME_BARS {
            return;
        }
        let (mut from, mut others, mut count) = (from_ns, 0_u64, 0_u64);
        for group in stacks.chunk_by(|(one, _), (two, _)| one.get(row) == two.get(row)) {
            let Some((name, stack)) = group.first().and_then(|(stack, _)| Some((stack.get(row)?, stack))) else {
                continue;
            };
            let time_ns = total(group);
            if (time_ns as f64) < self.least {
                others = others.saturating_add(time_ns);
                count += 1;
                continue;
            }
            let is_operation = row + 1 == stack.len();
            let [function, operation, _] = INKS;
            self.bar(row, from, name.clone(), time_ns, if is_operation { operation } else { function });
            self.row(group, row + 1, from);
            from = from.saturating_add(time_ns);
        }
        if count > 0 && others as f64 >= self.least {
            let [.., merged] = INKS;
            self.bar(row, from, format!("{} others", units::count(count)), others, merged);
        }
    }

    fn bar(&mut self, row: usize, from_ns: u64, name: String, time_ns: u64, ink: Ink) {
        self.bars.push(Bar { row: row as u32, from: from_ns as f64 / self.all_ns as f64, name, time_ns, ink });
    }
}

fn total(stacks: &[(&[String], u64)]) -> u64 {
    stacks.iter().fold(0, |sum, (_, time)| sum.saturating_add(*time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(stacks: &[(&[&str], u64)]) -> Option<FlameGraph> {
        let owned: Vec<(Vec<String>, u64)> =
            stacks.iter().map(|(stack, time)| (stack.iter().map(|name| (*name).to_owned()).collect(), *time)).collect();
        FlameGraph::of(owned.iter().map(|(stack, time)| (stack.as_slice(), *time)))
    }

    fn bars(graph: &FlameGraph) -> Vec<(u32, f64, &str, u64)> {
        graph.bars.iter().map(|bar| (bar.row, bar.from, bar.name.as_str(), bar.time_ns)).collect()
    }

    #[test]
    fn bars_have_the_time_of_all_that_they_called() {
        let found = graph(&[
            (&["_start", "main", "save", "write"], 600),
            (&["_start", "main", "load", "read"], 300),
            (&["_start", "main", "stat"], 100),
        ]);
        let expected = [
            (0, 0.0, "main", 1000),
            (1, 0.0, "load", 300),
            (2, 0.0, "read", 300),
            (1, 0.3, "save", 600),
            (2, 0.3, "write", 600),
            (1, 0.9, "stat", 100),
        ];
        assert_eq!(bars(&found.unwrap()), expected);
        assert!(graph(&[(&["main", "write"], 5)]).is_none() && graph(&[(&["main", "f", "write"], 0)]).is_none());
        let one = graph(&[(&["_start", "main", "f", "write"], 5)]).unwrap();
        assert_eq!(one.bars.iter().map(|bar| bar.name.as_str()).collect::<Vec<_>>(), ["main", "f", "write"]);
    }

    #[test]
    fn small_bars_are_merged_and_there_are_never_too_many() {
        let names: Vec<String> = (0..5000).map(|number| format!("f{number:04}")).collect();
        let stacks: Vec<(Vec<String>, u64)> =
            names.iter().map(|name| (vec!["main".into(), name.clone(), "write".into()], 10)).collect();
        let found = FlameGraph::of(stacks.iter().map(|(stack, time)| (stack.as_slice(), *time))).unwrap();
        assert_eq!(bars(&found), [(0, 0.0, "main", 50_000), (1, 0.0, "5,000 others", 50_000)]);
        let stacks: Vec<(Vec<String>, u64)> = (0..900)
            .map(|number| (vec!["main".into(), format!("f{number:04}"), "write".into()], 100 + number / 400 * 100))
            .collect();
        let found = FlameGraph::of(stacks.iter().map(|(stack, time)| (stack.as_slice(), *time))).unwrap();
        assert!(found.bars.len() <= FLAME_BARS, "{}", found.bars.len());
        let deep: Vec<String> = (0..500).map(|number| format!("f{number}")).collect();
        let found = FlameGraph::of([(deep.as_slice(), 7), (deep.split_at(300).0, 7)].into_iter()).unwrap();
        assert!(found.depth as usize <= FLAME_DEPTH);
    }

    #[test]
    fn names_of_a_trace_end_nothing() {
        let text = graph(&[(&["main", "</svg><script>\u{1b}&", "write"], 5)]).unwrap().file();
        assert!(text.contains("&lt;/svg&gt;&lt;script&gt;\\u{1b}&amp;") && !text.contains("<script"), "{text}");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
