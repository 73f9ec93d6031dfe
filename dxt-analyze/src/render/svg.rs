//! Figures as SVG. Widths are shares of the total and heights are pixels, so that text keeps its size at any width. Any SVG viewer can show
//! the figures, since they need no scripts or style sheets. The page's style sheet only changes text and lines in dark mode.

use super::figure::{Area, Figure, Layer, Panel};
use crate::text::printable::printable;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write as _;

/// Height of a panel without its title, in pixels.
const PANEL: u32 = 150;
/// Height of a panel's title, in pixels.
const TITLE: u32 = 22;
/// Height of a line of text, in pixels.
const LINE: u32 = 18;
const ENTRIES: usize = 3;
/// Width of a figure in a separate SVG file, in pixels.
const WIDTH: u32 = 1000;

pub(crate) fn inline(figure: &Figure) -> Markup {
    html! {
        svg.figure role="img" width="100%" height=(height(figure)) font-family="sans-serif" font-size="12" {
            (body(figure, 0))
        }
    }
}

/// Returns a figure as the text of a separate SVG file.
#[must_use]
pub fn file(figure: &Figure) -> String {
    let head = LINE * 2 + 6;
    let height = height(figure) + head;
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(WIDTH) height=(height) font-family="sans-serif" font-size="12" {
            rect width="100%" height="100%" fill="#ffffff" {}
            text x="4" y="16" font-size="15" font-weight="bold" fill="#1b2430" { (figure.title) }
            text x="4" y="34" fill="#5b6675" { (printable(&figure.subject)) }
            (body(figure, head))
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", drawing.into_string())
}

fn height(figure: &Figure) -> u32 {
    let panels = figure.panels.len() as u32 * (TITLE + PANEL);
    panels + LINE + 6 + figure.legend.len().div_ceil(ENTRIES) as u32 * LINE
}

fn body(figure: &Figure, top: u32) -> Markup {
    let below = top + figure.panels.len() as u32 * (TITLE + PANEL);
    let places = figure.times.len().saturating_sub(1).max(1);
    html! {
        title { (printable(&format!("{}: {}", figure.title, figure.subject))) }
        desc { (printable(&figure.caption)) }
        @for (number, one) in figure.panels.iter().enumerate() { (panel(one, top + number as u32 * (TITLE + PANEL))) }
        @for (number, time) in figure.times.iter().enumerate() {
            @let anchor = if number == 0 { "start" } else if number == places { "end" } else { "middle" };
            text.soft x=(percent(number as f64 / places as f64)) y=(below + LINE - 3) text-anchor=(anchor) fill="#5b6675" font-size="11" { (printable(time)) }
        }
        @for (number, (ink, what)) in figure.legend.iter().enumerate() {
            @let x = (number % ENTRIES) as f64 / ENTRIES as f64;
            @let y = below + LINE + 6 + (number / ENTRIES) as u32 * LINE;
            svg x=(percent(x)) y=(y) width=(percent(1.0 / ENTRIES as f64)) height=(LINE) {
                rect x="1" y="4" width="11" height="11" fill=(ink.colour()) {}
                text.soft x="17" y="14" fill="#5b6675" font-size="11" { (printable(what)) }
            }
        }
        @for slice in &figure.slices {
            rect.slice x=(percent(slice.from)) width=(percent(slice.width)) y=(top) height=(below - top) fill="#000000" fill-opacity="0" { title { (lines(&slice.words)) } }
        }
    }
}

fn panel(panel: &Panel, top: u32) -> Markup {
    let (columns, rows) = panel.grid;
    let top = top + TITLE;
    let at = |share: f64| f64::from(top) + f64::from(PANEL) * (1.0 - share);
    html! {
        text x="50%" y=(top - 7) text-anchor="middle" font-weight="bold" fill="#1b2430" { (panel.title) }
        @for (share, _) in &panel.levels {
            line x1="0" x2="100%" y1=(at(*share)) y2=(at(*share)) stroke="#d9dde3" {}
        }
        svg y=(top) width="100%" height=(PANEL) viewBox={ "0 0 " (columns) " " (rows) } preserveAspectRatio="none" {
            @for one in &panel.layers { (layer(one, rows)) }
        }
        // Labels are drawn above the horizontal lines; below, the lowest label would overlap with the time axis.
        @for (share, text) in &panel.levels {
            text x="3" y=(at(*share) - 3.0) font-size="11" fill="#1b2430" stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke" { (printable(text)) }
        }
    }
}

fn layer(layer: &Layer, rows: u32) -> Markup {
    let mut path = String::new();
    for &Area { left, bottom, width, height } in &layer.areas {
        let top = rows.saturating_sub(bottom.saturating_add(height));
        // Writing to a String cannot fail.
        let _ = write!(path, "M{left} {top}h{width}v{height}h-{width}z");
    }
    let opacity = format!("{:.2}", f64::from(layer.opacity) / 100.0);
    let colour = layer.ink.colour();
    html! {
        @if layer.outlined {
            path d=(PreEscaped(path)) fill=(colour) fill-opacity=(opacity) stroke=(colour) stroke-width="0.8" vector-effect="non-scaling-stroke" {}
        } @else {
            path d=(PreEscaped(path)) fill=(colour) fill-opacity=(opacity) {}
        }
    }
}

/// Replaces hidden characters in each line of `text` by visible escapes, and keeps line breaks.
fn lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Returns a share as a length in SVG.
pub(super) fn percent(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::super::figure::Ink;
    use super::*;

    #[test]
    fn names_of_a_trace_end_nothing_and_areas_stand_on_the_ground() {
        let area = Area { left: 3, bottom: 0, width: 2, height: 4 };
        let layer = Layer { ink: Ink(0), opacity: 100, outlined: false, areas: vec![area] };
        let panel = Panel { title: "Reads", grid: (10, 10), levels: vec![(0.0, "0".into())], layers: vec![layer] };
        let figure = Figure {
            name: "offsets",
            title: "Offsets",
            subject: "</svg><script>\u{1b}&".into(),
            caption: "<b>".into(),
            panels: vec![panel],
            times: vec!["0".into(), "1".into()],
            legend: vec![(Ink(7), "a<b".into())],
            slices: Vec::new(),
            numbers: Table::of("numbers", "", [0_u8; 0]).done(),
        };
        let text = file(&figure);
        assert!(text.contains("M3 6h2v4h-2z"), "{text}");
        assert!(text.contains("&lt;/svg&gt;&lt;script&gt;\\u{1b}&amp;") && !text.contains("<script"), "{text}");
        assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    }
}
